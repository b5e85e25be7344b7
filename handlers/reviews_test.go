package handlers

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

var reviewAddress = page.ReviewOf

// reviewEnv is a team of two: bob writes, and ann, who is signed in, can approve.
type reviewEnv struct {
	*pageEnv
	seed     *storetest.Seeder
	tenant   core.Tenant
	bob      core.User
	campaign core.Campaign
}

func newReviewEnv(t *testing.T, options ...db.Options) *reviewEnv {
	e := &reviewEnv{pageEnv: pageEnvLater(t, options...)}
	e.seed = storetest.Seed(t, e.store)
	e.tenant = e.seed.NewTenant(func(in *core.TenantInput) { in.Approval = new(core.ApprovalSecondPerson) })
	list := e.seed.NewList()
	e.verifyAnn()
	ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
	e.must(err)
	role := core.Role{Role: core.RolePublisher, TenantID: e.tenant.ID}
	e.must(e.store.GrantRole(t.Context(), ann.ID, role, false, e.seed.Time()))
	e.bob = e.seed.NewUser("bob@user.example", "", func(u *core.User) { u.Name, u.Roles = "Bob", []core.Role{role} })
	e.seed.Readers(list, 2)
	e.campaign = e.seed.NewCampaign(list)
	e.edit(core.UserActor(e.bob.ID))
	return e
}

// edit saves the campaign as a person.
func (e *reviewEnv) edit(by string) {
	e.Helper()
	c, err := e.store.EditCampaign(e.Context(), campaigns.CampaignEdit{
		ID: e.campaign.ID, Actor: by, Now: e.seed.Time(),
	}, func(f *core.CampaignFields) error { f.Content.Source += "more\n"; return nil })
	e.must(err)
	e.campaign = c
}

// review requests an approval as bob.
func (e *reviewEnv) review(wanted core.Instant) {
	e.Helper()
	c, err := e.store.AskReview(e.Context(), campaigns.CampaignEdit{
		ID: e.campaign.ID, Actor: core.UserActor(e.bob.ID), Now: e.seed.Time(),
	}, wanted, "Please look at the <second> picture.")
	e.must(err)
	e.campaign = c
}

// press submits the form of the page with a button, and returns the status and the campaign's state after that.
func (e *reviewEnv) press(action string) (int, core.CampaignState) {
	e.Helper()
	_, page := e.page("GET", reviewAddress(e.campaign.ID), nil)
	tag := regexp.MustCompile(`name="tag" value="([\w-]+)"`).FindStringSubmatch(page)
	if tag == nil || !strings.Contains(page, `name="action" value="`+action+`"`) {
		e.Fatalf("no button %s: %s", action, textOf(page))
	}
	return e.send(action, tag[1])
}

func (e *reviewEnv) send(action, tag string) (int, core.CampaignState) {
	e.Helper()
	status, answer := e.page("POST", page.ReviewPath, url.Values{
		"campaign": {e.campaign.ID}, "tag": {tag}, "action": {action}, "note": {"Another picture, please."},
	})
	c, err := e.store.Campaign(e.Context(), e.campaign.ID)
	e.must(err)
	if c.State == core.CampaignApproved && (!strings.Contains(answer, "/campaigns/"+e.campaign.ID+`/send"`) ||
		!strings.Contains(answer, `<main class="alone"`)) {
		e.Errorf("the answer doesn't lead to the page for sending, or has another design: %s", textOf(answer))
	}
	return status, c.State
}

// waiting returns the queued emails with their recipients.
func (e *reviewEnv) waiting() (all []string) {
	e.Helper()
	mails, err := e.store.DueMails(e.Context(), e.seed.Time(), 100)
	e.must(err)
	for _, m := range mails {
		all = append(all, m.Kind+" "+string(m.Email))
	}
	slices.Sort(all)
	return all
}

