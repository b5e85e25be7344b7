package handlers

import (
	"html"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/mail/markup"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
)

// archiveHolds reports whether the public archive of the list vip contains a campaign: in its list of issues, its feed
// and its search, and as a page. They must agree.
func (e *campaignEnv) archiveHolds(slug, title string) bool {
	e.Helper()
	held := e.ask("GET", "/a/vip/"+slug, nil).StatusCode == http.StatusOK
	if mail := e.ask("GET", "/a/vip/"+slug+"/mail", nil).StatusCode == http.StatusOK; mail != held {
		e.Errorf("page: %v, email: %v", held, mail)
	}
	for _, path := range []string{"/a/vip/", "/a/vip/feed.xml", "/a/vip/?q=" + url.QueryEscape(title)} {
		body, err := io.ReadAll(e.ask("GET", path, nil).Body)
		e.must(err)
		if in := strings.Contains(string(body), "/a/vip/"+slug); in != held {
			e.Errorf("page: %v, %s: %v", held, path, in)
		}
	}
	return held
}

// sendsTo sends a campaign to the list, as changed.
func (e *campaignEnv) sendsTo(change func(*core.CampaignFields)) {
	e.Helper()
	e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) { f.Name, f.Subject = "", "Dinner" }, change)
	e.mailing(core.Outcome{State: core.RecipientSent}, core.Outcome{State: core.RecipientSent})
}

func (e *campaignEnv) archives(on bool) {
	e.Helper()
	_, err := e.store.UpdateList(e.Context(), e.list.ID, "test", func(l *core.List) error {
		return l.Change(core.ListInput{Archive: &on, Slug: new("vip")}, e.seed.Time())
	})
	e.must(err)
}

// The report of a sent campaign hides it from the public archive and shows it there again. Its personal link still
// works, and viewers can change nothing.
func TestConsoleHidesASentCampaign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		e.archives(true)
		e.sendsTo(func(f *core.CampaignFields) { f.Content.Source = "Come. [View]({{ view_url }})\n" })
		if !e.archiveHolds("dinner", "Dinner") {
			t.Fatal("the issue is missing")
		}
		e.shows(e.path(""), http.StatusOK, `action="`+e.at(e.path("/in-archive")), "Everyone can read this campaign",
			"Hide from archive", "always works")
		hide := func(shown string, want bool, texts ...string) {
			t.Helper()
			to := e.sends(e.path("/in-archive"), http.StatusSeeOther, url.Values{"shown": {shown}})
			e.shows(to, http.StatusOK, texts...)
			if e.archiveHolds("dinner", "Dinner") != want {
				t.Errorf("shown=%s: the archive doesn't follow", shown)
			}
		}
		hide("0", false, "Hidden from the archive: Weekly.", "Show in archive", "-Hide from archive")
		hide("0", false)
		e.shows(e.path("/correction"), http.StatusOK, "view the email in their browser")
		hide("1", true, "Hide from archive")
		entries, _, err := e.store.Audit(t.Context(), core.AuditFilter{Object: e.campaign.ID}, core.Page{Limit: 9})
		e.must(err)
		if n := len(entries); n < 2 || entries[0].Action != "campaign.update" ||
			!strings.Contains(string(entries[0].Changes), `"archive"`) {
			t.Errorf("the audit log has %v", entries)
		}
		e.archives(false)
		e.shows(e.path(""), http.StatusOK, "Public archive: off", "The archive of its lists is off.", "Hide from archive",
			"-Public archive</h2>")
		hide("0", false, `-id="in-archive"`)
	})
}

