package worker_test

import (
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

var trackToken = regexp.MustCompile(`/t/([oc])/([a-z2-7]+)`)

// TestTrackedJob checks that the emails of a tracked job contain tokens that identify their recipient, and that opens
// and clicks are counted in batches.
func TestTrackedJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var mails []string
		s := &smtptest.Sender{Message: func(e *smtp.Envelope) {
			mu.Lock()
			defer mu.Unlock()
			mails = append(mails, strings.ReplaceAll(string(e.Data), "=\r\n", ""))
		}}
		h := workertest.New(t, s)
		h.Readers(h.List, 300)
		h.Start()
		j := h.Wait(h.Job(func(n *core.NewJob) {
			n.TrackOpen, n.TrackClick = true, true
			n.BodyHTML = `<p><a href="https://a.example/">a</a> <a href="https://b.example/">b</a> <a href="{{view_url}}">view</a></p>`
		}))
		off := true
		_, err := h.UpdateTenant(t.Context(), h.List.TenantID, "test", func(x *core.Tenant) error {
			return x.Change(core.TenantInput{NoTracking: &off}, false, core.At(time.Now()))
		})
		h.Must(err)
		mu.Lock()
		kept := mails
		mu.Unlock()
		h.Wait(h.Job(func(n *core.NewJob) { n.TrackOpen, n.TrackClick = true, true }))
		mu.Lock()
		if len(mails) != 600 || strings.Contains(strings.Join(mails[300:], ""), "/t/o/") {
			t.Error("a tenant that does not track has tracked")
		}
		mails = kept
		mu.Unlock()
		tracker := worker.NewTracker(h.Store, h.Opts.Log)
		group := worker.NewGroup(h.Opts.Log, tracker.Loop())
		group.Start()
		time.Sleep(time.Hour)
		seen := map[int64]bool{}
		mu.Lock()
		defer mu.Unlock()
		for _, m := range mails {
			found := trackToken.FindAllStringSubmatch(m, -1)
			if len(found) != 4 || !strings.Contains(m, "http://news.test/v/") {
				t.Fatalf("%q in\n%s", found, m)
			}
			for _, f := range found {
				job, seq, no, ok := h.Opts.Ident.ParseTrack(f[2])
				if !ok || job != j.No || (f[1] == "o") != (no == 0) {
					t.Fatalf("%q: %d %d %d %v", f, job, seq, no, ok)
				}
				if no == core.CanaryLink { // no recipient sees this link
					continue
				}
				seen[seq] = true
				for range 3 {
					at := core.At(time.Now())
					tracker.Add(core.Engagement{JobNo: job, Seq: seq, LinkNo: no, At: at, Last: at, Times: 1})
				}
			}
		}
		before := h.Stats().Ops
		coretest.Settle(time.Minute)
		if ops := h.Stats().Ops - before; ops > 20 {
			t.Errorf("2700 engagements took %d operations", ops)
		}
		j, err = h.SendJob(t.Context(), j.ID)
		h.Must(err)
		if len(seen) != 300 || j.Opened != 300 || j.Clicked != 300 || j.MachineOpened != 0 || j.MachineClicked != 0 {
			t.Errorf("%d recipients, %+v", len(seen), j.Stats)
		}
		links, err := h.Links(t.Context(), j.No)
		h.Must(err)
		if len(links) != 2 || links[0].URL != "https://a.example/" || links[0].Clicked != 300 || links[1].Clicked != 300 {
			t.Errorf("%+v", links)
		}
		nos, err := h.KeepLinks(t.Context(), j.No, []string{"https://c.example/", "https://b.example/"})
		if err != nil || nos[0] != 3 || nos[1] != 2 {
			t.Errorf("%v %v: a link must keep its number", nos, err)
		}
		group.Drain(time.Second)
	})
}

// TestWhoIsTooFastIsAMachine checks that opens and clicks within seconds after an email count as a filter's, whatever
// user agent they have.
func TestWhoIsTooFastIsAMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, &smtptest.Sender{})
		h.Readers(h.List, 2)
		h.Start()
		j := h.Wait(h.Job(func(n *core.NewJob) { n.TrackOpen = true }))
		engage := func(seq int64) core.Stats {
			at := core.At(time.Now())
			_, err := h.AddEngagements(t.Context(), []core.Engagement{{JobNo: j.No, Seq: seq, At: at, Last: at, Times: 1}})
			h.Must(err)
			j, err := h.SendJob(t.Context(), j.ID)
			h.Must(err)
			return j.Stats
		}
		if s := engage(1); s.Opened != 1 || s.MachineOpened != 1 {
			t.Errorf("%+v", s)
		}
		time.Sleep(core.MachineDelay)
		if s := engage(2); s.Opened != 2 || s.MachineOpened != 1 {
			t.Errorf("%+v", s)
		}
		if s := engage(1); s.Opened != 2 || s.MachineOpened != 0 {
			t.Errorf("%+v", s)
		}
		if s := engage(3); s.Opened != 2 { // no more than before
			t.Errorf("%+v", s)
		}
	})
}
