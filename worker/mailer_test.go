package worker_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"mime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/identity"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

func TestMailerSendsConfirmations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		_, err := h.UpdateTenant(h.Context(), h.List.TenantID, "test", func(t *core.Tenant) error {
			t.BrandLogoURL, t.BrandDarkLogoURL = "https://a.example/logo.png", "https://a.example/dark.png"
			return nil
		})
		h.Must(err)
		h.Run(h.Mailer())
		token := h.Pending(h.List.ID, "a@example.org")
		coretest.Settle(time.Second)
		if s.Sum() != 1 || !strings.Contains(strings.ReplaceAll(s.Texts()[0], "=\r\n", ""),
			"http://news.test/confirm?token=3D"+token) &&
			!strings.Contains(s.Texts()[0], "http://news.test/confirm?token="+token) {
			h.Errorf("%d mails: %s", s.Sum(), s.Texts())
			return
		}
		if !strings.Contains(strings.ReplaceAll(s.Texts()[0], "=\r\n", ""), "https://a.example/dark.png") {
			h.Errorf("no logo for dark mode: %s", s.Texts()[0])
		}
		for i := range 600 {
			h.Pending(h.List.ID, core.Email(fmt.Sprintf("b%d@example.org", i)))
		}
		coretest.Settle(time.Minute)
		if s.Sum() != 601 {
			h.Errorf("%d mails, want 601", s.Sum())
		}
	})
}

// TestMailerBrandsAccountMails checks that an email about an account, requested while signing in to a tenant's client,
// has the tenant's name and color. Sender, Reply-To and link are the daemon's, and no image of the tenant reveals that
// the email was opened.
func TestMailerBrandsAccountMails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Opts.From = mail.Address{Name: "News", Email: "news@example.net"}
		h.Run(h.Mailer())
		now := core.At(time.Now())
		tenant, err := h.UpdateTenant(h.Context(), h.List.TenantID, "test", func(t *core.Tenant) error {
			t.MailFrom, t.BrandName, t.PublicURL, t.ReplyTo = "letters@acme.example", "Brand", "https://acme.example",
				"help@acme.example"
			t.MailFromName, t.BrandLogoURL, t.PostalAddress, t.BrandColor = "Acme", "https://acme.example/logo.png",
				"Acme Street 1", "#123456"
			return nil
		})
		h.Must(err)
		h.Must(h.AddUser(h.Context(), core.NewUser("ann@example.org", now), "", now))
		for _, id := range []string{tenant.ID, "", core.NewID()} { // the last one doesn't exist
			h.Forgot("ann@example.org", core.MailStyle{TenantID: id})
		}
		coretest.Settle(time.Second)
		if s.Sum() != 3 {
			h.Fatalf("%d mails", s.Sum())
		}
		branded := 0
		for _, text := range s.Texts() {
			if !strings.Contains(text, "http://news.test/password/reset?") {
				h.Errorf("no link of the daemon's: %s", text)
			}
			if strings.Contains(text, "ann%40") {
				h.Errorf("a link names the reader, which costs a point in SpamAssassin: %s", text)
			}
			if strings.Contains(strings.ToLower(text), "acme") || strings.Contains(text, "Reply-To") ||
				!strings.Contains(text, "From: News <news@example.net>\r\n") {
				h.Errorf("not the daemon's sender alone: %s", text)
			}
			if strings.Contains(text, "Subject: Choose a new password for Brand\r\n") && strings.Contains(text, "#123456") {
				branded++
			}
		}
		if branded != 1 {
			h.Errorf("%d mails have the tenant's name and color: %s", branded, s.Texts()[0])
		}
	})
}

