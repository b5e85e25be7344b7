package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// fields returns the fields of the version being edited.
func (e *campaignEnv) fields() core.CampaignFields {
	e.Helper()
	c, err := e.store.Campaign(e.Context(), e.campaign.ID)
	e.must(err)
	_, f, err := e.store.CampaignVersion(e.Context(), &c, 0)
	e.must(err)
	return f
}

// A page says what is lost before a campaign becomes custom HTML. The HTML contains the placeholders of the email, and
// the old content stays in the versions. A script helps to edit HTML, which can become Markdown again in the same way.
func TestConsoleChangesTheKindOfContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleEditor)
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Content.Kind = core.ContentMarkdown
			f.Content.Source = "Hello {{ preferences.first_name | default: \"friend\" }}\n\n::: note\nRoses\n:::\n"
		})
		was := e.fields().Content
		e.shows(e.path(""), http.StatusOK, "data-editor", e.at(e.path("/kind"))+"?to=html", "Switch to custom HTML…",
			"-data-code")
		e.shows(e.path("/kind?to=html"), http.StatusOK, "Switch to custom HTML?",
			"The visual editor can't open custom HTML. Buttons, boxes and columns become plain HTML",
			"Your current text is kept under Versions")
		if e.fields().Content != was {
			t.Error("asking has changed it")
		}
		to := e.sends(e.path("/kind"), http.StatusSeeOther, url.Values{"to": {"html"}})
		if to != e.path("?done=saved") {
			t.Error(to)
		}
		f := e.fields()
		if f.Content.Kind != core.ContentHTML ||
			!strings.Contains(f.Content.Source, `Hello {{ preferences.first_name | default: "friend" }}`) ||
			!strings.Contains(f.Content.Source, "{{ unsubscribe_url }}") || f.Content.Text != "" {
			t.Fatalf("%+v", f.Content)
		}
		page := e.shows(e.path(""), http.StatusOK, "data-code", "code.js", "-data-editor", "-/console/editor.js",
			`?to=markdown`)
		policy := e.ask("GET", e.at(e.path("")), nil).Header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "style-src 'self' 'nonce-") {
			t.Error(policy)
		}
		e.shows(e.path("/versions"), http.StatusOK, "Before switching to custom HTML")
		e.sends(e.path(""), http.StatusSeeOther, e.edit(page, "source", "<p>A</p>\r\n<p>B</p>", "text", "A\r\nB"))
		if f := e.fields(); f.Content.Source != "<p>A</p>\n<p>B</p>" || f.Content.Text != "A\nB" {
			t.Errorf("%+v", f.Content)
		}
		e.shows(e.path("/kind?to=markdown"), http.StatusOK, "Switch to the visual editor?",
			"All HTML is removed, including the design, images, tables and link URLs")
		e.sends(e.path("/kind"), http.StatusSeeOther, url.Values{"to": {"markdown"}})
		if f := e.fields(); f.Content != (core.CampaignContent{Kind: core.ContentMarkdown, Source: "A\nB"}) {
			t.Errorf("%+v", f.Content)
		}
		e.sends(e.path("/restore"), http.StatusSeeOther, url.Values{"version": {"1"}})
		if f := e.fields(); f.Content != was {
			t.Errorf("%+v", f.Content)
		}
		// If the content already has this kind, the page doesn't ask.
		e.shows(e.path("/kind?to=markdown"), http.StatusFound)
		e.shows(e.path("/kind?to=blocks"), http.StatusFound)
	})
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleEditor)
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Content = core.CampaignContent{Kind: core.ContentHTML, Source: "<h1>Roses</h1><p>Red &amp; blue</p>"}
		})
		e.sends(e.path("/kind"), http.StatusSeeOther, url.Values{"to": {"markdown"}})
		if f := e.fields(); !strings.Contains(f.Content.Source, "Red & blue\n") ||
			strings.Contains(f.Content.Source, "nsubscribe") {
			t.Errorf("%+v", f.Content)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleEditor)
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Content = core.CampaignContent{Kind: core.ContentBlocks, Source: `{"version":1,"blocks":[]}`}
		})
		page := e.shows(e.path(""), http.StatusOK, `data-editor data-kind="blocks"`, "/console/editor.js", "?to=html",
			"-?to=markdown")
		const changed = `{"version":1,"blocks":[{"type":"divider"}]}`
		e.sends(e.path(""), http.StatusSeeOther, e.edit(page, "source", changed))
		if f := e.fields(); f.Content != (core.CampaignContent{Kind: core.ContentBlocks, Source: changed}) {
			t.Errorf("%+v", f.Content)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleEditor)
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Content = core.CampaignContent{Kind: core.ContentText, Source: "a < b\nc"}
		})
		e.shows(e.path(""), http.StatusOK, "?to=markdown", "?to=html")
		e.sends(e.path("/kind"), http.StatusSeeOther, url.Values{"to": {"html"}})
		if f := e.fields(); f.Content.Source != "<p>a &lt; b<br>\nc</p>\n" {
			t.Errorf("%+v", f.Content)
		}
	})
}
