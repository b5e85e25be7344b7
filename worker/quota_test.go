package worker_test

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/storetest"
	"newsletterd/worker/workertest"
)

// TestQuotaOfADayFailsOver checks that a relay whose daily quota is used up is skipped until the next day, and the next
// relay takes over. If none has quota left, the job shows the reason for its wait, and resumes automatically.
func TestQuotaOfADayFailsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour) // avoids midnight
		first, second := &smtptest.Sender{}, &smtptest.Sender{}
		h := workertest.New(t, &smtptest.Sender{})
		h.Opts.Relay = (&relays{by: map[string]*smtptest.Sender{
			"one.example.org": first,
			"two.example.org": second,
		}}).sender
		h.SetRelays(h.List.TenantID, core.Relay{Host: "one.example.org", Limits: core.SendLimits{PerDay: 100}},
			core.Relay{Host: "two.example.org", Limits: core.SendLimits{PerDay: 50}})
		h.Readers(h.List, 400)
		h.Start()
		j := h.Job()
		coretest.Settle(time.Minute)
		if first.Sum() != 100 || second.Sum() != 50 {
			t.Errorf("%d and %d mails on the first day", first.Sum(), second.Sum())
		}
		j, err := h.SendJob(t.Context(), j.ID)
		h.Must(err)
		if j.Status != core.JobRunning || !strings.HasPrefix(j.PauseReason,
			"daily quota of the relay used up until 2000-01-02T00:00") || j.PausedAt != 0 {
			t.Errorf("%s %q %d", j.Status, j.PauseReason, j.PausedAt)
		}
		if _, err := h.ResumeSendJob(t.Context(), j.ID, "test", 1); core.KindOf(err) != core.Conflict {
			t.Error(err)
		}
		coretest.Settle(23 * time.Hour)
		if first.Sum() != 200 || second.Sum() != 100 {
			t.Errorf("%d and %d mails on the second day", first.Sum(), second.Sum())
		}
		j = h.Wait(j)
		h.AddsUp(j, 400, 0, 0)
		if j.PauseReason != "" || first.Sum() != 300 || second.Sum() != 100 {
			t.Errorf("%q, %d and %d mails", j.PauseReason, first.Sum(), second.Sum())
		}
	})
}

// TestTheFirstRelayHasPrecedenceAgainNextDay checks that the first relay is used again as soon as it has quota, even if
// the second has plenty.
func TestTheFirstRelayHasPrecedenceAgainNextDay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(23 * time.Hour)
		first, second := &smtptest.Sender{}, &smtptest.Sender{}
		h := workertest.New(t, &smtptest.Sender{})
		h.Opts.Relay = (&relays{by: map[string]*smtptest.Sender{
			"one.example.org": first,
			"two.example.org": second,
		}}).sender
		h.SetRelays(h.List.TenantID, core.Relay{Host: "one.example.org", Limits: core.SendLimits{PerDay: 1000}},
			core.Relay{Host: "two.example.org", Limits: core.SendLimits{PerSecond: 1}})
		h.Readers(h.List, 6000)
		h.Start()
		j := h.Job()
		coretest.Settle(time.Hour - time.Second)
		if n := second.Sum(); first.Sum() != 1000 || n < 3500 || n > 3610 {
			t.Errorf("%d and %d mails before midnight", first.Sum(), n)
		}
		if j, err := h.SendJob(t.Context(), j.ID); err != nil || j.PauseReason != "" {
			t.Errorf("%v, held: %q", err, j.PauseReason)
		}
		before := second.Sum()
		coretest.Settle(time.Minute)
		if n := second.Sum() - before; first.Sum() != 2000 && n > 70 {
			t.Errorf("%d by the first, %d by the second after midnight", first.Sum(), n)
		}
		h.AddsUp(h.Wait(j), 6000, 0, 0)
	})
}

// TestAJobTellsWhyItWaits checks that a waiting job reports that its relay is down or its sender is refused, and no
// longer reports that afterwards.
func TestAJobTellsWhyItWaits(t *testing.T) {
	for reason, e := range map[string]smtp.RelayError{
		core.ReasonRelay: {Fault: smtp.FaultConnect, Stage: "dial"},
		core.HoldSender:  {Fault: smtp.FaultRefused, Stage: "MAIL", Code: 550, Enhanced: "5.7.1"},
	} {
		t.Run(reason, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var mu sync.Mutex
				down := true
				h := workertest.New(t, &smtptest.Sender{Refuse: func(*smtp.Envelope) *smtp.RelayError {
					mu.Lock()
					defer mu.Unlock()
					if down {
						return &e
					}
					return nil
				}})
				h.Opts.Connections = 2
				h.Opts.Limits.PerSecond = 1
				h.Readers(h.List, 1000)
				h.Start()
				j := h.Job()
				held := func(after time.Duration, want string) {
					t.Helper()
					coretest.Settle(after)
					if j, err := h.SendJob(t.Context(), j.ID); err != nil || j.PauseReason != want || j.Status != core.JobRunning {
						t.Errorf("%v, %s %q, want %q", err, j.Status, j.PauseReason, want)
					}
				}
				held(30*time.Second, "")
				held(5*time.Minute, reason)
				mu.Lock()
				down = false
				mu.Unlock()
				held(16*time.Minute, "")
				h.AddsUp(h.Wait(j), 1000, 0, 0)
			})
		})
	}
}

// TestAPeriodOutlivesARestart checks that a sliding period continues after restarts and a kill: at any moment, the
// counts on the disk include all emails.
func TestAPeriodOutlivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Opts.Limits = core.SendLimits{PerPeriod: 300, PeriodSeconds: 3600, PerSecond: 1}
		h.Readers(h.List, 1000)
		h.Start()
		h.Job()
		time.Sleep(2 * time.Minute)
		h.Group.Drain(time.Minute)
		h.Start()
		coretest.Settle(100*time.Second + 500*time.Millisecond)
		corpse := filepath.Join(t.TempDir(), "newsletterd.db")
		h.Must(h.Backup(t.Context(), corpse))
		before := s.Sum()
		h.Group.Drain(time.Minute)
		if before < 215 || before > 225 {
			t.Fatalf("%d mails in 220 s", before)
		}
		o := *h // state at the moment of a kill
		o.Store = storetest.OpenAt(t, corpse)
		o.Start()
		coretest.Settle(30 * time.Minute)
		if n := s.Sum(); n > 300 || n < 297 {
			t.Errorf("%d mails in an hour of 300", n)
		}
		time.Sleep(3 * time.Hour)
		o.Group.Drain(time.Minute)
		if n := s.Sum(); n < 995 || n > 1001 {
			t.Errorf("%d mails in all", n)
		}
	})
}
