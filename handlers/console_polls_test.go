package handlers

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/mail/markup"
	"newsletterd/store/campaigns"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// An author creates polls, edits and deletes one, sends the campaign, reads the results, and closes a poll.
func TestConsolePolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RolePublisher)
		seed := storetest.Seed(t, e.store).At(core.At(time.Now()))
		c := seed.NewCampaign(e.shop)
		polls, fields := "/campaigns/"+c.ID+"/polls", func() core.CampaignFields {
			found, err := e.store.Campaign(t.Context(), c.ID)
			e.must(err)
			_, f, err := e.store.CampaignVersion(t.Context(), &found, 0)
			e.must(err)
			return f
		}
		e.shows(polls, http.StatusOK, "New poll", "Create poll")
		poll := func(number, at int, question, options string) url.Values {
			return url.Values{
				"number": {fmt.Sprint(number)}, fmt.Sprintf("%d.question", at): {question},
				fmt.Sprintf("%d.options", at): {options},
			}
		}
		e.sends(polls, http.StatusSeeOther, poll(0, 1, "Which fruit?", "Apples\r\nPears\r\n\r\n"))
		e.sends(polls, http.StatusSeeOther, poll(0, 2, "How often?", "Weekly\nMonthly"))
		e.sends(polls, http.StatusBadRequest, poll(0, 3, "One?", "Only"))
		e.sends(polls, http.StatusBadRequest, poll(1, 1, "{{ email }}", "Yes\nNo"))
		e.sends(polls, http.StatusNotFound, poll(9, 9, "Which?", "Yes\nNo"))
		if f := fields(); len(f.Polls) != 2 || f.Content.Source != "# Hello\n\n{{ poll.1 }}\n\n{{ poll.2 }}\n" {
			t.Fatalf("%+v", f)
		}
		e.sends(polls, http.StatusSeeOther, url.Values{"number": {"1"}, "do": {"delete"}})
		edited := poll(1, 1, "How often, please?", "Weekly\nMonthly\nNever")
		edited.Set("1.results", "1")
		closes := time.Now().UTC().AddDate(0, 0, 9).Format("2006-01-02T15:04")
		edited.Set("1.closes", closes)
		e.sends(polls, http.StatusSeeOther, edited)
		f := fields()
		if len(f.Polls) != 1 || len(f.Polls[0].Options) != 3 || !f.Polls[0].ShowResults || f.Polls[0].ClosesAt == 0 ||
			f.Content.Source != "# Hello\n\n\n\n{{ poll.1 }}\n" {
			t.Fatalf("%+v", f)
		}
		e.shows(polls, http.StatusOK, "How often, please?", closes)
		e.shows("/campaigns/"+c.ID, http.StatusOK, "poll.1", "How often, please?")

		found, err := e.store.Campaign(t.Context(), c.ID)
		e.must(err)
		d := drafts.Drafts{Store: e.store, Sealer: e.handler.sealer, Origin: "http://news.test"}
		draft, _, err := d.Ready(t.Context(), &found, 0, core.At(time.Now()))
		e.must(err)
		j := seed.Finish(seed.SendDraft(&draft))
		report := "/campaigns/" + c.ID
		e.shows(report, http.StatusOK, "How often, please?", "0 answers")
		for seq := range int64(5) {
			v, err := e.store.Voting(t.Context(), people.Ballot{JobNo: j.No, Seq: seq + 1, Poll: 1}, seed.Time())
			e.must(err)
			e.must(e.store.Vote(t.Context(), &v, 1+int(seq/3), seed.Time()))
		}
		e.shows(report, http.StatusOK, "5 answers", "60.0%", "40.0%", "Close poll")
		e.sends(polls, http.StatusSeeOther, url.Values{"number": {"1"}, "do": {"close"}})
		e.shows(report, http.StatusOK, "closed")
		e.sends(polls, http.StatusNotFound, url.Values{"number": {"x"}, "do": {"close"}})

		g := e.saves("/new-segment", url.Values{
			"name": {"Weekly"}, "match": {"all"}, "c1.of": {"poll"}, "c1.was": {"poll"}, "c1.op": {"is"},
			"c1.value": {c.ID}, "c1.campaign": {c.ID}, "c1.link": {"1.Weekly"},
		})
		want := fmt.Sprintf(`{"all":[{"poll":{"campaign":%q,"number":1},"is":["Weekly"]}]}`, c.ID)
		if string(g.Rule) != want {
			t.Errorf("the rule is %s", g.Rule)
		}
		e.shows("/segments/"+g.ID, http.StatusOK, "Weekly (How often, please?)")
	})
}

