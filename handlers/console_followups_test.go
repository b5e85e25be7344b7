package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
)

// followUp creates a draft for a part of the campaign's recipients, with the report's button.
func (e *campaignEnv) followUp(who string) (path string) {
	e.Helper()
	to := e.sends(e.path("/again"), http.StatusSeeOther, url.Values{"who": {who}})
	path, _, _ = strings.Cut(to, "?")
	return path
}

// The settings of a follow-up show who gets it. If a campaign is only being retried for some recipients, people who
// joined since can get another one. Recipients who didn't open it can get one only after the last retry, and the pages
// before sending say so.
func TestConsoleFollowUps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		e.seed.Deliver()
		e.campaign = e.seed.NewCampaign(e.list, func(f *core.CampaignFields) {
			f.Name, f.Tracking = "Winter plants", core.TrackingPersons
			f.Content.Kind, f.Content.Source = core.ContentMarkdown, "Roses\n"
		})
		due := e.seed.Time().Add(5 * time.Minute)
		full := core.Outcome{State: core.RecipientDeferred, Reason: "452 4.2.2 full", DueAt: due}
		full.GivesUpAt = due.Add(time.Hour)
		e.mailing(core.Outcome{State: core.RecipientSent}, full)
		const last = "last retry: today, 02:05"
		e.shows(e.path(""), http.StatusOK, "To new subscribers", "Can be sent after the "+last)
		e.seed.Active(e.list.ID, "late@reader.example")
		e.seed.Deliver()

		late := e.followUp(core.FollowJoined)
		e.shows(late, http.StatusOK, "· 1 recipient<")
		e.shows(late+"?tab=settings", http.StatusOK, "· 1 recipient<",
			">Only subscribers who joined after “Winter plants”<")
		early := e.followUp(core.FollowUnopened)
		e.shows(early+"?tab=settings", http.StatusOK,
			">Only recipients of “Winter plants” who didn't open or click<")
		e.shows(early+"/send", http.StatusOK,
			"“Winter plants” is still being sent. You can send this campaign after the "+last, "-Send now")

		e.campaign.ID = strings.TrimPrefix(late, "/campaigns/")
		form := e.sendForm("", "subscribers who joined after “Winter plants”", "-still being sent")
		form.Set("when", "now")
		e.sends(e.path("/send"), http.StatusSeeOther, form)
	})
}

// A campaign's settings lead to a new segment even if there is none yet. Saving it returns to the campaign, which then
// goes to that segment.
func TestConsoleSegmentForACampaign(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		here := "/new-segment?campaign=" + e.campaign.ID
		settings := e.path("?tab=settings")
		e.shows(settings, http.StatusOK, `href="`+e.at(here)+`">New segment…</a>`)
		e.shows(here, http.StatusOK, `action="`+e.at(here)+`"`)
		form := url.Values{
			"name": {"Acme"}, "match": {"all"}, "c1.of": {"domain"}, "c1.was": {"domain"}, "c1.op": {"is"},
			"c1.value": {"nowhere.example"},
		}
		to := e.sends(here, http.StatusSeeOther, form)
		if !strings.HasPrefix(to, settings) {
			t.Fatalf("saving the segment leads to %s", to)
		}
		e.shows(to, http.StatusOK, " selected>Acme<", "· 0 recipients<", "Segment created")
	})
}
