package worker_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

func TestWhoLeavesDuringAJobIsNotMailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Opts.Connections = 1
		h.Readers(h.List, 600)
		gone := map[string]bool{}
		s.Answer = func(to string, _ int) smtp.Outcome {
			if s.Sum() == 50 && len(gone) == 0 {
				for k := 0; len(gone) < 7; k += 80 {
					for who := string(storetest.Reader(k)); s.Tried(who) > 0 || gone[who]; who = string(storetest.Reader(k)) {
						k++
					}
					h.Tell(h.List, core.StatusUnsubscribed, storetest.Reader(k))
					gone[string(storetest.Reader(k))] = true
				}
			}
			return smtp.Outcome{Result: smtp.Sent}
		}
		h.Start()
		j := h.Wait(h.Job())
		h.AddsUp(j, 593, 0, j.Recipients-593) // without those who unsubscribed before their row was created
		for to := range s.Count() {
			if gone[to] {
				t.Errorf("%s was mailed after leaving", to)
			}
		}
	})
}

func TestACancelledJobStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Opts.Connections = 3
		h.Readers(h.List, 1700)
		var j core.SendJob
		var once sync.Once
		s.Message = func(*smtp.Envelope) {
			if len(s.Count()) >= 50 {
				once.Do(func() {
					_, err := h.CancelSendJob(t.Context(), j.ID, core.At(time.Now()))
					h.Must(err)
				})
			}
			time.Sleep(time.Millisecond)
		}
		j = h.Job()
		h.Start()
		j = h.Wait(j)
		n := int64(len(s.Count()))
		if j.Status != core.JobCancelled || n < 50 || n > 56 {
			t.Errorf("%s after %d mails", j.Status, n)
		}
		if h.AddsUp(j, n, 0, j.Recipients-n); j.Recipients > 1700 {
			t.Error(j.Recipients)
		}
	})
}