// TestMailerLeavesAddressesOutOfAccountMails checks that emails of the daemon don't contain a brand name that looks
// like an address, such as one from before the rule against them.
func TestMailerLeavesAddressesOutOfAccountMails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h, now := workertest.New(t, s), core.At(time.Now())
		h.Opts.From = mail.Address{Name: "News", Email: "news@example.net"}
		h.Run(h.Mailer())
		_, err := h.UpdateTenant(h.Context(), h.List.TenantID, "test", func(t *core.Tenant) error {
			t.Name, t.BrandName = "acme.example", "Open http://evil.example/x"
			return nil
		})
		h.Must(err)
		h.Must(h.AddUser(h.Context(), core.NewUser("ann@example.org", now), "", now))
		h.Forgot("ann@example.org", core.MailStyle{TenantID: h.List.TenantID})
		coretest.Settle(time.Second)
		if s.Sum() != 1 || strings.Contains(s.Texts()[0], "evil") || strings.Contains(s.Texts()[0], "acme") ||
			!strings.Contains(s.Texts()[0], "Subject: Choose a new password for News\r\n") {
			h.Errorf("%q", s.Texts())
		}
	})
}

// TestMailerSendsWithoutAZone checks that emails about accounts are sent even if the machine doesn't know the tenant's
// time zone.
func TestMailerSendsWithoutAZone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Run(h.Mailer())
		_, err := h.UpdateTenant(h.Context(), h.List.TenantID, "test", func(t *core.Tenant) error {
			t.TimeZone = "Mars/Olympus"
			return nil
		})
		h.Must(err)
		h.Must(h.AddUser(h.Context(), core.NewUser("ann@example.org", h.Time()), "", h.Time()))
		h.Forgot("ann@example.org", core.MailStyle{TenantID: h.List.TenantID})
		coretest.Settle(time.Second)
		if s.Sum() != 1 {
			h.Errorf("%d mails", s.Sum())
		}
	})
}

// TestMailerSpeaksTheLanguageOfAccounts checks that an email about an account is in the tenant's language or, without
// one, in that of the request or in English.
func TestMailerSpeaksTheLanguageOfAccounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Run(h.Mailer())
		h.Must(h.AddUser(h.Context(), core.NewUser("ann@example.org", h.Time()), "", h.Time()))
		for _, c := range []struct{ tenant, asked, want string }{
			{"", "", "Subject: Choose a new password"},
			{"", "de", "Subject: Wählen Sie ein neues Passwort"},
			{"fr", "de", "Subject: Choisissez un nouveau mot de passe"},
			{"es", "", "Subject: Elija una "},
		} {
			_, err := h.UpdateTenant(h.Context(), h.List.TenantID, "test", func(t *core.Tenant) error {
				t.Language = c.tenant
				return nil
			})
			h.Must(err)
			before := s.Sum()
			h.Forgot("ann@example.org", core.MailStyle{TenantID: h.List.TenantID, Language: c.asked})
			coretest.Settle(time.Hour)
			sent := s.Texts()[before:]
			if len(sent) != 1 {
				h.Fatalf("%d mails", len(sent))
			}
			if head, err := new(mime.WordDecoder).DecodeHeader(sent[0]); err != nil || !strings.Contains(head, c.want) {
				h.Errorf("%q, %q: %v %s", c.tenant, c.asked, err, sent[0])
			}
		}
	})
}

