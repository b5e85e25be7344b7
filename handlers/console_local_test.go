package handlers

import (
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// The pages for sending a campaign and for publishing a signup form warn about links that only work on the server's
// machine.
func TestConsoleWarnsAboutLocalLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		campaign := e.seed.NewCampaign(e.list)
		pages := []string{e.path("campaigns", campaign.ID, "send"), e.path("lists", e.list.ID, "form")}
		for origin, local := range map[string]bool{"http://127.0.0.1:8080": true, "https://links.acme.example": false} {
			_, err := e.store.UpdateTenant(t.Context(), e.tenant.ID, "test", func(of *core.Tenant) error {
				of.PublicURL = origin
				return nil
			})
			e.must(err)
			for _, page := range pages {
				if got := strings.Contains(e.shows(page), "only work on this computer"); got != local {
					t.Errorf("%s at %s: %v", page, origin, got)
				}
			}
		}
	})
}
