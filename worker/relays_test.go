package worker_test

import (
	"fmt"
	"maps"
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

// relays holds the scripts of tenants' relays by host.
type relays struct {
	mu   sync.Mutex
	by   map[string]*smtptest.Sender
	seen []core.Relay
}

func (r *relays) sender(c *core.Relay) smtp.Sender {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, *c)
	return r.by[c.Host]
}

func TestATenantsOwnRelaysFailOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, first, second := &smtptest.Sender{}, &smtptest.Sender{}, &smtptest.Sender{}
		var mu sync.Mutex
		down := true
		first.Begin = func() *smtp.RelayError {
			mu.Lock()
			defer mu.Unlock()
			if down {
				return &smtp.RelayError{Fault: smtp.FaultAuth, Stage: "AUTH", Code: 535}
			}
			return nil
		}
		r := &relays{by: map[string]*smtptest.Sender{"one.example.org": first, "two.example.org": second}}
		h := workertest.New(t, shared)
		h.Opts.Relay = r.sender
		h.Opts.Limits.PerSecond = 1 // the daemon's own relay has another pace
		got := h.SetRelays(h.List.TenantID, core.Relay{
			Host: "one.example.org", Username: "u", Password: "secret-one",
			Limits: core.SendLimits{PerSecond: 10},
		},
			core.Relay{Host: "two.example.org", TLS: "implicit", Limits: core.SendLimits{PerSecond: 10}})
		if got.Relays[0].Password != "" || !got.Relays[0].HasPassword || got.Relays[1].Port != 465 {
			t.Errorf("%+v", got.Relays)
		}
		h.Readers(h.List, 2000)
		h.Start()
		j := h.Job()
		coretest.Settle(100 * time.Second)
		if n := second.Sum(); n < 800 || first.Sum() > 0 {
			t.Errorf("%d by the second relay, %d by the first", n, first.Sum())
		}
		mu.Lock()
		down = false
		mu.Unlock()
		h.AddsUp(h.Wait(j), 2000, 0, 0)
		if n := second.Sum(); n > 1500 || first.Sum()+n != 2000 || shared.Sum() != 0 {
			t.Errorf("first %d, second %d, shared %d", first.Sum(), n, shared.Sum())
		}
		for _, f := range h.Sender.Figures().Relays {
			sent := f.Outcomes[worker.OutcomeKind{Result: "sent"}]
			if want := map[string]*smtptest.Sender{
				"one.example.org": first, "two.example.org": second,
				"default": shared,
			}[f.Name]; sent != int64(want.Sum()) {
				t.Errorf("figures of %s: %d sent", f.Name, sent)
			}
			if f.Name == "one.example.org" && (f.Faults["auth"] < 2 || f.Fails != 0 || f.Tenant != h.List.TenantID) {
				t.Errorf("%+v", f)
			}
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.seen[0].Password != "secret-one" {
			t.Error("the password did not arrive")
		}
	})
}

// TestARelayIsMendedWhileAJobRuns checks that a job continues, without a restart, when an operator fixes the tenant's
// relay.
func TestARelayIsMendedWhileAJobRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrong := &smtptest.Sender{Begin: func() *smtp.RelayError {
			return &smtp.RelayError{
				Fault: smtp.FaultAuth, Stage: "AUTH",
				Code: 535,
			}
		}}
		right := &smtptest.Sender{}
		h := workertest.New(t, &smtptest.Sender{})
		h.Opts.Relay = (&relays{by: map[string]*smtptest.Sender{
			"wrong.example.org": wrong,
			"right.example.org": right,
		}}).sender
		h.SetRelays(h.List.TenantID, core.Relay{Host: "wrong.example.org"})
		h.Readers(h.List, 50)
		h.Start()
		j := h.Job()
		time.Sleep(time.Hour)
		began := core.At(time.Now())
		h.SetRelays(h.List.TenantID, core.Relay{Host: "right.example.org"})
		j = h.Wait(j)
		h.AddsUp(j, 50, 0, 0)
		if took := j.FinishedAt.Sub(began); took > 10*time.Second || right.Sum() != 50 {
			t.Errorf("%v, %d mails", took, right.Sum())
		}
	})
}

