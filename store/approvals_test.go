package store_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/mail/markup"
	"newsletterd/schema"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// approvals is a tenant that requires a second person. It has a campaign in its own theme and a campaign in a layout.
type approvals struct {
	*storetest.Seeder
	tenant        core.Tenant
	list          core.List
	theme         core.Theme
	frame, around core.Template
	paper, boot   core.Media
	looks, words  core.Campaign // Markdown in the theme; text in the layout
}

func newApprovals(t *testing.T) *approvals {
	a := &approvals{Seeder: storetest.Seed(t, nil).At(sendNow)}
	a.tenant = a.NewTenant(func(in *core.TenantInput) {
		in.Approval, in.Domains = new(core.ApprovalSecondPerson), &[]string{"acme.example"}
	})
	a.list = a.NewList()
	base, err := markup.BaseTheme("letter", &a.tenant)
	a.Must(err)
	a.theme, err = core.NewTheme(a.tenant.ID, base, core.ThemeInput{Name: new("Ours")}, a.Now)
	a.Must(err)
	a.Must(a.AddTheme(t.Context(), a.theme, "user:cy"))
	a.around = a.NewTemplate(core.TemplateInput{Name: new("Around"), BodyText: new("Acme\n{{content}}")})
	a.frame = a.NewTemplate(core.TemplateInput{
		Name: new("Frame"), Layout: new("Around"), BodyText: new("Dear reader\n{{content}}"),
	})
	a.paper = a.NewMedia("paper.pdf", []string{"%PDF-1.7 prices"}, func(m *core.Media) {
		m.Mail.Type, m.Full.Type = core.PDF, core.PDF
	})
	a.boot = a.NewMedia("boot.png", []string{"a picture"})
	a.looks = a.NewCampaign(a.list, func(f *core.CampaignFields) {
		f.Theme, f.Attachments, f.Tracking = "Ours", []string{a.paper.ID}, core.TrackingPersons
		f.Content.Source = "# Hello\n\n![A boot](https://news.example" + a.boot.Mail.Path("boot.png") + ")\n"
	})
	a.words = a.NewCampaign(a.list, func(f *core.CampaignFields) {
		f.Content = core.CampaignContent{Kind: core.ContentText, Source: "Hello", Layout: "Frame"}
	})
	return a
}

func (a *approvals) draft(c *core.Campaign) campaigns.Draft {
	a.Helper()
	now, err := a.Campaign(a.Context(), c.ID)
	a.Must(err)
	d, err := a.Draft(a.Context(), &now, 0, markup.CampaignParts, a.Now)
	a.Must(err)
	return d
}

// approve approves the content that a draft would send, if its digest is still seen.
func (a *approvals) approve(d *campaigns.Draft, seen core.Digest, by string) (core.Campaign, error) {
	now := a.draft(&d.Campaign)
	return a.ApproveCampaign(a.Context(), campaigns.CampaignSending{
		CampaignEdit: campaigns.CampaignEdit{ID: d.Campaign.ID, Actor: by, Now: a.Now, Seen: seen},
		Version:      now.Version.Version, Fields: &now.Fields, Copy: &now.Content.Copy,
	})
}

func (a *approvals) setTemplate(t *core.Template, by, text string) {
	a.Helper()
	_, err := a.UpdateTemplate(a.Context(), t.ID, by, func(t *core.Template) error {
		return t.Change(core.TemplateInput{BodyText: new(text)}, a.Now)
	})
	a.Must(err)
}

func (a *approvals) setTheme(by string, in core.ThemeInput) {
	a.Helper()
	_, err := a.UpdateTheme(a.Context(), a.theme.ID, by, a.Now, func(t *core.Theme) error { return t.Change(in, a.Now) })
	a.Must(err)
}

func (a *approvals) setMedia(m *core.Media, in core.MediaInput) {
	a.Helper()
	_, err := a.UpdateMedia(a.Context(), m.ID, "user:cy", a.Now, func(m *core.Media) error { return m.Change(in, a.Now) })
	a.Must(err)
}

