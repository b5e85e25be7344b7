package handlers

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// silentReaders gives the list three subscribers who joined at least a year ago and have since got three tracked
// emails, and one unconfirmed subscriber.
func (e *tenantConsole) silentReaders() {
	e.Helper()
	const day = 24 * time.Hour
	now := core.At(time.Now())
	e.seed = e.seed.At(now.Add(-500 * day))
	for k := range 3 {
		e.seed.Active(e.list.ID, storetest.Reader(k))
	}
	e.seed.Deliver()
	for _, ago := range []time.Duration{360, 200, 100} {
		e.seed = e.seed.At(now.Add(-ago * day))
		e.seed.Finish(e.seed.NewJob(e.list.ID, func(r *campaigns.JobRequest) { r.TrackOpen = true }))
	}
	e.seed = e.seed.At(now.Add(-5 * day))
	e.seed.Pending(e.list.ID, "pending@example.org")
	e.seed = e.seed.At(now)
}

// After two-factor authentication, an administrator sees inactive subscribers, asks them again, and unsubscribes those
// who don't respond.
func TestConsoleHygiene(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleTenantAdmin)
		e.silentReaders()
		item := e.path("lists", e.list.ID)
		e.shows(item+"/hygiene", "3 of 3 subscribers haven't opened or clicked anything", "Ask 3 subscribers",
			"1 person hasn't clicked the link in the confirmation email",
			"status=pending", "Confirmation links expire after 7 days. After that, you can remove unconfirmed people here",
			"Send 1 reminder")
		e.shows(item+"/hygiene?months=6",
			"Not enough data yet. This needs at least three campaigns in this period that tracked opens or clicks")
		e.shows(item+"/ask-again?who=silent", "3 inactive subscribers get one email", "Go back")
		to := e.sends(item+"/ask-again?who=silent", nil)
		page := e.shows(to, "Sending 3 emails", "<strong>3</strong> asked in the last two weeks")
		if strings.Contains(page, "Ask 3 subscribers") {
			t.Error("they can be asked twice")
		}
		e.shows(item+"/ask-again?who=unconfirmed", "1 person will get the confirmation email again")
		e.shows(e.sends(item+"/ask-again?who=unconfirmed", nil), "Sending 1 email",
			"Everyone has already received a reminder or signed up less than three days ago")

		time.Sleep(core.AnswerWithin + time.Hour)
		e.login()
		e.shows(item+"/hygiene", "3</strong> didn't answer within two weeks", "Unsubscribe them")
		e.shows(item+"/unsubscribe-silent", "3 subscribers didn't answer within two weeks")
		e.shows(e.sends(item+"/unsubscribe-silent", nil), "3 people unsubscribed")
		e.shows(item+"/left", "Didn't respond to the re-engagement email")
		e.shows(item+"/hygiene", "Remove 1 person…")
		e.shows(item+"/remove-unconfirmed", "1 person didn't confirm", "Remove 1 person")
		if status := e.seed.MemberStatus(e.list.ID, "pending@example.org"); status != core.SubscriptionPending {
			t.Errorf("a look at the page has made them %q", status)
		}
		e.shows(e.sends(item+"/remove-unconfirmed", nil), "1 person removed", "No pending confirmations")
		if status := e.seed.MemberStatus(e.list.ID, "pending@example.org"); status != "absent" {
			t.Errorf("they are %q", status)
		}
	})
}

// Viewers see the numbers, but no buttons.
func TestConsoleHygieneOfViewers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newTenantConsole(t, core.RoleViewer)
		e.silentReaders()
		page := e.shows(e.path("lists", e.list.ID, "hygiene"), "3 of 3 subscribers haven't opened or clicked anything")
		if strings.Contains(page, "reminders") || strings.Contains(page, "ask-again") {
			t.Error("a viewer is offered to ask")
		}
		if status, _ := e.page("POST", e.path("lists", e.list.ID, "ask-again")+"?who=silent", nil); status != 403 {
			t.Errorf("%d", status)
		}
	})
}
