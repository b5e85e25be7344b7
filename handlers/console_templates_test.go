package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// A template is created, edited, previewed before it is saved, and deleted after nothing uses it anymore.
func TestConsoleTemplates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleEditor)
		e.shows("/looks/templates", http.StatusOK, "No templates yet", "New template", "Templates", "-<table")
		e.sends("/looks/templates", http.StatusBadRequest, url.Values{"name": {"a/b"}, "kind": {"mail"}},
			`role="alert"`,
			`value="a/b"`, `value="mail" selected`)
		to := e.sends("/looks/templates", http.StatusSeeOther, url.Values{"name": {"frame"}, "kind": {"frame"}})
		frame, _, _ := strings.Cut(to, "?")
		e.shows(frame, http.StatusOK, "{{tenant.postal_address}}", "Field: City",
			"<span class=\"badge good\">Used</span></li>\n<li><span><code>{{email}}",
			"No unsent email uses this template, but API clients might", "template-preview?id=", "Delete template")
		to = e.sends("/looks/templates", http.StatusSeeOther, url.Values{"name": {"order"}, "kind": {"mail"}})
		order, _, _ := strings.Cut(to, "?")
		form := url.Values{
			"name": {"order"}, "layout": {"frame"}, "body_html": {"<p>Thanks, {{preferences.nick}}!</p>\r\n<p>Bye</p>"},
			"body_text": {""},
		}
		if shown := e.sendsFrame("/looks/template-preview", form); !strings.Contains(shown, "Thanks, ") ||
			!strings.Contains(shown, e.tenant.Name) {
			t.Errorf("the preview of a form shows %s", shown)
		}
		if shown := e.sendsFrame("/looks/template-preview?view=text", form); strings.Contains(shown, "<p>Thanks") ||
			!strings.Contains(shown, "Thanks, ") {
			t.Errorf("the preview of a text shows %s", shown)
		}
		id := strings.TrimPrefix(order, "/looks/templates/")
		if is, err := e.store.TemplateByID(t.Context(), id); err != nil || is.Layout != "" {
			t.Errorf("a preview has changed the template: %+v, %v", is, err)
		}
		e.sends(order, http.StatusSeeOther, form)
		if is, err := e.store.TemplateByID(t.Context(), id); err != nil || is.Layout != "frame" ||
			is.BodyHTML != "<p>Thanks, {{preferences.nick}}!</p>\n<p>Bye</p>" {
			t.Errorf("%+v, %v", is, err)
		}
		e.shows(order, http.StatusOK, `value="frame" selected`, "None of your lists has this field, so it may be blank",
			"preferences.nick")
		e.shows("/looks/template-preview?id="+id, http.StatusOK, "Thanks, ")
		e.shows("/looks/templates", http.StatusOK, "order", "frame", "-No templates yet")
		form.Set("body_html", "<p>{{nobody}}</p>")
		e.sends(order, http.StatusBadRequest, form, "{{nobody}}", `aria-invalid="true"`, "line 1")
		if shown := e.sendsFrame("/looks/template-preview", form); !strings.Contains(shown, "line 1") {
			t.Errorf("the preview of a mistake shows %s", shown)
		}

		e.shows(frame, http.StatusOK, "order", "-Delete template")
		e.sends(frame, http.StatusConflict, url.Values{"do": {"delete"}},
			"This template is still in use. First remove it from everything listed under “Used by”", "order",
			"{{content}}")
		e.sends(order, http.StatusSeeOther, url.Values{"do": {"delete"}})
		if to := e.sends(frame, http.StatusSeeOther,
			url.Values{"do": {"delete"}}); to != "/looks/templates?done=deleted" {
			t.Errorf("leads to %s", to)
		}
		e.shows(frame, http.StatusNotFound)
	})
}

// The page lists everything that uses a template and would miss it, with links to the pages.
func TestConsoleUsesOfATemplate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleEditor)
		made := e.seed.NewTemplate(core.TemplateInput{Name: new("frame"), BodyHTML: new("<h1>Us</h1>{{content}}")})
		c := e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Name, f.Content = "Spring", core.CampaignContent{
				Kind: core.ContentHTML, Source: "<p>x</p>",
				Layout: "frame",
			}
		})
		path := "/looks/templates/" + made.ID
		e.shows(path, http.StatusOK, "Spring", e.at("/campaigns/"+c.ID), "Campaign")
		e.sends(path, http.StatusConflict, url.Values{"do": {"delete"}},
			"This template is still in use. First remove it from everything listed under “Used by”", "Spring")
		if _, err := e.store.TemplateByID(t.Context(), made.ID); err != nil {
			t.Error(err)
		}
	})
}

// A viewer can't open templates.
func TestConsoleTemplatesOfAViewer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleViewer)
		e.shows("/looks/templates", http.StatusForbidden)
		e.sends("/looks/template-preview", http.StatusForbidden, url.Values{"body_text": {"x"}})
	})
}