// Every change to the content or the recipients changes the digest, and the part that changed is named. Reverting the
// change restores the digest. Saving without changes, or changing something that no email contains, keeps the digest. A
// change between review or compilation and the commit is refused at the commit.
func TestAnApprovalIsOfWhatWasSeen(t *testing.T) {
	a := newApprovals(t)
	title := func(color string) core.ThemeInput {
		return core.ThemeInput{Light: &core.ThemeColorsInput{Title: new(color)}}
	}
	lists := func(name string) {
		_, err := a.UpdateList(t.Context(), a.list.ID, "test", func(l *core.List) error {
			return l.Change(core.ListInput{Name: new(name)}, a.Now)
		})
		a.Must(err)
	}
	proof := func(mailed bool) {
		_, err := a.UpdateList(t.Context(), a.list.ID, "test", func(l *core.List) error {
			return l.Change(core.ListInput{RequireMailedProof: new(mailed)}, a.Now)
		})
		a.Must(err)
	}
	tenant := func(in core.TenantInput) { a.ChangeTenant(a.tenant.ID, in) }
	for _, change := range []struct {
		name     string
		of       *core.Campaign
		part     string // empty: the digest stays the same
		do, undo func()
	}{
		{
			"tracking", &a.looks, core.ChangedSettings, func() { tenant(core.TenantInput{NoTracking: new(true)}) },
			func() { tenant(core.TenantInput{NoTracking: new(false)}) },
		},
		{
			"the address of links", &a.looks, core.ChangedSettings,
			func() { tenant(core.TenantInput{PublicURL: new("https://other.example")}) },
			func() { tenant(core.TenantInput{PublicURL: new(a.tenant.PublicURL)}) },
		},
		{
			"whom the list lets it go to", &a.words, core.ChangedLists, func() { proof(true) }, func() { proof(false) },
		},
		{
			"the template", &a.words, core.ChangedLayout, func() { a.setTemplate(&a.frame, "user:cy", "Buy\n{{content}}") },
			func() { a.setTemplate(&a.frame, "user:cy", a.frame.BodyText) },
		},
		{
			"the layout around it", &a.words, core.ChangedLayout,
			func() { a.setTemplate(&a.around, "user:cy", "Buy\n{{content}}") },
			func() { a.setTemplate(&a.around, "user:cy", a.around.BodyText) },
		},
		{"the template touched", &a.words, "", func() { a.setTemplate(&a.frame, "user:cy", a.frame.BodyText) }, nil},
		{
			"the theme", &a.looks, core.ChangedTheme, func() { a.setTheme("user:cy", title("#7a1f3d")) },
			func() { a.setTheme("user:cy", title(a.theme.Light.Title)) },
		},
		{"the theme touched", &a.looks, "", func() { a.setTheme("user:cy", title(a.theme.Light.Title)) }, nil},
		{"the theme renamed", &a.looks, "", func() { a.setTheme("user:cy", core.ThemeInput{Name: new("Mine")}) }, nil},
		{
			"the name of an attachment", &a.looks, core.ChangedMedia,
			func() { a.setMedia(&a.paper, core.MediaInput{Name: new("offer.pdf")}) },
			func() { a.setMedia(&a.paper, core.MediaInput{Name: new("paper.pdf")}) },
		},
		{"the text of a picture", &a.looks, "", func() { a.setMedia(&a.boot, core.MediaInput{Alt: new("A shoe")}) }, nil},
		{
			"a picture that is gone", &a.looks, core.ChangedMedia,
			func() { a.Must(a.DeleteMedia(t.Context(), a.boot.ID, true, "user:cy", a.Now)) },
			func() { a.boot = a.NewMedia("boot.png", []string{"a picture"}) },
		},
		{
			"the sender", &a.words, core.ChangedSettings,
			func() { tenant(core.TenantInput{MailFromName: new("Someone else")}) },
			func() { tenant(core.TenantInput{MailFromName: new("")}) },
		},
		{
			"where replies go", &a.words, core.ChangedSettings,
			func() { tenant(core.TenantInput{ReplyTo: new("desk@acme.example")}) },
			func() { tenant(core.TenantInput{ReplyTo: new("")}) },
		},
		{
			"the first recipients", &a.words, core.ChangedPlan, func() { tenant(core.TenantInput{FirstFew: new(true)}) },
			func() { tenant(core.TenantInput{FirstFew: new(false)}) },
		},
		{"the name of the list", &a.words, core.ChangedLists, func() { lists("Daily") }, func() { lists(a.list.Name) }},
	} {
		seen := a.draft(change.of)
		change.do()
		now := a.draft(change.of)
		if now.Digest.Same(seen.Digest) != (change.part == "") || (now.Digest == seen.Digest) != (change.part == "") {
			t.Errorf("%s: the digest is %s, then %s", change.name, seen.Digest, now.Digest)
		}
		if change.part == "" {
			continue
		}
		if parts := seen.Digest.Changed(now.Digest); !slices.Equal(parts, []string{change.part}) {
			t.Errorf("%s: %v has changed", change.name, parts)
		}
		if _, err := a.approve(&seen, seen.Digest, "user:bo"); core.KindOf(err) != core.PreconditionFailed {
			t.Errorf("%s: approved: %v", change.name, err)
		}
		change.undo()
		if again := a.draft(change.of); again.Digest != seen.Digest {
			t.Errorf("%s, taken back: the digest is %s, then %s", change.name, seen.Digest, again.Digest)
		}
	}
	for _, c := range []*core.Campaign{&a.looks, &a.words} {
		d := a.draft(c)
		if _, err := a.approve(&d, d.Digest, "user:bo"); err != nil {
			t.Error(err)
		}
	}
}

