package worker

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store"
)

func (m *member) mailer(s smtp.Sender) *Loop { return m.loggedMailer(s, quiet) }

func (m *member) loggedMailer(s smtp.Sender, log *slog.Logger) *Loop {
	sealer, err := auth.NewSealer(make([]byte, 32))
	m.Must(err)
	return Mailer(MailerOptions{
		Store: m.Store, Sender: s, Sealer: sealer, Ident: mail.NewIdent(make([]byte, 32)),
		PublicURL: "https://news.test", From: mail.Address{Name: "News", Email: "news@example.net"}, Log: log,
	})
}

func TestMailerSendsConfirmations(t *testing.T) {
	inBubble(t, func(m *member) {
		s := &smtptest.Sender{}
		m.run(m.mailer(s))
		token := m.Pending(m.list.ID, "a@example.org")
		time.Sleep(time.Second)
		synctest.Wait()
		if s.Sum() != 1 || !strings.Contains(strings.ReplaceAll(s.Texts()[0], "=\r\n", ""),
			"https://news.test/confirm?token=3D"+token) &&
			!strings.Contains(s.Texts()[0], "https://news.test/confirm?token="+token) {
			m.Errorf("%d mails: %s", s.Sum(), s.Texts())
			return
		}
		for i := range 600 {
			m.Pending(m.list.ID, core.Email(fmt.Sprintf("b%d@example.org", i)))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.Sum() != 601 {
			m.Errorf("%d mails, want 601", s.Sum())
		}
	})
}

// A mail about an account that was asked for on the way to a tenant's client has the tenant's name and color. Its
// sender, Reply-To and link are the daemon's, and no image of the tenant's reports that it was opened.
func TestMailerBrandsAccountMails(t *testing.T) {
	inBubble(t, func(m *member) {
		s := &smtptest.Sender{}
		m.run(m.mailer(s))
		now := core.At(time.Now())
		tenant, err := m.UpdateTenant(m.Context(), m.list.TenantID, "test", func(t *core.Tenant) error {
			t.MailFrom, t.BrandName, t.PublicURL, t.ReplyTo = "letters@acme.example", "Brand", "https://acme.example",
				"help@acme.example"
			t.MailFromName, t.BrandLogoURL, t.PostalAddress, t.BrandColor = "Acme", "https://acme.example/logo.png",
				"Acme Street 1", "#123456"
			return nil
		})
		m.Must(err)
		m.Must(m.AddUser(m.Context(), core.NewUser("ann@example.org", now), "", now))
		for _, id := range []string{tenant.ID, "", core.NewID()} { // the last one is gone
			m.forgot("ann@example.org", core.MailStyle{TenantID: id}, now)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if s.Sum() != 3 {
			m.Fatalf("%d mails", s.Sum())
		}
		branded := 0
		for _, text := range s.Texts() {
			if !strings.Contains(text, "https://news.test/password/reset?") {
				m.Errorf("no link of the daemon's: %s", text)
			}
			if strings.Contains(text, "ann%40") {
				m.Errorf("a link names the reader, which costs a point in SpamAssassin: %s", text)
			}
			if strings.Contains(strings.ToLower(text), "acme") || strings.Contains(text, "Reply-To") ||
				!strings.Contains(text, "From: News <news@example.net>\r\n") {
				m.Errorf("not the daemon's sender alone: %s", text)
			}
			if strings.Contains(text, "Subject: Choose a new password for Brand\r\n") && strings.Contains(text, "#123456") {
				branded++
			}
		}
		if branded != 1 {
			m.Errorf("%d mails have the tenant's name and color: %s", branded, s.Texts()[0])
		}
	})
}

func (m *member) forgot(email core.Email, look core.MailStyle, now core.Instant) {
	m.Helper()
	token := store.UserToken{
		ID:     core.NewID(),
		Hashes: map[string][]byte{store.TokenReset: core.HashToken(core.NewToken())}, Style: look,
	}
	m.Must(m.ForgotPassword(m.Context(), email, token, now))
}

// A brand name from before the rule that it holds no address stands in no mail of the daemon's.
func TestMailerLeavesAddressesOutOfAccountMails(t *testing.T) {
	inBubble(t, func(m *member) {
		s, now := &smtptest.Sender{}, core.At(time.Now())
		m.run(m.mailer(s))
		_, err := m.UpdateTenant(m.Context(), m.list.TenantID, "test", func(t *core.Tenant) error {
			t.Name, t.BrandName = "acme.example", "Open http://evil.example/x"
			return nil
		})
		m.Must(err)
		m.Must(m.AddUser(m.Context(), core.NewUser("ann@example.org", now), "", now))
		m.forgot("ann@example.org", core.MailStyle{TenantID: m.list.TenantID}, now)
		time.Sleep(time.Second)
		synctest.Wait()
		if s.Sum() != 1 || strings.Contains(s.Texts()[0], "evil") || strings.Contains(s.Texts()[0], "acme") ||
			!strings.Contains(s.Texts()[0], "Subject: Choose a new password for News\r\n") {
			m.Errorf("%q", s.Texts())
		}
	})
}

// A mail about an account has the tenant's language, else that of who asked for it, else English.
func TestMailerSpeaksTheLanguageOfAccounts(t *testing.T) {
	inBubble(t, func(m *member) {
		s, now := &smtptest.Sender{}, core.At(time.Now())
		m.run(m.mailer(s))
		m.Must(m.AddUser(m.Context(), core.NewUser("ann@example.org", now), "", now))
		for _, c := range []struct{ tenant, asked, want string }{
			{"", "", "Subject: Choose a new password"},
			{"", "de", "Subject: Ein neues Passwort"},
			{"fr", "de", "Subject: Un nouveau mot de passe"},
			{"es", "", "Subject: Una "},
		} {
			_, err := m.UpdateTenant(m.Context(), m.list.TenantID, "test", func(t *core.Tenant) error {
				t.Language = c.tenant
				return nil
			})
			m.Must(err)
			before := s.Sum()
			m.forgot("ann@example.org", core.MailStyle{TenantID: m.list.TenantID, Language: c.asked}, now)
			time.Sleep(time.Hour)
			now = core.At(time.Now())
			synctest.Wait()
			sent := s.Texts()[before:]
			if len(sent) != 1 {
				m.Fatalf("%d mails", len(sent))
			}
			if head, err := new(mime.WordDecoder).DecodeHeader(sent[0]); err != nil || !strings.Contains(head, c.want) {
				m.Errorf("%q, %q: %v %s", c.tenant, c.asked, err, sent[0])
			}
		}
	})
}

func TestMailerRetries(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(to string, nth int) smtp.Outcome
		down   int // how many tries find the relay down
		tries  int // after ten minutes
		sent   int
	}{
		{"refused for now", func(_ string, nth int) smtp.Outcome {
			if nth == 1 {
				return smtp.Outcome{Result: smtp.Later, Code: 451}
			}
			return smtp.Outcome{Result: smtp.Sent}
		}, 0, 2, 1},
		{"refused for good", func(string, int) smtp.Outcome { return smtp.Outcome{Result: smtp.Never, Code: 550} }, 0, 1, 0},
		{"the relay is down for a while", nil, 3, 4, 1},
		{"lost three times", func(string, int) smtp.Outcome {
			return smtp.Outcome{Result: smtp.Untouched, Lost: true}
		}, 0, 6, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(m *member) {
				s := &smtptest.Sender{Answer: c.answer}
				s.Begin = func() *smtp.RelayError {
					if s.Tries() <= c.down {
						return &smtp.RelayError{Fault: smtp.FaultConnect}
					}
					return nil
				}
				m.run(m.mailer(s))
				m.Pending(m.list.ID, "a@example.org")
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if s.Tries() != c.tries || s.Sum() != c.sent {
					m.Errorf("%d tries, %d sent; want %d, %d", s.Tries(), s.Sum(), c.tries, c.sent)
				}
			})
		})
	}
}