// TestMailerInvites checks that an invitation email names the inviting person, the tenant and the role. Its sender has
// the tenant's name, and its link the language. A withdrawn invitation is not emailed.
func TestMailerInvites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Opts.From = mail.Address{Email: "noreply@example.net"}
		now := h.Time()
		_, err := h.UpdateTenant(h.Context(), h.List.TenantID, "test", func(t *core.Tenant) error {
			t.BrandName, t.Language = "Garden", "de"
			return nil
		})
		h.Must(err)
		bob := core.NewUser("bob@example.org", now)
		bob.Name = "Bob Brown"
		h.Must(h.AddUser(h.Context(), bob, "", now))
		carl := core.NewUser("carl@example.org", now)
		carl.Name = "Win at evil.example"
		h.Must(h.AddUser(h.Context(), carl, "", now))
		style := core.MailStyle{}
		invite := func(by string) core.Invitation {
			id := core.NewID()
			i, err := h.AddInvitation(h.Context(), core.InvitationInput{
				TenantID: h.List.TenantID, Role: core.RolePublisher, Email: core.Email("eve-" + id + "@example.org"),
			}, identity.UserToken{
				ID: id, Hashes: map[string][]byte{identity.TokenInvitation: []byte(id)}, Style: style,
			}, by, now)
			h.Must(err)
			return i
		}
		invite(core.UserActor(bob.ID))
		invite(core.UserActor(carl.ID))
		invite("command:test")
		style.Language = "en"
		invite(core.UserActor(bob.ID))
		h.Must(h.DeleteInvitation(h.Context(), invite(core.UserActor(bob.ID)).ID, "test", now))
		h.Run(h.Mailer())
		coretest.Settle(time.Second)
		if s.Sum() != 4 {
			h.Fatalf("%d mails", s.Sum())
		}
		all, err := new(mime.WordDecoder).DecodeHeader(strings.Join(s.Texts(), ""))
		h.Must(err)
		all = strings.ReplaceAll(strings.ReplaceAll(all, "=\r\n", ""), "=3D", "=")
		for want, n := range map[string]int{
			"From: Garden <noreply@example.net>\r\n": 4, "&ui_locales=en": 1, "&ui_locales=de": 3,
			"Ihre Rolle: Senden (": 3,
			"Subject: Bob Brown lädt Sie in das Team von Garden ein\r\n": 1,
			"Subject: carl@example.org lädt Sie ":                        1, "Subject: Garden lädt Sie ": 1, "evil": 0,
		} {
			if got := strings.Count(all, want); got < n || got > 2*n {
				h.Errorf("%d of %q, want %d in\n%s", got, want, n, all)
			}
		}
	})
}

func TestMailerRetries(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(to string, nth int) smtp.Outcome
		down   int // number of tries during which the relay is down
		tries  int // number of tries after ten minutes
		sent   int
	}{
		{"refused for now", func(_ string, nth int) smtp.Outcome {
			if nth == 1 {
				return smtp.Outcome{Result: smtp.Later, Code: 451}
			}
			return smtp.Outcome{Result: smtp.Sent}
		}, 0, 2, 1},
		{
			"refused for good", func(string, int) smtp.Outcome { return smtp.Outcome{Result: smtp.Never, Code: 550} }, 0,
			1, 0,
		},
		{"the relay is down for a while", nil, 3, 4, 1},
		{"lost three times", func(string, int) smtp.Outcome {
			return smtp.Outcome{Result: smtp.Untouched, Lost: true}
		}, 0, 6, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := workertest.New(t, nil)
				var alone []bool
				s := &smtptest.Sender{Answer: c.answer, Message: func(e *smtp.Envelope) { alone = append(alone, e.Alone) }}
				s.Begin = func() *smtp.RelayError {
					if s.Tries() <= c.down {
						return &smtp.RelayError{Fault: smtp.FaultConnect}
					}
					return nil
				}
				h.Relay = s
				h.Run(h.Mailer())
				h.Pending(h.List.ID, "a@example.org")
				coretest.Settle(10 * time.Minute)
				if s.Tries() != c.tries || s.Sum() != c.sent {
					h.Errorf("%d tries, %d sent; want %d, %d", s.Tries(), s.Sum(), c.tries, c.sent)
				}
				if c.name == "refused for now" && !slices.Equal(alone, []bool{false, true}) {
					h.Errorf("a second try goes alone: %v", alone)
				}
			})
		})
	}
}

