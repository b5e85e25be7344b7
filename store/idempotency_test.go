package store_test

import (
	"sync"
	"testing"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// Twenty concurrent calls with the same Idempotency-Key and body create one job, and each call returns it.
func TestOneKeyManyCallers(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	var wg sync.WaitGroup
	ids := make([]string, 20)
	for i := range ids {
		wg.Go(func() {
			j, err := s.TryJob(l.ID, func(r *campaigns.JobRequest) { r.IdempotencyKey, r.BodyHash = "key", []byte("hash") })
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
	if _, err := s.TryJob(l.ID, func(r *campaigns.JobRequest) {
		r.IdempotencyKey, r.BodyHash = "key",
			[]byte("another")
	}); core.KindOf(err) != core.Conflict {
		t.Errorf("another body: %v", err)
	}
	jobs, err := s.JobViews(t.Context(), campaigns.JobFilter{All: true, Status: core.JobPending}, core.Page{Limit: 100})
	if err != nil || len(jobs) != 1 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
	if jobs, err := s.JobViews(t.Context(), campaigns.JobFilter{Tenants: []string{l.TenantID}, Status: core.JobRunning},
		core.Page{Limit: 100}); err != nil || len(jobs) != 0 {
		t.Errorf("%d running jobs, %v", len(jobs), err)
	}
}
