package worker_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/mailtest"
	"newsletterd/mail/markup"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/worker/workertest"
)

// Each recipient's email has links of their own for each option, in both parts, which tracking leaves alone. A test email
// has links that don't vote.
func TestEmailsWithAPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &smtptest.Sender{}
		h := workertest.New(t, s)
		h.Readers(h.List, 3)
		c := h.NewCampaign(h.List, func(f *core.CampaignFields) {
			f.Tracking, f.Content.Source = core.TrackingPersons, "Hello\n\n{{ poll.1 }}\n"
			f.UTM.Source = "news"
			f.Polls = []core.Poll{{Question: "Which fruit?", Options: core.Strings{"Apples", "Pears"}}}
		})
		d, err := h.Draft(t.Context(), &c, 0, markup.CampaignParts, core.At(time.Now()))
		h.Must(err)
		h.Must(h.AddCampaignTests(t.Context(), &d, []core.Email{"me@example.org"}, core.At(time.Now())))
		j := h.SendDraft(&d)
		h.Start()
		h.Run(h.Mailer())
		h.AddsUp(h.Wait(j), 3, 0, 0)
		time.Sleep(time.Minute)
		seen, tests := map[string]bool{}, 0
		for _, raw := range s.Texts() {
			m := readSent(t, mailtest.Message{Data: []byte(raw)})
			if strings.HasPrefix(m.header.Get("Subject"), "[Test]") {
				if tests++; strings.Count(m.parts["text/html"], mail.PollPath+mail.PollPreview) != 2 {
					t.Errorf("a test: %s", m.parts["text/html"])
				}
				continue
			}
			for option := 1; option <= 2; option++ {
				_, after, _ := strings.Cut(m.parts["text/html"], `href="http://news.test`+mail.PollPath)
				for range option - 1 {
					_, after, _ = strings.Cut(after, mail.PollPath)
				}
				token, _, _ := strings.Cut(after, `"`)
				job, seq, answer, ok := h.Opts.Ident.ParsePoll(token)
				if !ok || job != j.No || seq < 1 || seq > 3 || answer != (mail.Answer{Poll: 1, Option: option}) {
					t.Errorf("%q is %d, %d, %v", token, job, seq, answer)
				}
				if seen[token] = true; !strings.Contains(m.parts["text/plain"], token) {
					t.Errorf("the text part has no %s", token)
				}
			}
		}
		if len(seen) != 6 || tests != 1 {
			t.Errorf("%d links, %d tests", len(seen), tests)
		}
	})
}