// TestMailerLeavesARelayThatIsDownAlone checks that a relay that is down gets no connections between two tries, however
// many emails are requested meanwhile. Otherwise, a relay that rejects the credentials would lock the account.
func TestMailerLeavesARelayThatIsDownAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		back := time.Now().Add(10 * time.Minute)
		s := &smtptest.Sender{Begin: func() *smtp.RelayError {
			if time.Now().Before(back) {
				return &smtp.RelayError{Fault: smtp.FaultAuth, Stage: "AUTH", Code: 535}
			}
			return nil
		}}
		h.Relay = s
		h.Run(h.Mailer())
		const mails = 600
		for i := range mails {
			h.Pending(h.List.ID, core.Email(fmt.Sprintf("a%d@example.org", i)))
			coretest.Settle(time.Second)
		}
		if n := s.Tries(); n > 2*11 { // two connections, at most once a minute
			h.Errorf("%d tries in ten minutes", n)
		}
		coretest.Settle(2 * time.Minute)
		if n := s.Sum(); n != mails {
			h.Errorf("%d of %d mails went out when it was back", n, mails)
		}
	})
}

func TestDisabledAddressGetsNoMail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Pending(h.List.ID, "a@example.org")
		_, err := h.Disable(h.Context(), members.DisableRequest{Email: "a@example.org"}, core.At(time.Now()))
		h.Must(err)
		h.Run(h.Mailer())
		coretest.Settle(time.Minute)
		if s.Sum() != 0 {
			h.Error("a disabled address was mailed")
		}
	})
}

// TestMailerLeavesOutMailsOfDeletedLists checks that an email is skipped without an error if its list is deleted while
// it waits.
func TestMailerLeavesOutMailsOfDeletedLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		s, log := &smtptest.Sender{}, &bytes.Buffer{}
		h.Pending(h.List.ID, "a@example.org")
		h.Must(h.DeleteList(h.Context(), h.List.ID, "test", core.At(time.Now())))
		h.Relay, h.Opts.Log = s, slog.New(slog.NewTextHandler(log, nil))
		h.Run(h.Mailer())
		coretest.Settle(time.Minute)
		if q, err := h.MailQueue(h.Context()); err != nil || q.Waiting != 0 || q.Failed != 0 || s.Sum() != 0 ||
			log.Len() > 0 {
			h.Errorf("%+v, %v, %d mails, log: %s", q, err, s.Sum(), log)
		}
	})
}

// TestMailerAsksOnceMore checks that each person gets one reminder, 0.1 s after the previous one. A person who
// unsubscribes before that gets none.
func TestMailerAsksOnceMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		for i := range 3 {
			h.Pending(h.List.ID, core.Email(fmt.Sprintf("b%d@example.org", i)))
		}
		h.Run(h.Mailer())
		coretest.Settle(core.AskAfter + time.Minute)
		asked, _, err := h.AskAgain(h.Context(), people.AskAgain{
			ListID: h.List.ID, Who: core.AskUnconfirmed, Actor: "test",
		}, core.At(time.Now()))
		h.Must(err)
		coretest.Settle(time.Millisecond)
		first := s.Sum()
		mails, err := h.DueMails(h.Context(), core.At(time.Now().Add(time.Minute)), 10)
		h.Must(err)
		last := mails[len(mails)-1].Email
		h.Must(h.Unsubscribe(h.Context(), h.Leaving(h.List.ID, last), core.At(time.Now())))
		coretest.Settle(time.Minute)
		if asked != 3 || first != 4 || s.Sum() != 5 {
			h.Errorf("%d asked, %d mails at once, %d in all; want 3, 4, 5", asked, first, s.Sum())
		}
	})
}

