package worker_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/identity"
	"newsletterd/store/storetest"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// TestMailsToOneGoByTheirTenantsRelay checks that transactional emails use their tenant's relay. Problems of one tenant
// delay no other tenant, and a second relay takes over from the first.
func TestMailsToOneGoByTheirTenantsRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		mended := false
		broken := func() *smtp.RelayError {
			mu.Lock()
			defer mu.Unlock()
			if mended {
				return nil
			}
			return &smtp.RelayError{Fault: smtp.FaultAuth, Stage: "AUTH", Code: 535}
		}
		shared, first, second, dead := &smtptest.Sender{}, &smtptest.Sender{Begin: broken}, &smtptest.Sender{},
			&smtptest.Sender{Begin: broken}
		h := workertest.New(t, shared)
		o, p := h.Neighbor(0), h.Neighbor(0)
		o.SetRelays(o.List.TenantID, core.Relay{Host: "one.example.org"}, core.Relay{Host: "two.example.org"})
		p.SetRelays(p.List.TenantID, core.Relay{Host: "dead.example.org"})
		h.Start()
		opts := h.MailerOptions()
		opts.Tenants = true
		r := &relays{by: map[string]*smtptest.Sender{
			"one.example.org": first, "two.example.org": second,
			"dead.example.org": dead,
		}}
		h.Run(worker.Mailer(opts), worker.TenantMailer(opts, r.sender))
		for k := range 300 { // of a tenant whose relay is down: more than one read returns
			p.Pending(p.List.ID, storetest.Reader(k))
		}
		for k := range 10 {
			h.Pending(h.List.ID, storetest.Reader(1000+k))
			o.Pending(o.List.ID, storetest.Reader(2000+k))
		}
		coretest.Settle(2 * time.Second)
		if shared.Sum() != 10 || second.Sum() != 10 || first.Sum() != 0 || dead.Sum() != 0 {
			t.Errorf("shared %d, first %d, second %d, dead %d", shared.Sum(), first.Sum(), second.Sum(), dead.Sum())
		}
		mu.Lock()
		mended = true
		mu.Unlock()
		time.Sleep(30 * time.Minute)
		o.Pending(o.List.ID, storetest.Reader(3000))
		coretest.Settle(2 * time.Second)
		if dead.Sum() != 300 || first.Sum() != 1 {
			t.Errorf("%d of 300 after the relay came back, %d by the first relay again", dead.Sum(), first.Sum())
		}
		for _, s := range []*smtptest.Sender{shared, first, second, dead} {
			for to, n := range s.Count() {
				if n != 1 {
					t.Errorf("%s got %d", to, n)
				}
			}
		}
	})
}

// TestAccountMailsNeverGoByATenantsRelay checks that no email about an account uses a tenant's relay, whatever tenant's
// design it has. This includes emails queued before the mailers started, second tries, and emails sent while the
// daemon's own relay is down.
func TestAccountMailsNeverGoByATenantsRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		down := true
		own := &smtptest.Sender{
			Begin: func() *smtp.RelayError {
				mu.Lock()
				defer mu.Unlock()
				if down {
					return &smtp.RelayError{Fault: smtp.FaultAuth, Stage: "AUTH", Code: 535}
				}
				return nil
			},
			Answer: func(_ string, nth int) smtp.Outcome {
				if nth == 1 {
					return smtp.Outcome{Result: smtp.Later, Code: 451}
				}
				return smtp.Outcome{Result: smtp.Sent}
			},
		}
		first, second := &smtptest.Sender{}, &smtptest.Sender{}
		h := workertest.New(t, own)
		h.SetRelays(h.List.TenantID, core.Relay{Host: "one.example.org"}, core.Relay{Host: "two.example.org"})
		now := core.At(time.Now())
		look := core.MailStyle{TenantID: h.List.TenantID}
		token := func() identity.UserToken {
			return identity.UserToken{ID: core.NewID(), Style: look, Hashes: map[string][]byte{
				identity.TokenReset: core.HashToken(core.NewToken()), identity.TokenVerify: core.HashToken(core.NewToken()),
				identity.TokenClaim: core.HashToken(core.NewToken()), identity.TokenChange: core.HashToken(core.NewToken()),
			}}
		}
		ann, bob := core.NewUser("ann@user.example", now), core.NewUser("bob@user.example", now)
		ann.EmailVerified = true
		h.Must(h.AddUser(h.Context(), ann, "", now))
		register := func(u core.User) {
			_, err := h.Register(h.Context(), identity.Registration{User: u, PasswordHash: "-", Token: token()}, now)
			h.Must(err)
		}
		register(bob)                                                                      // verify
		register(core.NewUser("bob@user.example", now))                                    // claim
		register(core.NewUser("ann@user.example", now))                                    // already_registered
		h.Must(h.ForgotPassword(h.Context(), ann.Email, token(), now))                     // reset
		h.Must(h.AskEmailChange(h.Context(), ann.ID, 0, "new@user.example", token(), now)) // change, change_asked
		h.Must(h.AskEmailChange(h.Context(), ann.ID, 0, "bob@user.example", token(), now)) // change_taken, change_asked

		h.Start()
		opts := h.MailerOptions()
		opts.Tenants = true
		r := &relays{by: map[string]*smtptest.Sender{"one.example.org": first, "two.example.org": second}}
		h.Run(worker.Mailer(opts), worker.TenantMailer(opts, r.sender))
		time.Sleep(10 * time.Minute)
		h.Pending(h.List.ID, storetest.Reader(1)) // an email of the tenant's list, which uses the tenant's relay
		mu.Lock()
		down = false
		mu.Unlock()
		coretest.Settle(6 * time.Hour)
		if own.Sum() != 8 || first.Sum() != 1 || first.Tries() != 1 || second.Tries() != 0 {
			t.Errorf("by the daemon's relay %v, by the tenant's %v (%d and %d dials)", own.Count(), first.Count(),
				first.Tries(),
				second.Tries())
		}
	})
}
