package handlers

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// pollSent sends a campaign with a poll. The first recipient answers "Pears". It returns the campaign.
func (e *segmentEnv) pollSent() core.Campaign {
	e.Helper()
	seed := storetest.Seed(e.T, e.store).At(core.At(time.Now()))
	c := seed.NewCampaign(e.shop, func(f *core.CampaignFields) {
		f.Content.Source = "{{ poll.1 }}\n"
		f.Polls = []core.Poll{{Question: "Which fruit?", Options: core.Strings{"Apples", "Pears"}}}
	})
	d := drafts.Drafts{Store: e.store, Sealer: e.handler.sealer, Origin: "http://news.test"}
	draft, _, err := d.Ready(e.Context(), &c, 0, seed.Time())
	e.must(err)
	j := seed.Finish(seed.SendDraft(&draft))
	v, err := e.store.Voting(e.Context(), people.Ballot{JobNo: j.No, Seq: 1, Poll: 1}, seed.Time())
	e.must(err)
	e.must(e.store.Vote(e.Context(), &v, 2, seed.Time()))
	return c
}

// Users who may see individual subscribers see the results of polls with few answers by option. Others don't, because
// the results would show who answered what.
func TestFewAnswersAreForThoseWhoSeePeople(t *testing.T) {
	for role, seen := range map[string]bool{core.RolePublisher: true, core.RoleEditor: false} {
		synctest.Test(t, func(t *testing.T) {
			e := newSegmentEnv(t, role)
			c := e.pollSent()
			page := e.shows("/campaigns/"+c.ID, http.StatusOK, "Which fruit?", "1 answer")
			if got := strings.Contains(page, "Share</th>"); got != seen {
				t.Errorf("%s: the results are shown: %t", role, got)
			}
			if got := strings.Contains(page, "Results by option appear"); got == seen {
				t.Errorf("%s: the limit is shown: %t", role, got)
			}
		})
	}
}

// Each option of a report leads to the people who chose it. From there, a user tags them or saves them as a segment.
func TestPollAnswersLeadToPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newSegmentEnv(t, core.RolePublisher)
		c := e.pollSent()
		q := "?" + url.Values{"answered": {c.ID + ".1.Pears"}}.Encode()
		page := e.shows("/campaigns/"+c.ID, http.StatusOK, "Which fruit?")
		if !strings.Contains(page, "/people"+q+`"`) {
			t.Errorf("no link to the people who chose an option: %s", page)
		}
		page = e.shows("/people"+q, http.StatusOK, "Pears (Which fruit?)", "Save as segment", "1–1 of 1")
		if !strings.Contains(page, "/new-segment"+q+`"`) || !strings.Contains(page, "/new-bulk"+q+`"`) {
			t.Errorf("no links to a segment and to an action: %s", page)
		}
		page = e.shows("/new-segment"+q+"&list="+e.shop.ID, http.StatusOK, "Pears (Which fruit?)")
		form := controls(t, page, "segment")
		form.Set("name", "Pears in the shop")
		if g := e.saves("/new-segment", form); !strings.Contains(string(g.Rule), `"on_list":"`+e.shop.ID+`"`) {
			t.Errorf("the segment of a list isn't limited to it: %s", g.Rule)
		}
		e.sends("/new-bulk", http.StatusOK, url.Values{
			"answered": {c.ID + ".1.Pears"}, "list": {e.shop.ID}, "act": {"tag"},
		}, "Poll answer", "Add a tag to 1 person?")
		e.sends("/new-bulk", http.StatusNotFound, url.Values{
			"answered": {c.ID + ".1.Plums"}, "list": {e.shop.ID}, "act": {"tag"},
		})
	})
}
