package worker_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/mail/mailtest"
	"newsletterd/mail/markup"
	"newsletterd/mail/smtp/smtptest"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/worker/workertest"
)

// letters are some campaigns of one list, and what their recipients may get.
type letters struct {
	*workertest.Harness
	sender *smtptest.Sender
	all    []*letter
}

type letter struct {
	id       string
	saves    int
	approved string // subject of the last approved version, the only one that may be sent
	barred   int    // number of emails when an undo or a cancellation was acknowledged; -1: more may follow
}

// subjectOf returns the campaign and the save that an email was made from.
var subjectOf = regexp.MustCompile(`(?m)^Subject: letter (\d+) save (\d+)\r?$`)

// mails returns the subjects of the sent emails of a campaign, by recipient.
func (l *letters) mails(no int) (subjects map[string][]string, count int) {
	subjects = map[string][]string{}
	for _, text := range l.sender.Texts() {
		m := subjectOf.FindStringSubmatch(text)
		if m == nil || m[1] != fmt.Sprint(no) {
			continue
		}
		_, to, _ := strings.Cut(text, "\r\nTo: ")
		to, _, _ = strings.Cut(to, "\r\n")
		subjects[to], count = append(subjects[to], strings.TrimSpace(m[0])), count+1
	}
	return subjects, count
}

func (l *letters) edit(one *letter, actor string) campaigns.CampaignEdit {
	return campaigns.CampaignEdit{ID: one.id, Actor: actor, Now: core.At(time.Now())}
}

// sending compiles a campaign in its current state.
func (l *letters) sending(one *letter, c *core.Campaign, version int64) (campaigns.CampaignSending, string) {
	d, err := l.Draft(l.Context(), c, 0, markup.CampaignParts, core.At(time.Now()))
	l.Must(err)
	r := campaigns.CampaignSending{
		CampaignEdit: l.edit(one, "pia"), Version: version, Fields: &d.Fields, Copy: &d.Content.Copy,
	}
	r.Revision = c.Revision
	return r, "Subject: " + d.Fields.Subject
}

// step does one thing with a campaign and records the response.
func (l *letters) step(no int, random *rand.Rand) {
	one := l.all[no]
	c, err := l.Campaign(l.Context(), one.id)
	l.Must(err)
	switch random.IntN(9) {
	case 0, 1:
		one.saves++
		by := []string{"ann", "bob"}[random.IntN(2)]
		_, err := l.EditCampaign(l.Context(), l.edit(one, by), func(f *core.CampaignFields) error {
			f.Subject = fmt.Sprintf("letter %d save %d", no, one.saves)
			return nil
		})
		if err == nil && !strings.Contains("draft in_review approved", string(c.State)) {
			l.Errorf("one that is %s was written on", c.State)
		}
	case 2:
		r, subject := l.sending(one, &c, c.Version-int64(random.IntN(2)))
		if _, err := l.ApproveCampaign(l.Context(), r); err == nil {
			one.approved = subject
		}
	case 3, 4:
		r, subject := l.sending(one, &c, c.Version-int64(random.IntN(3)/2))
		undo := core.At(time.Now()).Add(time.Duration(random.IntN(3)) * 30 * time.Second)
		if _, err := l.SendCampaign(l.Context(), r, campaigns.JobRequest{}, undo); err == nil {
			if c.State != core.CampaignApproved {
				one.approved = subject
			}
			one.barred = -1
		}
	case 5, 8:
		if _, err := l.UndoCampaign(l.Context(), l.edit(one, "pia")); err == nil {
			_, one.barred = l.mails(no)
			if one.barred > 0 {
				l.Errorf("an undo was answered after %d mails", one.barred)
			}
		}
	case 6:
		if c.JobID != "" && random.IntN(3) == 0 {
			_, err := l.CancelSendJob(db.By(l.Context(), "pia", core.At(time.Now())), c.JobID, core.At(time.Now()))
			l.Must(err)
			time.Sleep(time.Second) // wait for emails in flight
			_, one.barred = l.mails(no)
		}
	case 7:
		_, err := l.UpdateTenant(l.Context(), l.List.TenantID, "test", func(t *core.Tenant) error {
			t.BrandColor = fmt.Sprintf("#%06x", random.IntN(1<<24))
			return nil
		})
		l.Must(err)
	}
}

// check compares the sent emails with what was approved.
func (l *letters) check() {
	for no, one := range l.all {
		subjects, count := l.mails(no)
		for to, got := range subjects {
			if len(got) > 1 || got[0] != one.approved {
				l.Errorf("%s got %q of letter %d; approved is %q", to, got, no, one.approved)
			}
		}
		if one.barred >= 0 && count != one.barred {
			l.Errorf("%d mails of letter %d went out, %d after it was stopped", count, no, count-one.barred)
		}
	}
}

