package handlers

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// Links that only work on the server's machine are one of a campaign's warnings, in the editor and on the page for
// sending, and that page counts it. The page of a signup form warns about them, too. Each says what to change or whom
// to ask.
func TestConsoleWarnsAboutLocalLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		campaign := e.seed.NewCampaign(e.list)
		editor, form := e.path("campaigns", campaign.ID), e.path("lists", e.list.ID, "form")
		for origin, local := range map[string]bool{"http://127.0.0.1:8080": true, "https://links.acme.example": false} {
			_, err := e.store.UpdateTenant(t.Context(), e.tenant.ID, "test", func(of *core.Tenant) error {
				of.PublicURL = origin
				return nil
			})
			e.must(err)
			for _, page := range []string{editor, editor + "/send", form} {
				body := e.shows(page)
				if got := strings.Contains(body, "only work on the computer that newsletterd runs on"); got != local {
					t.Errorf("%s at %s: %v", page, origin, got)
				}
				if got := strings.Contains(body, "Change the base URL for links."); got != local {
					t.Errorf("%s at %s says what to change: %v", page, origin, got)
				}
				if !local || page == form {
					continue
				}
				n := strings.Count(body, `class="matter"`)
				count := regexp.MustCompile(`(\d+) warnings?`).FindStringSubmatch(body)
				if n == 0 || count == nil || count[1] != fmt.Sprint(n) {
					t.Errorf("%s shows %d warnings and says %v", page, n, count)
				}
			}
		}
	})
}

// A server administrator gets a link to the setting, and others read whom to ask.
func TestConsoleSaysWhereThePublicURLIsSet(t *testing.T) {
	for role, want := range map[string]string{
		core.RoleOperator: "ask the person who set up the server.",
		core.RoleEditor:   "Ask the server administrator to enter the public address",
	} {
		synctest.Test(t, func(t *testing.T) {
			e := newCampaignEnv(t, role)
			o := Options{Store: e.store, Auth: e.handler.options.Auth, PublicURL: "http://localhost:8080"}
			var err error
			o.Bearer = o.Auth.Bearer
			e.handler, err = New(o)
			e.must(err)
			e.login()
			e.shows(e.path(""), http.StatusOK, "only work on the computer that newsletterd runs on", want)
		})
	}
}