// Users who have created or changed the layout, its surrounding template or the theme, even before the campaign was
// created, don't count as a second person until someone else has approved a campaign with it. Renaming a theme or
// saving without changes makes no one a writer.
func TestWhoeverDesignsIsAWriter(t *testing.T) {
	a := newApprovals(t)
	a.setTemplate(&a.frame, "user:fay", "Dear readers\n{{content}}")
	a.setTemplate(&a.around, "user:ada", "Acme Ltd\n{{content}}")
	a.setTheme("user:tom", core.ThemeInput{Light: &core.ThemeColorsInput{Text: new("#222222")}})
	a.setTheme("user:ren", core.ThemeInput{Name: new("Mine")})
	a.setTheme("user:may", core.ThemeInput{Light: &core.ThemeColorsInput{Text: new("#222222")}})
	all := []string{"user:fay", "user:ada", "user:tom", "user:ren", "user:may", "user:cy", "user:bo"}
	check := func(c *core.Campaign, writers ...string) {
		t.Helper()
		d := a.draft(c)
		for _, by := range all {
			want := slices.Contains(writers, by)
			if got := a.tenant.Accepts(&d.Campaign, by) != nil; got != want {
				t.Errorf("%s is a writer: %t", by, got)
			}
			if !want {
				continue
			}
			if _, err := a.approve(&d, d.Digest, by); core.KindOf(err) != core.Forbidden {
				t.Errorf("%s approves: %v", by, err)
			}
		}
	}
	approve := func(c *core.Campaign, by string) {
		t.Helper()
		d := a.draft(c)
		if _, err := a.approve(&d, d.Digest, by); err != nil {
			t.Error(err)
		}
	}
	letter := func(layout, theme string) *core.Campaign {
		c := a.NewCampaign(a.list, func(f *core.CampaignFields) {
			if f.Theme = theme; layout != "" {
				f.Content = core.CampaignContent{Kind: core.ContentText, Source: "Hello", Layout: layout}
			}
		})
		return &c
	}
	edit := func(c *core.Campaign, change func(*core.CampaignFields)) {
		t.Helper()
		_, err := a.EditCampaign(t.Context(), campaigns.CampaignEdit{ID: c.ID, Actor: "user:zoe", Now: a.Now},
			func(f *core.CampaignFields) error { change(f); return nil })
		a.Must(err)
	}
	check(&a.words, "user:fay", "user:ada")
	check(&a.looks, "user:cy", "user:tom")                             // cy created the theme
	later := []*core.Campaign{letter("Frame", ""), letter("", "Mine")} // created after the changes
	check(later[0], "user:fay", "user:ada")
	check(later[1], "user:cy", "user:tom")
	approve(&a.words, "user:cy")
	approve(&a.looks, "user:bo")
	check(later[0]) // others have approved campaigns with them
	check(later[1])
	edit(&a.words, func(f *core.CampaignFields) { f.Subject = "June" })
	check(&a.words)
	a.setTemplate(&a.frame, "user:ada", "Dear all\n{{content}}")
	check(&a.words, "user:ada")
	check(letter("Frame", ""), "user:ada")
	check(letter("Around", "")) // her earlier change to the template was approved
	// If an approved campaign switches to another layout, that layout's designers count.
	a.setTemplate(&a.around, "user:fay", "Buy\n{{content}}")
	approve(later[1], "user:ren")
	edit(later[1], func(f *core.CampaignFields) {
		f.Content, f.Theme = core.CampaignContent{Kind: core.ContentText, Source: "Hello", Layout: "Around"}, ""
	})
	check(later[1], "user:fay")
	// While one person is enough, approving one's own campaign does not approve the layout for others, and neither does
	// a command.
	a.ChangeTenant(a.tenant.ID, core.TenantInput{Approval: new(core.ApprovalNone)})
	approve(letter("Around", ""), "user:fay")
	approve(letter("Around", ""), "command:root")
	a.ChangeTenant(a.tenant.ID, core.TenantInput{Approval: new(core.ApprovalSecondPerson)})
	check(later[1], "user:fay")
	// If the tenant's own default template is deleted, the built-in one applies again.
	own := a.NewTemplate(core.TemplateInput{Name: new(core.DefaultTemplate), BodyText: new("Acme\n{{content}}")})
	c := letter(core.DefaultTemplate, "")
	check(c)
	a.Must(a.DeleteTemplate(t.Context(), own.ID, true, "user:fay", a.Now))
	check(c, "user:fay")
}

