package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/handlers/web/webtest"
)

// TestReplayAfterARestart sends signed events, kills or stops the daemon, and sends the same bytes to the next one.
// Each event must be accepted only once.
func TestReplayAfterARestart(t *testing.T) {
	daemontest.Parallel(t)
	l := daemontest.NewLedger(t)
	type request struct {
		body   []byte
		header []string
	}
	post := func(r request) webtest.Reply {
		t.Helper()
		return l.Send("POST", "/webhooks/subscriptions", r.body, r.header...)
	}
	tried, restarts := 0, 4
	defer func() {
		coretest.Held(t, 6, &tried, fmt.Sprintf("replays behind %d restarts, half of them after kill -9", restarts))
	}()
	var all []request
	for round := range restarts {
		for i := range daemontest.Count("REPLAYS", 5, 50) {
			body, _ := json.Marshal(core.Event{
				ID: core.NewID(), Type: core.EventActivated, TenantID: l.Tenant, ListID: l.List, OccurredAt: now(),
				Subscriber: core.EventSubscriber{
					ID: core.NewID(), Email: core.Email(fmt.Sprintf("s%d-%d@example.net", round, i)),
					Status: "active",
				},
			})
			r := request{body, l.Signed(body)}
			post(r).Wants(http.StatusOK)
			all = append(all, r)
		}
		if round%2 == 0 {
			l.Kill()
		} else {
			l.Stop()
		}
		l.Serve()
		for _, r := range all {
			tried++
			if reply := post(r); reply.StatusCode != http.StatusConflict {
				t.Errorf("again after restart %d: %s %s", round+1, reply.Status, reply.Text)
			}
		}
	}
	l.Stop()
}