// TestCampaignsAreSentAsApproved does random steps with campaigns. No recipient may get content that was not approved,
// or an email twice, and nothing may be sent after an undo or a cancellation was acknowledged.
func TestCampaignsAreSentAsApproved(t *testing.T) {
	seeds := 6
	if testing.Short() {
		seeds = 2
	}
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 15))
				l := &letters{sender: &smtptest.Sender{}}
				l.Harness = workertest.New(t, l.sender)
				l.Readers(l.List, 20)
				for no := range 4 {
					c := l.NewCampaign(l.List, func(f *core.CampaignFields) {
						f.Subject, f.Theme = fmt.Sprintf("letter %d save 0", no), "journal"
					})
					l.all = append(l.all, &letter{id: c.ID, barred: -1})
				}
				l.Start()
				for range 120 {
					l.step(random.IntN(len(l.all)), random)
					time.Sleep(time.Duration(random.IntN(20_000)) * time.Millisecond)
					l.check()
				}
				time.Sleep(time.Hour)
				l.check()
				sent := 0
				for _, one := range l.all {
					if c, err := l.Campaign(l.Context(), one.id); err != nil || c.State == core.CampaignSent {
						sent++
					}
				}
				if sent == 0 {
					t.Error("no campaign was sent")
				}
			})
		})
	}
}

// TestACampaignSendsItsCopy checks that a campaign is sent as it was when it was approved, with its own sender and the
// design of that time. A test email shows the requested version.
func TestACampaignSendsItsCopy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &letters{sender: &smtptest.Sender{}}
		l.Harness = workertest.New(t, l.sender)
		l.ChangeTenant(l.List.TenantID, core.TenantInput{
			Domains: &[]string{"acme.example"}, MailFrom: new("all@acme.example"), PostalAddress: new("Old street 1"),
		})
		l.Readers(l.List, 2)
		tenant, err := l.Tenant(t.Context(), l.List.TenantID)
		l.Must(err)
		base, err := markup.BaseTheme("studio", &tenant)
		l.Must(err)
		theme, err := core.NewTheme(tenant.ID, base, core.ThemeInput{
			Name: new("Ours"), FooterText: new("Old words"), Light: &core.ThemeColorsInput{Page: new("#c0ffee")},
		}, core.At(time.Now()))
		l.Must(err)
		l.Must(l.AddTheme(t.Context(), theme, "ann"))
		c := l.NewCampaign(l.List, func(f *core.CampaignFields) {
			f.Subject, f.FromName, f.Theme = "letter 0 save 0", "Ada", "Ours"
			f.FromEmail, f.ReplyTo = "ada@acme.example", "desk@acme.example"
			f.Content.Source = "Hello [there](https://acme.example/x) {{view_url}}"
		})
		one := &letter{id: c.ID}
		d, err := l.Draft(t.Context(), &c, 0, markup.CampaignParts, core.At(time.Now()))
		l.Must(err)
		l.Must(l.AddCampaignTests(t.Context(), &d, []core.Email{"me@example.org"}, core.At(time.Now())))
		r, _ := l.sending(one, &c, 1)
		c, err = l.ApproveCampaign(t.Context(), r)
		l.Must(err)
		l.ChangeTenant(l.List.TenantID, core.TenantInput{
			MailFrom: new("fresh@acme.example"), PostalAddress: new("Fresh street 2"),
		})
		l.Must(l.UpdateTheme(t.Context(), theme.ID, "ann", core.At(time.Now()), func(th *core.Theme) error {
			return th.Change(core.ThemeInput{
				Name: new("Theirs"), FooterText: new("Fresh words"), Light: &core.ThemeColorsInput{Page: new("#decade")},
			}, core.At(time.Now()))
		}))
		r, _ = l.sending(one, &c, 1)
		j, err := l.SendCampaign(t.Context(), r, campaigns.JobRequest{}, 0)
		l.Must(err)
		l.Start()
		l.Run(l.Mailer())
		l.AddsUp(l.Wait(j), 2, 0, 0)
		time.Sleep(time.Minute)
		texts := l.sender.Texts()
		if len(texts) != 3 {
			t.Fatalf("%d mails", len(texts))
		}
		for _, raw := range texts {
			m := readSent(t, mailtest.Message{Data: []byte(raw)})
			head := m.header.Get
			test := head("Subject") == "[Test] letter 0 save 0"
			if !test && head("Subject") != "letter 0 save 0" || test != strings.Contains(head("To"), "<me@example.org>") {
				t.Errorf("the subject is %q, to %q", head("Subject"), head("To"))
			}
			text := head("From") + head("Reply-To") + m.parts["text/html"] + m.parts["text/plain"]
			for _, want := range []string{ // a test email also shows what was approved
				"Ada", "<ada@acme.example>", "<desk@acme.example>", "Old street 1", "Old words", "#c0ffee", "/v/",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing in %s", want, text)
				}
			}
		}
		if c, err = l.Campaign(t.Context(), c.ID); err != nil || c.State != core.CampaignSent || c.JobID != j.ID {
			t.Errorf("%+v %v", c, err)
		}
	})
}
