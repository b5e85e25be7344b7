package handlers

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/handlers/console"
)

// The account page shows times in the time zone of the only tenant for which the user works, or else in that of the
// browser.
func TestConsoleAccountShowsLocalTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleViewer)
		e.lang = "de"
		shows := func(zone string) {
			t.Helper()
			status, page := e.page("GET", "/account", nil)
			if status != http.StatusOK || !strings.Contains(page, " Uhr ("+zone+")") {
				t.Errorf("%d, not the time of %s: %s", status, zone, textOf(page))
			}
		}
		shows("UTC")
		e.cookies[console.ZoneCookie] = "Asia%2FTokyo"
		shows("Tokyo")
		e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{TimeZone: new("Europe/Berlin")})
		shows("Berlin")
	})
}
