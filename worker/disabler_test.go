package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// TestDisablerTriesUntilItIsAnswered checks that a complaint reaches the disable operation with a token of its tenant,
// even if the member service is unavailable at first.
func TestDisablerTriesUntilItIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		now := core.At(time.Now())
		h.Tell(h.List, core.StatusActive, "ann@example.org")
		var answers []string
		tokens := 0
		begin := time.Now()
		var took time.Duration
		transport := coretest.Transport(func(r *http.Request) (*http.Response, error) {
			defer r.Body.Close()
			var body map[string]string
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				t.Error(err)
			}
			if r.URL.String() != "http://own.test/api/subscriptions/disable" ||
				r.Header.Get("Authorization") != "Bearer for-"+h.List.TenantID {
				t.Errorf("%s with %s", r.URL, r.Header.Get("Authorization"))
			}
			if body["email"] != "Ann@example.org" || body["reason"] == "" || body["disabled_by"] == "" ||
				body["occurred_at"] != now.String() {
				t.Errorf("%v", body)
			}
			answers = append(answers, body["email"])
			switch len(answers) {
			case 1:
				return nil, errors.New("connection refused")
			case 2:
				away := coretest.Response(http.StatusTemporaryRedirect, "")
				away.Header.Set("Location", "http://elsewhere.test/")
				return away, nil
			case 3:
				return coretest.Response(http.StatusServiceUnavailable, "busy"), nil
			}
			took = time.Since(begin)
			return coretest.Response(http.StatusOK, "{}"), nil
		})
		h.Run(worker.Disabler(worker.DisablerOptions{
			Store: h.Store, Base: "http://own.test/", Transport: transport, Log: h.Opts.Log,
			Token: func(_ context.Context, tenantID string, _ core.Instant) (string, error) {
				if tokens++; tokens == 1 {
					return "", errors.New("no key")
				}
				return "for-" + tenantID, nil
			},
		}))
		synctest.Wait()
		e := core.ProviderEvent{
			Type: core.ProviderComplaint, MessageID: "m", TenantID: h.List.TenantID,
			Email: "Ann@example.org", OccurredAt: now,
		}
		h.Must(h.ApplyReports(h.Context(), []core.ProviderReport{{Provider: "p", Event: e, Key: e.Key()}}, now))
		coretest.Settle(time.Minute)
		if len(answers) != 4 || took < 30*time.Second || took > 47*time.Second { // after 1, 2, 5 and 30 s
			t.Errorf("%d tries, the last after %v", len(answers), took)
		}
		if at, err := h.NextPendingDisable(h.Context()); err != nil || at != 0 {
			t.Errorf("still waiting: %v, %v", at, err)
		}
	})
}
