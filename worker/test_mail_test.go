package worker_test

import (
	"io"
	"mime/quotedprintable"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/campaigns"
	"newsletterd/worker/workertest"
)

// TestATestMailIsSentByTheMailer checks that a test email has the content of the job, is sent by the mailer, and
// affects neither the job nor its figures.
func TestATestMailIsSentByTheMailer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Run(h.Mailer())
		j, _, err := h.AddSendJob(h.Context(), campaigns.JobRequest{
			NewJob: core.NewJob{
				ListID: h.List.ID, Subject: "Issue {{preferences.no | default: \"one\"}}",
				BodyText:    "To {{email}}. {{preferences_url}} {{job.subject}} {{view_url}}",
				ScheduledAt: core.At(time.Now()).Add(24 * time.Hour),
			}, Caller: core.CommandCaller("u"),
		}, core.At(time.Now()))
		h.Must(err)
		h.Must(h.AddTestMail(h.Context(), &j, "me@example.org", core.At(time.Now())))
		coretest.Settle(time.Second)
		if s.Sum() != 1 {
			h.Errorf("%d mails", s.Sum())
			return
		}
		text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(strings.SplitN(s.Texts()[0], "\r\n\r\n",
			2)[1])))
		h.Must(err)
		sent := s.Texts()[0] + string(text)
		for _, want := range []string{
			"Subject: [Test] Issue one\r\n", "To me@example.org.", "To: <me@example.org>\r\n",
			"List-Unsubscribe: <http://news.test/api/newsletter/unsubscribe?token=",
			"Unsubscribe: http://news.test/unsubscribe?token=",
			"To me@example.org. http://news.test/preferences?token=",
			" Issue one http://news.test/v/",
		} {
			if !strings.Contains(sent, want) {
				h.Errorf("%q is missing in\n%s", want, sent)
			}
		}
		_, err = h.UpdateTenant(h.Context(), h.List.TenantID, "test", func(t *core.Tenant) error {
			return t.Change(core.TenantInput{PublicURL: new("https://own.example.org")}, true, core.At(time.Now()))
		})
		h.Must(err)
		h.Must(h.AddTestMail(h.Context(), &j, "you@example.org", core.At(time.Now())))
		coretest.Settle(time.Second)
		if s.Sum() != 2 || !strings.Contains(s.Texts()[1], "List-Unsubscribe: <https://own.example.org/api/") {
			h.Errorf("a tenant with an origin of its own: %q", s.Texts()[1:])
		}
		if j, err = h.SendJob(h.Context(), j.ID); err != nil || j.Status != core.JobPending || j.Recipients != 0 {
			h.Errorf("%+v %v", j, err)
		}
	})
}