// TestATenantsTroubleIsItsOwn checks that problems of one tenant don't affect others: its own relay is down, hangs or
// refuses it, or the shared relay permanently refuses its sender.
func TestATenantsTroubleIsItsOwn(t *testing.T) {
	hang := make(chan bool)
	for name, trouble := range map[string]struct {
		own   *smtptest.Sender
		relay func(e *smtp.Envelope) *smtp.RelayError
	}{
		"down": {own: &smtptest.Sender{Begin: func() *smtp.RelayError {
			return &smtp.RelayError{
				Fault: smtp.FaultConnect,
				Stage: "dial",
			}
		}}},
		"421": {own: &smtptest.Sender{Begin: func() *smtp.RelayError {
			return &smtp.RelayError{
				Fault: smtp.FaultRefused,
				Stage: "MAIL", Code: 421,
			}
		}}},
		"hanging": {own: &smtptest.Sender{Message: func(*smtp.Envelope) { <-hang }}},
		"refused": {relay: func(e *smtp.Envelope) *smtp.RelayError {
			if e.From != "news@acme.example" {
				return &smtp.RelayError{Fault: smtp.FaultRefused, Stage: "MAIL", Code: 550, Enhanced: "5.7.1"}
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hang = make(chan bool)
				shared := &smtptest.Sender{Refuse: trouble.relay}
				h := workertest.New(t, shared)
				h.Opts.MaxUnrecorded, h.Opts.Connections = 8, 16
				h.Opts.Relay = (&relays{by: map[string]*smtptest.Sender{"own.example.org": trouble.own}}).sender
				h.Opts.GiveUpAfter = 4 * time.Hour
				h.Readers(h.List, 500)
				o := h.Neighbor(40)
				if trouble.own != nil {
					o.SetRelays(o.List.TenantID, core.Relay{Host: "own.example.org", Connections: 16})
				} else {
					_, err := h.UpdateTenant(t.Context(), o.List.TenantID, "test", func(t *core.Tenant) error {
						return t.Change(core.TenantInput{Domains: &[]string{"bad.example"}, MailFrom: new("news@bad.example")}, true,
							2000)
					})
					h.Must(err)
				}
				h.Start()
				theirs := o.Job()
				time.Sleep(10 * time.Second)
				began := core.At(time.Now())
				ours := h.Wait(h.Job())
				h.AddsUp(ours, 500, 0, 0)
				if took := ours.FinishedAt.Sub(began); took > 5*time.Second {
					t.Errorf("the neighbor's trouble cost %v", took)
				}
				close(hang)
				if name == "hanging" {
					h.AddsUp(h.Wait(theirs), 40, 0, 0)
					return
				}
				theirs = h.Wait(theirs)
				if theirs.Status != core.JobFailed || theirs.FailureReason != core.ReasonRelay || theirs.Failed != 40 {
					t.Errorf("%s %q, failed %d", theirs.Status, theirs.FailureReason, theirs.Failed)
				}
			})
		})
	}
}

func TestTwoTenantsShareFairly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Opts.Limits.PerSecond = 100
		h.Readers(h.List, 3000)
		o := h.Neighbor(3000)
		h.Start()
		for range 3 { // three jobs of one tenant against one of the other
			h.Job()
		}
		theirs := o.Job()
		coretest.Settle(40 * time.Second)
		j, err := h.SendJob(t.Context(), theirs.ID)
		h.Must(err)
		all := s.Sum()
		if share := float64(j.Sent) / float64(all); share < 0.45 || share > 0.55 || all < 3500 {
			t.Errorf("%d of %d mails: %.2f", j.Sent, all, share)
		}
		h.AddsUp(h.Wait(theirs), 3000, 0, 0)
	})
}

func TestLimits(t *testing.T) {
	for name, tt := range map[string]struct {
		limits     core.SendLimits
		n          int
		least, all time.Duration // limits for the duration of the whole job
	}{
		"second": {core.SendLimits{PerSecond: 10}, 100, 9 * time.Second, 11 * time.Second},
		"period": {
			core.SendLimits{PerPeriod: 20, PeriodSeconds: 60},
			100, 4 * time.Minute,
			5*time.Minute + 10*time.Second,
		},
		"day": {core.SendLimits{PerDay: 30}, 100, 72 * time.Hour, 96 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := workertest.New(t, &smtptest.Sender{})
				_, err := h.UpdateTenant(t.Context(), h.List.TenantID, "test", func(x *core.Tenant) error {
					return x.Change(core.TenantInput{SendLimits: &tt.limits}, true, 2000)
				})
				h.Must(err)
				h.Readers(h.List, tt.n)
				o := h.Neighbor(50)
				h.Start()
				began := core.At(time.Now())
				j, theirs := h.Job(), h.Wait(o.Job())
				h.AddsUp(theirs, 50, 0, 0)
				if took := theirs.FinishedAt.Sub(began); took > 5*time.Second {
					t.Errorf("another tenant waited %v", took)
				}
				j = h.Wait(j)
				h.AddsUp(j, int64(tt.n), 0, 0)
				if took := j.FinishedAt.Sub(began); took < tt.least || took > tt.all {
					t.Errorf("%d mails in %v, want %v to %v", tt.n, took, tt.least, tt.all)
				}
			})
		})
	}
}

