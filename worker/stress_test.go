package worker_test

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
	"newsletterd/worker/workertest"
)

// turmoil is a period in which everything happens to jobs at the same time: statements fail, jobs are canceled, paused
// and resumed, subscribers leave one by one and through full syncs, tenants are suspended, and relays refuse, defer and
// lose emails.
type turmoil struct {
	*workertest.Harness
	tenants []*workertest.Harness
	jobs    []core.SendJob
	armed   atomic.Bool
	mu      sync.Mutex
	rnd     *rand.Rand
}

// oneIn returns true once in n times on average, as long as the turmoil lasts.
func (w *turmoil) oneIn(n int) bool { return n > 0 && w.armed.Load() && w.n(n) == 0 }

func (w *turmoil) n(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rnd.IntN(n)
}

// outcome returns the relay's result for an email. The last try for a recipient always succeeds, so the story ends.
func (w *turmoil) outcome(string, int) smtp.Outcome {
	if w.n(4) == 0 {
		time.Sleep(time.Duration(w.n(40)) * time.Millisecond)
	}
	switch w.n(25) {
	case 0:
		return smtp.Outcome{Result: smtp.Later, Code: 451}
	case 1:
		return smtp.Outcome{Result: smtp.Never, Code: 550, Enhanced: "5.1.1", HardBounce: true}
	case 2:
		return smtp.Outcome{Result: smtp.Ambiguous}
	case 3:
		return smtp.Outcome{Lost: true}
	}
	return smtp.Outcome{Result: smtp.Sent, Code: 250}
}

// act does one random thing. It ignores errors.
func (w *turmoil) act() {
	h, j, now := w.tenants[w.n(len(w.tenants))], w.jobs[w.n(len(w.jobs))], core.At(time.Now())
	ctx := w.Context()
	switch w.n(9) {
	case 0:
		if w.n(6) == 0 {
			_, _ = w.CancelSendJob(ctx, j.ID, now)
		}
	case 1, 2:
		_ = w.PauseSendJob(ctx, j.No, "for a test", now)
	case 3, 4, 5:
		_, _ = w.ResumeSendJob(ctx, j.ID, "test", now)
	case 6:
		_, _ = w.UpdateTenant(ctx, h.List.TenantID, "test", func(t *core.Tenant) error {
			t.Status = [...]string{core.TenantActive, core.TenantSuspended}[w.n(2)]
			return nil
		})
	case 7:
		e := core.Event{
			ID: core.NewID(), Type: core.EventUnsubscribed, TenantID: h.List.TenantID, ListID: h.List.ID, OccurredAt: now,
			Subscriber: core.EventSubscriber{
				ID: core.NewID(), Email: storetest.Reader(w.n(700)),
				Status: "unsubscribed",
			},
		}
		_ = h.ApplyEvent(ctx, tenants.Nonce{ClientID: "c", Nonce: core.NewID()}, e, now)
	case 8:
		f := core.FullSync{
			SyncID: core.NewID(), BatchNo: 1, BatchTotal: 1, TenantID: h.List.TenantID, ListID: h.List.ID,
			OccurredAt: now,
		}
		for k := range 700 {
			if k%50 != w.n(50) {
				f.Subscribers = append(f.Subscribers,
					core.EventSubscriber{ID: core.NewID(), Email: storetest.Reader(k), Status: "active"})
			}
		}
		_ = h.ApplyBatch(ctx, tenants.Nonce{ClientID: "c", Nonce: core.NewID()}, f, now)
	}
}

// calm reverts everything that keeps jobs from ending. A little later nothing fails anymore. It kicks no loop.
func (w *turmoil) calm() {
	for _, h := range w.tenants {
		w.insist(func() error {
			_, err := w.UpdateTenant(w.Context(), h.List.TenantID, "test",
				func(t *core.Tenant) error { t.Status = core.TenantActive; return nil })
			return err
		})
	}
	for _, j := range w.jobs {
		w.insist(func() error {
			_, err := w.ResumeSendJob(w.Context(), j.ID, "test", core.At(time.Now()))
			if core.KindOf(err) == core.Conflict {
				return nil
			}
			return err
		})
	}
	time.Sleep(time.Duration(w.n(4000)) * time.Millisecond)
	w.armed.Store(false)
}

