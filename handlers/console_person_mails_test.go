package handlers

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
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