// Ann gets an email, views the campaign, and approves it on the page. Bob gets an email about it.
func TestReviewIsApproved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newReviewEnv(t)
		e.review(0)
		if got := e.waiting(); !slices.Equal(got, []string{"review ann@user.example"}) || e.campaign.ReviewAsked != 1 {
			t.Errorf("%v, %d", got, e.campaign.ReviewAsked)
		}
		status, _ := e.page("GET", reviewAddress(e.campaign.ID), nil)
		if status != http.StatusFound {
			t.Errorf("signed out: %d", status)
		}
		if to := e.ask("POST", "/login", url.Values{
			"email": {"ann@user.example"}, "password": {annsPassword}, "continue": {reviewAddress(e.campaign.ID)},
		}).Header.Get("Location"); !strings.HasSuffix(to, reviewAddress(e.campaign.ID)) {
			t.Errorf("the login leads to %s", to)
		}
		_, page := e.page("GET", reviewAddress(e.campaign.ID), nil)
		for _, want := range []string{"Bob needs your approval", "&lt;second&gt; picture", "News of May", "https://news.example.org/v/", "<dt>Recipients</dt><dd><strong>2<", wordsOfPages()["en"].ReviewBack} {
			if !strings.Contains(page, want) {
				t.Errorf("no %q in %s", want, textOf(page))
			}
		}
		if status, state := e.press("approve"); status != http.StatusOK || state != core.CampaignApproved {
			t.Errorf("%d, %s", status, state)
		}
		want := []string{"review ann@user.example", "review_approved bob@user.example"}
		if got := e.waiting(); !slices.Equal(got, want) {
			t.Errorf("%v", got)
		}
		if _, page := e.page("GET", reviewAddress(e.campaign.ID), nil); strings.Contains(page, "<button") {
			t.Errorf("there are buttons on what is approved: %s", textOf(page))
		}
	})
}

// The page of a German newsletter has the time in its time zone, and the findings of the checks in German.
func TestReviewInGerman(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newReviewEnv(t)
		_, err := e.store.UpdateTenant(t.Context(), e.tenant.ID, "", func(t *core.Tenant) error {
			t.Language, t.TimeZone = "de", "Europe/Berlin"
			return nil
		})
		e.must(err)
		e.login()
		e.lang = "de"
		e.review(core.At(time.Now().Add(48 * time.Hour)))
		_, page := e.page("GET", reviewAddress(e.campaign.ID), nil)
		for _, want := range []string{" Uhr (Berlin)</dd>", "Ihre Postanschrift fehlt."} {
			if !strings.Contains(page, want) {
				t.Errorf("no %q in %s", want, textOf(page))
			}
		}
	})
}

// The approved content is the content that was shown, and only a second person with a fresh sign-in can approve it.
func TestReviewIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newReviewEnv(t)
		e.review(0)
		e.login()
		before := fmt.Sprint(e.campaign.Revision)
		e.edit(core.UserActor(e.bob.ID))
		e.review(0)
		if status, state := e.send("approve", before); status != http.StatusPreconditionFailed ||
			state != core.CampaignInReview {
			t.Errorf("of another revision: %d, %s", status, state)
		}
		if status, _ := e.send("burn", fmt.Sprint(e.campaign.Revision)); status != http.StatusBadRequest {
			t.Errorf("another action: %d", status)
		}
		time.Sleep(core.ProofAge + time.Minute)
		if status, state := e.press("approve"); status != http.StatusOK || state != core.CampaignInReview {
			t.Errorf("signed in long ago: %d, %s", status, state)
		}
		e.login()
		ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
		e.must(err)
		e.edit(core.UserActor(ann.ID))
		e.review(0)
		if _, page := e.page("GET", reviewAddress(e.campaign.ID), nil); strings.Contains(page, `value="approve"`) {
			t.Error("who has written on it has a button")
		}
		if status, state := e.send("approve", fmt.Sprint(e.campaign.Revision)); status != http.StatusForbidden ||
			state != core.CampaignInReview {
			t.Errorf("who has written on it: %d, %s", status, state)
		}
		if status, state := e.press("reject"); status != http.StatusOK || state != core.CampaignDraft {
			t.Errorf("sent back: %d, %s", status, state)
		}
		if got := e.waiting(); !slices.Contains(got, "review_rejected bob@user.example") {
			t.Errorf("%v", got)
		}
		if status, _ := e.page("GET", reviewAddress(e.campaign.ID)+"&open=1", nil); status != http.StatusFound {
			t.Errorf("the link of the mail: %d", status)
		}
		e.must(e.store.LeaveTeam(t.Context(), e.tenant.ID, ann.ID, "test", e.seed.Time()))
		if status, _ := e.page("GET", reviewAddress(e.campaign.ID), nil); status != http.StatusNotFound {
			t.Errorf("who is not of the team: %d", status)
		}
	})
}

