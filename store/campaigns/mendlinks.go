package campaigns

import (
	"context"
	"errors"
	"fmt"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// mendedLinks returns the fixed links of a job's campaign, keyed by their original addresses.
func mendedLinks(tx *db.Tx, jobNo int64) (map[string]core.Link, error) {
	var found []core.Link
	err := tx.All(&found, `SELECT l.url, l.target, l.mended_at FROM send_job AS j INDEXED BY send_job_campaign
		CROSS JOIN
		link AS l ON l.job_no = j.no AND l.target <> '' WHERE j.campaign_id = (SELECT campaign_id FROM send_job
		WHERE no = ?)`, jobNo)
	mended := map[string]core.Link{}
	for _, l := range found {
		mended[l.URL] = l
	}
	return mended, err
}

// campaignLinks selects the links of a campaign with the numbers of the first job that has links. A retry sends the
// same copy and uses the same numbers.
const campaignLinks = `SELECT f.no, f.url, f.target, f.mended_at,
	sum(l.` + timesFollowed + `) AS clicked, sum(l.` + timesByMachines + `) AS machine_clicked,
	coalesce(p.target, '') AS proposed, coalesce(p.made_by, '') AS proposed_by, coalesce(p.made_at, 0) AS proposed_at
	FROM link AS f CROSS JOIN send_job AS j INDEXED BY send_job_campaign ON j.campaign_id = ?1
	CROSS JOIN link AS l ON l.job_no = j.no AND l.no = f.no AND l.url = f.url
	LEFT JOIN total AS t ON t.job_no = l.job_no AND t.link_no = l.no
	LEFT JOIN link_proposal AS p ON p.campaign_no = (SELECT no FROM campaign WHERE id = ?1) AND p.link_no = f.no
	WHERE f.job_no = (SELECT j.no FROM send_job AS j INDEXED BY send_job_campaign WHERE j.campaign_id = ?1
		AND EXISTS (SELECT 1 FROM link WHERE job_no = j.no) ORDER BY j.no LIMIT 1) `

// CampaignLinks returns the tracked links of a campaign, most clicked first. Its only error is core.ErrStorage.
func (s *Store) CampaignLinks(ctx context.Context, campaignID string) (links []core.Link, err error) {
	err = s.All(ctx, &links, campaignLinks+"GROUP BY f.no ORDER BY 5 DESC, f.no LIMIT 10000", campaignID)
	return links, err
}

// mendedTargets returns the targets of a campaign's fixed links, keyed by their original addresses.
func (s *Store) mendedTargets(ctx context.Context, campaignID string) (map[string]string, error) {
	var found []core.Link
	err := s.All(ctx, &found, `SELECT DISTINCT l.url, l.target FROM send_job AS j INDEXED BY send_job_campaign
		CROSS JOIN link AS l ON l.job_no = j.no AND l.target <> '' WHERE j.campaign_id = ?`, campaignID)
	targets := map[string]string{}
	for _, l := range found {
		targets[l.URL] = l.Target
	}
	return targets, err
}

// sentLink returns a link in the sent emails of a campaign. Its errors are core.ErrLinkNotFound and core.ErrStorage.
func sentLink(tx *db.Tx, campaignID string, no int64) (l core.Link, err error) {
	err = tx.Get(&l, campaignLinks+"AND f.no = ?2 GROUP BY f.no", campaignID, no)
	if errors.Is(err, core.ErrNotFound) {
		err = core.ErrLinkNotFound
	}
	return l, err
}

// MendLink redirects a link in sent emails to target. An empty target restores the original address. It returns
// core.ErrCampaignNotFound or core.ErrLinkNotFound. If the tenant requires a second person and the actor wrote the sent
// content, it returns core.ErrApprovalRequired unless force is set.
func (s *Store) MendLink(ctx context.Context, e CampaignEdit, no int64, target string, force bool) (l core.Link,
	err error,
) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		c, err := mayMend(tx, &e, force)
		if err != nil {
			return err
		}
		if l, err = sentLink(tx, c.ID, no); err == nil {
			_, err = tx.Exec(deleteProposal, c.No, no)
		}
		l.Proposed, l.ProposedBy, l.ProposedAt = "", "", 0
		was := l.Target
		if err != nil || !l.Mend(target, e.Now) {
			return err
		}
		if _, err := tx.Exec(`UPDATE link SET target = ?1, mended_at = ?2 WHERE url = ?3 AND job_no IN (SELECT no FROM
			send_job WHERE campaign_id = ?4)`, l.Target, int64(l.MendedAt), l.URL, c.ID); err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE issue SET changed_at = ? WHERE campaign_no = ?", int64(e.Now), c.No); err != nil {
			return err
		}
		tx.Tell(fmt.Sprintf("link_%d", no), leads(&l, was), leads(&l, l.Target))
		return tx.Audit(e.Now, e.Actor, "campaign.mend_link", c.TenantID, c.ID)
	})
	return l, err
}