// TestMailerTellsOfAnUnsubscribing checks that a person who was unsubscribed with a token that anyone can request gets
// an email whose link undoes that.
func TestMailerTellsOfAnUnsubscribing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Run(h.Mailer())
		_, err := h.Confirm(h.Context(), h.Pending(h.List.ID, "a@example.org"), core.Origin{}, core.At(time.Now()))
		h.Must(err)
		time.Sleep(time.Minute)
		sub, err := h.Unsubscribe(h.Context(), members.UnsubscribeRequest{
			ListID: h.List.ID, SubscriptionID: h.SubscriptionID(h.List.ID, "a@example.org"), Email: "a@example.org",
			Proof: core.ProofResponse,
		}, core.At(time.Now()))
		h.Must(err)
		coretest.Settle(2 * time.Second)
		if s.Sum() != 2 {
			t.Fatalf("%d mails", s.Sum())
		}
		_, rest, ok := strings.Cut(strings.ReplaceAll(s.Texts()[1], "=\r\n", ""), "http://news.test/undo?token=3D")
		token, _, _ := strings.Cut(rest, "\r\n")
		u, err := h.Opts.Sealer.OpenUndo(token)
		if !ok || err != nil || u.SubscriptionID != sub.ID || u.IssuedAt != sub.ChangedAt || u.Email != "a@example.org" {
			t.Fatalf("%v %+v in %s", err, u, s.Texts()[1])
		}
		_, err = h.Undo(h.Context(), people.UndoRequest{
			ListID: u.ListID, SubscriptionID: u.SubscriptionID,
			LeftAt: u.IssuedAt,
		}, core.At(time.Now()))
		h.Must(err)
	})
}

// TestMailerSleepsUntilAMailIsDue checks that a request whose email is due later causes no work of the mailer during
// the response, even if the mailer is busy.
func TestMailerSleepsUntilAMailIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		cost := func(email core.Email) int64 {
			before := h.Stats().Statements
			h.Pending(h.List.ID, email)
			synctest.Wait()
			return h.Stats().Statements - before
		}
		cost("warm@example.org")
		alone := cost("a@example.org")
		s := &smtptest.Sender{}
		h.Relay = s
		h.Run(h.Mailer(), worker.TenantMailer(worker.MailerOptions{Store: h.Store, Log: h.Opts.Log}, nil))
		for i, email := range []core.Email{"b@example.org", "c@example.org"} {
			synctest.Wait()
			if n := cost(email); n != alone {
				t.Errorf("%d statements of %s beside a mailer, %d without", n, email, alone)
			}
			coretest.Settle(time.Second)
			if s.Sum() != 3+i {
				t.Errorf("%d mails a second after request %d", s.Sum(), i)
			}
		}
	})
}

// TestTenantMailerRestsBetweenOthersMails checks that the mailer of tenants with relays checks for due emails at most a
// few times a second, however often emails of other tenants become due.
func TestTenantMailerRestsBetweenOthersMails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		for i := range 200 {
			h.Pending(h.List.ID, core.Email(fmt.Sprintf("a%d@example.org", i)))
			time.Sleep(2 * time.Millisecond)
		}
		before := h.Stats().Statements
		h.Run(worker.TenantMailer(worker.MailerOptions{Store: h.Store, Log: h.Opts.Log}, nil))
		coretest.Settle(time.Second)
		if n := h.Stats().Statements - before; n > 16 {
			t.Errorf("%d statements in a second", n)
		}
	})
}

// TestMailerSendsTheLinkToOnesOwnData checks that the link in an email about one's own data opens that data, and that a
// newsletter's link doesn't.
func TestMailerSendsTheLinkToOnesOwnData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Run(h.Mailer())
		id := h.Active(h.List.ID, "a@example.org").ID
		h.Must(h.RequestPreferencesLink(h.Context(), h.List.ID, "a@example.org", core.At(time.Now())))
		coretest.Settle(2 * time.Second)
		both := strings.ReplaceAll(strings.Join(s.Texts(), "\r\n"), "=\r\n", "") // due together, in any order
		_, rest, ok := strings.Cut(both, "http://news.test/preferences?token=3D")
		token, _, _ := strings.Cut(rest, "\r\n")
		got, err := h.Opts.Sealer.OpenManage(token)
		if !ok || err != nil || got.SubscriptionID != id || got.Expired(core.At(time.Now().Add(auth.ManageTTL-time.Minute))) {
			t.Errorf("%v %+v in %s", err, got, both)
		}
	})
}
