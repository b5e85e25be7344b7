package handlers

import (
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/console"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

var shownMatter = regexp.MustCompile(`(?s)<li class="matter">.*?</li>`)

// The console leads people who may approve to the page that also emails link to. That page has the same errors and
// warnings as the page for sending, and says that approving sends nothing.
func TestConsoleLeadsToReviews(t *testing.T) {
	for _, approval := range []string{core.ApprovalSecondPerson, core.ApprovalNone} {
		synctest.Test(t, func(t *testing.T) {
			e := newReviewEnv(t)
			e.seed.ChangeTenant(e.tenant.ID, core.TenantInput{Approval: &approval})
			c, err := e.store.EditCampaign(t.Context(), campaigns.CampaignEdit{
				ID: e.campaign.ID, Actor: core.UserActor(e.bob.ID), Now: e.seed.Time(),
			}, func(f *core.CampaignFields) error {
				f.Content.Source = "# Hello {{ preferences.first_name }}\n\n![](https://acme.example/a.png)\n"
				return nil
			})
			e.must(err)
			e.campaign = c
			e.review(0)
			e.login()
			home := console.Path + "/" + e.tenant.ID
			link := `href="` + reviewAddress(e.campaign.ID) + `"`
			sends := ""
			for _, path := range []string{home, home + "/campaigns/" + e.campaign.ID + "/send"} {
				var status int
				if status, sends = e.page("GET", path, nil); status != http.StatusOK || !strings.Contains(sends, link) {
					t.Errorf("%s: %s doesn't lead to the review (%d): %s", approval, path, status, textOf(sends))
				}
			}
			_, review := e.page("GET", reviewAddress(e.campaign.ID), nil)
			want, got := shownMatter.FindAllString(sends, -1), shownMatter.FindAllString(review, -1)
			if len(want) < 3 || !slices.Equal(got, want) {
				t.Errorf("%s: the review shows %q, the page for sending %q", approval, got, want)
			}
			if only := wordsOfPages()["en"].ReviewApproveOnly; !strings.Contains(review, only) {
				t.Errorf("%s: no %q in %s", approval, only, textOf(review))
			}
			e.review(e.seed.Time().Add(24 * time.Hour)) // now there is a button that sends
			_, review = e.page("GET", reviewAddress(e.campaign.ID), nil)
			if strings.Contains(review, wordsOfPages()["en"].ReviewApproveOnly) {
				t.Errorf("%s: %s", approval, textOf(review))
			}
		})
	}
}

// The page compiles the campaign and counts its recipients only once, because counting can take seconds.
func TestReviewCountsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := storetest.NewFaults(t)
		e := newReviewEnv(t, db.Options{Driver: f.Driver})
		e.review(0)
		e.login()
		want := map[string]int{
			"FROM campaign_version":         2, // to find its writers, and to compile it
			"CASE WHEN s.block = 'bounced'": 1,
		}
		times := map[string]int{}
		f.FailWhen(func(query string) bool {
			for part := range want {
				if strings.Contains(query, part) {
					times[part]++
				}
			}
			return false
		})
		if _, page := e.page("GET", reviewAddress(e.campaign.ID), nil); !strings.Contains(page, `value="approve"`) {
			t.Fatal(textOf(page))
		}
		f.FailAt(0)
		if !maps.Equal(times, want) {
			t.Errorf("statements: %v, want %v", times, want)
		}
	})
}
