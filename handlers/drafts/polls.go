package drafts

import (
	"context"

	"newsletterd/core"
	"newsletterd/store"
)

// PollResults returns the polls of a campaign with their answers. Those of a campaign that was not sent have none.
func PollResults(ctx context.Context, s *store.Store, c *core.Campaign, now core.Instant) ([]core.PollResult, error) {
	out, err := s.PollResults(ctx, c.ID, now)
	if err != nil || len(out) > 0 {
		return out, err
	}
	_, f, err := s.CampaignVersion(ctx, c, 0)
	out = []core.PollResult{}
	for i := range f.Polls {
		out = append(out, f.Polls[i].Result(i+1))
	}
	return out, err
}