// The forms belong to the campaign as it was when they were opened. A change in between isn't lost.
func TestConsolePollsChangedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RolePublisher)
		seed := storetest.Seed(t, e.store).At(core.At(time.Now()))
		e.campaign = seed.NewCampaign(e.shop, func(f *core.CampaignFields) {
			f.Content.Source = "{{ poll.1 }}\n\n{{ poll.2 }}\n"
			f.Polls = []core.Poll{
				{Question: "Which fruit?", Options: core.Strings{"Apples", "Pears"}},
				{Question: "How often?", Options: core.Strings{"Weekly", "Monthly"}},
			}
		})
		page := e.shows(e.path("/polls"), http.StatusOK)
		revision := regexp.MustCompile(`name="revision" value="([^"]+)"`).FindStringSubmatch(page)
		if revision == nil {
			t.Fatal(page)
		}
		opened := html.UnescapeString(revision[1])
		e.sends(e.path("/polls"), http.StatusSeeOther, url.Values{
			"number": {"1"}, "do": {"delete"}, "revision": {opened},
		})
		for _, late := range []url.Values{
			{"number": {"1"}, "do": {"delete"}},
			{"number": {"1"}, "1.question": {"Which color?"}, "1.options": {"Red\nGreen"}},
			{"number": {"0"}, "2.question": {"Which color?"}, "2.options": {"Red\nGreen"}},
		} {
			late.Set("revision", opened)
			status, page := e.page("POST", e.at(e.path("/polls")), late)
			e.holds("late", status, page, http.StatusPreconditionFailed, []string{"has changed since you opened it"})
		}
		// A new poll changes no other one, so the same form can be sent again.
		form := url.Values{
			"number": {"0"}, "3.question": {"Which color?"}, "3.options": {"Red\nGreen"}, "revision": {opened},
		}
		status, page := e.page("POST", e.at(e.path("/polls")), form)
		e.holds("new", status, page, http.StatusPreconditionFailed, []string{`value="Which color?"`})
		_, page, _ = strings.Cut(page, "New poll")
		again := e.form(page, e.path("/polls"), "2.question", "Which color?", "2.options", "Red\nGreen")
		if f := e.fields(); len(f.Polls) != 1 || f.Polls[0].Question != "How often?" || len(f.Polls[0].Options) != 2 {
			t.Errorf("%+v", f.Polls)
		}
		e.sends(e.path("/polls"), http.StatusSeeOther, again)
		if f := e.fields(); len(f.Polls) != 2 || f.Polls[1].Question != "Which color?" {
			t.Errorf("%+v", f.Polls)
		}
	})
}

// The forms of a campaign's tabs change different parts of it, so saving one is no conflict with another.
func TestConsoleTabsSavedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RolePublisher)
		e.campaign = storetest.Seed(t, e.store).At(core.At(time.Now())).NewCampaign(e.shop)
		content := e.edit(e.shows(e.path(""), http.StatusOK), "subject", "Roses", "source", "Hello.\n")
		late := e.edit(e.shows(e.path(""), http.StatusOK), "subject", "Tulips", "source", "Hello.\n")
		settings := e.edit(e.shows(e.path("?tab=settings"), http.StatusOK), "name", "January", "list."+e.shop.ID, "1")
		poll := e.form(e.shows(e.path("/polls"), http.StatusOK), e.path("/polls"),
			"1.question", "Which color?", "1.options", "Red\nGreen")
		e.sends(e.path(""), http.StatusSeeOther, content)
		e.sends(e.path(""), http.StatusSeeOther, settings)
		e.sends(e.path(""), http.StatusPreconditionFailed, late)
		e.sends(e.path("/polls"), http.StatusSeeOther, poll)
		f := e.fields()
		if f.Name != "January" || f.Subject != "Roses" || len(f.Polls) != 1 ||
			f.Content.Source != "Hello.\n\n{{ poll.1 }}\n" {
			t.Errorf("%+v", f)
		}
		settings.Set("name", "February")
		e.sends(e.path(""), http.StatusPreconditionFailed, settings)

		before := e.edit(e.shows(e.path(""), http.StatusOK), "subject", "Lilies")
		c, err := e.store.Campaign(t.Context(), e.campaign.ID)
		e.must(err)
		d, err := e.store.Draft(t.Context(), &c, 0, markup.CampaignParts, e.seed.Time())
		e.must(err)
		_, err = e.store.ApproveCampaign(t.Context(), campaigns.CampaignSending{
			CampaignEdit: campaigns.CampaignEdit{ID: c.ID, Actor: "test", Now: e.seed.Time()},
			Version:      c.Version, Fields: &d.Fields, Copy: &d.Content.Copy,
		})
		e.must(err)
		e.sends(e.path(""), http.StatusPreconditionFailed, before) // it would withdraw an approval that wasn't shown
	})
}
