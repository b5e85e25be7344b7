package worker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// TestSelfCheckHeals checks that both sides are compared at night. A list with differences is synced completely; a list
// without any is left alone.
func TestSelfCheckHeals(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		r := workertest.NewReceiver(h.Seeder)
		wanted := time.Now().Add(6 * time.Hour)
		check := worker.NewSelfCheck(h.Store,
			time.Duration(wanted.Hour())*time.Hour+time.Duration(wanted.Minute())*time.Minute,
			false, h.Opts.Log)
		h.Active(h.List.ID, "a@example.org")
		h.Run(worker.Outbox(h.Store, r.Poster(), h.Opts.Log), worker.FullSync(h.Store, r.Poster(), h.Opts.Log), check.Loop())
		time.Sleep(5 * time.Hour) // the receiver has accepted the event, and the send side here has no subscriber
		synctest.Wait()
		if f := check.Figures(); f.EndedAt != 0 {
			h.Errorf("before its time: %+v", f)
		}
		coretest.Settle(2 * time.Hour)
		if f := check.Figures(); f.Differing != 1 || f.Healed != 1 {
			h.Errorf("%+v", f)
		}
		b := r.Batches()
		if len(b) != 1 || len(b[0].Subscribers) != 1 {
			h.Fatalf("%+v", b)
		}
		h.Must(h.ApplyBatch(h.Context(), h.Nonce(), b[0], h.Time()))
		coretest.Settle(24 * time.Hour)
		if f := check.Figures(); f.Differing != 0 || f.Healed != 1 {
			h.Errorf("the night after: %+v", f)
		}
	})
}

// TestSelfCheckBeginsFailedSyncsAnew checks that a refused full sync is requested again the next night, even if the
// send side can't be read.
func TestSelfCheckBeginsFailedSyncsAnew(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		r := workertest.NewReceiver(h.Seeder)
		r.Say(workertest.SyncPath, 422)
		_, err := h.RequestSync(h.Context(), h.List.ID, core.At(time.Now()))
		h.Must(err)
		check := worker.NewSelfCheck(h.Store, 0, true, h.Opts.Log)
		h.Run(worker.FullSync(h.Store, r.Poster(), h.Opts.Log), check.Loop())
		coretest.Settle(time.Minute)
		r.Say(workertest.SyncPath, 200)
		for night, want := range []int64{1, 1} {
			coretest.Settle(25 * time.Hour)
			if failed, err := h.SyncFailed(h.Context(), h.List.ID); err != nil || failed || check.Figures().Healed != want {
				h.Errorf("night %d: %v, %v, %+v", night, failed, err, check.Figures())
			}
		}
	})
}
