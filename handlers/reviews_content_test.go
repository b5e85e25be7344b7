package handlers

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/mail/markup"
	"newsletterd/store/campaigns"
)

// look opens the page, and returns the tag of the content that it shows.
func (e *reviewEnv) look() string {
	e.Helper()
	_, page := e.page("GET", reviewAddress(e.campaign.ID), nil)
	tag := regexp.MustCompile(`name="tag" value="([\w-]+)"`).FindStringSubmatch(page)
	if tag == nil {
		e.Fatal(textOf(page))
	}
	return tag[1]
}

// segment adds a segment to which everyone belongs.
func (e *reviewEnv) segment(name string) string {
	e.Helper()
	g, err := core.NewSegment(e.tenant.ID, core.SegmentInput{Name: &name, Rule: `{"not": {"domain": "none.example"}}`},
		"test", e.seed.Time())
	e.must(err)
	e.must(e.store.AddSegment(e.Context(), g))
	return g.ID
}

// If the segment of a campaign can't be evaluated, the page shows the campaign with the reason, and it can't be
// approved.
func TestReviewOfAnUndecidedSegment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newReviewEnv(t)
		e.login()
		gone := e.seed.NewList(func(in *core.ListInput) { in.Name = new("Gone") })
		id, rule := e.segment("Loyal"), core.RuleText(`{"on_list": "`+gone.ID+`"}`)
		_, err := e.store.ChangeSegment(t.Context(), id, "test", func(g *core.Segment) error {
			return g.Change(core.SegmentInput{Rule: rule}, "test", e.seed.Time())
		})
		e.must(err)
		list := core.List{ID: e.seed.ListID, TenantID: e.tenant.ID}
		e.campaign = e.seed.NewCampaign(list, func(f *core.CampaignFields) { f.SegmentID = id })
		e.edit(core.UserActor(e.bob.ID))
		e.review(0)
		if _, page := e.page("GET", reviewAddress(e.campaign.ID), nil); !strings.Contains(page, `value="approve"`) {
			t.Errorf("before: %s", textOf(page))
		}
		e.must(e.store.DeleteList(t.Context(), gone.ID, "test", e.seed.Time()))
		status, page := e.page("GET", reviewAddress(e.campaign.ID), nil)
		if status != http.StatusOK || !strings.Contains(textOf(page), gone.ID) || strings.Contains(page,
			`value="approve"`) {
			t.Errorf("after: %d %s", status, textOf(page))
		}
	})
}

// The page describes the rule of the segments: the current rule during review, and then the approved one.
func TestReviewShowsTheRule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newReviewEnv(t)
		e.login()
		loyal, silent := e.segment("Loyal"), e.segment("Silent")
		change := func(id string, rule core.RuleText) {
			_, err := e.store.ChangeSegment(t.Context(), id, "test", func(g *core.Segment) error {
				return g.Change(core.SegmentInput{Rule: rule}, "test", e.seed.Time())
			})
			e.must(err)
		}
		change(loyal, `{"any": [{"field": "city", "is": ["Ulm", "Bonn"]}, {"segment": "`+core.RuleText(silent)+`"}]}`)
		list := core.List{ID: e.seed.ListID, TenantID: e.tenant.ID}
		e.campaign = e.seed.NewCampaign(list, func(f *core.CampaignFields) {
			f.SegmentID, f.ExcludeSegmentIDs = loyal, []string{silent}
		})
		e.edit(core.UserActor(e.bob.ID))
		e.review(0)
		says := func(wants ...string) {
			t.Helper()
			_, page := e.page("GET", reviewAddress(e.campaign.ID), nil)
			for _, want := range wants {
				if !strings.Contains(textOf(page), want) {
					t.Errorf("no %q in %s", want, textOf(page))
				}
			}
		}
		rule := []string{
			"Conditions", "Any of these conditions match:", "is Ulm, Bonn", "Email domain is not none.example",
			"Everyone except people who match:",
		}
		says(rule...)
		status, body := e.page("POST", page.ReviewPath, url.Values{
			"campaign": {e.campaign.ID}, "tag": {e.look()}, "action": {"approve"},
		})
		if status != http.StatusOK && status != http.StatusSeeOther {
			t.Fatalf("%d %s", status, textOf(body))
		}
		change(loyal, `{"field": "city", "is": "Trier"}`)
		says(rule...)
	})
}