const deleteProposal = "DELETE FROM link_proposal WHERE campaign_no = ? AND link_no = ?"

// ProposeTarget records a proposed target for a link in sent emails. It emails the people who may fix the link, except
// the proposer. asked is the number of these people. It returns core.ErrCampaignNotFound, core.ErrLinkNotFound, or an
// Invalid error if the link already leads there. After 50 requests for reviews and fixes in a day, it returns
// core.ErrTooMany.
func (s *Store) ProposeTarget(ctx context.Context, e CampaignEdit, no int64, target string) (l core.Link, asked int,
	err error,
) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		c, err := campaign(tx, e.ID)
		if err != nil {
			return err
		}
		if l, err = sentLink(tx, c.ID, no); err == nil {
			err = l.Propose(target, e.Actor, e.Now)
		}
		if err == nil {
			err = tallyReview(tx, c.TenantID, e.Now)
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(`INSERT OR REPLACE INTO link_proposal (campaign_no, link_no, target, made_by, made_at)
			VALUES (?, ?, ?, ?, ?)`, c.No, no, target, e.Actor, int64(e.Now)); err != nil {
			return err
		}
		if asked, err = tellReviewers(tx, &c, core.MailMending, leads(&l, l.Target)+"\n→ "+target, e); err != nil {
			return err
		}
		tx.Tell(fmt.Sprintf("link_%d_proposed", no), leads(&l, l.Target), target)
		return tx.Audit(e.Now, e.Actor, "campaign.propose_target", c.TenantID, c.ID)
	})
	return l, asked, err
}

// DropProposal deletes the proposed target of a link. It returns core.ErrCampaignNotFound or
// core.ErrProposalNotFound.
func (s *Store) DropProposal(ctx context.Context, e CampaignEdit, no int64) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		c, err := campaign(tx, e.ID)
		if err != nil {
			return err
		}
		var target string
		err = tx.Get(&target, "SELECT target FROM link_proposal WHERE campaign_no = ? AND link_no = ?", c.No, no)
		if errors.Is(err, core.ErrNotFound) {
			return core.ErrProposalNotFound
		}
		if err == nil {
			_, err = tx.Exec(deleteProposal, c.No, no)
		}
		if err != nil {
			return err
		}
		tx.Tell(fmt.Sprintf("link_%d_proposed", no), target, "")
		return tx.Audit(e.Now, e.Actor, "campaign.drop_target", c.TenantID, c.ID)
	})
}

// mayMend reads a sent campaign and checks that the actor may fix something in it.
func mayMend(tx *db.Tx, e *CampaignEdit, force bool) (c core.Campaign, err error) {
	if c, err = campaign(tx, e.ID); err == nil {
		err = accepts(tx, &c, e, force)
	}
	return c, err
}

// accepts returns core.ErrApprovalRequired if the tenant requires someone other than the actor to change a campaign.
func accepts(tx *db.Tx, c *core.Campaign, e *CampaignEdit, force bool) error {
	if force {
		return nil
	}
	t, err := tenants.ReadTenant(tx, c.TenantID)
	if err != nil || !t.AsksSecondPerson() {
		return err
	}
	keepers, err := tenants.KeepersOf(tx, c.Writers)
	if err != nil {
		return err
	}
	by, err := tenants.Acting(tx, e.Actor, tx.ActingClient())
	if err != nil {
		return err
	}
	c.Designers = append(c.Designers, keepers...)
	return t.Accepts(c, by...)
}

// leads returns the address that a link with the given target leads to.
func leads(l *core.Link, target string) string {
	if target == "" {
		return l.URL
	}
	return target
}
