package handlers

import (
	"net/http"
	"net/url"
	"slices"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/handlers/console"
)

// The error of a form appears next to its field, which has the focus.
func TestConsoleMarksWhatIsWrong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleOperator)
		c := e.seed.NewCampaign(e.list)
		picture := e.seed.NewMedia("rose.png", []string{"12345"})
		here := console.Path + "/" + e.tenant.ID
		for _, tt := range []struct {
			path string
			form url.Values
			want string
		}{
			{console.Path + "/new-tenant", url.Values{"name": {" "}, "language": {"en"}}, "name"},
			{console.Path + "/new-tenant", url.Values{"name": {"A"}, "language": {"en"}, "mail_from": {"nobody"}}, "mail_from"},
			{
				console.Path + "/new-tenant",
				url.Values{"name": {"A"}, "language": {"en"}, "mail_from": {"a@gmail.com"}},
				"mail_from",
			},
			{console.Path + "/new-tenant", url.Values{"name": {"A"}, "language": {"en"}, "time_zone": {"Nowhere"}}, "time_zone"},
			{here + "/new-campaign", url.Values{"subject": {"A\nB"}, "list": {e.list.ID}}, "subject"},
			{here + "/new-campaign", url.Values{"subject": {"A"}, "list": {core.NewID()}}, "list"},
			{here + "/campaigns/" + c.ID, url.Values{"revision": {`"1"`}, "subject": {"A\nB"}}, "subject"},
			{here + "/campaigns/" + c.ID, url.Values{"revision": {`"1"`}, "then": {"test"}, "test_to": {"nobody"}}, "test_to"},
			{
				here + "/campaigns/" + c.ID,
				url.Values{"revision": {`"1"`}, "tab": {"settings"}, "from_email": {"nobody"}},
				"from_email",
			},
			{here + "/new-person", url.Values{"list": {e.list.ID}, "email": {"nobody"}}, "email"},
			{here + "/looks/pictures/" + picture.ID, url.Values{"name": {" "}}, "name"},
			{here + "/looks/themes", url.Values{"name": {" "}, "base": {"letter"}}, "name"},
			{here + "/suppressions", url.Values{"email": {"nobody"}}, "email"},
			{here + "/settings", url.Values{"name": {"A"}, "brand_color": {"red"}}, "brand_color"},
			{here + "/settings/team", url.Values{"email": {"nobody"}, "role": {"viewer"}}, "email"},
			{here + "/settings/relay/test", url.Values{"email": {"nobody"}}, "email"},
			{"/operator/new-user", url.Values{"email": {"nobody"}, "role": {"operator"}}, "email"},
			{"/operator/tenants/" + e.tenant.ID, url.Values{"act": {"limits"}, "per_day": {"many"}}, "per_day"},
		} {
			status, page := e.page("POST", tt.path, tt.form)
			if got := marked(page); status != http.StatusBadRequest || !slices.Equal(got, []string{tt.want}) {
				t.Errorf("%s %v: %d, %v is marked: %s", tt.path, tt.form, status, got, textOf(page))
			}
		}
	})
}