// If the layout, the theme or a file is edited between viewing and approving, the page refuses the approval. It shows
// what has changed and who changed it, and has a button that approves the current content.
func TestReviewOfWhatHasChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newReviewEnv(t)
		e.login()
		cy := core.UserActor(e.seed.NewUser("cy@user.example", "", func(u *core.User) {
			u.Name, u.Roles = "Cy", []core.Role{{Role: core.RoleEditor, TenantID: e.tenant.ID}}
		}).ID)
		list := core.List{ID: e.seed.ListID, TenantID: e.tenant.ID}
		now := e.seed.Time()
		frame := e.seed.NewTemplate(core.TemplateInput{Name: new("Frame"), BodyText: new("Acme\n{{content}}")})
		base, err := markup.BaseTheme("letter", &e.tenant)
		e.must(err)
		theme, err := core.NewTheme(e.tenant.ID, base, core.ThemeInput{Name: new("Ours")}, now)
		e.must(err)
		e.must(e.store.AddTheme(t.Context(), theme, "test"))
		paper := e.seed.NewMedia("paper.pdf", []string{"%PDF-1.7"}, func(m *core.Media) { m.Full.Type = core.PDF })
		segment := e.segment("Loyal")
		for _, change := range []struct {
			says  string
			write func(*core.CampaignFields)
			do    func() error
		}{
			{"Template Frame: changed by Cy", func(f *core.CampaignFields) {
				f.Content = core.CampaignContent{Kind: core.ContentText, Source: "Hello", Layout: "Frame"}
			}, func() error {
				_, err := e.store.UpdateTemplate(t.Context(), frame.ID, cy, func(f *core.Template) error {
					return f.Change(core.TemplateInput{BodyText: new("Buy\n{{content}}")}, now)
				})
				return err
			}},
			{"Theme Ours: changed by Cy", func(f *core.CampaignFields) { f.Theme = "Ours" }, func() error {
				_, err := e.store.UpdateTheme(t.Context(), theme.ID, cy, now, func(t *core.Theme) error {
					return t.Change(core.ThemeInput{FooterText: new("Buy")}, now)
				})
				return err
			}},
			{
				"Images and attachments: changed by Cy", func(f *core.CampaignFields) { f.Attachments = []string{paper.ID} },
				func() error {
					_, err := e.store.UpdateMedia(t.Context(), paper.ID, cy, now, func(m *core.Media) error {
						return m.Change(core.MediaInput{Name: new("offer.pdf")}, now)
					})
					return err
				},
			},
			{"Segment Loyal: changed by Cy", func(f *core.CampaignFields) { f.SegmentID = segment }, func() error {
				_, err := e.store.ChangeSegment(t.Context(), segment, cy, func(g *core.Segment) error {
					return g.Change(core.SegmentInput{Rule: `{"not": {"domain": "other.example"}}`}, cy, now)
				})
				return err
			}},
			{"Campaign: changed by Bob", func(*core.CampaignFields) {}, func() error {
				e.edit(core.UserActor(e.bob.ID))
				e.review(0)
				return nil
			}},
		} {
			e.campaign = e.seed.NewCampaign(list, change.write)
			e.edit(core.UserActor(e.bob.ID))
			e.review(0)
			seen := e.look()
			e.must(change.do())
			status, page := e.page("POST", page.ReviewPath, url.Values{
				"campaign": {e.campaign.ID}, "tag": {seen}, "action": {"approve"},
			})
			if status != http.StatusPreconditionFailed || !strings.Contains(textOf(page), change.says) ||
				!strings.Contains(page, `value="approve"`) || strings.Contains(page, seen) {
				t.Errorf("%s: %d, %s", change.says, status, textOf(page))
			}
			if c, err := e.store.Campaign(t.Context(), e.campaign.ID); err != nil || c.State != core.CampaignInReview {
				t.Errorf("%s: %s, %v", change.says, c.State, err)
			}
			if status, state := e.press("approve"); status != http.StatusOK || state != core.CampaignApproved {
				t.Errorf("%s: looked at again: %d, %s", change.says, status, state)
			}
		}
	})
}

