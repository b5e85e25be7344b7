package campaigns

import (
	"context"
	"errors"
	"fmt"

	"newsletterd/core"
	"newsletterd/store/db"
)

const selectCorrection = `SELECT campaign_no, copy_id, subject, source, text, made_by, made_at FROM correction
	WHERE campaign_no = ?`

// Correction returns the correction that pages show in place of a sent campaign. If there is no correction, it returns
// core.ErrNotCorrected.
func (s *Store) Correction(ctx context.Context, c *core.Campaign) (k core.Correction, err error) {
	err = s.Get(ctx, &k, selectCorrection, c.No)
	if errors.Is(err, core.ErrNotFound) {
		err = core.ErrNotCorrected
	}
	return k, err
}

// Mended returns the differences between a campaign's sent content and the content that pages show. Its only error is
// core.ErrStorage.
func (s *Store) Mended(ctx context.Context, campaignID string) (m core.Mended, err error) {
	var k core.Correction
	err = s.Get(ctx, &k, `SELECT copy_id, made_at FROM correction
		WHERE campaign_no = (SELECT no FROM campaign WHERE id = ?)`, campaignID)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return m, err
	}
	m.CopyID, m.At = k.CopyID, k.At
	m.Links, err = s.mendedTargets(ctx, campaignID)
	return m, err
}

// CampaignCorrection is a request to set or remove the correction of a sent campaign.
type CampaignCorrection struct {
	CampaignEdit
	core.Correction
	Copy  *core.CampaignCopy // copy that pages will show; nil means the sent one
	Head  IssueHead          // head of the issue in archives, even if Copy is nil
	Force bool               // whether to skip the second person that the tenant requires
}

// CorrectCampaign makes web pages show another copy of a campaign instead of the sent one. The list and tenant details
// frozen with the campaign still apply, and the sent copy is kept. It returns core.ErrCampaignNotFound,
// core.ErrConflict if nothing was sent, or core.ErrNotCorrected if there is no correction to remove. If the tenant
// requires a second person, and the actor doesn't count as one (see core.Tenant.Accepts), it returns
// core.ErrApprovalRequired unless Force is set.
func (s *Store) CorrectCampaign(ctx context.Context, r CampaignCorrection) (core.Correction, error) {
	err := s.Update(ctx, func(tx *db.Tx) error {
		c, err := mayCorrect(tx, &r)
		if err != nil {
			return err
		}
		var was core.Correction
		err = tx.Get(&was, selectCorrection, c.No)
		if r.Copy == nil && errors.Is(err, core.ErrNotFound) {
			return core.ErrNotCorrected
		}
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return err
		}
		r.CampaignNo, r.By, r.At, r.CopyID = c.No, r.Actor, r.Now, ""
		if err := replaceCorrection(tx, &c, &was, &r); err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE issue SET title = ?, summary = ?, changed_at = ? WHERE campaign_no = ?", r.Head.Title,
			r.Head.Summary, int64(r.Now), c.No); err != nil {
			return err
		}
		var issues []int64
		if err := tx.All(&issues, "SELECT no FROM issue WHERE campaign_no = ?", c.No); err != nil {
			return err
		}
		for _, no := range issues {
			if err := r.Head.keep(tx, no); err != nil {
				return err
			}
		}
		tellCorrection(tx, &was, &r)
		return tx.Audit(r.Now, r.Actor, "campaign.correct", c.TenantID, c.ID)
	})
	return r.Correction, err
}

// mayCorrect is like mayMend, for a correction, whose content is compiled with the current layout and theme.
func mayCorrect(tx *db.Tx, r *CampaignCorrection) (c core.Campaign, err error) {
	if c, err = campaign(tx, r.ID); err == nil && !r.Force {
		c.Designers, err = designers(tx, &c)
	}
	if err == nil {
		err = accepts(tx, &c, &r.CampaignEdit, r.Force)
	}
	if err == nil {
		err = c.Correctable()
	}
	return c, err
}

func replaceCorrection(tx *db.Tx, c *core.Campaign, was *core.Correction, r *CampaignCorrection) error {
	for _, query := range []string{
		"DELETE FROM correction WHERE copy_id = ?", "DELETE FROM frozen_content WHERE copy_id = ?",
		"DELETE FROM campaign_copy WHERE id = ?",
	} {
		if was.CopyID == "" {
			break
		}
		if _, err := tx.Exec(query, was.CopyID); err != nil {
			return err
		}
	}
	if r.Copy == nil {
		return nil
	}
	r.CopyID = r.Copy.ID
	if _, err := db.InsertRow(tx, &copyTable, r.Copy); err != nil {
		return err
	}
	const bodies = ", template_html, template_text, layout_html, layout_text"
	_, err := tx.Exec("INSERT INTO frozen_content (copy_id, "+frozenHead+bodies+") SELECT ?1, "+frozenHead+bodies+
		" FROM frozen_content WHERE copy_id = (SELECT copy_id FROM send_job WHERE no = ?2)", r.CopyID, c.JobNo)
	if err != nil {
		return err
	}
	_, err = tx.Exec(`INSERT INTO correction (campaign_no, copy_id, subject, source, text, made_by, made_at)
		VALUES (?, ?, ?, ?, ?, ?, ?)`, c.No, r.CopyID, r.Subject, r.Source, r.Text, r.By, int64(r.At))
	return err
}

// tellCorrection adds the changed parts of a correction to the audit entry. For long text, it adds only the length.
func tellCorrection(tx *db.Tx, was *core.Correction, r *CampaignCorrection) {
	is := r.Correction
	if r.Copy == nil {
		is = core.Correction{}
	}
	for _, f := range []struct{ name, was, is string }{
		{"shown_subject", was.Subject, is.Subject},
		{"shown_source", was.Source, is.Source},
		{"shown_text", was.Text, is.Text},
	} {
		if f.was != f.is {
			tx.Tell(f.name, shownText(f.was), shownText(f.is))
		}
	}
	tx.Tell("shown_copy", was.CopyID, r.CopyID)
}

func shownText(s string) any {
	switch {
	case s == "":
		return nil
	case len(s) > db.MaxAudited:
		return fmt.Sprintf("%d bytes", len(s))
	}
	return s
}