// TestADailyQuotaOutlivesARestart checks that neither a restart nor a crash resets the daily quota.
func TestADailyQuotaOutlivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Hour) // avoids midnight
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Opts.Limits.PerDay = 300
		h.Readers(h.List, 1000)
		for range 3 {
			h.Start()
			if len(s.Count()) == 0 {
				h.Job()
			}
			coretest.Settle(time.Hour)
			h.Group.Drain(time.Minute)
		}
		if n := s.Sum(); n != 300 {
			t.Errorf("%d mails in a day of 300", n)
		}
		got, err := h.LeaseQuota(t.Context(), "x", 7, 10, 4)
		h.Must(err)
		again, err := h.LeaseQuota(t.Context(), "x", 7, 10, 9)
		h.Must(err)
		h.Must(h.ReturnQuota(t.Context(), "x", 7, 3))
		last, err := h.LeaseQuota(t.Context(), "x", 7, 10, 9)
		h.Must(err)
		next, err := h.LeaseQuota(t.Context(), "x", 8, 10, 90)
		h.Must(err)
		if fmt.Sprint(got, again, last, next) != "4 6 3 10" {
			t.Error(got, again, last, next)
		}
	})
}

// TestPaceOfDestinations checks that a slow destination doesn't delay the others.
func TestPaceOfDestinations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Opts.DomainRates = map[string]float64{"slow.example": 1}
		now := h.Time()
		h.Readers(h.List, 400, func(k int) core.Email {
			return core.Email(fmt.Sprintf("r%d@%s", k, [...]string{"slow.example", "fast.example"}[k%2]))
		})
		h.Start()
		j := h.Job()
		coretest.Settle(20 * time.Second)
		if n := s.Sum(); n < 200+15 || n > 200+25 {
			t.Errorf("%d mails in 20 s", n)
		}
		j = h.Wait(j)
		h.AddsUp(j, 400, 0, 0)
		if took := j.FinishedAt.Sub(now); took < 190*time.Second || took > 5*time.Minute {
			t.Errorf("200 mails at 1 a second in %v", took)
		}
		for to, n := range maps.All(s.Count()) {
			if n != 1 {
				t.Errorf("%s got %d", to, n)
			}
		}
	})
}

// TestWhoWaitsForADestinationMovesWithTheTenant checks that recipients who wait for the pace of their destination move
// with their tenant to another relay, and are dropped with their job.
func TestWhoWaitsForADestinationMovesWithTheTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, own := &smtptest.Sender{}, &smtptest.Sender{}
		h := workertest.New(t, shared)
		h.Opts.DomainRates = map[string]float64{"*": 2}
		h.Opts.Relay = func(*core.Relay) smtp.Sender { return own }
		h.Readers(h.List, 100)
		h.Start()
		j := h.Job()
		time.Sleep(10 * time.Second)
		h.SetRelays(h.List.TenantID, core.Relay{Host: "own.example.org"})
		h.AddsUp(h.Wait(j), 100, 0, 0)
		if shared.Sum() < 15 || own.Sum() < 60 || shared.Sum()+own.Sum() != 100 ||
			len(shared.Count())+len(own.Count()) != 100 {
			t.Errorf("%d by the daemon's relay, %d by the tenant's", shared.Sum(), own.Sum())
		}
		other := h.Job()
		time.Sleep(10 * time.Second)
		_, err := h.CancelSendJob(t.Context(), other.ID, core.At(time.Now()))
		h.Must(err)
		synctest.Wait()
		sent := own.Sum()
		coretest.Settle(time.Hour)
		if own.Sum() > sent+4 { // the emails in flight
			t.Errorf("%d mails after the cancellation", own.Sum()-sent)
		}
	})
}
