package worker_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
	"newsletterd/worker/workertest"
)

func TestTooManyHardBouncesPauseAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int64
		s := &smtptest.Sender{Answer: func(string, int) smtp.Outcome {
			if n.Add(1)%8 == 0 {
				return smtp.Outcome{Result: smtp.Never, Code: 550, Enhanced: "5.1.1", HardBounce: true}
			}
			return smtp.Outcome{Result: smtp.Sent}
		}}
		h := workertest.NewOn(t, storetest.OpenWith(t,
			db.Options{StopRule: core.StopRule{HardBounces: 0.05, Sample: 400}}), s)
		h.Readers(h.List, 2000)
		h.Start()
		j := h.Paused(h.Job(), "too many hard bounces: 2")
		if j.HardBounced < 21 || j.HardBounced > 60 || j.PausedAt == 0 {
			t.Errorf("paused at %d after %d hard bounces", j.PausedAt, j.HardBounced)
		}
		h.AddsUp(h.Resume(j), 1750, 250, 0)
		if _, err := h.ResumeSendJob(t.Context(), j.ID, "test", 1); core.KindOf(err) != core.Conflict {
			t.Error(err)
		}
	})
}

func TestComplaintsPauseAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.NewOn(t, storetest.OpenWith(t,
			db.Options{StopRule: core.StopRule{Complaints: 0.01, Sample: 100}}), s)
		h.Readers(h.List, 2000)
		h.Opts.Limits.PerSecond = 1
		h.Start()
		j := h.Job()
		time.Sleep(210 * time.Second)
		for seq := range int64(3) {
			at := core.At(time.Now())
			h.Must(h.ApplyReports(t.Context(), []core.ProviderReport{{
				Provider: "p", Key: []byte{byte(seq)}, JobNo: 1, Seq: seq + 1,
				Event: core.ProviderEvent{Type: core.ProviderComplaint, MessageID: fmt.Sprint(seq), OccurredAt: at},
			}}, at))
		}
		j = h.Paused(j, "too many complaints: 3 of 2")
		h.AddsUp(h.Resume(j), 2000, 0, 0)
	})
}

func TestRefusalsForPolicyPauseAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mended atomic.Bool
		s := &smtptest.Sender{Answer: func(string, int) smtp.Outcome {
			if mended.Load() {
				return smtp.Outcome{Result: smtp.Sent}
			}
			return smtp.Outcome{Result: smtp.Never, Code: 550, Enhanced: "5.7.26", Text: "unauthenticated"}
		}}
		h := workertest.New(t, s)
		h.Readers(h.List, 2000)
		h.Start()
		j := h.Paused(h.Job(), "refused for reasons of policy: 550 5.7.26 unauthenticated")
		mended.Store(true)
		done := h.Resume(j)
		if done.Failed < 100 || done.Failed > 600 { // about 100: recipients that were already claimed may follow
			t.Errorf("%d failed", done.Failed)
		}
		again, err := h.RetryFailed(t.Context(), j.ID, "test", core.At(time.Now()))
		h.Must(err)
		h.AddsUp(h.Wait(again), done.Failed, 0, 0)
		for to, n := range s.Count() {
			if n != 1 {
				t.Errorf("%s got %d mails", to, n)
			}
		}
	})
}

func TestASuspendedTenantsJobWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Readers(h.List, 1000)
		h.Opts.Limits.PerSecond = 10
		h.Start()
		tenant := func(status string) {
			_, err := h.UpdateTenant(t.Context(), h.List.TenantID, "test",
				func(x *core.Tenant) error { x.Status = status; return nil })
			h.Must(err)
		}
		j := h.Job()
		time.Sleep(20 * time.Second)
		tenant(core.TenantSuspended)
		j = h.Paused(j, core.PauseTenant)
		if n := len(s.Count()); n < 100 || n > 250 {
			t.Errorf("%d mails before the tenant was suspended", n)
		}
		if _, err := h.ResumeSendJob(t.Context(), j.ID, "test", 1); core.KindOf(err) != core.Conflict {
			t.Error(err)
		}
		tenant(core.TenantActive)
		time.Sleep(3 * time.Minute)
		h.AddsUp(h.Wait(j), 1000, 0, 0)
		for to, n := range s.Count() {
			if n != 1 {
				t.Errorf("%s got %d mails", to, n)
			}
		}
	})
}

func TestAJobOfAnInactiveListStartsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, &smtptest.Sender{})
		h.Readers(h.List, 10)
		h.Start()
		at := core.At(time.Now())
		list := func(status string) {
			_, err := h.UpdateList(t.Context(), h.List.ID, "test",
				func(x *core.List) error { x.Status = status; return nil })
			h.Must(err)
		}
		late := h.Job(func(n *core.NewJob) { n.ScheduledAt = at.Add(time.Minute) })
		lost := h.Job(func(n *core.NewJob) { n.ScheduledAt, n.WindowEnd = at.Add(time.Minute), at.Add(time.Hour) })
		list(core.ListInactive)
		coretest.Settle(30 * time.Minute)
		if j, err := h.SendJob(t.Context(), late.ID); err != nil || j.Status != core.JobPending ||
			j.PauseReason != core.PauseList {
			t.Errorf("%s %q %v", j.Status, j.PauseReason, err)
		}
		coretest.Settle(time.Hour)
		if j, err := h.SendJob(t.Context(), lost.ID); err != nil || j.Status != core.JobFailed ||
			j.FailureReason != core.ReasonWindow {
			t.Errorf("%s %q %v", j.Status, j.FailureReason, err)
		}
		list(core.ListActive)
		h.AddsUp(h.Wait(late), 10, 0, 0)
	})
}

// TestRetryOfACancelledJob checks that a retry of a canceled job goes to the recipients it had left, and not to any who
// may have its email.
func TestRetryOfACancelledJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{Answer: func(to string, _ int) smtp.Outcome {
			if to == string(storetest.Reader(0)) {
				return smtp.Outcome{Result: smtp.Ambiguous}
			}
			return smtp.Outcome{Result: smtp.Sent}
		}}
		h := workertest.New(t, s)
		h.Readers(h.List, 1200)
		h.Opts.Limits.PerSecond = 10
		h.Start()
		j := h.Job()
		if _, err := h.RetryFailed(t.Context(), j.ID, "test", 1); core.KindOf(err) != core.Conflict {
			t.Error(err)
		}
		time.Sleep(20 * time.Second)
		_, err := h.CancelSendJob(t.Context(), j.ID, core.At(time.Now()))
		h.Must(err)
		first := h.Wait(j)
		h.Tell(h.List, core.StatusUnsubscribed, storetest.Reader(1199))
		again, err := h.RetryFailed(t.Context(), j.ID, "test", core.At(time.Now()))
		h.Must(err)
		if again.RetryOf != j.ID || again.ID == j.ID {
			t.Errorf("%+v", again)
		}
		time.Sleep(5 * time.Minute)
		second := h.Wait(again)
		if n := first.Sent + second.Sent; n < 1197 || n > 1199 || second.Failed > 1 {
			t.Errorf("%d sent, %d failed in the second", n, second.Failed)
		}
		for to, n := range s.Count() {
			if n != 1 && to != string(storetest.Reader(0)) || n > 2 {
				t.Errorf("%s got %d mails", to, n)
			}
		}
	})
}