// The migration treats the templates and themes of campaigns approved before it as approved in the state that they had
// at the time of the approval.
func TestDesignsAfterAnUpgrade(t *testing.T) {
	a := newApprovals(t)
	before := a.draft(&a.looks)
	check := func(of *core.Campaign, writers ...string) {
		t.Helper()
		if got := mustCampaign(a, of.ID).Designers; !slices.Equal(got, writers) {
			t.Errorf("written by %q", got)
		}
	}
	a.setTemplate(&a.frame, "user:fay", "Dear readers\n{{content}}")
	a.Must(a.approve(&before, before.Digest, "user:bo"))
	a.setTheme("user:tom", core.ThemeInput{Light: &core.ThemeColorsInput{Text: new("#222222")}})
	a.SQL("UPDATE template SET audit_seen = 0")
	a.SQL("UPDATE theme SET audit_seen = 0")
	for _, m := range schema.Migrations() {
		if m.Number == 99 {
			_, fill, _ := strings.Cut(m.SQL, "of their tenants as they were.\n")
			a.SQL(fill)
		}
	}
	check(&a.words)
	c := a.NewCampaign(a.list, func(f *core.CampaignFields) { f.Theme = a.theme.ID })
	check(&c, "user:tom")
}

// An approved campaign is sent with its frozen content, whatever happens to its records. Undoing the send, or canceling
// it before it starts, keeps the approval, and the next send has the same content.
func TestAnApprovalOutlivesAnUndo(t *testing.T) {
	a := newApprovals(t)
	a.Readers(a.list, 1)
	d := a.draft(&a.words)
	c, err := a.approve(&d, d.Digest, "user:bo")
	a.Must(err)
	a.Must(a.DeleteTemplate(t.Context(), a.frame.ID, true, "user:cy", a.Now))
	stop := []func(j core.SendJob){
		func(core.SendJob) {
			_, err := a.UndoCampaign(t.Context(), campaigns.CampaignEdit{ID: c.ID, Actor: "user:cy", Now: a.Now})
			a.Must(err)
		},
		func(j core.SendJob) {
			_, err := a.CancelSendJob(t.Context(), j.ID, a.Now)
			a.Must(err)
		},
		func(core.SendJob) {},
	}
	for i, stop := range stop {
		d := a.draft(&a.words)
		if !d.Frozen || d.Digest != "" || !strings.Contains(d.Content.Template.BodyText, "Dear reader") {
			t.Errorf("%d: %+v", i, d)
		}
		j, err := a.SendCampaign(t.Context(), campaigns.CampaignSending{
			CampaignEdit: campaigns.CampaignEdit{ID: c.ID, Actor: "user:cy", Now: a.Now}, Version: c.Version, Fields: &d.Fields,
			Copy: &d.Content.Copy,
		}, campaigns.JobRequest{}, a.Now.Add(time.Minute))
		a.Must(err)
		content, err := a.Content(t.Context(), &j)
		if err != nil || !strings.Contains(content.Template.BodyText, "Dear reader") {
			t.Errorf("%d: %+v, %v", i, content.Template, err)
		}
		stop(j)
		now, err := a.Campaign(t.Context(), c.ID)
		if want := core.CampaignApproved; i < 2 && (err != nil || now.State != want || now.ApprovedBy != "user:bo") {
			t.Errorf("%d: %s, approved by %q, %v", i, now.State, now.ApprovedBy, err)
		}
	}
	// After changes are requested, the canceled job can't be retried instead of getting an approval.
	j, err := a.SendJobByNo(t.Context(), mustCampaign(a, c.ID).JobNo)
	a.Must(err)
	_, err = a.StartDueJobs(t.Context(), a.Now.Add(time.Hour))
	a.Must(err)
	_, err = a.CancelSendJob(t.Context(), j.ID, a.Now)
	a.Must(err)
	for after, more := int64(0), true; more; {
		after, more, err = a.SettleJob(t.Context(), j.No, after, a.Now)
		a.Must(err)
	}
	_, err = a.RejectCampaign(t.Context(), campaigns.CampaignEdit{ID: c.ID, Actor: "user:bo", Now: a.Now}, "")
	a.Must(err)
	if _, err := a.RetryFailed(t.Context(), j.ID, "user:cy", a.Now); core.KindOf(err) != core.Conflict {
		t.Errorf("what was sent back is retried: %v", err)
	}
}