// Someone who may not send a campaign can't publish what its approval or its sender kept out of the archive, but can
// hide it. In a draft, they can choose both. Showing what is shown anyway changes nothing.
func TestConsoleEditorsDontPublish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleEditor)
		e.archives(true)
		settings := e.path("?tab=settings")
		form := e.edit(e.shows(settings, http.StatusOK, `name="archive" value="1" checked`), "list."+e.list.ID, "1")
		e.sends(e.path(""), http.StatusSeeOther, form)
		e.sends(e.path(""), http.StatusSeeOther, e.edit(e.shows(settings, http.StatusOK), "list."+e.list.ID, "1",
			"archive", "1"))
		e.sendsTo(func(*core.CampaignFields) {})
		show := url.Values{"shown": {"1"}}
		e.sends(e.path("/in-archive"), http.StatusSeeOther, url.Values{"shown": {"0"}})
		e.shows(e.path(""), http.StatusOK, "Hidden from the archive: Weekly.", "-Show in archive")
		e.sends(e.path("/in-archive"), http.StatusForbidden, show)
		if e.archiveHolds("dinner", "Dinner") {
			t.Error("an editor has published a hidden campaign")
		}
		for chosen, status := range map[string]int{core.ArchiveHidden: http.StatusForbidden, "": http.StatusSeeOther} {
			e.campaign = e.seed.NewCampaign(e.list)
			if chosen != "" {
				e.sends(e.path("/in-archive"), http.StatusSeeOther, url.Values{"shown": {"0"}})
			}
			d, err := e.store.Draft(t.Context(), &e.campaign, 0, markup.CampaignParts, e.seed.Time())
			e.must(err)
			_, err = e.store.ApproveCampaign(t.Context(), campaigns.CampaignSending{
				CampaignEdit: campaigns.CampaignEdit{ID: e.campaign.ID, Actor: "test", Now: e.seed.Time()},
				Version:      e.campaign.Version, Fields: &d.Fields, Copy: &d.Content.Copy,
			})
			e.must(err)
			if chosen != "" {
				e.shows(e.path("?tab=settings"), http.StatusOK, "-archive_was")
			}
			e.sends(e.path("/in-archive"), status, show)
			if c, err := e.store.Campaign(t.Context(), e.campaign.ID); err != nil || c.InArchive != chosen {
				t.Errorf("chosen %q: %q, %v", chosen, c.InArchive, err)
			}
		}
	})
}

// Archives leave out a campaign to a segment, or without one, unless its author chose otherwise.
func TestConsoleSegmentsStayPrivate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		e.archives(true)
		g := e.add("VIPs", `{"domain":["reader.example"]}`)
		none := e.add("None", `{"domain":["other.example"]}`)
		settings := e.path("?tab=settings")
		const on = `name="archive" value="1" checked`
		page := e.shows(settings, http.StatusOK, on)
		form := e.edit(page, "list."+e.list.ID, "1", "segment", g.ID, "archive", "1")
		part := e.ask("POST", e.at(e.path("")), form, "X-Autosave", "1")
		body, err := io.ReadAll(part.Body)
		e.must(err)
		if s := string(body); !strings.Contains(s, `id="in-archive"`) || strings.Contains(s, on) {
			t.Errorf("the editor keeps the box checked: %s", s)
		}
		page = e.shows(settings, http.StatusOK, "-"+on, "For campaigns to a segment, this is off")
		e.shows(e.path("/send"), http.StatusOK, "Public archive</dt><dd>Hidden")
		form = e.edit(page, "list."+e.list.ID, "1", "segment", g.ID, "archive", "1")
		e.sends(e.path(""), http.StatusSeeOther, form)
		e.shows(settings, http.StatusOK, on)
		e.shows(e.path("/send"), http.StatusOK, "Shown after sending: Weekly")

		for name, c := range map[string]struct {
			change func(*core.CampaignFields)
			shown  bool
		}{
			"everyone":  {func(*core.CampaignFields) {}, true},
			"segment":   {func(f *core.CampaignFields) { f.SegmentID = g.ID }, false},
			"exclusion": {func(f *core.CampaignFields) { f.ExcludeSegmentIDs = []string{none.ID} }, false},
		} {
			e.sendsTo(func(f *core.CampaignFields) { f.Subject = name; c.change(f) })
			if e.archiveHolds(name, name) != c.shown {
				t.Errorf("%s: shown is %v", name, !c.shown)
			}
		}
	})
}

