package worker_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/mail/markup"
	"newsletterd/mail/smtp"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
	"newsletterd/worker/workertest"
)

// TestACampaignToSeveralLists checks that a campaign to several lists reaches each recipient once, through the first
// list on which they may be emailed, with the texts and tokens of that list. This also holds for deferred recipients. A
// person who unsubscribes from that list before the email gets none.
func TestACampaignToSeveralLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &letters{}
		l.sender = &smtptest.Sender{Answer: func(to string, try int) smtp.Outcome {
			if try == 1 && strings.HasPrefix(to, "r00000") {
				return smtp.Outcome{Result: smtp.Later, Code: 451}
			}
			return smtp.Outcome{Result: smtp.Sent, Code: 250}
		}}
		l.Harness = workertest.New(t, l.sender)
		empty := l.NewList(func(in *core.ListInput) { in.Name = new("Nobody's") })
		second := l.NewList(func(in *core.ListInput) { in.Name = new("Events") })
		l.Readers(l.List, 8)
		l.Readers(second, 300, func(k int) core.Email { return storetest.Reader(k + 4) })
		l.Tell(l.List, core.StatusUnsubscribed, storetest.Reader(5))
		c := l.NewCampaign(l.List, func(f *core.CampaignFields) {
			f.ListIDs = []string{l.List.ID, empty.ID, second.ID}
			f.Content.Source = "From {{list.name}}: [leave]({{unsubscribe_url}})"
		})
		r, _ := l.sending(&letter{id: c.ID}, &c, 1)
		c, err := l.ApproveCampaign(t.Context(), r)
		l.Must(err)
		_, err = l.UpdateList(t.Context(), second.ID, "test", func(to *core.List) error {
			to.Name = "Renamed since"
			return nil
		})
		l.Must(err)
		r, _ = l.sending(&letter{id: c.ID}, &c, 1)
		j, err := l.SendCampaign(t.Context(), r, campaigns.JobRequest{}, 0)
		l.Must(err)
		l.Start()
		time.Sleep(time.Minute)
		l.Tell(second, core.StatusUnsubscribed, storetest.Reader(9))
		l.AddsUp(l.Wait(j), 303, 0, 1)
		for who, n := range l.sender.Count() {
			if n != 1 {
				t.Errorf("%s got %d mails", who, n)
			}
		}
		for _, text := range l.sender.Texts() {
			_, to, _ := strings.Cut(text, "\r\nTo: ")
			to, _, _ = strings.Cut(to, "\r\n")
			to = strings.Trim(to, "<>")
			want, name := second, "Events"
			if to < "r000008" && to[:7] != "r000005" {
				want, name = l.List, l.List.Name
			}
			if !strings.Contains(text, "List-Id: "+name+" <"+want.ID+".") || !strings.Contains(text, "From=20"+name) {
				t.Errorf("%s is mailed by another list than %s:\n%s", to, name, text)
			}
		}
		j = l.Reload(j)
		rows, err := l.Recipients(t.Context(), &j, campaigns.RecipientFilter{Email: storetest.Reader(5)}, core.Page{Limit: 2})
		if err != nil || len(rows) != 1 || rows[0].ListID != second.ID {
			t.Errorf("%+v %v", rows, err)
		}
		found, err := l.History(t.Context(), storetest.Reader(5), nil, true, core.Page{Limit: 5})
		if err != nil || len(found) != 1 || found[0].ListID != second.ID || found[0].Seq != rows[0].Seq {
			t.Errorf("history %+v %v", found, err)
		}
	})
}

// TestATestByALaterList checks that a test email to a subscriber of a later list uses that list, as the campaign's
// email would.
func TestATestByALaterList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &letters{}
		l.sender = &smtptest.Sender{}
		l.Harness = workertest.New(t, l.sender)
		second := l.NewList(func(in *core.ListInput) { in.Name = new("Events") })
		l.Readers(l.List, 1)
		l.Readers(second, 1, func(int) core.Email { return storetest.Reader(1) })
		c := l.NewCampaign(l.List, func(f *core.CampaignFields) {
			f.ListIDs = []string{l.List.ID, second.ID}
			f.Content.Source = "From {{list.name}}: [leave]({{unsubscribe_url}})"
		})
		d, err := l.Draft(t.Context(), &c, 0, markup.CampaignParts, l.Time())
		l.Must(err)
		to := []core.Email{storetest.Reader(0), storetest.Reader(1), "boss@example.org"}
		l.Must(l.AddCampaignTests(t.Context(), &d, to, l.Time()))
		j := l.SendDraft(&d)
		for _, email := range to {
			l.Must(l.AddTestMail(t.Context(), &j, email, l.Time()))
		}
		l.Start()
		l.Run(l.Mailer())
		time.Sleep(time.Minute)
		tests := 0
		for _, text := range l.sender.Texts() {
			if !strings.Contains(text, "[Test]") {
				continue
			}
			tests++
			want := l.List
			if strings.Contains(text, string(to[1])) {
				want = second
			}
			if !strings.Contains(text, "List-Id: "+want.Name+" <"+want.ID+".") || !strings.Contains(text, "From=20"+want.Name) {
				t.Errorf("want the list %s:\n%s", want.Name, text)
			}
		}
		if tests != 6 {
			t.Errorf("%d tests, want 6", tests)
		}
	})
}

// TestMailsBringFilesAlong checks that the emails of a campaign contain its attachments, including signed and test
// emails.
func TestMailsBringFilesAlong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &letters{}
		l.sender = &smtptest.Sender{}
		l.Harness = workertest.New(t, l.sender)
		l.Readers(l.List, 3)
		l.TenantID = l.List.TenantID
		m := l.NewMedia("prices.pdf", []string{"%PDF-1.7 prices"}, func(m *core.Media) {
			m.Mail.Type = core.PDF
			m.Full.Type = core.PDF
		})
		c := l.NewCampaign(l.List, func(f *core.CampaignFields) { f.Attachments = []string{m.ID} })
		d, err := l.Draft(t.Context(), &c, 0, markup.CampaignParts, l.Time())
		l.Must(err)
		l.Must(l.AddCampaignTests(t.Context(), &d, []core.Email{"boss@example.org"}, l.Time()))
		l.Start()
		l.Run(l.Mailer())
		time.Sleep(time.Minute)
		j := l.SendDraft(&d)
		l.AddsUp(l.Wait(j), 3, 0, 0)
		texts := l.sender.Texts()
		for _, text := range texts {
			if strings.Count(text, "filename=\"prices.pdf\"") != 1 || !strings.Contains(text, "multipart/mixed") ||
				!strings.Contains(text, "JVBERi0xLjcgcHJpY2Vz") {
				t.Errorf("no file:\n%s", text)
			}
		}
		if len(texts) != 4 {
			t.Errorf("%d mails", len(texts))
		}
	})
}
