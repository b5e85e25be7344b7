package campaigns

import (
	"context"
	"errors"
	"fmt"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// mendedLinks returns the links of a job's campaign that lead elsewhere than they were written, by their addresses.
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

// campaignLinks reads the links of a campaign, numbered as in the first job that has any: a job that retries one sends
// the same copy, and numbers them alike.
const campaignLinks = `SELECT f.no, f.url, f.target, f.mended_at,
	sum(l.` + timesFollowed + `) AS clicked, sum(l.` + timesByMachines + `) AS machine_clicked,
	coalesce(p.target, '') AS proposed, coalesce(p.made_by, '') AS proposed_by, coalesce(p.made_at, 0) AS proposed_at
	FROM link AS f CROSS JOIN send_job AS j INDEXED BY send_job_campaign ON j.campaign_id = ?1
	CROSS JOIN link AS l ON l.job_no = j.no AND l.no = f.no AND l.url = f.url
	LEFT JOIN total AS t ON t.job_no = l.job_no AND t.link_no = l.no
	LEFT JOIN link_proposal AS p ON p.campaign_no = (SELECT no FROM campaign WHERE id = ?1) AND p.link_no = f.no
	WHERE f.job_no = (SELECT j.no FROM send_job AS j INDEXED BY send_job_campaign WHERE j.campaign_id = ?1
		AND EXISTS (SELECT 1 FROM link WHERE job_no = j.no) ORDER BY j.no LIMIT 1) `

// CampaignLinks reads the links that the mails of a campaign lead to by way of ours, the most followed first. Its only
// error is core.ErrStorage.
func (s *Store) CampaignLinks(ctx context.Context, campaignID string) (links []core.Link, err error) {
	err = s.All(ctx, &links, campaignLinks+"GROUP BY f.no ORDER BY 5 DESC, f.no LIMIT 10000", campaignID)
	return links, err
}

// mendedTargets returns where links of a campaign lead that were mended, by the addresses as they were written.
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

// MendLink makes a link of the mails that are out lead to another address, for those who follow it from then on; empty:
// to the one as it was written. It returns core.ErrCampaignNotFound, core.ErrLinkNotFound, or, unless force is set,
// core.ErrApprovalRequired where the tenant asks for a second person, one who has not written what was sent.
func (s *Store) MendLink(ctx context.Context, e CampaignEdit, no int64, target string, force bool) (l core.Link,
	err error,
) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		c, err := mayMend(tx, &e, force)
		if err != nil {
			return err
		}
		err = tx.Get(&l, campaignLinks+"AND f.no = ?2 GROUP BY f.no", c.ID, no)
		if errors.Is(err, core.ErrNotFound) {
			return core.ErrLinkNotFound
		}
		if err == nil {
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

// ProposeTarget notes where a link of the mails that are out should lead, and mails those who may mend it but for the
// one who proposes it; asked is how many these are. It returns core.ErrCampaignNotFound, core.ErrLinkNotFound, an
// Invalid error where the link leads there already, or core.ErrTooMany where the tenant has asked for 50 reviews and
// mendings today.
func (s *Store) ProposeTarget(ctx context.Context, e CampaignEdit, no int64, target string) (l core.Link, asked int,
	err error,
) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		c, err := campaign(tx, e.ID)
		if err != nil {
			return err
		}
		err = tx.Get(&l, campaignLinks+"AND f.no = ?2 GROUP BY f.no", c.ID, no)
		if errors.Is(err, core.ErrNotFound) {
			return core.ErrLinkNotFound
		}
		if err == nil {
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

// DropProposal forgets where a link should lead. It returns core.ErrCampaignNotFound, or core.ErrProposalNotFound.
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

// mayMend reads a campaign of which something that was sent is to be mended.
func mayMend(tx *db.Tx, e *CampaignEdit, force bool) (c core.Campaign, err error) {
	if c, err = campaign(tx, e.ID); err == nil {
		err = accepts(tx, &c, e, force)
	}
	return c, err
}

// accepts returns core.ErrApprovalRequired where the tenant asks for another person than the one who changes a
// campaign.
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

// leads returns where a link leads with a target.
func leads(l *core.Link, target string) string {
	if target == "" {
		return l.URL
	}
	return target
}