// Every save keeps what the editor's box shows, also if the page isn't loaded again in between.
func TestConsoleArchiveBoxIsSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		e.archives(true)
		g := e.add("VIPs", `{"domain":["reader.example"]}`)
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) { f.SegmentID = g.ID })
		page := e.shows(e.path("?tab=settings"), http.StatusOK, `name="archive_was" value=""`)
		form := e.edit(page, "list."+e.list.ID, "1", "segment", g.ID)
		for _, box := range []string{"1", "", "1", ""} {
			if form.Del("archive"); box != "" {
				form.Set("archive", box)
			}
			body, err := io.ReadAll(e.ask("POST", e.at(e.path("")), form, "X-Autosave", "1").Body)
			e.must(err)
			for name, before := range map[string]string{
				"revision": `data-revision="`, "archive_was": `"archive_was" value="`,
			} {
				_, rest, found := strings.Cut(string(body), before)
				if value, _, ok := strings.Cut(rest, `"`); found && ok {
					form.Set(name, html.UnescapeString(value))
				}
			}
			c, err := e.store.Campaign(e.Context(), e.campaign.ID)
			e.must(err)
			if (c.InArchive == core.ArchiveShown) != (box != "") {
				t.Errorf("box %q: stored %q", box, c.InArchive)
			}
		}
		// A page without the box changes nothing.
		e.sends(e.path(""), http.StatusSeeOther, e.edit(e.shows(e.path("?tab=settings"), http.StatusOK), "archive", "1",
			"segment", g.ID))
		e.archives(false)
		page = e.shows(e.path("?tab=settings"), http.StatusOK, "-archive_was")
		e.sends(e.path(""), http.StatusSeeOther, e.edit(page, "segment", g.ID))
		if c, err := e.store.Campaign(e.Context(), e.campaign.ID); err != nil || c.InArchive != core.ArchiveShown {
			t.Errorf("without the box: %q, %v", c.InArchive, err)
		}
	})
}

// The choice in the editor's box survives a save that fails.
func TestConsoleArchiveBoxAfterAFailedSave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		e.archives(true)
		for _, failure := range []struct {
			status int
			name   string
			value  string
		}{{http.StatusBadRequest, "reply_to", "nowhere"}, {http.StatusPreconditionFailed, "revision", "0"}} {
			e.campaign = e.seed.NewCampaign(e.list)
			page := e.shows(e.path("?tab=settings"), http.StatusOK, `name="archive" value="1" checked`)
			form := e.edit(page, "list."+e.list.ID, "1", failure.name, failure.value)
			answer := e.ask("POST", e.at(e.path("")), form)
			body, err := io.ReadAll(answer.Body)
			e.must(err)
			checked := strings.Contains(string(body), `name="archive" value="1" checked`)
			if answer.StatusCode != failure.status || checked {
				t.Errorf("%s: status %d, %s", failure.name, answer.StatusCode, textOf(string(body)))
			}
			form = e.edit(string(body), "list."+e.list.ID, "1", "over", "1")
			e.sends(e.path(""), http.StatusSeeOther, form)
			if c, err := e.store.Campaign(e.Context(), e.campaign.ID); err != nil || c.InArchive != core.ArchiveHidden {
				t.Errorf("%s: stored %q, %v", failure.name, c.InArchive, err)
			}
		}
	})
}

// A box that no one touched doesn't undo what someone else has chosen meanwhile.
func TestConsoleArchiveBoxOfAConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		e.archives(true)
		page := e.shows(e.path("?tab=settings"), http.StatusOK, `name="archive" value="1" checked`)
		form := e.edit(page, "list."+e.list.ID, "1", "archive", "1", "subject", "News")
		others := e.edit(page, "list."+e.list.ID, "1")
		others.Del("archive")
		e.sends(e.path(""), http.StatusSeeOther, others)
		answer := e.ask("POST", e.at(e.path("")), form)
		body, err := io.ReadAll(answer.Body)
		if e.must(err); answer.StatusCode != http.StatusPreconditionFailed {
			t.Fatal(answer.Status)
		}
		e.sends(e.path(""), http.StatusSeeOther, e.edit(string(body), "list."+e.list.ID, "1", "over", "1"))
		if c, err := e.store.Campaign(e.Context(), e.campaign.ID); err != nil || c.InArchive != core.ArchiveHidden {
			t.Errorf("stored %q, %v", c.InArchive, err)
		}
	})
}