// The campaign's own content can change and be changed back after it was viewed. The digest decides, on the page and in
// the API, even if the writer's saves have created another version.
func TestReviewOfWhatIsAsItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newReviewEnv(t)
		e.login()
		save := func(subject string) {
			t.Helper()
			c, err := e.store.EditCampaign(t.Context(), campaigns.CampaignEdit{
				ID: e.campaign.ID, Actor: core.UserActor(e.bob.ID), Now: e.seed.Time(),
			}, func(f *core.CampaignFields) error { f.Subject = subject; return nil })
			e.must(err)
			e.campaign = c
			e.review(0)
		}
		e.review(0)
		seen, version := e.look(), e.campaign.Version
		save("Buy")
		if status, state := e.send("approve", seen); status != http.StatusPreconditionFailed ||
			state != core.CampaignInReview {
			t.Errorf("changed: %d, %s", status, state)
		}
		save("News of May")
		if e.campaign.Version == version {
			t.Fatal("the saves have begun no other version")
		}
		if status, state := e.send("approve", seen); status != http.StatusOK || state != core.CampaignApproved {
			t.Errorf("as it was: %d, %s", status, state)
		}
	})
}

// The page shows the subject, the text part of the email, the preview text, and a link to the HTML.
func TestReviewShowsTheTextPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newReviewEnv(t)
		e.login()
		list := core.List{ID: e.seed.ListID, TenantID: e.tenant.ID}
		for _, show := range []struct {
			content core.CampaignContent
			text    bool
		}{
			{core.CampaignContent{Kind: core.ContentHTML, Source: "<p>Fine</p>", Text: "Buy at <evil.example>"}, true},
			{core.CampaignContent{Kind: core.ContentText, Source: "Fine"}, false},
		} {
			e.campaign = e.seed.NewCampaign(list, func(f *core.CampaignFields) {
				f.Content, f.Preheader, f.Subject = show.content, "", "May, {{email}}"
			})
			e.review(0)
			_, page := e.page("GET", reviewAddress(e.campaign.ID), nil)
			_, part, _ := strings.Cut(page, `<details id="text" class="below">`)
			part, _, _ = strings.Cut(part, "</details>")
			if strings.Contains(part, "Buy at &lt;evil.example&gt;") != show.text || (part != "") != show.text {
				t.Errorf("%s: %s", show.content.Kind, part)
			}
			for _, want := range []string{"May, reader@example.org", wordsOfPages()["en"].ReviewPreheader + "</dt><dd>Fine"} {
				if !strings.Contains(page, want) {
					t.Errorf("%s: no %q in %s", show.content.Kind, want, page)
				}
			}
		}
	})
}

// A user who has changed the layout, before or after the campaign was created, gets no button on the page, and can't
// approve without it.
func TestReviewByWhoeverDesigned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newReviewEnv(t)
		e.login()
		ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
		e.must(err)
		for _, before := range []bool{true, false} {
			frame := e.seed.NewTemplate(core.TemplateInput{Name: new(core.NewID()), BodyText: new("Acme\n{{content}}")})
			change := func() {
				_, err = e.store.UpdateTemplate(t.Context(), frame.ID, core.UserActor(ann.ID), func(f *core.Template) error {
					return f.Change(core.TemplateInput{BodyText: new("Buy\n{{content}}")}, e.seed.Time())
				})
				e.must(err)
			}
			if before {
				change()
			}
			e.campaign = e.seed.NewCampaign(core.List{ID: e.seed.ListID, TenantID: e.tenant.ID}, func(f *core.CampaignFields) {
				f.Content = core.CampaignContent{Kind: core.ContentText, Source: "Hello", Layout: frame.Name}
			})
			e.review(0)
			if !before {
				change()
			}
			_, page := e.page("GET", reviewAddress(e.campaign.ID), nil)
			if strings.Contains(page, `value="approve"`) || !strings.Contains(textOf(page),
				wordsOfPages()["en"].ReviewNotYou) {
				t.Errorf("before: %t, %s", before, textOf(page))
			}
			if status, state := e.send("approve", e.look()); status != http.StatusForbidden ||
				state != core.CampaignInReview {
				t.Errorf("before: %t, %d, %s", before, status, state)
			}
			now, err := e.store.Campaign(t.Context(), e.campaign.ID)
			e.must(err)
			if a, err := e.store.Approvers(t.Context(), &now, core.UserActor(e.bob.ID), e.seed.Time()); err != nil ||
				a.People != 0 {
				t.Errorf("before: %t, %+v, %v", before, a, err)
			}
		}
	})
}

