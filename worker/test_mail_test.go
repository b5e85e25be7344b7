package worker

import (
	"io"
	"mime/quotedprintable"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store"
)

// A test mail has the content of the job, goes by the mailer, and touches neither the job nor its figures.
func TestATestMailIsSentByTheMailer(t *testing.T) {
	inBubble(t, func(m *member) {
		s := &smtptest.Sender{}
		m.run(m.mailer(s))
		j, _, err := m.AddSendJob(m.Context(), store.JobRequest{
			NewJob: core.NewJob{
				ListID: m.list.ID, Subject: "Issue {{preferences.no | default: \"one\"}}",
				BodyText:    "To {{email}}. {{preferences_url}} {{job.subject}} {{view_url}}",
				ScheduledAt: core.At(time.Now()).Add(24 * time.Hour),
			}, Caller: core.CommandCaller("u"),
		}, core.At(time.Now()))
		m.Must(err)
		m.Must(m.AddTestMail(m.Context(), &j, "me@example.org", core.At(time.Now())))
		time.Sleep(time.Second)
		synctest.Wait()
		if s.Sum() != 1 {
			m.Errorf("%d mails", s.Sum())
			return
		}
		text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(strings.SplitN(s.Texts()[0], "\r\n\r\n", 2)[1])))
		m.Must(err)
		sent := s.Texts()[0] + string(text)
		for _, want := range []string{
			"Subject: [Test] Issue one\r\n", "To me@example.org.", "To: <me@example.org>\r\n",
			"List-Unsubscribe: <https://news.test/api/newsletter/unsubscribe?token=",
			"Unsubscribe: https://news.test/unsubscribe?token=", "To me@example.org. https://news.test/preferences?token=",
			" Issue one https://news.test/v/",
		} {
			if !strings.Contains(sent, want) {
				m.Errorf("%q is missing in\n%s", want, sent)
			}
		}
		_, err = m.UpdateTenant(m.Context(), m.list.TenantID, "test", func(t *core.Tenant) error {
			return t.Change(core.TenantInput{PublicURL: new("https://own.example.org")}, true, core.At(time.Now()))
		})
		m.Must(err)
		m.Must(m.AddTestMail(m.Context(), &j, "you@example.org", core.At(time.Now())))
		time.Sleep(time.Second)
		synctest.Wait()
		if s.Sum() != 2 || !strings.Contains(s.Texts()[1], "List-Unsubscribe: <https://own.example.org/api/") {
			m.Errorf("a tenant with an origin of its own: %q", s.Texts()[1:])
		}
		if j, err = m.SendJob(m.Context(), j.ID); err != nil || j.Status != core.JobPending || j.Recipients != 0 {
			m.Errorf("%+v %v", j, err)
		}
	})
}