// A relay that is down is left alone between two tries, however many mails are asked for meanwhile: one that refuses
// the credentials would lock the account.
func TestMailerLeavesARelayThatIsDownAlone(t *testing.T) {
	inBubble(t, func(m *member) {
		back := time.Now().Add(10 * time.Minute)
		s := &smtptest.Sender{Begin: func() *smtp.RelayError {
			if time.Now().Before(back) {
				return &smtp.RelayError{Fault: smtp.FaultAuth, Stage: "AUTH", Code: 535}
			}
			return nil
		}}
		m.run(m.mailer(s))
		const mails = 600
		for i := range mails {
			m.Pending(m.list.ID, core.Email(fmt.Sprintf("a%d@example.org", i)))
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if n := s.Tries(); n > 2*11 { // two connections, once a minute at the most
			m.Errorf("%d tries in ten minutes", n)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := s.Sum(); n != mails {
			m.Errorf("%d of %d mails went out when it was back", n, mails)
		}
	})
}

func TestMailerGivesUp(t *testing.T) {
	now := core.At(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	r := &mailRun{mailer: &mailer{
		MailerOptions: MailerOptions{Log: quiet}, lost: map[int64]int{},
		unsure: map[int64]bool{},
	}}
	for _, c := range []struct {
		name  string
		mail  core.Mail
		o     smtp.Outcome
		err   error
		again bool
		sent  bool
	}{
		{"refused for now", core.Mail{CreatedAt: now}, smtp.Outcome{Result: smtp.Later}, nil, true, false},
		{
			"for 48 hours",
			core.Mail{CreatedAt: now.Add(-mailLife), Tries: 8},
			smtp.Outcome{Result: smtp.Later},
			nil, false,
			false,
		},
		{
			"ambiguous behind a refusal for now",
			core.Mail{CreatedAt: now, Tries: 1},
			smtp.Outcome{Result: smtp.Ambiguous},
			nil,
			true, false,
		},
		{"ambiguous again", core.Mail{CreatedAt: now, Tries: 1}, smtp.Outcome{Result: smtp.Ambiguous}, nil, false, true},
		{"cannot be made", core.Mail{CreatedAt: now}, smtp.Outcome{}, errors.New("no"), false, false},
	} {
		rec, counts := r.judge(mailResult{mail: &c.mail, outcome: c.o, err: c.err}, now)
		if !counts || (rec.RetryAt != 0) != c.again || rec.Sent != c.sent {
			t.Errorf("%s: %+v %v", c.name, rec, counts)
		}
	}
}

func TestDisabledAddressGetsNoMail(t *testing.T) {
	inBubble(t, func(m *member) {
		s := &smtptest.Sender{}
		m.Pending(m.list.ID, "a@example.org")
		_, err := m.Disable(m.Context(), store.DisableRequest{Email: "a@example.org"}, core.At(time.Now()))
		m.Must(err)
		m.run(m.mailer(s))
		time.Sleep(time.Minute)
		synctest.Wait()
		if s.Sum() != 0 {
			m.Error("a disabled address was mailed")
		}
	})
}

// A list that is deleted while its mail waits is an ordinary case: the mail is left out, and no fault.
func TestMailerLeavesOutMailsOfDeletedLists(t *testing.T) {
	inBubble(t, func(m *member) {
		s, log := &smtptest.Sender{}, &bytes.Buffer{}
		m.Pending(m.list.ID, "a@example.org")
		m.Must(m.DeleteList(m.Context(), m.list.ID, "test", core.At(time.Now())))
		m.run(m.loggedMailer(s, slog.New(slog.NewTextHandler(log, nil))))
		time.Sleep(time.Minute)
		synctest.Wait()
		if q, err := m.MailQueue(m.Context()); err != nil || q.Waiting != 0 || q.Failed != 0 || s.Sum() != 0 ||
			log.Len() > 0 {
			m.Errorf("%+v, %v, %d mails, log: %s", q, err, s.Sum(), log)
		}
	})
}

// Who was unsubscribed by a token that anyone may ask for gets a notice whose link takes it back.
func TestMailerTellsOfAnUnsubscribing(t *testing.T) {
	inBubble(t, func(m *member) {
		s := &smtptest.Sender{}
		m.run(m.mailer(s))
		_, err := m.Confirm(m.Context(), m.Pending(m.list.ID, "a@example.org"), core.Origin{}, core.At(time.Now()))
		m.Must(err)
		time.Sleep(time.Minute)
		sub, err := m.Unsubscribe(m.Context(), store.UnsubscribeRequest{
			ListID: m.list.ID, SubscriptionID: m.SubscriptionID(m.list.ID, "a@example.org"), Email: "a@example.org",
			Proof: core.ProofResponse,
		}, core.At(time.Now()))
		m.Must(err)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s.Sum() != 2 {
			t.Fatalf("%d mails", s.Sum())
		}
		_, rest, ok := strings.Cut(strings.ReplaceAll(s.Texts()[1], "=\r\n", ""), "https://news.test/undo?token=3D")
		token, _, _ := strings.Cut(rest, "\r\n")
		sealer, err := auth.NewSealer(make([]byte, 32))
		m.Must(err)
		u, err := sealer.OpenUndo(token)
		if !ok || err != nil || u.SubscriptionID != sub.ID || u.IssuedAt != sub.ChangedAt || u.Email != "a@example.org" {
			t.Fatalf("%v %+v in %s", err, u, s.Texts()[1])
		}
		_, err = m.Undo(m.Context(), store.UndoRequest{
			ListID: u.ListID, SubscriptionID: u.SubscriptionID,
			LeftAt: u.IssuedAt,
		}, core.At(time.Now()))
		m.Must(err)
	})
}

// A request whose mail is due later makes the mailer do nothing during the answer, whether or not it is at work.
func TestMailerSleepsUntilAMailIsDue(t *testing.T) {
	inBubble(t, func(m *member) {
		cost := func(email core.Email) int64 {
			before := m.Stats().Statements
			m.Pending(m.list.ID, email)
			synctest.Wait()
			return m.Stats().Statements - before
		}
		cost("warm@example.org")
		alone := cost("a@example.org")
		s := &smtptest.Sender{}
		m.run(m.mailer(s), TenantMailer(MailerOptions{Store: m.Store, Log: quiet}, nil))
		for i, email := range []core.Email{"b@example.org", "c@example.org"} {
			synctest.Wait()
			if n := cost(email); n != alone {
				t.Errorf("%d statements of %s beside a mailer, %d without", n, email, alone)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if s.Sum() != 3+i {
				t.Errorf("%d mails a second after request %d", s.Sum(), i)
			}
		}
	})
}

// The mailer of tenants with relays looks a few times a second at most, however often others' mails become due.
func TestTenantMailerRestsBetweenOthersMails(t *testing.T) {
	inBubble(t, func(m *member) {
		for i := range 200 {
			m.Pending(m.list.ID, core.Email(fmt.Sprintf("a%d@example.org", i)))
			time.Sleep(2 * time.Millisecond)
		}
		before := m.Stats().Statements
		m.run(TenantMailer(MailerOptions{Store: m.Store, Log: quiet}, nil))
		time.Sleep(time.Second)
		synctest.Wait()
		if n := m.Stats().Statements - before; n > 16 {
			t.Errorf("%d statements in a second", n)
		}
	})
}

// The link to one's own data opens it, and a newsletter's doesn't.
func TestMailerSendsTheLinkToOnesOwnData(t *testing.T) {
	inBubble(t, func(m *member) {
		s := &smtptest.Sender{}
		m.run(m.mailer(s))
		id := m.Active(m.list.ID, "a@example.org").ID
		m.Must(m.RequestPreferencesLink(m.Context(), m.list.ID, "a@example.org", core.At(time.Now())))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		both := strings.ReplaceAll(strings.Join(s.Texts(), "\r\n"), "=\r\n", "") // due together, in any order
		_, rest, ok := strings.Cut(both, "https://news.test/preferences?token=3D")
		token, _, _ := strings.Cut(rest, "\r\n")
		sealer, err := auth.NewSealer(make([]byte, 32))
		m.Must(err)
		got, err := sealer.OpenManage(token)
		if !ok || err != nil || got.SubscriptionID != id || got.Expired(core.At(time.Now().Add(auth.ManageTTL-time.Minute))) {
			t.Errorf("%v %+v in %s", err, got, both)
		}
	})
}