// The console also requires another review if one person is enough to approve.
func TestConsoleSendsWhatWasLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		frame := e.seed.NewTemplate(core.TemplateInput{Name: new("Frame"), BodyText: new("Acme\n{{content}}")})
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Content = core.CampaignContent{Kind: core.ContentText, Source: "Hello", Layout: "Frame"}
		})
		form := e.sendForm("", "News of May")
		_, err := e.store.UpdateTemplate(t.Context(), frame.ID, "command:root", func(f *core.Template) error {
			return f.Change(core.TemplateInput{BodyText: new("Buy\n{{content}}")}, e.seed.Time())
		})
		e.must(err)
		e.sends(e.path("/send"), http.StatusPreconditionFailed, form,
			"This campaign has changed since you opened it. Review it again. Template Frame: "+
				"changed by a command on the server, today")
		if state := e.state(); state != core.CampaignDraft || len(e.jobs()) > 0 {
			t.Errorf("%s", state)
		}
		e.sends(e.path("/send"), http.StatusSeeOther, e.sendForm("", "News of May"))
		if state := e.state(); state != core.CampaignScheduled {
			t.Errorf("%s", state)
		}
	})
}

// Saving in the editor approves nothing, so a changed theme is not a conflict of texts.
func TestConsoleSavesThoughTheThemeChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		c, err := e.store.Campaign(t.Context(), e.campaign.ID)
		e.must(err)
		d, err := e.store.Draft(t.Context(), &c, 0, markup.CampaignParts, e.seed.Time())
		e.must(err)
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{
			BrandColor:    new("#7a1f3d"),
			PostalAddress: new("Elsewhere 1"),
		})
		e.sends(e.path(""), http.StatusSeeOther, url.Values{
			"revision": {fmt.Sprintf(`"%d-%s"`, c.Revision, d.Digest)},
			"subject":  {"News of June"},
		})
		if now, err := e.store.Campaign(t.Context(), c.ID); err != nil || now.Subject != "News of June" {
			t.Errorf("%q, %v", now.Subject, err)
		}
	})
}