func TestOutcomes(t *testing.T) {
	bounce := smtp.Outcome{Result: smtp.Never, Code: 550, Enhanced: "5.1.1", Text: "no such user", HardBounce: true}
	policy := smtp.Outcome{Result: smtp.Never, Code: 554, Enhanced: "5.7.1", Text: "no"}
	doubtful := smtp.Outcome{Result: smtp.Never, Code: 550, Text: "No such user", Doubtful: true}
	later := smtp.Outcome{Result: smtp.Later, Code: 451, Enhanced: "4.3.0", Text: "later"}
	full := smtp.Outcome{Result: smtp.Later, Code: 452, Enhanced: "4.2.2", Text: "full"}
	sent := smtp.Outcome{Result: smtp.Sent, Code: 250}
	first := func(n int, o smtp.Outcome) func(int) smtp.Outcome {
		return func(nth int) smtp.Outcome {
			if nth <= n {
				return o
			}
			return sent
		}
	}
	tests := []struct {
		name   string
		answer func(nth int) smtp.Outcome
		state  int
		reason string
		tries  int
		mails  int
		status core.Status
	}{
		{"accepted", first(0, sent), core.RecipientSent, "", 1, 1, "active"},
		{"deferred once", first(1, later), core.RecipientSent, "", 2, 1, "active"},
		{"deferred for ever", first(99, later), core.RecipientFailed, "451 4.3.0 later", 9, 0, "active"},
		{"mailbox full for ever", first(99, full), core.RecipientFailed, "452 4.2.2 full", 9, 0, "active"},
		{"no such user", first(99, bounce), core.RecipientFailed, "550 5.1.1 no such user", 1, 0, "bounced"},
		{"probably no such user", first(99, doubtful), core.RecipientFailed, "550 No such user", 1, 0, "active"},
		{"refused by policy", first(99, policy), core.RecipientFailed, "554 5.7.1 no", 1, 0, "active"},
		{"reply lost once", first(1, smtp.Outcome{Result: smtp.Ambiguous}), core.RecipientSent, "", 1, 2, "active"},
		{
			"reply lost twice", first(2, smtp.Outcome{Result: smtp.Ambiguous}), core.RecipientFailed,
			"no reply to the message, twice", 1, 2, "active",
		},
		{"connection lost twice", first(2, smtp.Outcome{Lost: true}), core.RecipientSent, "", 1, 1, "active"},
		{"connection lost three times", first(3, smtp.Outcome{Lost: true}), core.RecipientSent, "", 2, 1, "active"},
	}
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Readers(h.List, len(tests))
		by := map[string]func(int) smtp.Outcome{}
		for i, tt := range tests {
			by[string(storetest.Reader(i))] = tt.answer
		}
		s.Answer = func(to string, nth int) smtp.Outcome { return by[to](nth) }
		h.Start()
		began := time.Now()
		j := h.Job()
		time.Sleep(3 * time.Minute) // two are always deferred, two only once
		v, err := h.JobView(t.Context(), j.ID)
		h.Must(err)
		lastTry := v.GivesUpAt.Time()
		if next := v.NextAttemptAt.Time().Sub(began); v.Deferred != 4 || next < 5*time.Minute || next > 6*time.Minute {
			t.Errorf("%d deferred, the next try after %v", v.Deferred, next)
		}
		j = h.Wait(j)
		if v, err = h.JobView(t.Context(), j.ID); err != nil || v.Deferred != 0 || v.NextAttemptAt != 0 || v.GivesUpAt != 0 {
			t.Errorf("at the end %+v, %v", v, err)
		}
		if late := j.FinishedAt.Time().Sub(lastTry); late < 0 || late > 10*time.Minute {
			t.Errorf("given up %v after the last try was due", late)
		}
		if took := time.Since(began); took < 46*time.Hour || took > 48*time.Hour {
			t.Errorf("tried for %v", took)
		}
		rs, err := h.Recipients(t.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 100})
		h.Must(err)
		counts := s.Count()
		found := map[string]core.Recipient{}
		for _, r := range rs {
			found[r.Email] = r
		}
		for i, tt := range tests {
			r := found[string(storetest.Reader(i))]
			if r.State != tt.state || r.Reason != tt.reason || r.Tries != tt.tries ||
				counts[string(storetest.Reader(i))] != tt.mails {
				t.Errorf("%s: state %d, %q, %d tries, %d mails", tt.name, r.State, r.Reason, r.Tries,
					counts[string(storetest.Reader(i))])
			}
			sub, err := h.Subscriber(t.Context(), h.List.ID, storetest.Reader(i))
			h.Must(err)
			if sub.Status() != tt.status {
				t.Errorf("%s: the subscriber is %s", tt.name, sub.Status())
			}
		}
		if j.Status != core.JobCompleted || j.Ambiguous != 2 || j.Bounced != 3 {
			t.Errorf("%s, ambiguous %d, bounced %d", j.Status, j.Ambiguous, j.Bounced)
		}
	})
}

func TestARelayThatIsDownForTwoHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Readers(h.List, 400)
		back := time.Now().Add(2 * time.Hour)
		var tries atomic.Int64
		s.Begin = func() *smtp.RelayError {
			if time.Now().Before(back) {
				tries.Add(1)
				return &smtp.RelayError{Fault: smtp.FaultConnect, Stage: "dial"}
			}
			return nil
		}
		h.Start()
		j := h.Wait(h.Job())
		h.AddsUp(j, 400, 0, 0)
		if s.Sum() != 400 || time.Now().Before(back) || time.Since(back) > 16*time.Minute {
			t.Errorf("%d mails, %v after the relay was back", s.Sum(), time.Since(back))
		}
		if tries.Load() > 16+16 { // 16 connections at the first try, then one at a time
			t.Errorf("%d tries at a dead relay", tries.Load())
		}
	})
}

func TestARelayThatRefusesUsForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{Begin: func() *smtp.RelayError {
			return &smtp.RelayError{
				Fault: smtp.FaultAuth, Stage: "AUTH",
				Code: 535,
			}
		}}
		h := workertest.New(t, s)
		h.Opts.GiveUpAfter = time.Hour
		h.Readers(h.List, 20)
		h.Start()
		j := h.Wait(h.Job())
		h.AddsUp(j, 0, 20, 0)
		if j.Status != core.JobFailed || j.FailureReason != core.ReasonRelay {
			t.Errorf("%s %q", j.Status, j.FailureReason)
		}
	})
}

func TestAWindowThatCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{Message: func(*smtp.Envelope) { time.Sleep(time.Minute) }}
		h := workertest.New(t, s)
		h.Opts.Connections = 2
		h.Readers(h.List, 30)
		h.Start()
		now := core.At(time.Now())
		j := h.Wait(h.Job(func(n *core.NewJob) {
			n.WindowStart, n.WindowEnd = now.Add(time.Hour), now.Add(time.Hour+5*time.Minute)
		}))
		h.AddsUp(j, 10, 20, 0)
		if j.Status != core.JobFailed || j.FailureReason != core.ReasonWindow || j.StartedAt < j.WindowStart {
			t.Errorf("%s %q, started %v", j.Status, j.FailureReason, j.StartedAt)
		}
	})
}

func TestADrainLosesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{Message: func(*smtp.Envelope) { time.Sleep(time.Millisecond) }}
		h := workertest.New(t, s)
		h.Opts.Connections = 4
		h.Readers(h.List, 2000)
		j := h.Job()
		for range 3 {
			h.Start()
			time.Sleep(100 * time.Millisecond)
			h.Group.Drain(30 * time.Second)
		}
		before := s.Sum()
		if before == 0 || before >= 2000 {
			t.Fatalf("%d mails before the last start", before)
		}
		h.Start()
		h.AddsUp(h.Wait(j), 2000, 0, 0)
		if counts := s.Count(); len(counts) != 2000 || s.Sum() != 2000 {
			t.Errorf("%d mails to %d addresses", s.Sum(), len(counts))
		}
	})
}

func TestASmallJobDoesNotWaitForALargeOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{Message: func(*smtp.Envelope) { time.Sleep(time.Millisecond) }}
		h := workertest.New(t, s)
		h.Opts.Connections = 2
		h.Readers(h.List, 3000)
		h.Start()
		large := h.Job()
		time.Sleep(100 * time.Millisecond)
		other, err := core.NewList(core.ListInput{TenantID: &h.List.TenantID, Name: new("Small")}, 1000)
		h.Must(err)
		h.Must(h.AddList(t.Context(), other, "test"))
		h.List = other
		h.Readers(h.List, 40)
		h.Wait(h.Job())
		j, err := h.SendJob(t.Context(), large.ID)
		h.Must(err)
		if j.Sent > 1000 {
			t.Errorf("the small job ended behind %d mails of the large one", j.Sent)
		}
		h.AddsUp(h.Wait(large), 3000, 0, 0)
	})
}

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, &smtptest.Sender{})
		h.Opts.Limits.PerSecond = 10
		h.Readers(h.List, 100)
		h.Start()
		began := time.Now()
		h.Wait(h.Job())
		if took := time.Since(began); took < 9*time.Second || took > time.Minute+time.Second {
			t.Errorf("100 mails at 10 a second in %v", took)
		}
	})
}

func TestContentThatCannotBeCompiledFailsTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Readers(h.List, 5)
		h.Start()
		j := h.Wait(h.Job(func(n *core.NewJob) { n.BodyHTML = "{% if %}" }))
		if j.Status != core.JobFailed || s.Sum() != 0 {
			t.Errorf("%s %q", j.Status, j.FailureReason)
		}
	})
}

var _ = worker.Never

// TestAJobPrintsTheLinkToPreferences checks that {{preferences_url}} in a body becomes the link of the recipient.
func TestAJobPrintsTheLinkToPreferences(t *testing.T) {
	var mu sync.Mutex
	var sent []string
	h := workertest.New(t, &smtptest.Sender{Message: func(e *smtp.Envelope) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, strings.ReplaceAll(string(e.Data), "=\r\n", ""))
	}})
	h.Readers(h.List, 1)
	h.Start()
	h.Wait(h.Job(func(n *core.NewJob) { n.BodyHTML, n.BodyText = "", "Change it: {{preferences_url}}" }))
	mu.Lock()
	defer mu.Unlock()
	_, rest, ok := strings.Cut(strings.Join(sent, ""), "http://news.test/preferences?token=3D")
	token, _, _ := strings.Cut(rest, "\r\n")
	if got, err := h.Opts.Sealer.OpenUnsubscribe(token); !ok || err != nil || got.Email != storetest.Reader(0) {
		t.Errorf("%v %+v in %s", err, got, sent)
	}
}
