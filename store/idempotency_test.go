package store_test

import (
	"sync"
	"testing"

	"newsletterd/core"
	"newsletterd/store"
)

// Twenty callers at once with one Idempotency-Key and one body make one job, and each of them learns which.
func TestOneKeyManyCallers(t *testing.T) {
	h := newSendHouse(t)
	var wg sync.WaitGroup
	ids := make([]string, 20)
	for i := range ids {
		wg.Go(func() {
			j, err := h.job(func(r *store.JobRequest) { r.IdempotencyKey, r.BodyHash = "key", []byte("hash") })
			if err != nil {
				t.Error(err)
			}
			ids[i] = j.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Errorf("%q beside %q", id, ids[0])
		}
	}
	if _, err := h.job(func(r *store.JobRequest) {
		r.IdempotencyKey, r.BodyHash = "key",
			[]byte("another")
	}); core.KindOf(err) != core.Conflict {
		t.Errorf("another body: %v", err)
	}
	jobs, err := h.JobViews(t.Context(), store.JobFilter{All: true, Status: core.JobPending}, core.Page{Limit: 100})
	if err != nil || len(jobs) != 1 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
	if jobs, err := h.JobViews(t.Context(), store.JobFilter{Tenants: []string{h.tenant.ID}, Status: core.JobRunning},
		core.Page{Limit: 100}); err != nil || len(jobs) != 0 {
		t.Errorf("%d running jobs, %v", len(jobs), err)
	}
}