// The page shows everything that an approval covers: sender, reply address, files, excluded people, tracking, and
// parameters added to links. It also shows the archive, which can change later. The last page of the console shows it
// to the writer, too.
func TestReviewShowsAllThatIsCovered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newReviewEnv(t)
		e.login()
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{Domains: &[]string{"acme.example"}})
		paper := e.seed.NewMedia("paper.png", []string{"picture"})
		e.seed.Must(e.store.UpdateList(t.Context(), e.seed.ListID, "test", func(l *core.List) error {
			fields := []core.Field{{Name: "taste", Label: "Favorite", Type: core.FieldText}}
			return l.Change(core.ListInput{Fields: &fields, Archive: new(true)}, e.seed.Time())
		}))
		staff := e.seed.NewList(func(in *core.ListInput) { in.Name = new("Staff") })
		list := core.List{ID: e.seed.ListID, TenantID: e.tenant.ID}
		april := e.seed.NewCampaign(list, func(f *core.CampaignFields) { f.Name = "April" })
		march := e.seed.NewCampaign(list, func(f *core.CampaignFields) { f.Name = "March" })
		plain := e.campaign
		full := e.seed.NewCampaign(list, func(f *core.CampaignFields) {
			f.FromName, f.FromEmail, f.ReplyTo = "Desk", "desk@acme.example", "answers@acme.example"
			f.Preheader, f.Attachments, f.ExcludeListIDs = "In short", []string{paper.ID}, []string{staff.ID}
			f.ExcludeCampaignIDs = []string{april.ID}
			f.SegmentID, f.ExcludeSegmentIDs = e.segment("Loyal"), []string{e.segment("Silent")}
			f.Audience = &core.FollowUp{Of: march.ID, Who: core.FollowUnopened}
			f.Content.Source = "{{ poll.1 }}\n"
			f.Polls = []core.Poll{{
				Question: "Which fruit?", Options: core.Strings{"Apples", "Pears"}, Field: "taste",
				ClosesAt: e.seed.Time() + 3_600_000,
			}}
			f.Tracking, f.UTM = core.TrackingPersons, core.UTM{Source: "letter", Campaign: "may"}
		})
		facts := func(path, lang string) string {
			t.Helper()
			body, err := io.ReadAll(e.ask("GET", path, nil, "Accept-Language", lang).Body)
			e.must(err)
			_, list, _ := strings.Cut(string(body), `<dl class="facts">`)
			list, _, _ = strings.Cut(list, "</dl>")
			return textOf(list)
		}
		console := []string{
			"desk@acme.example", "answers@acme.example", "paper.png (7 B)", "Staff", "April", "March", "Loyal",
			"Silent",
			"utm_source=letter", "utm_campaign=may", "Which fruit?", "Favorite",
		}
		for _, lang := range core.Languages {
			w := wordsOfPages()[lang]
			e.campaign = full
			got := facts(reviewAddress(full.ID), lang)
			for _, want := range append(console, w.ReviewPreheader, "In short", w.ReviewReplyTo, w.ReviewAttachments,
				w.ReviewExcluded, w.ReviewExcludedSent, page.FillIn(w.ReviewOnlyUnopened, "campaign", "March"),
				w.ReviewTracking, w.ReviewPersons, w.ReviewUTM, w.ReviewSegment, w.ReviewNotSegment, w.ReviewPolls,
				w.ReviewArchive, w.ReviewHidden, page.FillIn(w.ReviewPollCloses, "when", "")) {
				if !strings.Contains(got, want) {
					t.Errorf("%s: no %q in %s", lang, want, got)
				}
			}
			got = facts(reviewAddress(plain.ID), lang)
			if shown := page.FillIn(w.ReviewShown, "lists", ""); !strings.Contains(got, shown) {
				t.Errorf("%s: no %q in %s", lang, shown, got)
			}
			for _, absent := range []string{w.ReviewAttachments, w.ReviewExcluded, w.ReviewTracking, w.ReviewUTM} {
				if got == "" || strings.Contains(got, absent) {
					t.Errorf("%s: %q in %s", lang, absent, got)
				}
			}
		}
		got := facts("/console/"+e.tenant.ID+"/campaigns/"+full.ID+"/send", "en")
		for _, want := range append(console, "closes Fri 1 Jan 2100, 01:00 UTC") {
			if !strings.Contains(got, want) {
				t.Errorf("the console: no %q in %s", want, got)
			}
		}
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{NoTracking: new(true)})
		if got := facts(reviewAddress(full.ID), "en"); strings.Contains(got, wordsOfPages()["en"].ReviewTracking) {
			t.Errorf("the tenant tracks nothing: %s", got)
		}
	})
}

