package campaigns

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

const (
	bouncedColumns = "SELECT r.email_key, r.reason FROM "
	// refusedByWord and refusedForNow select the recipients of a campaign's last job whose emails were rejected or
	// deferred. Earlier jobs are left out, because the last job retried their recipients.
	refusedByWord = bouncedColumns + "recipient_word AS w CROSS JOIN recipient AS r ON r.job_no = w.job_no " +
		"AND r.seq = w.seq " +
		"WHERE w.job_no = ?1 AND w.word = ?2 AND r.state = " + sqlRecipientFailed + " ORDER BY w.seq LIMIT +?3"
	refusedForNow = bouncedColumns + "recipient AS r WHERE r.job_no = ?1 AND r.state = " + sqlRecipientDeferred +
		" ORDER BY r.due_at LIMIT +?2"
	// cameBack selects the emails of a job that bounced, according to a provider or a bounce message.
	cameBack = `SELECT r.email_key, 1 AS back, EXISTS (SELECT 1 FROM provider_event AS e WHERE e.job_no = r.job_no
		AND e.seq = r.seq AND e.job_no > 0 AND (e.event_type = '` + core.ProviderHardBounced + `' OR
		e.event_type = '` + core.ProviderBounce + `' AND e.bounce_type = '` + core.HardBounce + `')) AS hard
		FROM recipient AS r INDEXED BY recipient_bounced
		WHERE r.job_no = ?1 AND r.marks & 2 <> 0 AND r.state = ` + SqlRecipientSent + ` ORDER BY r.seq LIMIT +?2`
)

// CampaignBounces summarizes the rejected and bounced emails of a campaign. It reads at most core.BounceSample emails
// of each kind and job. Its only error is core.ErrStorage.
func (s *Store) CampaignBounces(ctx context.Context, campaignID string) (core.Bounces, error) {
	var all []core.Bounced
	partial := false
	err := s.SnapshotRead(ctx, func(r *db.Reader) error {
		var jobs []int64
		err := r.All(&jobs, "SELECT no FROM send_job INDEXED BY send_job_campaign "+
			"WHERE campaign_id = ? AND recipients > 0 "+
			"ORDER BY no DESC LIMIT 20", campaignID)
		if err != nil || len(jobs) == 0 {
			return err
		}
		take := func(query string, args ...any) error {
			var some []core.Bounced
			err := r.All(&some, query, args...)
			all, partial = append(all, some...), partial || len(some) == core.BounceSample
			return err
		}
		failed := core.RecipientStates[core.RecipientFailed]
		if err := take(refusedByWord, jobs[0], failed, core.BounceSample); err != nil {
			return err
		}
		if err := take(refusedForNow, jobs[0], core.BounceSample); err != nil {
			return err
		}
		for _, no := range jobs {
			if err := take(cameBack, no, core.BounceSample); err != nil {
				return err
			}
		}
		return nil
	})
	sum := core.SumBounces(all)
	sum.Partial = partial
	return sum, err
}
