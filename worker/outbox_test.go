package worker_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store/imports"
	"newsletterd/store/storetest"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

func TestOutboxDeliversInOrder(t *testing.T) {
	tried := 0
	defer coretest.Held(t, 7, &tried, "events, each subscription's in order")
	coretest.Bubble(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		r := workertest.NewReceiver(h.Seeder)
		h.Run(worker.Outbox(h.Store, r.Poster(), h.Opts.Log))
		for i := range 40 {
			h.Active(h.List.ID, storetest.Reader(i))
			if i%2 == 0 {
				h.Leave(h.List.ID, storetest.Reader(i))
			}
		}
		coretest.Settle(time.Second)
		last := map[string]core.Event{}
		for _, e := range r.Events(workertest.EventPath) {
			if p := last[e.Subscriber.ID]; p.OccurredAt >= e.OccurredAt {
				h.Errorf("%s at %v came after %s at %v", e.Type, e.OccurredAt, p.Type, p.OccurredAt)
			}
			last[e.Subscriber.ID] = e
		}
		if tried = len(r.Events(workertest.EventPath)); tried != 60 {
			h.Errorf("%d events, want 60", tried)
		}
		if st, err := h.OutboxState(h.Context()); err != nil || st.Waiting != 0 {
			h.Errorf("%+v, %v", st, err)
		}
	})
}

// TestOutboxAnswers checks the effect of each response on an event and on the next one.
func TestOutboxAnswers(t *testing.T) {
	for _, c := range []struct {
		status         int
		header         []string // names and values
		waiting, dead  int64
		nextMin, limit time.Duration // limits for the time of the second attempt
	}{
		{status: 200},
		{status: 202},
		{status: 409},
		{status: 410, dead: 2},
		{status: 422, dead: 2},
		{status: 400, waiting: 2, nextMin: 800 * time.Millisecond, limit: 1200 * time.Millisecond},
		{status: 500, waiting: 2, nextMin: 800 * time.Millisecond, limit: 1200 * time.Millisecond},
		{
			status: 302, header: []string{"Location", "http://receiver.test/elsewhere"}, waiting: 2,
			nextMin: 800 * time.Millisecond, limit: 1200 * time.Millisecond,
		},
		{
			status: 500, header: []string{"Retry-After", "100"}, waiting: 2, nextMin: 100 * time.Second,
			limit: 101 * time.Second,
		},
		{
			status: 503, header: []string{"Retry-After", "100"}, waiting: 2, nextMin: 100 * time.Second,
			limit: 102 * time.Second,
		},
	} {
		t.Run(fmt.Sprint(c.status, c.header), func(t *testing.T) {
			coretest.Bubble(t, func(t *testing.T) {
				h := workertest.New(t, nil)
				r := workertest.NewReceiver(h.Seeder)
				r.Say(workertest.EventPath, c.status, c.header...)
				h.Active(h.List.ID, "a@example.org")
				h.Leave(h.List.ID, "a@example.org")
				began := time.Now()
				h.Run(worker.Outbox(h.Store, r.Poster(), h.Opts.Log))
				coretest.Settle(500 * time.Millisecond)
				if st, err := h.OutboxState(h.Context()); err != nil || st.Waiting != c.waiting || st.Dead != c.dead {
					h.Errorf("%+v, %v; want %d waiting, %d dead", st, err, c.waiting, c.dead)
				}
				if c.waiting == 0 {
					return
				}
				if len(r.Posts(workertest.EventPath)) != 1 {
					h.Errorf("%d attempts: the second event did not wait for the first",
						len(r.Posts(workertest.EventPath)))
				}
				coretest.Settle(c.limit)
				if len(r.Posts(workertest.EventPath)) < 2 {
					h.Errorf("no second attempt within %v", c.limit)
					return
				}
				if took := r.Posts(workertest.EventPath)[1].At.Sub(began); took < c.nextMin || took > c.limit {
					h.Errorf("the second attempt came after %v, want %v to %v", took, c.nextMin, c.limit)
				}
			})
		})
	}
}

func TestOutboxFollowsTheSchedule(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		r := workertest.NewReceiver(h.Seeder)
		r.Say(workertest.EventPath, 500)
		h.Active(h.List.ID, "a@example.org")
		began := time.Now()
		h.Run(worker.Outbox(h.Store, r.Poster(), h.Opts.Log))
		coretest.Settle(50 * time.Minute)
		at := time.Duration(0)
		for i, d := range []time.Duration{
			0, time.Second, 2 * time.Second, 5 * time.Second, 30 * time.Second, 5 * time.Minute,
			30 * time.Minute,
		} {
			if i >= len(r.Posts(workertest.EventPath)) {
				h.Errorf("%d attempts in 50 minutes", i)
				return
			}
			got := r.Posts(workertest.EventPath)[i].At.Sub(began) - at
			if got < d*8/10 || got > d*12/10+50*time.Millisecond {
				h.Errorf("attempt %d after %v, want %v ±20 %%", i, got, d)
			}
			at = r.Posts(workertest.EventPath)[i].At.Sub(began)
		}
	})
}

