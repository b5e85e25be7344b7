package worker_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
	"newsletterd/worker/workertest"
)

// farReplica is a replica that has each commit after a delay.
type farReplica struct {
	db.Replica // no other method is called
	away       time.Duration
}

func (r *farReplica) After(fn func(error)) { time.AfterFunc(r.away, func() { fn(nil) }) }

func (r *farReplica) Wait(context.Context) error {
	time.Sleep(r.away)
	return nil
}

func (r *farReplica) Checkpoint(_ context.Context, run func() error) error { return run() }

func (r *farReplica) Prepare(context.Context) error { return nil }
func (r *farReplica) Start(context.Context) error   { return nil }
func (r *farReplica) Committed()                    {}
func (r *farReplica) Check() error                  { return nil }
func (r *farReplica) Stop() error                   { return nil }
func (r *farReplica) Close(context.Context) error   { return nil }
func (r *farReplica) Generation() uint64            { return 1 }
func (r *farReplica) Name() string                  { return "far" }

func (r *farReplica) Progress() (lag, latency time.Duration, txid uint64) { return 0, r.away, 0 }

// TestOutcomesGatherForAReplica checks that outcomes gather while connections wait for the replica, because each commit
// is a file to upload. All slots are used, and no connection waits longer than necessary.
func TestOutcomesGatherForAReplica(t *testing.T) {
	const n, connections, window, away = 640, 16, 64, 5 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		st := storetest.OpenWith(t, db.Options{Mode: db.Daemon, Replica: &farReplica{away: away}})
		h := workertest.NewOn(t, st, nil)
		made := make(chan struct{})
		var mu sync.Mutex
		var begun, ended time.Time
		h.Relay = &smtptest.Sender{Answer: func(_ string, i int) smtp.Outcome {
			<-made
			start := time.Now()
			time.Sleep(time.Duration(100+10*(i%7)) * time.Microsecond)
			mu.Lock()
			defer mu.Unlock()
			if ended = time.Now(); begun.IsZero() {
				begun = start
			}
			return smtp.Outcome{Result: smtp.Sent}
		}}
		h.Opts.Connections, h.Opts.MaxUnrecorded = connections, window
		h.Readers(h.List, n)
		h.Start()
		before := h.Stats().Batches
		j := h.Job()
		close(made)
		if got := h.Wait(j); got.Sent != n {
			t.Errorf("%+v", got)
		}
		const others = 8 // the job, its start, its recipients
		if got := h.Stats().Batches - before; got > n/(window/4)+others {
			t.Errorf("%d commits for %d mails", got, n)
		}
		if took := ended.Sub(begun); took > 2*n/window*away {
			t.Errorf("%d mails took %v with %d places, %v for each", n, took, window, away)
		}
	})
}