// A duplicate takes over what someone has chosen for the archive, but not that sending to a segment has hidden it.
func TestConsoleDuplicatesTheArchiveChoice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		e.archives(true)
		g := e.add("VIPs", `{"domain":["reader.example"]}`)
		for _, c := range []struct{ segment, choice, want string }{
			{g.ID, "", ""},
			{g.ID, "1", core.ArchiveShown},
			{"", "0", core.ArchiveHidden},
			{"", "", ""},
		} {
			e.sendsTo(func(f *core.CampaignFields) { f.SegmentID = c.segment })
			if c.choice != "" {
				e.sends(e.path("/in-archive"), http.StatusSeeOther, url.Values{"shown": {c.choice}})
			}
			to, _, _ := strings.Cut(e.sends(e.path("/act"), http.StatusSeeOther, url.Values{"act": {"duplicate"}}), "?")
			made, err := e.store.Campaign(e.Context(), to[strings.LastIndex(to, "/")+1:])
			e.must(err)
			if made.ID == e.campaign.ID || made.InArchive != c.want {
				t.Errorf("%+v: the copy has %q", c, made.InArchive)
			}
		}
		var f core.CampaignFields
		f.SegmentID = g.ID
		if got := (&core.Campaign{InArchive: core.ArchiveHidden}).CopiedInArchive(&f); got != core.ArchiveHidden {
			t.Errorf("a draft that someone has hidden: the copy has %q", got)
		}
	})
}

// The settings of a list name the campaigns that become public when its archive is turned on.
func TestConsoleListSaysWhatBecomesPublic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleTenantAdmin)
		settings := "/lists/" + e.list.ID + "/settings"
		const heading = "everyone can read:"
		e.shows(settings, http.StatusOK, "-"+heading)
		issues := `href="` + e.at("/lists/"+e.list.ID+"/issues") + `">`
		e.seed.NewImportedIssue(e.list.ID, "old", "<p>Old</p>")
		e.shows(settings, http.StatusOK, heading, issues+"1 imported issue<")
		e.seed.NewImportedIssue(e.list.ID, "older", "<p>Older</p>")
		e.shows(settings, http.StatusOK, issues+"2 imported issues<")
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) { f.Name, f.Subject = "", "Tulips" })
		e.mailing(core.Outcome{State: core.RecipientSent})
		e.shows(settings, http.StatusOK, `href="`+e.at("/campaigns/"+e.campaign.ID+"#in-archive")+`">Tulips</a>`)
		e.sendsTo(func(f *core.CampaignFields) { f.Subject = "Roses" })
		shown := e.campaign.ID
		e.sendsTo(func(f *core.CampaignFields) { f.SegmentID = e.add("VIPs", `{"domain":["reader.example"]}`).ID })
		row := `href="` + e.at("/campaigns/"+shown+"#in-archive") + `">Roses</a>`
		e.shows(settings, http.StatusOK, heading, row, "-"+e.campaign.ID)
		e.sends(e.path("/in-archive"), http.StatusSeeOther, url.Values{"shown": {"1"}})
		e.shows(settings, http.StatusOK, row, e.campaign.ID, "sent to a segment")
		e.must(e.store.Update(t.Context(), func(tx *db.Tx) error { // as an older version sent it
			return tx.One("UPDATE campaign SET archive = '' WHERE id = ?", e.campaign.ID)
		}))
		e.shows(settings, http.StatusOK, row, e.campaign.ID, "sent to a segment")
		e.archives(true)
		e.shows(settings, http.StatusOK, "-"+heading)
	})
}