func (w *turmoil) insist(fn func() error) {
	for fn() != nil {
		time.Sleep(time.Millisecond)
	}
}

// check checks the records of an ended job.
func (w *turmoil) check(j core.SendJob) {
	rs, err := w.Recipients(w.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 5000})
	w.Must(err)
	var states [5]int64
	for _, r := range rs {
		states[r.State]++
	}
	if states != [5]int64{2: j.Sent, 3: j.Failed, 4: j.Skipped} || int64(len(rs)) != j.Recipients {
		w.Errorf("states %v, but sent %d, failed %d, skipped %d of %d", states, j.Sent, j.Failed, j.Skipped,
			j.Recipients)
	}
}

func runTurmoil(t *testing.T, seed uint64, faults *storetest.Faults) {
	w := &turmoil{rnd: rand.New(rand.NewPCG(seed, 1))}
	rare := []int{0, 30, 100, 500, 2000}[w.n(5)]
	faults.FailWhen(func(string) bool { return w.oneIn(rare) })
	s := &smtptest.Sender{Answer: w.outcome}
	s.Begin = func() *smtp.RelayError {
		if w.oneIn(200) {
			return &smtp.RelayError{Fault: smtp.FaultConnect, Stage: "dial"}
		}
		return nil
	}
	h := workertest.NewOn(t, storetest.OpenWith(t, db.Options{Driver: faults.Driver}), s)
	w.Harness = h
	if os.Getenv("SEED") == "" {
		h.Opts.Log = slog.New(slog.DiscardHandler)
	}
	h.Opts.Connections, h.Opts.MaxUnrecorded = 1+w.n(6), 1+w.n(20)
	h.Readers(h.List, 1+w.n(700))
	w.tenants = []*workertest.Harness{h}
	for range w.n(3) {
		w.tenants = append(w.tenants, h.Neighbor(1+w.n(700)))
	}
	h.Start()
	w.armed.Store(true)
	defer w.armed.Store(false)
	for range 1 + w.n(5) {
		n := core.NewJob{ListID: w.tenants[w.n(len(w.tenants))].List.ID, Subject: "Hello", BodyText: "Hello"}
		j, _, err := h.AddSendJob(t.Context(), campaigns.JobRequest{NewJob: n, Caller: core.CommandCaller("u")},
			core.At(time.Now()))
		if err == nil {
			w.jobs = append(w.jobs, j)
		}
	}
	for range 150 * min(len(w.jobs), 1) {
		time.Sleep(time.Duration(w.n(100)) * time.Millisecond)
		w.act()
	}
	w.calm()
	for i, j := range w.jobs {
		w.jobs[i] = w.Wait(j)
		w.check(w.jobs[i])
	}
	synctest.Wait()
	if f := h.Sender.Figures(); f.Queued+f.InHand+f.Unrecorded > 0 {
		t.Errorf("all jobs have ended, and still: %+v", f)
	}
}

// TestJobsEndWhateverHappens checks that, after a turmoil, each job ends without a kick, and that its counts add up.
func TestJobsEndWhateverHappens(t *testing.T) {
	from, to := uint64(1), uint64(8)
	if testing.Short() {
		to = 3
	}
	if v, err := strconv.ParseUint(os.Getenv("SEED"), 10, 64); err == nil {
		from, to = v, v
	}
	for seed := from; seed <= to; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			faults := storetest.NewFaults(t)
			synctest.Test(t, func(t *testing.T) { runTurmoil(t, seed, faults) })
		})
	}
}

