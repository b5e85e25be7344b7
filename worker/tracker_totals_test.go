package worker_test

import (
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

// TestTotals checks that the pixel and links in emails of a tenant that counts only totals identify no recipient. Link
// scanners are detected by their network, as far as possible.
func TestTotals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		tokens := map[string]int{}
		s := &smtptest.Sender{Message: func(e *smtp.Envelope) {
			mu.Lock()
			defer mu.Unlock()
			for _, f := range trackToken.FindAllStringSubmatch(strings.ReplaceAll(string(e.Data), "=\r\n", ""), -1) {
				tokens[f[2]]++
			}
		}}
		h := workertest.New(t, s)
		h.Readers(h.List, 300)
		_, err := h.UpdateTenant(t.Context(), h.List.TenantID, "test", func(x *core.Tenant) error {
			return x.Change(core.TenantInput{TotalsOnly: new(true)}, false, core.At(time.Now()))
		})
		h.Must(err)
		h.Start()
		j := h.Wait(h.Job(func(n *core.NewJob) {
			n.TrackOpen, n.TrackClick = true, true
			n.BodyHTML = `<p><a href="https://a.example/">a</a> {{ email }} <a href="https://b.example/">b</a> <a href="https://c.example/">c</a></p>`
		}))
		mu.Lock()
		defer mu.Unlock()
		if len(tokens) != 5 { // three links, the canary link and the pixel
			t.Errorf("%d tokens", len(tokens))
		}
		for token, mails := range tokens {
			job, seq, _, ok := h.Opts.Ident.ParseTrack(token)
			if !ok || job != j.No || seq != 0 || mails != 300 {
				t.Errorf("%s: %d %d %v in %d mails", token, job, seq, ok, mails)
			}
		}
		tracker := worker.NewTracker(h.Store, h.Opts.Log)
		group := worker.NewGroup(h.Opts.Log, tracker.Loop())
		group.Start()
		time.Sleep(time.Hour)
		add := func(link int64, p core.Program, network string) {
			at := core.At(time.Now())
			tracker.Add(core.Engagement{JobNo: j.No, LinkNo: link, At: at, Last: at, Times: 1, Program: p, Network: network})
		}
		check := func(want core.Totals) {
			t.Helper()
			coretest.Settle(time.Minute)
			v, err := h.JobView(t.Context(), j.ID)
			h.Must(err)
			if v.Totals != want || v.Opens == nil || !v.Opens.Totals || v.Opens.Rate != nil ||
				v.Opened != want.PeopleOpened+want.UnclearOpened+want.ScannerOpened {
				t.Errorf("%+v, want %+v; %+v", v.Totals, want, v.Opens)
			}
		}
		for range 3 {
			add(0, core.ProgramReader, "")
		}
		add(0, core.ProgramPrivacy, "")
		add(0, core.ProgramScanner, "")
		add(1, core.ProgramReader, "192.0.2.0/24") // two recipients, one after the other
		add(1, core.ProgramReader, "198.51.100.0/24")
		check(core.Totals{PeopleOpened: 3, UnclearOpened: 1, ScannerOpened: 1, PeopleClicked: 2})
		add(1, core.ProgramReader, "203.0.113.0/24") // many at the same time; the first is already written
		time.Sleep(time.Second)
		add(2, core.ProgramReader, "203.0.113.0/24")
		add(3, core.ProgramReader, "203.0.113.0/24")
		check(core.Totals{PeopleOpened: 3, UnclearOpened: 1, ScannerOpened: 1, PeopleClicked: 2, ScannerClicked: 3})
		add(1, core.ProgramReader, "203.0.113.0/24")
		time.Sleep(time.Second)
		add(core.CanaryLink, core.ProgramReader, "203.0.113.0/24")
		add(2, core.ProgramReader, "192.0.2.0/24")
		check(core.Totals{PeopleOpened: 3, UnclearOpened: 1, ScannerOpened: 1, PeopleClicked: 3, ScannerClicked: 4})
		links, err := h.Links(t.Context(), j.No)
		h.Must(err)
		if len(links) != 3 || links[0].No != 1 || links[0].Clicked != 4 || links[0].MachineClicked != 2 {
			t.Errorf("%+v", links)
		}
		if own, err := h.SendJob(t.Context(), j.ID); err != nil || own.Opened != 0 || own.Clicked != 0 {
			t.Errorf("%+v, %v: readers are counted", own.Stats, err)
		}
		group.Drain(time.Second)
	})
}