// The link on the page shows the content that the page is about, or nothing. If someone changes the layout while the
// reviewer is viewing it, nothing that the reviewer has not seen is approved.
func TestReviewLooksAtWhatIsApproved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newReviewEnv(t)
		e.login()
		frame := e.seed.NewTemplate(core.TemplateInput{
			Name:     new("Frame"),
			BodyText: new("Evil\n{{content}}\n{{view_url}}"),
		})
		set := func(body string) {
			t.Helper()
			_, err := e.store.UpdateTemplate(t.Context(), frame.ID, core.UserActor(e.bob.ID), func(f *core.Template) error {
				return f.Change(core.TemplateInput{BodyText: new(body + "\n{{content}}\n{{view_url}}")}, e.seed.Time())
			})
			e.must(err)
		}
		e.campaign = e.seed.NewCampaign(core.List{ID: e.seed.ListID, TenantID: e.tenant.ID}, func(f *core.CampaignFields) {
			f.Content = core.CampaignContent{Kind: core.ContentText, Source: "Hello", Layout: "Frame"}
		})
		e.review(0)
		_, page := e.page("GET", reviewAddress(e.campaign.ID), nil)
		view := regexp.MustCompile(`https?://[^/"\s]+(/v/[\w-]+)`)
		button := regexp.MustCompile(`href="https?://[^/"\s]+(/v/[\w-]+)"`)
		link := button.FindStringSubmatch(page)
		if link == nil {
			t.Fatal(page)
		}
		status, shown := e.page("GET", link[1], nil)
		inner := view.FindStringSubmatch(shown)
		if status != http.StatusOK || !strings.Contains(shown, "Evil") || inner == nil {
			t.Fatalf("unchanged: %d, %s", status, shown)
		}
		set("Clean")
		for _, path := range []string{link[1], inner[1]} {
			status, shown := e.page("GET", path, nil)
			if status != http.StatusPreconditionFailed || strings.Contains(shown, "Clean") ||
				strings.Contains(shown, "Hello") ||
				!strings.Contains(shown, wordsOfPages()["en"].OutdatedText) ||
				!strings.Contains(shown, `href="https://news.example.org`+reviewAddress(e.campaign.ID)+`"`) {
				t.Errorf("changed: %d, %s", status, shown)
			}
		}
		set("Evil")
		if status, shown := e.page("GET", link[1], nil); status != http.StatusOK || !strings.Contains(shown, "Evil") {
			t.Errorf("as it was: %d, %s", status, shown)
		}
		if status, state := e.press("approve"); status != http.StatusOK || state != core.CampaignApproved {
			t.Fatalf("%d, %s", status, state)
		}
		if status, shown := e.page("GET", link[1], nil); status != http.StatusPreconditionFailed ||
			!strings.Contains(shown, wordsOfPages()["en"].ReviewIsApproved) {
			t.Errorf("approved: %d, %s", status, shown)
		}
		_, page = e.page("GET", reviewAddress(e.campaign.ID), nil)
		if link = button.FindStringSubmatch(page); link == nil {
			t.Fatal(page)
		}
		set("Clean")
		if status, shown := e.page("GET", link[1], nil); status != http.StatusOK || !strings.Contains(shown, "Evil") {
			t.Errorf("frozen: %d, %s", status, shown)
		}
	})
}

// The page shows the parts of a layout that only some subscribers get, and that the sample email doesn't contain.
func TestReviewShowsWhatSomeReadersGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newReviewEnv(t)
		e.login()
		frame := e.seed.NewTemplate(core.TemplateInput{
			Name: new("Frame"), BodyText: new(`{% if preferences.city == "Bonn" %}Send <money>{% endif %}` + "\n{{content}}"),
		})
		e.campaign = e.seed.NewCampaign(core.List{ID: e.seed.ListID, TenantID: e.tenant.ID}, func(f *core.CampaignFields) {
			f.Content = core.CampaignContent{Kind: core.ContentText, Source: "Hello", Layout: frame.Name}
		})
		e.review(0)
		_, page := e.page("GET", reviewAddress(e.campaign.ID), nil)
		_, part, _ := strings.Cut(page, `<details id="some" open>`)
		part, _, _ = strings.Cut(part, "</details>")
		for _, want := range []string{wordsOfPages()["en"].ReviewSome, `if preferences.city == &#34;Bonn&#34;`, "Send &lt;money&gt;"} {
			if !strings.Contains(part, want) {
				t.Errorf("no %q in %s", want, part)
			}
		}
		e.campaign = e.seed.NewCampaign(core.List{ID: e.seed.ListID, TenantID: e.tenant.ID})
		e.review(0)
		if _, page := e.page("GET", reviewAddress(e.campaign.ID), nil); strings.Contains(page, `id="some"`) {
			t.Errorf("all readers get the same: %s", page)
		}
	})
}