// TestFailedReadsLeaveNobodyBehind makes the reads that find recipients fail for a while, one after the other. A job
// must lose no recipient and no more time than that. It must also need no kick afterwards: the jobs have started before
// the daemon, so nothing kicks it.
func TestFailedReadsLeaveNobodyBehind(t *testing.T) {
	for _, query := range []string{
		"AND state = 0 ORDER BY", "FROM subscriber AS s LEFT JOIN", "r.state = 1 AND", // reads of claims
		"FROM send_job INDEXED BY send_job_running", "FROM campaign_copy", "FROM send_job",
	} {
		t.Run(query, func(t *testing.T) {
			faults := storetest.NewFaults(t)
			synctest.Test(t, func(t *testing.T) {
				h := workertest.NewOn(t, storetest.OpenWith(t, db.Options{Driver: faults.Driver}),
					&smtptest.Sender{Message: func(*smtp.Envelope) { time.Sleep(10 * time.Millisecond) }})
				h.Opts.Connections = 4
				h.Readers(h.List, 700)
				other := h.Neighbor(700)
				h.Start()
				jobs := []core.SendJob{h.Job(), other.Job()}
				time.Sleep(300 * time.Millisecond)
				h.Group.Drain(time.Minute)
				began, seen := time.Now(), 0
				faults.FailWhen(func(q string) bool {
					fails := strings.Contains(q, query) && time.Since(began) < 2500*time.Millisecond
					if fails {
						seen++
					}
					return fails
				})
				h.Start()
				time.Sleep(3 * time.Second)
				for _, j := range jobs {
					j = h.Wait(j)
					h.AddsUp(j, j.Recipients, 0, 0)
					if took := j.FinishedAt.Time().Sub(began); took > 10*time.Second {
						t.Errorf("%d mails took %v", j.Sent, took)
					}
				}
				if seen == 0 {
					t.Error("nothing failed")
				}
			})
		})
	}
}

// TestAJobThatIsResumedWhileMailsAreOnTheWay checks that a job that is resumed while its last emails are in flight
// continues when their outcomes are known.
func TestAJobThatIsResumedWhileMailsAreOnTheWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, &smtptest.Sender{Message: func(*smtp.Envelope) { time.Sleep(10 * time.Second) }})
		h.Opts.Connections = 4
		h.Readers(h.List, 20)
		h.Start()
		j := h.Job()
		time.Sleep(time.Second)
		h.Must(h.PauseSendJob(t.Context(), j.No, "for a test", core.At(time.Now())))
		time.Sleep(time.Second)
		_, err := h.ResumeSendJob(t.Context(), j.ID, "test", core.At(time.Now()))
		h.Must(err)
		j = h.Wait(j)
		h.AddsUp(j, 20, 0, 0)
		if took := j.FinishedAt.Sub(j.StartedAt); took > 51*time.Second {
			t.Errorf("20 mails of 10 s by 4 connections took %v", took)
		}
	})
}

// TestManyAreDueInOneInstant checks that all recipients deferred in the same instant are retried at the same time, even
// if another email is still in flight.
func TestManyAreDueInOneInstant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var hangs atomic.Bool
		s := &smtptest.Sender{Answer: func(_ string, nth int) smtp.Outcome {
			switch {
			case hangs.CompareAndSwap(false, true):
				time.Sleep(20 * time.Minute)
			case nth == 1:
				return smtp.Outcome{Result: smtp.Later, Code: 451}
			}
			time.Sleep(10 * time.Millisecond)
			return smtp.Outcome{Result: smtp.Sent}
		}}
		h := workertest.New(t, s)
		h.Opts.MaxUnrecorded = 1000
		h.Readers(h.List, 900)
		h.Start()
		j := h.Job()
		coretest.Settle(5*time.Minute + 10*time.Second)
		if n := s.Sum(); n != 899 {
			t.Errorf("%d of 899 were tried again", n)
		}
		h.AddsUp(h.Wait(j), 900, 0, 0)
	})
}