// TestOutboxAfterAnOutage makes the receiver unavailable for ten minutes, with more events than concurrent requests.
// Nothing may be lost, repeated or out of order, and everything must arrive within ten seconds of the receiver's
// return.
func TestOutboxAfterAnOutage(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		r := workertest.NewReceiver(h.Seeder)
		r.Say(workertest.EventPath, 503)
		h.Run(worker.Outbox(h.Store, r.Poster(), h.Opts.Log))
		for i := range 100 {
			h.Active(h.List.ID, storetest.Reader(i))
		}
		coretest.Settle(5 * time.Minute)
		for i := range 50 {
			h.Leave(h.List.ID, storetest.Reader(i))
		}
		coretest.Settle(5 * time.Minute)
		if len(r.Posts(workertest.EventPath)) > 500 {
			h.Errorf("%d attempts at a receiver that is down", len(r.Posts(workertest.EventPath)))
		}
		r.Say(workertest.EventPath, 200)
		coretest.Settle(10 * time.Second)
		seen := map[string]string{}
		for _, e := range r.Events(workertest.EventPath) {
			seen[string(e.Subscriber.Email)] += e.Subscriber.Status + " "
		}
		for i := range 100 {
			want := "active "
			if i < 50 {
				want = "active unsubscribed "
			}
			if got := seen[string(storetest.Reader(i))]; got != want {
				h.Errorf("subscription %d: heard %q, want %q", i, got, want)
			}
		}
	})
}

func TestFullSyncDelivers(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		r := workertest.NewReceiver(h.Seeder)
		im, err := h.NewImport(h.Context(), h.List.ID, "active", "test")
		h.Must(err)
		for i := range 3 {
			rows := make([]imports.ImportRow, 500)
			for j := range rows {
				rows[j].Email = core.Email(fmt.Sprintf("r%d-%d@example.org", i, j))
			}
			h.Must(im.Add(h.Context(), rows, core.At(time.Now())))
		}
		h.Must(im.End(h.Context(), core.At(time.Now())))
		var fails atomic.Int64
		fails.Store(3)
		r.On = func(*workertest.Post) int {
			if fails.Add(-1) >= 0 {
				return 500
			}
			return 200
		}
		h.Run(worker.FullSync(h.Store, r.Poster(), h.Opts.Log))
		coretest.Settle(30 * time.Second)
		y, err := h.Sync(h.Context(), im.Counts.SyncID)
		h.Must(err)
		if y.FinishedAt == 0 || y.BatchTotal != 4 || y.Done != 4 {
			h.Errorf("%+v", y)
		}
		n := 0
		seen := map[int]bool{}
		for _, b := range r.Batches() {
			seen[b.BatchNo] = true
			n += len(b.Subscribers)
			if b.OccurredAt != y.StartedAt || b.BatchTotal != 4 || b.SyncID != y.ID {
				h.Errorf("batch %d: %v", b.BatchNo, b.OccurredAt)
			}
		}
		if n != 1500 || len(seen) != 4 {
			h.Errorf("%d subscribers in %d batches, want 1500 in 4", n, len(seen))
		}
	})
}

// TestFullSyncLeavesUnfitPreferencesOut checks that preferences stored before imports were strict block neither a batch
// nor an event.
func TestFullSyncLeavesUnfitPreferencesOut(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		r := workertest.NewReceiver(h.Seeder)
		im, err := h.NewImport(h.Context(), h.List.ID, "active", "test")
		h.Must(err)
		h.Must(im.Add(h.Context(), []imports.ImportRow{
			{Email: "old@example.org", Preferences: `{"a":1,"a":2}`}, {Email: "new@example.org", Preferences: `{"a":1}`},
		}, core.At(time.Now())))
		events, err := h.DueEvents(h.Context(), "", core.At(time.Now()), 10)
		h.Must(err)
		for _, e := range events {
			if strings.Contains(string(e.Body), `"a":2`) {
				h.Errorf("event %s", e.Body)
			}
		}
		_, err = h.RequestSync(h.Context(), h.List.ID, core.At(time.Now()))
		h.Must(err)
		h.Run(worker.FullSync(h.Store, r.Poster(), h.Opts.Log))
		coretest.Settle(time.Second)
		got := map[core.Email]core.Preferences{}
		for _, b := range r.Batches() {
			for _, s := range b.Subscribers {
				got[s.Email] = s.Preferences
			}
		}
		if len(events) != 2 || len(got) != 2 || got["old@example.org"] != "" || got["new@example.org"] != `{"a":1}` {
			h.Errorf("%d events, %v", len(events), got)
		}
	})
}

// TestManyFullSyncs checks that all syncs that are open when the daemon starts are delivered, and that those whose
// receiver is down delay no others.
func TestManyFullSyncs(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		r := workertest.NewReceiver(h.Seeder)
		down, up := h.NewList(), h.NewList()
		var ids []string
		for range 2*100 + 1 {
			ids = append(ids, h.Plan(down.ID).ID)
		}
		var fails atomic.Bool
		fails.Store(true)
		r.On = func(p *workertest.Post) int {
			if fails.Load() && strings.Contains(string(p.Body), down.ID) {
				return 500
			}
			return 200
		}
		finished := func(id string) bool {
			y, err := h.Sync(h.Context(), id)
			h.Must(err)
			return y.FinishedAt > 0
		}
		h.Run(worker.FullSync(h.Store, r.Poster(), h.Opts.Log))
		coretest.Settle(time.Second)
		late := h.Plan(up.ID).ID
		coretest.Settle(time.Second)
		if !finished(late) {
			h.Error("it waits for others")
		}
		fails.Store(false)
		coretest.Settle(time.Hour)
		for i, id := range ids {
			if !finished(id) {
				h.Fatalf("sync %d of %d is still open", i, len(ids))
			}
		}
	})
}

func TestFullSyncFailsForGood(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		r := workertest.NewReceiver(h.Seeder)
		r.Say(workertest.SyncPath, 422)
		id, err := h.RequestSync(h.Context(), h.List.ID, core.At(time.Now()))
		h.Must(err)
		h.Run(worker.FullSync(h.Store, r.Poster(), h.Opts.Log))
		coretest.Settle(time.Second)
		if y, err := h.Sync(h.Context(), id); err != nil || y.FailedAt == 0 || !strings.Contains(y.Reason, "422") {
			h.Errorf("%+v, %v", y, err)
		}
	})
}
