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
	"newsletterd/store"
	"newsletterd/store/storetest"
)

// TestJobViewsPages: jobs come newest first, page by page, those of one tenant, of several and of all.
func TestJobViewsPages(t *testing.T) {
	h := newSendHouse(t)
	var want []string
	for i := range 7 {
		j, err := h.job(func(r *store.JobRequest) {
			r.Name, r.Subject = fmt.Sprintf("No. %d", i),
				fmt.Sprintf("Subject %d", i)
		})
		h.must(err)
		want = append([]string{j.ID}, want...)
	}
	for name, f := range map[string]store.JobFilter{
		"all": {All: true}, "one tenant": {Tenants: []string{h.tenant.ID}},
		"two tenants": {Tenants: []string{core.NewID(), h.tenant.ID}},
		"pending":     {All: true, Status: core.JobPending},
	} {
		var got []string
		page := core.Page{Limit: 3}
		for {
			vs, err := h.JobViews(t.Context(), f, page)
			h.must(err)
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
	v, err := h.JobView(t.Context(), want[0])
	if err != nil || v.Name != "No. 6" || v.Subject != "Subject 6" || v.Status != core.JobPending {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := h.JobViews(t.Context(), store.JobFilter{All: true},
		core.Page{After: core.NewID(), Limit: 1}); err == nil {
		t.Error("a cursor that is no number is taken")
	}
	if vs, err := h.JobViews(t.Context(), store.JobFilter{}, core.Page{Limit: 3}); err != nil || len(vs) != 0 {
		t.Errorf("no tenant: %d jobs, %v", len(vs), err)
	}
}

// TestJobViewsReadNoBodies: the list of jobs takes the heads of campaigns alone from the disk.
func TestJobViewsReadNoBodies(t *testing.T) {
	const jobs, size = 20, 300_000
	h := newSendHouse(t)
	for range jobs {
		_, err := h.job(func(r *store.JobRequest) { r.BodyText = strings.Repeat("x", size) })
		h.must(err)
	}
	path := h.Path()
	h.must(h.Close())
	s := storetest.OpenAt(t, path)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := readByThread(t)
	vs, err := s.JobViews(t.Context(), store.JobFilter{All: true}, core.Page{Limit: 100})
	if err != nil || len(vs) != jobs {
		t.Fatalf("%d jobs, %v", len(vs), err)
	}
	if n := readByThread(t) - before; n > size {
		t.Errorf("%d bytes were read for %d jobs", n, jobs)
	}
}

// readByThread is how much this thread has read, in bytes.
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

// TestDeferredAreCounted: the counter of a job is what a count of its deferred recipients says, whatever becomes of
// them.
func TestDeferredAreCounted(t *testing.T) {
	const recipients = 200
	h := newSendHouse(t)
	h.subscribe(recipients)
	j, err := h.job(nil)
	h.must(err)
	h.start(&j)
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
		h.must(h.FinishRecipients(t.Context(), batch, sendNow.Add(time.Duration(step)*time.Minute)))
		rs, err := h.Recipients(t.Context(), &j, store.RecipientFilter{}, core.Page{Limit: 1000})
		h.must(err)
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
		v, err := h.JobView(t.Context(), j.ID)
		h.must(err)
		if v.Deferred != want || v.NextAttemptAt != next || v.GivesUpAt < last || want > 0 && v.GivesUpAt > j.LastTry(1,
			due) {
			t.Fatalf("step %d: deferred %d, next %v, gives up %v; want %d, %v, %v", step, v.Deferred, v.NextAttemptAt,
				v.GivesUpAt, want, next, last)
		}
	}
	_, err = h.CancelSendJob(t.Context(), j.ID, sendNow)
	h.must(err)
	if v, err := h.JobView(t.Context(),
		j.ID); err != nil || v.Deferred != 0 || v.NextAttemptAt != 0 || v.GivesUpAt != 0 {
		t.Errorf("cancelled: %+v, %v", v.Stats, err)
	}
}

// start starts a job and finds its recipients.
func (h *sendHouse) start(j *core.SendJob) {
	h.Helper()
	_, err := h.StartDueJobs(h.Context(), sendNow)
	h.must(err)
	for more := true; more; {
		more, err = h.ExpandJob(h.Context(), j.No, sendNow)
		h.must(err)
	}
	*j = h.reload(*j)
}
