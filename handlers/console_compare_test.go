package handlers

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// posts sends JSON to a route for scripts.
func (e *campaignEnv) posts(path string, body any) (status int, answer string) {
	e.Helper()
	text, err := json.Marshal(body)
	e.must(err)
	req := httptest.NewRequest(http.MethodPost, e.at(path), strings.NewReader(string(text)))
	req.Header.Set("Content-Type", "application/json")
	for name, value := range e.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	rec := httptest.NewRecorder()
	e.handler.ServeHTTP(rec, req)
	b, err := io.ReadAll(rec.Result().Body)
	e.must(err)
	return rec.Code, string(b)
}

// The editor script can ask whether two sources produce the same email, if the user may read campaigns.
func TestConsoleComparesSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleEditor)
		for _, c := range []struct {
			kind, before, after string
			same                bool
		}{
			{"markdown", "* a\n* b\n", "- a\n- b", true},
			{"markdown", "*a*", "_a_", true},
			{"markdown", "a ~b~ c ~d~", "a \\~b~ c \\~d~", false},
			{"markdown", "{{ name }}", "{{ email }}", false},
			{"markdown", "{{ name | default: \"a\" }}", "{{ name }}", false},
			{"markdown", "| a |\n|---|\n| b |", "\\| a |\n|---|\n| b |", false},
			{"markdown", "a\n\n1. b", "a\n\n2. b", false},
			{"markdown", "{{ a", "{{ a", false},
			{
				"blocks", `{"version":1,"blocks":[{"type":"text","text":"a"}]}`,
				`{"version": 1, "blocks": [{"text": "a", "type": "text"}]}`, true,
			},
			{"blocks", `{"version":1,"blocks":[{"type":"text","text":"a"}]}`, `{"version":1,"blocks":[]}`, false},
			{"blocks", "a", "a", false},
			{"none", "a", "a", false},
		} {
			status, answer := e.posts("/compare-sources",
				map[string]string{"kind": c.kind, "before": c.before, "after": c.after})
			want := map[bool]string{true: `{"same":true}`, false: `{"same":false}`}[c.same]
			if status != http.StatusOK || strings.TrimSpace(answer) != want {
				t.Errorf("%q and %q: %d %s", c.before, c.after, status, answer)
			}
		}
		if status, answer := e.posts("/compare-sources", "a"); status != http.StatusBadRequest {
			t.Error(status, answer)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleViewer)
		if status, answer := e.posts("/compare-sources", map[string]string{}); status != http.StatusForbidden {
			t.Error(status, answer)
		}
	})
}

// The preview is for a subscriber whom a search by address finds. Users who may not read addresses get no search.
func TestConsolePreviewAsAReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleTenantAdmin)
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Content.Kind = core.ContentMarkdown
			f.Content.Source = "Dear {{ preferences.city | default: \"reader\" }}\n"
		})
		e.seed.Active(e.list.ID, "joan@reader.example")
		e.seed.Active(e.list.ID, "john@reader.example")
		_, err := e.store.SetPreferences(t.Context(), e.list.ID, "joan@reader.example", `{"city":"Bonn","shoe":43}`,
			e.seed.Time())
		e.must(err)
		e.seed.Deliver()
		e.shows(e.path(""), http.StatusOK, "Preview as subscriber", "-@reader.example")
		e.shows(e.path("?as=jo"), http.StatusOK, "joan@reader.example", "john@reader.example", "-Preview as jo")
		e.shows(e.path("?as=none"), http.StatusOK, "No subscribers on these lists match your search")
		page := e.shows(e.path("?as=Joan@reader.example"), http.StatusOK, "Preview as joan@reader.example",
			"Bonn", "shoe", "43",
			"preview?as=joan%40reader.example", "preview?as=joan%40reader.example&amp;view=dark")
		if strings.Contains(page, "john@") {
			t.Error(textOf(page))
		}
		e.shows(e.path("/preview?as=joan%40reader.example"), http.StatusOK, "Dear Bonn")
		e.shows(e.path("/preview"), http.StatusOK, "Dear reader")
		if part := e.part(e.path("?as=jo"), "readers"); !strings.Contains(part, "john@reader.example") ||
			strings.Contains(part, "<html") || strings.Contains(part, "<iframe") {
			t.Error(part)
		}
		// If only one subscriber matches, the email and the subscriber's details are shown immediately.
		for _, at := range []string{"?as=joa", "?as=joan@reader.example"} {
			e.shows(e.path(at), http.StatusOK, "Preview as joan@reader.example", "<dt>City</dt><dd>Bonn")
			if part := e.part(e.path(at), "readers"); !strings.Contains(part, "preview?as=joan%40reader.example") ||
				!strings.Contains(part, "hx-swap-oob") {
				t.Error(part)
			}
		}
		if part := e.part(e.path("?as="), "readers"); !strings.Contains(part, "Preview as a subscriber with no details") {
			t.Error(part)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleEditor)
		e.seed.Active(e.list.ID, "joan@reader.example")
		e.shows(e.path("?as=jo"), http.StatusOK, "-Preview as subscriber", "-joan@")
	})
}

