package handlers

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
)

// The page that asks for a fresh sign-in describes the action, also after a wrong password, and the action follows.
func TestProofNamesTheStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RoleTenantAdmin)
		e.seed.Deliver()
		form := e.sendForm("")
		grace := e.found("grace@reader.example").ID
		time.Sleep(core.ProofAge + time.Minute)
		form.Del("warned")
		for path, step := range map[string]string{
			"/people-export?list=" + e.list.ID: "Export data",
			"/people/" + grace + "/erase":      "Erase data",
			"/new-import":                      "Import people",
		} {
			e.shows(path, http.StatusOK, "<strong>"+step+"</strong>")
		}
		client := url.Values{"name": {"Shop"}, "scope.newsletter:send": {"1"}}
		if _, page := e.page("POST", e.at("/settings/clients"), client); !strings.Contains(page, "API clients</strong>") {
			t.Error(textOf(page))
		}
		const step = "<strong>Send “May”</strong>"
		_, page := e.page("POST", e.at(e.path("/send")), form)
		if !strings.Contains(page, step) {
			t.Fatal(textOf(page))
		}
		asked := url.Values{}
		for _, f := range hiddenInput.FindAllStringSubmatch(page, -1) {
			asked.Set(f[1], html.UnescapeString(f[2]))
		}
		asked.Set("password", "wrong")
		if _, page = e.page("POST", proofPath, asked); !strings.Contains(page, step) {
			t.Errorf("after a wrong password: %s", textOf(page))
		}
		asked.Set("password", "correct horse battery")
		if _, page = e.page("POST", proofPath, asked); !strings.Contains(page, `action="`+e.at(e.path("/send"))+`"`) {
			t.Errorf("after the right one: %s", textOf(page))
		}
		e.sends(e.path("/send"), http.StatusSeeOther, form)
		asked.Set("step", strings.Repeat("x", 501))
		asked.Set("password", "wrong")
		if _, page = e.page("POST", proofPath, asked); strings.Contains(page, "xxx") {
			t.Error("shows a name of any length")
		}
	})
}