func mustCampaign(a *approvals, id string) core.Campaign {
	c, err := a.Campaign(a.Context(), id)
	a.Must(err)
	return c
}

// If no approval was required, undoing the send removes the approval that was part of the send.
func TestAnUndoTakesBackItsOwnApproval(t *testing.T) {
	a := newApprovals(t)
	a.ChangeTenant(a.tenant.ID, core.TenantInput{Approval: new(core.ApprovalNone)})
	d := a.draft(&a.words)
	a.SendDraft(&d)
	c, err := a.UndoCampaign(t.Context(), campaigns.CampaignEdit{ID: a.words.ID, Actor: "user:cy", Now: a.Now})
	if err != nil || c.State != core.CampaignDraft || c.CopyID != "" {
		t.Errorf("%s, %q, %v", c.State, c.CopyID, err)
	}
}

// A correction is compiled in the current theme. A user who has changed that theme can't publish the correction without
// a second person.
func TestACorrectionIsOfASecondPersonToo(t *testing.T) {
	a := newApprovals(t)
	a.Readers(a.list, 1)
	d := a.draft(&a.looks)
	_, err := a.approve(&d, d.Digest, "user:bo")
	a.Must(err)
	d = a.draft(&a.looks)
	a.Start(a.SendDraft(&d))
	a.setTheme("user:tom", core.ThemeInput{FooterText: new("Buy at evil.example")})
	for by, want := range map[string]core.Kind{"user:tom": core.Forbidden, "user:bo": 0} {
		written := d.Content.Copy
		written.ID = core.NewID()
		_, err := a.CorrectCampaign(t.Context(), campaigns.CampaignCorrection{
			CampaignEdit: campaigns.CampaignEdit{ID: a.looks.ID, Actor: by, Now: a.Now}, Copy: &written,
		})
		if core.KindOf(err) != want || want == 0 && err != nil {
			t.Errorf("%s: %v", by, err)
		}
	}
}

// After the migration, reviewers from before it must review again, users who changed the layout after the approval or
// the creation count as writers, and undoing a send without an approval makes the campaign a draft.
func TestApprovalsAfterAnUpgrade(t *testing.T) {
	a := newApprovals(t)
	d := a.draft(&a.looks)
	a.Must(a.approve(&d, d.Digest, "user:bo"))
	a.Must(a.AskReview(t.Context(), campaigns.CampaignEdit{ID: a.words.ID, Actor: "user:zoe", Now: a.Now}, 0, ""))
	sent := a.NewCampaign(a.list)
	a.ChangeTenant(a.tenant.ID, core.TenantInput{Approval: new(core.ApprovalNone)})
	d = a.draft(&sent)
	a.SendDraft(&d)
	before := mustCampaign(a, a.words.ID)
	a.Seeder = a.At(a.Now.Add(time.Hour))
	a.setTemplate(&a.frame, "user:fay", "Buy\n{{content}}")
	a.SQL("UPDATE campaign SET audit_seen = 0, approved_by_send = 0")
	for _, m := range schema.Migrations() {
		if m.Number == 85 {
			_, fill, _ := strings.Cut(m.SQL, "UPDATE campaign SET audit_seen")
			fill, _, _ = strings.Cut(fill, "-- A campaign that was stopped")
			a.SQL("UPDATE campaign SET audit_seen" + fill)
		}
	}
	a.ChangeTenant(a.tenant.ID, core.TenantInput{Approval: new(core.ApprovalSecondPerson)})
	now := mustCampaign(a, a.words.ID)
	if now.Revision != before.Revision+1 || !slices.Contains(now.Designers, "user:fay") {
		t.Errorf("in review: revision %d, then %d, designed by %q", before.Revision, now.Revision, now.Designers)
	}
	if c := mustCampaign(a, a.looks.ID); c.AuditSeen == 0 || c.ApprovedBySend || c.State != core.CampaignApproved {
		t.Errorf("approved: %+v", c)
	}
	if c := mustCampaign(a, sent.ID); !c.ApprovedBySend {
		t.Errorf("scheduled: %+v", c)
	}
}

