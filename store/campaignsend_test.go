package store_test

import (
	"testing"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/storetest"
)

// Three independent guards keep a campaign from being sent twice: the key of the request, the reviewed revision, and
// the state of the campaign. Each of them is sufficient.
func TestGuardsOfSending(t *testing.T) {
	s := storetest.Seed(t, nil).At(sendNow)
	l := s.NewList()
	s.Readers(l, 2)
	c := s.NewCampaign(l)
	d, err := s.Draft(t.Context(), &c, 0, plainParts, s.Now)
	s.Must(err)
	send := func(key string, revision int64) (core.SendJob, error) {
		written := d.Content.Copy
		written.ID = core.NewID()
		return s.SendCampaign(t.Context(), campaigns.CampaignSending{
			CampaignEdit: campaigns.CampaignEdit{ID: c.ID, Actor: "test", Revision: revision, Now: s.Now},
			Version:      1, Fields: &d.Fields, Copy: &written,
		}, campaigns.JobRequest{IdempotencyKey: key, BodyHash: []byte("form")}, 0)
	}
	first, err := send("form", c.Revision)
	s.Must(err)
	if again, err := send("form", c.Revision); err != nil || again.ID != first.ID {
		t.Errorf("by its key: %s, %v, not %s", again.ID, err, first.ID)
	}
	if _, err := send("another form", c.Revision); core.KindOf(err) != core.PreconditionFailed {
		t.Errorf("by its revision: %v", err)
	}
	if _, err := send("a third form", 0); core.KindOf(err) != core.Conflict {
		t.Errorf("by its state: %v", err)
	}
	jobs, err := s.JobViews(t.Context(), campaigns.JobFilter{All: true}, core.Page{Limit: 10})
	if err != nil || len(jobs) != 1 {
		t.Errorf("%d jobs, %v", len(jobs), err)
	}
}
