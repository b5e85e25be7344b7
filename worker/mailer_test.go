package worker

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/store"
)

// stub is a mail.Sender whose outcomes a test decides.
type stub struct {
	mu      sync.Mutex
	sent    []string
	outcome func(n int) mail.Outcome
	err     func(n int) error
	n       int
}

func (s *stub) Deliver(ctx context.Context, src *mail.Source) error {
	for {
		e, ok := src.Next(ctx, true)
		if !ok {
			return nil
		}
		s.mu.Lock()
		n := s.n
		s.n++
		s.mu.Unlock()
		if s.err != nil && s.err(n) != nil {
			src.Done(e, mail.Outcome{})
			return s.err(n)
		}
		o := mail.Outcome{Result: mail.Sent}
		if s.outcome != nil {
			o = s.outcome(n)
		}
		if o.Result == mail.Sent {
			s.mu.Lock()
			s.sent = append(s.sent, string(e.Data))
			s.mu.Unlock()
		}
		src.Done(e, o)
	}
}

func (m *member) mailer(s mail.Sender) *Loop {
	sealer, err := auth.NewSealer(make([]byte, 32))
	m.must(err)
	return Mailer(MailerOptions{
		Store: m.Store, Sender: s, Sealer: sealer, Ident: mail.NewIdent(make([]byte, 32)),
		PublicURL: "https://news.test", From: mail.Address{Name: "News", Email: "news@example.net"}, Log: quiet,
	})
}

func (m *member) ask(email core.Email) string {
	m.Helper()
	_, row, err := m.Subscribe(m.Context(), store.SubscribeRequest{ListID: m.list.ID, Email: email}, core.At(time.Now()))
	m.must(err)
	token, err := m.ConfirmToken(m.Context(), row, core.MeansMailed)
	m.must(err)
	return token
}

func TestMailerSendsConfirmations(t *testing.T) {
	inBubble(t, func(m *member) {
		s := &stub{}
		m.run(m.mailer(s))
		token := m.ask("a@example.org")
		time.Sleep(time.Second)
		synctest.Wait()
		if len(s.sent) != 1 || !strings.Contains(strings.ReplaceAll(s.sent[0], "=\r\n", ""), "https://news.test/confirm?token=3D"+token) &&
			!strings.Contains(s.sent[0], "https://news.test/confirm?token="+token) {
			m.Errorf("%d mails: %s", len(s.sent), s.sent)
			return
		}
		for i := range 600 {
			m.ask(core.Email(fmt.Sprintf("b%d@example.org", i)))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.sent) != 601 {
			m.Errorf("%d mails, want 601", len(s.sent))
		}
	})
}

func TestMailerRetries(t *testing.T) {
	for _, c := range []struct {
		name    string
		outcome func(n int) mail.Outcome
		err     func(n int) error
		tries   int // after ten minutes
		sent    int
	}{
		{"refused for now", func(n int) mail.Outcome {
			if n == 0 {
				return mail.Outcome{Result: mail.Later, Code: 451}
			}
			return mail.Outcome{Result: mail.Sent}
		}, nil, 2, 1},
		{"refused for good", func(int) mail.Outcome { return mail.Outcome{Result: mail.Never, Code: 550} }, nil, 1, 0},
		{"the route is down for a while", nil, func(n int) error {
			if n < 3 {
				return &mail.RouteError{Fault: mail.FaultConnect}
			}
			return nil
		}, 4, 1},
		{"lost three times", func(int) mail.Outcome { return mail.Outcome{Result: mail.Untouched, Lost: true} }, nil, 6, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(m *member) {
				s := &stub{outcome: c.outcome, err: c.err}
				m.run(m.mailer(s))
				m.ask("a@example.org")
				time.Sleep(10 * time.Minute)
				synctest.Wait()
				if s.n != c.tries || len(s.sent) != c.sent {
					m.Errorf("%d tries, %d sent; want %d, %d", s.n, len(s.sent), c.tries, c.sent)
				}
			})
		})
	}
}

func TestMailerGivesUp(t *testing.T) {
	now := core.At(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	r := &mailRun{mailer: &mailer{MailerOptions: MailerOptions{Log: quiet}, lost: map[int64]int{}}}
	for _, c := range []struct {
		name  string
		mail  core.Mail
		o     mail.Outcome
		err   error
		again bool
		sent  bool
	}{
		{"refused for now", core.Mail{CreatedAt: now}, mail.Outcome{Result: mail.Later}, nil, true, false},
		{"for 48 hours", core.Mail{CreatedAt: now.Add(-mailLife), Tries: 8}, mail.Outcome{Result: mail.Later}, nil, false, false},
		{"ambiguous", core.Mail{CreatedAt: now}, mail.Outcome{Result: mail.Ambiguous}, nil, true, false},
		{"ambiguous again", core.Mail{CreatedAt: now, Tries: 1}, mail.Outcome{Result: mail.Ambiguous}, nil, false, true},
		{"cannot be made", core.Mail{CreatedAt: now}, mail.Outcome{}, errors.New("no"), false, false},
	} {
		rec, counts := r.judge(mailResult{mail: &c.mail, outcome: c.o, err: c.err}, now)
		if !counts || (rec.RetryAt != 0) != c.again || rec.Sent != c.sent {
			t.Errorf("%s: %+v %v", c.name, rec, counts)
		}
	}
}

func TestDisabledAddressGetsNoMail(t *testing.T) {
	inBubble(t, func(m *member) {
		s := &stub{}
		m.ask("a@example.org")
		_, err := m.Disable(m.Context(), store.Disabling{Email: "a@example.org"}, core.At(time.Now()))
		m.must(err)
		m.run(m.mailer(s))
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.sent) != 0 {
			m.Error("a disabled address was mailed")
		}
	})
}