// A campaign approved while the tenant tracked nothing is sent without tracking, even if the tenant enables tracking
// later.
func TestAnApprovalWithoutTrackingStaysSo(t *testing.T) {
	a := newApprovals(t)
	a.ChangeTenant(a.tenant.ID, core.TenantInput{NoTracking: new(true)})
	d := a.draft(&a.looks)
	c, err := a.approve(&d, d.Digest, "user:bob")
	a.Must(err)
	a.ChangeTenant(a.tenant.ID, core.TenantInput{NoTracking: new(false)})
	tracked := a.Count("SELECT count(*) FROM campaign_copy WHERE id = ? AND (track_open OR track_click)", c.CopyID)
	if tracked > 0 || d.Fields.Tracking == core.TrackingOff {
		t.Errorf("approved copies that are tracked: %d; the campaign says %q", tracked, d.Fields.Tracking)
	}
}

// Changes by an API client count as changes by its keepers, because they may know the client's secret.
func TestWhoKeepsAProgramIsAWriter(t *testing.T) {
	a := newApprovals(t)
	client, _, err := core.NewClient(core.ClientInput{
		Name: new("Robot"), TenantID: &a.tenant.ID, ClientType: new(core.ClientConfidential),
	}, true, a.Now)
	a.Must(err)
	client.CreatedBy = "user:ann"
	a.Must(a.AddClient(t.Context(), client, "user:ann"))
	_, err = a.UpdateClient(t.Context(), client.ID, "user:gil", func(c *core.Client) error {
		_, err := c.RotateSecret(0, true, a.Now)
		return err
	})
	a.Must(err)
	d := a.draft(&a.words)
	a.SQL("UPDATE campaign SET writers = ? WHERE id = ?", core.Strings{"client:" + client.ID}.Column(), d.Campaign.ID)
	d = a.draft(&a.words)
	for by, may := range map[string]bool{"user:ann": false, "user:gil": false, "user:bob": true} {
		if _, err := a.approve(&d, d.Digest, by); (err == nil) != may {
			t.Errorf("%s: %v", by, err)
		}
	}
}

// If a version is restored, the person who saved it still counts as a writer.
func TestRestoringAVersionKeepsItsWriter(t *testing.T) {
	a := newApprovals(t)
	c := a.NewCampaign(a.list)
	save := func(by, subject string) {
		t.Helper()
		a.Now += 1000
		got, err := a.EditCampaign(t.Context(), campaigns.CampaignEdit{ID: c.ID, Actor: by, Now: a.Now},
			func(f *core.CampaignFields) error { f.Subject = subject; return nil })
		a.Must(err)
		c = got
	}
	save("user:eve", "Eve's words")
	eves := c.Version
	save("user:ann", "Ann's words")
	d := a.draft(&c)
	if _, err := a.approve(&d, d.Digest, "user:bo"); err != nil {
		t.Fatal(err)
	}
	a.Now += 1000
	back, err := a.RestoreVersion(t.Context(), campaigns.CampaignEdit{ID: c.ID, Actor: "user:ann", Now: a.Now}, eves)
	if a.Must(err); !slices.Contains(back.Writers, "user:eve") || !slices.Contains(back.Writers, "user:ann") {
		t.Errorf("the writers are %v", back.Writers)
	}
}
