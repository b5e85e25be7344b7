package store_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// TestJobViewsPages checks that jobs are listed newest first, in pages, for one tenant, several or all.
func TestJobViewsPages(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	var want []string
	for i := range 7 {
		j, err := s.TryJob(l.ID, func(r *campaigns.JobRequest) {
			r.Name, r.Subject = fmt.Sprintf("No. %d", i),
				fmt.Sprintf("Subject %d", i)
		})
		s.Must(err)
		want = append([]string{j.ID}, want...)
	}
	for name, f := range map[string]campaigns.JobFilter{
		"all": {All: true}, "one tenant": {Tenants: []string{l.TenantID}},
		"two tenants": {Tenants: []string{core.NewID(), l.TenantID}},
		"pending":     {All: true, Status: core.JobPending},
		"a list":      {All: true, ListID: l.ID},
		"a tenant's":  {Tenants: []string{l.TenantID}, ListID: l.ID},
	} {
		var got []string
		page := core.Page{Limit: 3}
		for {
			vs, err := s.JobViews(t.Context(), f, page)
			s.Must(err)
			for _, v := range vs {
				got = append(got, v.ID)
				page.After = strconv.FormatInt(v.No, 10)
			}
			if len(vs) < page.Limit {
				break
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	v, err := s.JobView(t.Context(), want[0])
	if err != nil || v.Name != "No. 6" || v.Subject != "Subject 6" || v.Status != core.JobPending {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := s.JobViews(t.Context(), campaigns.JobFilter{All: true},
		core.Page{After: core.NewID(), Limit: 1}); err == nil {
		t.Error("a cursor that is no number is taken")
	}
	for name, f := range map[string]campaigns.JobFilter{
		"no tenant": {}, "another list": {All: true, ListID: s.NewList().ID},
		"another tenant's list": {Tenants: []string{core.NewID()}, ListID: l.ID},
	} {
		if vs, err := s.JobViews(t.Context(), f, core.Page{Limit: 3}); err != nil || len(vs) != 0 {
			t.Errorf("%s: %d jobs, %v", name, len(vs), err)
		}
	}
}

// TestJobViewsReadNoBodies checks that the list of jobs reads only the headers of campaigns from the disk.
func TestJobViewsReadNoBodies(t *testing.T) {
	const jobs, size = 20, 300_000
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	for range jobs {
		_, err := s.TryJob(l.ID, func(r *campaigns.JobRequest) { r.BodyText = strings.Repeat("x", size) })
		s.Must(err)
	}
	path := s.Path()
	s.Must(s.Close())
	s = storetest.Seed(t, storetest.OpenAt(t, path))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := readByThread(t)
	vs, err := s.JobViews(t.Context(), campaigns.JobFilter{All: true}, core.Page{Limit: 100})
	if err != nil || len(vs) != jobs {
		t.Fatalf("%d jobs, %v", len(vs), err)
	}
	if n := readByThread(t) - before; n > size {
		t.Errorf("%d bytes were read for %d jobs", n, jobs)
	}
}

// readByThread returns the number of bytes that this thread has read.
func readByThread(t *testing.T) int {
	b, err := os.ReadFile("/proc/thread-self/io")
	if err != nil {
		t.Skip(err)
	}
	var n int
	if _, err := fmt.Sscanf(string(b), "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestDeferredAreCounted checks that the counter of a job matches the number of its deferred recipients after any
// changes.
func TestDeferredAreCounted(t *testing.T) {
	const recipients = 200
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	s.Readers(l, recipients)
	j := s.Start(s.NewJob(l.ID))
	random := rand.New(rand.NewPCG(1, 2))
	due := sendNow
	for step := range 60 {
		var batch []core.Outcome
		for seq := int64(1); seq <= recipients; seq++ {
			if random.IntN(6) > 0 {
				continue
			}
			o := core.Outcome{
				JobNo: j.No, TenantID: j.TenantID, Seq: seq, Tried: true, State: core.RecipientDeferred,
				Reason: "452 4.2.2 full",
			}
			switch n := random.IntN(20); {
			case n == 0:
				o.State = core.RecipientSent
			case n == 1:
				o.State, o.Reason = core.RecipientFailed, "550 5.1.1 no such user"
			case n == 2:
				o.State, o.Ambiguous, o.Tried = core.RecipientQueued, true, false
			case n == 3:
				o.State, o.Tried, o.Reason = core.RecipientSkipped, false, core.ReasonUnsubscribed
			default:
				due = due.Add(time.Second)
				o.DueAt, o.GivesUpAt = due, j.LastTry(1, due)
			}
			batch = append(batch, o)
		}
		s.Must(s.FinishRecipients(t.Context(), batch, sendNow.Add(time.Duration(step)*time.Minute)))
		rs, err := s.Recipients(t.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 1000})
		s.Must(err)
		var want int64
		var next, last core.Instant
		for _, r := range rs {
			if r.State != core.RecipientDeferred {
				continue
			}
			want++
			if next == 0 || r.DueAt < next {
				next = r.DueAt
			}
			last = max(last, j.LastTry(1, r.DueAt))
		}
		v, err := s.JobView(t.Context(), j.ID)
		s.Must(err)
		if v.Deferred != want || v.NextAttemptAt != next || v.GivesUpAt < last || want > 0 && v.GivesUpAt > j.LastTry(1,
			due) {
			t.Fatalf("step %d: deferred %d, next %v, gives up %v; want %d, %v, %v", step, v.Deferred, v.NextAttemptAt,
				v.GivesUpAt, want, next, last)
		}
	}
	_, err := s.CancelSendJob(t.Context(), j.ID, sendNow)
	s.Must(err)
	if v, err := s.JobView(t.Context(),
		j.ID); err != nil || v.Deferred != 0 || v.NextAttemptAt != 0 || v.GivesUpAt != 0 {
		t.Errorf("cancelled: %+v, %v", v.Stats, err)
	}
}
