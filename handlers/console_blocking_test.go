package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// Before blocking a person, the console says that this ends the subscription. The person is then shown as blocked,
// once, with the name of the user who did it. Before and after unblocking, the console says what stays.
func TestConsoleBlocksAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.shows("/suppressions", http.StatusOK, "is unsubscribed from all your lists", "doesn't subscribe it again")
		form := url.Values{"email": {"joan@reader.example"}}
		e.sends("/suppressions", http.StatusSeeOther, form)
		const stays = "The person stays unsubscribed until they sign up again."
		e.shows("/suppressions", http.StatusOK, "by ann@user.example", "-user:", stays)
		at := "/people/" + e.found("joan@reader.example").ID
		body := e.shows(at, http.StatusOK, "Blocked</span>", "when the address was blocked", "by ann@user.example",
			"-user:", stays)
		if n := strings.Count(body, "This address is blocked"); n != 1 {
			t.Errorf("%d banners", n)
		}
		for _, q := range []string{
			"q=joan", "status=suppressed", "status=suppressed&sort=email", "status=unsubscribed",
		} {
			e.shows("/people?"+q, http.StatusOK, "joan@reader.example", "Blocked</span>")
		}
		e.sends("/new-person", http.StatusConflict, url.Values{
			"list": {e.list.ID}, "email": {"joan@reader.example"}, "agreed": {"no"},
		}, "Unblock it under")
		e.sends(at+"/lift", http.StatusSeeOther, url.Values{})
		e.shows(at, http.StatusOK, "Unsubscribed</span>", "when the address was blocked", "-Blocked</span>")
		e.sends("/new-person", http.StatusConflict, url.Values{
			"list": {e.list.ID}, "email": {"joan@reader.example"}, "agreed": {"no"},
		}, "ended when the address was blocked", "-Only they can")
	})
}
