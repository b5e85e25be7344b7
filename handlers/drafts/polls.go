package drafts

import (
	"context"

	"newsletterd/core"
	"newsletterd/store"
)

// PollResults returns a campaign's polls with their answers. Polls of an unsent campaign have no answers, even if a
// send was undone. If named is false, the caller may not see individual subscribers. Polls with few answers are then
// not broken down by option.
func PollResults(ctx context.Context, s *store.Store, c *core.Campaign, named bool, now core.Instant) (
	[]core.PollResult, error,
) {
	sent, err := Sent(ctx, s, c)
	if err != nil {
		return nil, err
	}
	if sent || c.State == core.CampaignScheduled {
		out, err := s.PollResults(ctx, c.ID, now)
		for i := range out {
			if !named {
				out[i].BreakDown()
			}
		}
		if err != nil || len(out) > 0 {
			return out, err
		}
	}
	_, f, err := s.CampaignVersion(ctx, c, 0)
	out := []core.PollResult{}
	for i := range f.Polls {
		out = append(out, f.Polls[i].Result(i+1))
	}
	return out, err
}

// Sent reports whether a campaign is being sent or was sent. Its only error is core.ErrStorage.
func Sent(ctx context.Context, s *store.Store, c *core.Campaign) (bool, error) {
	if c.State != core.CampaignArchived || c.JobNo == 0 {
		return c.State == core.CampaignSending || c.State == core.CampaignSent, nil
	}
	j, err := s.SendJobByNo(ctx, c.JobNo) // an archived draft may have a job that was canceled
	if core.KindOf(err) == core.NotFound {
		return false, nil
	}
	return j.Recipients > 0, err
}
