package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"newsletterd/core"
	"newsletterd/core/coretest"
)

// TestReplayAfterARestart sends signed events, kills or stops the daemon, and sends the same bytes again to the next
// one: each event was accepted once.
func TestReplayAfterARestart(t *testing.T) {
	sideBySide(t)
	l := newLedger(t)
	type request struct {
		body   []byte
		header map[string]string
	}
	post := func(r request) (int, string) {
		req, err := http.NewRequest("POST", l.url+"/webhooks/subscriptions", bytes.NewReader(r.body))
		l.must(err)
		req.Header.Set("Content-Type", "application/json")
		for k, v := range r.header {
			req.Header.Set(k, v)
		}
		res, err := l.httpClient.Do(req)
		l.must(err)
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		l.must(err)
		return res.StatusCode, string(text)
	}
	tried, restarts := 0, 4
	defer func() {
		coretest.Held(t, 6, &tried, fmt.Sprintf("replays behind %d restarts, half of them after kill -9", restarts))
	}()
	var all []request
	for round := range restarts {
		for i := range tortureCount("REPLAYS", 5, 50) {
			body, _ := json.Marshal(core.Event{
				ID: core.NewID(), Type: core.EventActivated, TenantID: l.tenant, ListID: l.list, OccurredAt: now(),
				Subscriber: core.EventSubscriber{
					ID: core.NewID(), Email: core.Email(fmt.Sprintf("s%d-%d@example.net", round, i)),
					Status: "active",
				},
			})
			r := request{body, l.signed(body)}
			if status, text := post(r); status != http.StatusOK {
				t.Fatalf("%d %s", status, text)
			}
			all = append(all, r)
		}
		if round%2 == 0 {
			l.must(l.daemon.Process.Kill())
			_ = l.daemon.Wait()
		} else {
			l.stop()
		}
		l.serve()
		for _, r := range all {
			tried++
			if status, text := post(r); status != http.StatusConflict {
				t.Errorf("again behind restart %d: %d %s", round+1, status, text)
			}
		}
	}
	l.stop()
}
