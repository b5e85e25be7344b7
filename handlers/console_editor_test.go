package handlers

import (
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// edit returns the form of the editor as it stands, with other texts.
func (e *campaignEnv) edit(page string, more ...string) url.Values {
	e.Helper()
	form := e.form(page, e.path(""))
	for i := 0; i < len(more); i += 2 {
		form.Set(more[i], more[i+1])
	}
	return form
}

// The editor shows what an inbox will: the preview text, else the texts at the beginning of the mail, and no subject where
// none is written. Its script gets the colours of the mail.
func TestConsoleEditorShowsTheInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Name, f.Subject, f.Content.Kind, f.Content.Source = "Roses", "", core.ContentMarkdown, "# Roses & more\n\nHello there.\n"
		})
		page := e.shows(e.path(""), http.StatusOK, "No subject yet", "Weekly Roses &amp; more Hello there.",
			`data-looks="{&#34;light&#34;:{&#34;page&#34;`, "Readers and sender", "· ")
		e.sends(e.path(""), http.StatusSeeOther, e.edit(page, "subject", "Red roses", "preheader", "They are red"))
		e.shows(e.path(""), http.StatusOK, `<p class="inbox-subject">Red roses</p>`, `<p class="inbox-text">They are red</p>`,
			"-No subject yet")
		e.shows(e.path("/preview?view=pictures"), http.StatusOK, "Hello there.")
	})
}

// Where another person has saved meanwhile, nothing is written over: the page shows both texts, and saves the second
// one only where that is asked for.
func TestConsoleEditorConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Content.Kind, f.Content.Source = core.ContentMarkdown, "Roses\n"
		})
		page := e.shows(e.path(""), http.StatusOK)
		mine := e.edit(page, "subject", "News", "source", "Roses\n\nmine\n")
		e.sends(e.path(""), http.StatusSeeOther, e.edit(page, "subject", "News", "source", "Roses\n\ntheirs\n"))
		e.sends(e.path(""), http.StatusPreconditionFailed, mine, "Someone else has saved meanwhile", "<del>theirs</del>",
			"<ins>mine</ins>", "Roses\n\nmine\n</textarea>")
		source := func() string {
			c, err := e.store.Campaign(e.Context(), e.campaign.ID)
			e.must(err)
			_, f, err := e.store.CampaignVersion(e.Context(), &c, 0)
			e.must(err)
			return f.Content.Source
		}
		if got := source(); got != "Roses\n\ntheirs\n" {
			t.Errorf("written over: %q", got)
		}
		mine.Set("over", "1")
		e.sends(e.path(""), http.StatusSeeOther, mine)
		if got := source(); got != "Roses\n\nmine\n" {
			t.Errorf("not saved: %q", got)
		}
		e.shows(e.path("/versions?version=1"), http.StatusOK, "Version 1")
	})
}