// Details of checks on German pages are names, not the API's messages in English.
func TestConsoleChecksInGerman(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleTenantAdmin)
		e.lang = "de"
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Content.Kind = core.ContentHTML
			f.Content.Source = `<p><a href="shop/roses">Roses</a>` +
				`<img src="https://x.example/wide.png" alt="" width="900"></p>`
			f.Polls = []core.Poll{{Question: "Which rose?", Options: []string{"Red", "White"}}}
		})
		e.shows(e.path(""), http.StatusOK, "Ein Link ist unvollständig.", ">shop/roses<", "Ein Bild ist breiter",
			">https://x.example/wide.png<", "Eine Umfrage", ">Which rose?<", "-The URL", "-The image", "-in the text")
		e.lang = "en"
		e.shows(e.path(""), http.StatusOK, "The image https://x.example/wide.png is 900 pixels wide")
	})
}

// Checks use the label of a field, or a description of it. A field that some subscribers lack is one finding.
func TestConsoleChecksNameFieldsInWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleTenantAdmin)
		list, err := e.store.UpdateList(t.Context(), e.list.ID, "", func(l *core.List) error {
			l.Fields = core.Fields{{Name: "size", Label: "Your shoe size", Type: core.FieldText}}
			return nil
		})
		e.must(err)
		e.campaign = e.seed.NewCampaign(list, func(f *core.CampaignFields) {
			f.Subject = "News for {{ preferences.first_name }}"
			f.Content.Kind = core.ContentMarkdown
			f.Content.Source = "Of size {{ preferences.size }} in {{ preferences.city }}, {{ list.nothing }}\n"
		})
		for _, email := range []core.Email{"joan@reader.example", "ben@reader.example"} {
			e.seed.Active(list.ID, email)
			_, err := e.store.SetPreferences(t.Context(), list.ID, email, `{"city":"Bonn","first_name":"Jo"}`, e.seed.Time())
			e.must(err)
		}
		e.seed.Deliver()
		e.shows(e.path("/send"), http.StatusOK, "<strong>News for </strong>") // as for a subscriber with no details
		_, checks, _ := strings.Cut(e.shows(e.path(""), http.StatusOK), `id="checks"`)
		checks, _, _ = strings.Cut(textOf(checks), "Preview as subscriber")
		for _, want := range []string{
			"“First name”: click the field and add a fallback",
			"“Your shoe size” is blank for 3 of 3 recipients and has no fallback, so they see a gap.",
			"“City” is blank for 1 of 3 recipients",
			"list.nothing",
		} {
			if !strings.Contains(checks, want) {
				t.Errorf("no %q", want)
			}
		}
		for _, jargon := range []string{"preferences.size", "preferences.city", "not a known field", "Line "} {
			if strings.Contains(checks, jargon) {
				t.Errorf("%q", jargon)
			}
		}
		if t.Failed() {
			t.Log(checks)
		}
	})
}
