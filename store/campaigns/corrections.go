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

// Correction reads what pages show of a campaign instead of what was sent. It returns core.ErrNotCorrected where that
// is nothing.
func (s *Store) Correction(ctx context.Context, c *core.Campaign) (k core.Correction, err error) {
	err = s.Get(ctx, &k, selectCorrection, c.No)
	if errors.Is(err, core.ErrNotFound) {
		err = core.ErrNotCorrected
	}
	return k, err
}

// Mended reads what pages show of a campaign otherwise than it was sent. Its only error is core.ErrStorage.
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

// CampaignCorrection asks for a correction of what pages show of a campaign.
type CampaignCorrection struct {
	CampaignEdit
	core.Correction
	Copy  *core.CampaignCopy // what is shown from now on; nil: what was sent
	Head  IssueHead          // of the issue in archives, either way
	Force bool               // by one person, whatever the tenant asks for
}

// CorrectCampaign makes pages show another copy of a campaign than the one that was sent, in the words of list and
// tenant that were frozen with that; what was sent stays. It returns core.ErrCampaignNotFound, core.ErrConflict where
// nothing has gone out, core.ErrNotCorrected where a correction is taken back that there isn't, or, unless Force is
// set, core.ErrApprovalRequired where the tenant asks for a second person, one who has not written what was sent.
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
		tellCorrection(tx, &was, &r)
		return tx.Audit(r.Now, r.Actor, "campaign.correct", c.TenantID, c.ID)
	})
	return r.Correction, err
}

// mayCorrect is mayMend for what is compiled anew, with the layout and the theme as they are now.
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

// tellCorrection makes the audit trail tell what is shown from now on; of what is long, how long it is.
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
