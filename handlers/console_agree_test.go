package handlers

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/store/campaigns"
)

// The search shows the same state of a campaign as its pages: a campaign whose emails went to a folder was not sent. It
// shows the state of a person only if it is not the usual one.
func TestConsoleSearchAgrees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		j := e.mailing()
		e.seed.Finish(j)
		for _, at := range []struct{ transport, says string }{
			{core.TransportFolder, "Saved to folder"}, {core.TransportPartly, "Partly saved to folder"}, {"", "Sent"},
		} {
			e.must(campaigns.SetJobTransport(e.Context(), e.store.DB, j.No, at.transport))
			e.shows("/campaigns", http.StatusOK, at.says)
			e.shows("/search?q="+url.QueryEscape(e.campaign.Name), http.StatusOK, ">"+at.says+"<")
		}
		e.shows("/search?q=wilma", http.StatusOK, "Weekly · Pending")
		e.shows("/search?q=grace", http.StatusOK, "-Subscribed")
	})
}

// Versions show who saved them.
func TestConsoleVersionsNameWho(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		page := e.shows(e.path(""), http.StatusOK)
		e.sends(e.path(""), http.StatusSeeOther, e.edit(page, "subject", "News", "source", "Roses\n"))
		e.shows(e.path("/versions"), http.StatusOK, " · by ann@user.example", "-user:")
	})
}

// The error page for an unknown page links to an existing one, both in the console and outside.
func TestPagesNotFoundLeadBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		for path, to := range map[string]string{
			e.at("/lists/" + core.NewID()):     `href="` + e.at("") + `"`,
			e.at("/no-such-page"):              `href="/console"`,
			"/console/" + core.NewID():         `href="/console"`,
			"/no-such-page":                    `href="/"`,
			"/console/operator/no-such-page/x": `href="/console"`,
		} {
			res := e.ask("GET", path, nil, "Accept", "text/html")
			body, err := io.ReadAll(res.Body)
			e.must(err)
			code, page := res.StatusCode, string(body)
			if _, main, _ := strings.Cut(page, "<main"); code != http.StatusNotFound || !strings.Contains(main, to) {
				t.Errorf("%s: %d without %s: %s", path, code, to, textOf(page))
			}
		}
	})
}
