package handlers

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// The page of a person shows the tenant's transactional emails to them: queued emails with the time of the next
// attempt, and failed emails with the reply of the server.
func TestConsolePersonsTransactionalEmails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RolePublisher)
		asked := func(list string) int64 {
			_, _, err := e.store.Subscribe(t.Context(), members.SubscribeRequest{
				ListID: list, Email: "ida@reader.example", Origin: core.Origin{Source: "form"},
			}, e.seed.Time())
			e.must(err)
			mails, err := e.store.QueuedMails(t.Context(), tenants.MailFilter{}, 0, 100)
			e.must(err)
			return mails[len(mails)-1].ID
		}
		id := asked(e.list.ID)
		at := "/people/" + e.found("ida@reader.example").ID
		due := e.seed.Time() + core.Instant(3*time.Hour/time.Millisecond)
		became := func(r tenants.MailResult) {
			e.must(e.store.FinishMails(t.Context(), []tenants.MailResult{r}, e.seed.Time()))
		}
		became(tenants.MailResult{ID: id, RetryAt: due, Reason: "451 4.7.1 greylisted"})
		e.shows(at, http.StatusOK, "Automatic emails", "Confirmation", "Weekly", "Waiting", "451 4.7.1 greylisted",
			"next attempt ", `data-label="attempts">1<`)
		became(tenants.MailResult{ID: id, Reason: "550 5.7.1 not you"})
		e.shows(at, http.StatusOK, "Failed", "550 5.7.1 not you", "-next attempt ", `data-label="attempts">2<`)

		other := e.seed.NewTenant()
		theirs := e.seed.NewList(func(in *core.ListInput) { in.TenantID = &other.ID })
		became(tenants.MailResult{ID: asked(theirs.ID), Reason: "554 theirs"})
		e.shows(at, http.StatusOK, "550 5.7.1 not you", "-554 theirs")
	})
}

// The page of a person shows when an email that was temporarily refused is sent again, and what to do until then.
func TestConsolePersonsRetriedEmail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newCampaignEnv(t, core.RolePublisher)
		due := e.seed.Time().Add(5 * time.Minute)
		full := core.Outcome{State: core.RecipientDeferred, Tried: true, Reason: "452 4.2.2 full", DueAt: due}
		busy := full
		busy.Reason = "451 4.3.0 busy"
		j := e.mailing(full, busy)
		rows, err := e.store.Recipients(t.Context(), &j, campaigns.RecipientFilter{}, core.Page{Limit: 2})
		e.must(err)
		e.shows("/people/"+rows[0].SubscriberID, http.StatusOK,
			"The mailbox is full. newsletterd retries until tomorrow, 23:20.",
			"ask the person for another address.", "Does the person have a new address?",
			`/new-person?list=`+e.list.ID, `<td class="number soft">next attempt today, 01:05</td>`)
		e.shows("/people/"+rows[1].SubscriberID, http.StatusOK, "newsletterd retries until tomorrow, 23:20.",
			"-the person for another", "-Does the person have a new address?")
		_, err = e.store.PauseSendJobBy(t.Context(), j.ID, "test", e.seed.Time())
		e.must(err)
		e.shows("/people/"+rows[0].SubscriberID, http.StatusOK, "The mailbox is full.", "-retries until",
			"-next attempt")
	})
}
