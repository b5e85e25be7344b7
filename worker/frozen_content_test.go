package worker_test

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/mailtest"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/storetest"
	"newsletterd/worker/workertest"
)

// TestAJobSendsWhatItFroze checks that edits after the creation of a job don't affect its emails. Template, layout,
// design and sender stay the same, even in a retry and after a restart.
func TestAJobSendsWhatItFroze(t *testing.T) {
	var open atomic.Bool
	server := mailtest.Start(t, mailtest.Script{On: func(e mailtest.Event) mailtest.Action {
		if e.Verb == "RCPT" && strings.Contains(e.Arg, string(storetest.Reader(0))) && !open.Load() {
			return mailtest.Action{Reply: "554 5.7.1 not now"}
		}
		return mailtest.Action{}
	}}) // outside the bubble, so that waits in it don't stop the time
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, &smtp.Client{Addr: server.Addr()})
		h.ChangeTenant(h.List.TenantID, core.TenantInput{
			Domains: &[]string{"acme.example", "other.example"}, MailFrom: new("letters@acme.example"),
			MailFromName: new("Old name"),
			ReplyTo:      new("answers@acme.example"), PostalAddress: new("Old street 1"),
		})
		layout := h.NewTemplate(core.TemplateInput{
			Name: new("frame"), BodyHTML: new("<p>old layout</p>{{content}}"),
			BodyText: new("old layout\n{{content}}"),
		})
		body := h.NewTemplate(core.TemplateInput{
			Name: new("spring"), Layout: new("frame"),
			BodyHTML: new("<p>old template {{tenant.postal_address}} {{list.name}}</p>{{content}}"),
			BodyText: new("old template {{tenant.postal_address}} {{list.name}}\n{{content}}"),
		})
		h.Readers(h.List, 2)
		j := h.Job(func(n *core.NewJob) {
			n.ScheduledAt = core.At(time.Now().Add(24 * time.Hour))
			n.BodyHTML = "<p>Hello</p>"
			n.Template = []byte(`{"mailer_template_name": "spring"}`)
		})
		h.ChangeTenant(h.List.TenantID, core.TenantInput{
			MailFrom: new("fresh@other.example"), MailFromName: new("Fresh name"), ReplyTo: new("fresh@acme.example"),
			PostalAddress: new("Fresh street 2"),
		})
		for _, id := range []string{layout.ID, body.ID} {
			_, err := h.UpdateTemplate(t.Context(), id, "test", func(t *core.Template) error {
				return t.Change(core.TemplateInput{
					BodyHTML: new("<p>fresh</p>{{content}}"),
					BodyText: new("fresh\n{{content}}"),
				},
					core.At(time.Now()))
			})
			h.Must(err)
		}
		_, err := h.UpdateList(t.Context(), h.List.ID, "test", func(l *core.List) error {
			return l.Change(core.ListInput{Name: new("Fresh list")}, core.At(time.Now()))
		})
		h.Must(err)
		h.Must(h.DeleteTemplate(t.Context(), body.ID, false, "test", core.At(time.Now())))
		h.Start()
		h.AddsUp(h.Wait(j), 1, 1, 0)
		h.Group.Drain(time.Minute)
		open.Store(true)
		again, err := h.RetryFailed(t.Context(), j.ID, "test", core.At(time.Now()))
		h.Must(err)
		h.Start()
		h.AddsUp(h.Wait(again), 1, 0, 0)
		for _, raw := range server.Messages() {
			m := readSent(t, raw)
			all := m.header.Get("From") + m.header.Get("Reply-To") + m.header.Get("List-Id") + m.parts["text/plain"] + m.parts["text/html"]
			for _, want := range []string{
				"Old name", "letters@acme.example", "answers@acme.example", "old layout",
				"old template", "Old street 1", "Weekly",
			} {
				if !strings.Contains(all, want) {
					t.Errorf("%q is missing in\n%s", want, all)
				}
			}
			if strings.Contains(strings.ToLower(all), "fresh") {
				t.Errorf("something was edited in\n%s", all)
			}
		}
		if n := len(server.Messages()); n != 2 {
			t.Errorf("%d mails", n)
		}
	})
}

// TestAJobWaitsForItsSender checks that a job waits if its sender's domain is no longer one of the tenant's when it
// starts, and continues when it is again.
func TestAJobWaitsForItsSender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, &smtptest.Sender{})
		h.ChangeTenant(h.List.TenantID, core.TenantInput{
			Domains:  &[]string{"acme.example", "other.example"},
			MailFrom: new("letters@acme.example"),
		})
		h.Readers(h.List, 2)
		j := h.Job(func(n *core.NewJob) { n.ScheduledAt = core.At(time.Now().Add(time.Hour)) })
		h.ChangeTenant(h.List.TenantID, core.TenantInput{
			Domains:  &[]string{"other.example"},
			MailFrom: new("letters@other.example"),
		})
		h.Start()
		coretest.Settle(2 * time.Hour)
		if held := h.Paused(j, core.PauseSender); held.Sent != 0 {
			t.Errorf("%d are sent", held.Sent)
		}
		if _, err := h.ResumeSendJob(t.Context(), j.ID, "test", core.At(time.Now())); core.KindOf(err) != core.Conflict {
			t.Errorf("resumed: %v", err)
		}
		h.ChangeTenant(h.List.TenantID, core.TenantInput{Domains: &[]string{"acme.example", "other.example"}})
		h.Resume(j)
		h.AddsUp(h.Wait(j), 2, 0, 0)
	})
}
