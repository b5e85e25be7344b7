package handlers

import (
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// The search finds people by the beginning of their address, for users who may read it. It finds campaigns, lists,
// pages and actions by a part of their name.
func TestConsoleSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, role := range []string{core.RoleTenantAdmin, core.RolePublisher, core.RoleViewer} {
			e := newCampaignEnv(t, role)
			e.seed.Active(e.list.ID, "grace@reader.example")
			_, err := e.store.SetPreferences(t.Context(), e.list.ID, "grace@reader.example",
				`{"first_name":"Amazing","last_name":"Hopper"}`, e.seed.Time())
			if err != nil {
				t.Fatal(err)
			}
			base := "/console/" + e.tenant.ID + "/search?q="
			look := func(q string) string {
				code, page := e.page("GET", base+url.QueryEscape(q), nil)
				if code != 200 {
					t.Fatal(code, textOf(page))
				}
				_, found, _ := strings.Cut(page, `id="results"`)
				found, _, _ = strings.Cut(found, "</main>")
				return found
			}
			if got := strings.Contains(look("grace"), "grace@reader.example"); got != (role != core.RoleViewer) {
				t.Errorf("%s finds a person: %v", role, got)
			}
			if got := strings.Contains(look("amazing HOP"), "Amazing Hopper – grace@"); got != (role != core.RoleViewer) {
				t.Errorf("%s finds a person by name: %v", role, got)
			}
			if got := strings.Contains(look("ACE@"), "grace@"); got {
				t.Error("found by another part than the beginning")
			}
			if !strings.Contains(look(strings.ToUpper(e.list.Name)), "/lists/"+e.list.ID) {
				t.Errorf("%s doesn't find the list", role)
			}
			if !strings.Contains(look("campa"), `/campaigns"`) {
				t.Errorf("%s doesn't find a page", role)
			}
			for q, to := range map[string]string{
				"import p": `/new-import"`, "INVITE": `/settings/team"`, "suppr": `/suppressions"`,
				"theme": `/looks/themes"`,
			} {
				if within := q[1:]; strings.Contains(look(within), to) {
					t.Errorf("%q is found by %q", q, within)
				}
				may := role == core.RoleTenantAdmin || role == core.RolePublisher && q == "import p" ||
					role != core.RoleViewer && q == "theme"
				if got := strings.Contains(look(q), to); got != may {
					t.Errorf("%s finds %q: %v", role, q, got)
				}
			}
			for q, to := range map[string]string{
				"archive": `/lists"`, "logo": `/settings"`, "Bounce": `/suppressions"`, "dkim": `/settings/domains"`,
			} {
				if got := strings.Contains(look(q), to); got != (role == core.RoleTenantAdmin) {
					t.Errorf("%s finds what is about %s: %v", role, q, got)
				}
			}
			if role == core.RoleTenantAdmin {
				to := "/console/" + e.tenant.ID + "/suppressions"
				if code, page := e.page("POST", to, url.Values{"email": {"grace@reader.example"}}); code != 303 {
					t.Fatal(code, textOf(page))
				}
				if !strings.Contains(look("grace"), "grace@reader.example") {
					t.Error("someone who was switched off isn't found")
				}
			}
			res := e.ask("GET", base+"campa", nil, "Hx-Request", "true", "Hx-Target", "div#found")
			part, err := io.ReadAll(res.Body)
			e.must(err)
			if part := strings.TrimSpace(string(part)); !strings.HasPrefix(part, "<ul") {
				t.Errorf("the part is %s", part)
			}
			page := look("<no such thing>")
			if strings.Contains(page, "access to full email addresses") != (role == core.RoleViewer) ||
				!strings.Contains(page, "No results match your search.") {
				t.Error(role, textOf(page))
			}
		}
	})
}