// If changes were requested, the draft shows who requested them, when and why, also after it is edited, until approval
// is requested again.
func TestReviewSentBackSaysWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newReviewEnv(t)
		e.login()
		ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
		e.must(err)
		editor := "/console/" + e.tenant.ID + "/campaigns/" + e.campaign.ID
		shows := func(want bool) {
			t.Helper()
			for _, path := range []string{editor, editor + "/send"} {
				status, page := e.page("GET", path, nil)
				text := textOf(page)
				for _, part := range []string{ann.Name + " requested changes today, ", "Another picture, please."} {
					if status != http.StatusOK || strings.Contains(text, part) != want {
						t.Errorf("%s: %d, %q is there: %t: %s", path, status, part, !want, text)
					}
				}
			}
			// the requester and the requested time are shown only while the review is open
			if _, page := e.page("GET", reviewAddress(e.campaign.ID), nil); strings.Contains(textOf(page),
				"needs your approval") == want {
				t.Errorf("the page of the review: %s", textOf(page))
			}
		}
		e.review(e.seed.Time().Add(time.Hour))
		shows(false)
		if status, state := e.press("reject"); status != http.StatusOK || state != core.CampaignDraft {
			t.Fatalf("%d, %s", status, state)
		}
		shows(true)
		e.edit(core.UserActor(e.bob.ID))
		shows(true)
		e.review(0)
		shows(false)
		if status, state := e.press("reject"); status != http.StatusOK || state != core.CampaignDraft {
			t.Fatalf("%d, %s", status, state)
		}
		shows(true)
	})
}

// If a time is requested, one button approves and schedules the campaign. If no one approves in time, nothing is sent,
// and both users get an email.
func TestReviewUntilATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newReviewEnv(t)
		e.login()
		wanted := e.seed.Time().Add(time.Hour)
		e.review(wanted)
		if next, err := e.store.MissReviews(t.Context(), wanted-1); err != nil || next != wanted {
			t.Errorf("before it is wanted: %d, %v", next, err)
		}
		if status, state := e.press("send"); status != http.StatusOK || state != core.CampaignScheduled {
			t.Errorf("%d, %s", status, state)
		}
		c, err := e.store.Campaign(t.Context(), e.campaign.ID)
		e.must(err)
		if j, err := e.store.SendJob(t.Context(), c.JobID); err != nil || j.DueAt != wanted {
			t.Errorf("%d, not %d, %v", j.DueAt, wanted, err)
		}
		e.campaign = e.seed.NewCampaign(core.List{ID: e.seed.ListID, TenantID: e.tenant.ID})
		e.edit(core.UserActor(e.bob.ID))
		e.review(wanted)
		time.Sleep(time.Hour)
		for range 2 { // notified once
			if next, err := e.store.MissReviews(t.Context(), wanted); err != nil || next != 0 {
				t.Errorf("%d, %v", next, err)
			}
		}
		missed := slices.DeleteFunc(e.waiting(), func(s string) bool { return !strings.HasPrefix(s, core.MailReviewMissed) })
		want := []string{"review_missed ann@user.example", "review_missed bob@user.example"}
		if !slices.Equal(missed, want) {
			t.Errorf("%v", missed)
		}
		if _, page := e.page("GET", reviewAddress(e.campaign.ID), nil); strings.Contains(page, `value="send"`) ||
			!strings.Contains(page, `value="approve"`) {
			t.Errorf("after it was wanted: %s", textOf(page))
		}
	})
}
