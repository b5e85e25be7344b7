package campaigns

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// CampaignSending asks for a campaign's approval or sending.
type CampaignSending struct {
	CampaignEdit
	Version  int64                // that was looked at
	Fields   *core.CampaignFields // of the revision
	Copy     *core.CampaignCopy   // compiled of the fields; it is taken where the version is not approved yet
	Expected int64                // recipients, as they were counted; 0: they were not
	FirstFew *bool                // whether it goes to some readers first; nil: as the tenant has it
	Force    bool                 // without the second person that the tenant asks for
	Head     IssueHead            // of the issue in archives
}

// ApproveCampaign freezes the copy of a campaign's version: what is sent later is that. It returns
// core.ErrCampaignNotFound, core.ErrPreconditionFailed where the campaign is at another revision, or what would be
// frozen is no longer what was seen (CampaignEdit.Seen), core.ErrConflict
// where another version is written on or the campaign is past its approval, and Invalid for a layout or a sender that
// is no longer the tenant's; core.ErrApprovalRequired where the tenant asks for another person's approval.
func (s *Store) ApproveCampaign(ctx context.Context, r CampaignSending) (core.Campaign, error) {
	return s.changeCampaign(ctx, r.CampaignEdit, "campaign.approve", func(tx *db.Tx, c *core.Campaign) (bool, error) {
		if err := approve(tx, c, &r); err != nil {
			return false, err
		}
		return true, answerReview(tx, c, core.MailReviewApproved, "", r.CampaignEdit)
	})
}

func approve(tx *db.Tx, c *core.Campaign, r *CampaignSending) error {
	covered := core.Covered{Copy: r.Copy, Fields: r.Fields, WantedAt: c.WantedAt()}
	if err := c.Approve(r.Version, r.Copy.ID, r.Actor, r.Now); err != nil {
		return err
	}
	tenant, err := tenants.ReadTenant(tx, c.TenantID)
	if err != nil {
		return err
	}
	by, err := tenants.Acting(tx, r.Actor, tx.ActingClient())
	if err != nil {
		return err
	}
	if err := r.accepted(&tenant, c, by...); err != nil {
		return err
	}
	if c.WrittenBy(by[1:]...) { // also once the tenant asks for a second person
		c.AlsoWrittenBy(r.Actor)
	}
	if err := judgeCampaign(tx, c.TenantID, r.Fields); err != nil {
		return err
	}
	lists, err := lists(tx, r.Fields.ListIDs)
	if err != nil {
		return err
	}
	// Frozen too: what was approved without tracking is sent without it.
	r.Copy.TrackOpen, r.Copy.TrackClick = r.Copy.TrackOpen && !tenant.NoTracking, r.Copy.TrackClick && !tenant.NoTracking
	if _, err := db.InsertRow(tx, &copyTable, r.Copy); err != nil {
		return err
	}
	frozen, err := freezeCampaign(tx, r.Copy, r.Fields, lists, &tenant)
	if err != nil {
		return err
	}
	if err := attach(tx, r.Copy.ID, c.TenantID, r.Fields.Attachments); err != nil {
		return err
	}
	covered.Frozen, covered.Tenant, covered.List, covered.FirstFew = &frozen, &tenant, &lists[0], tenant.FirstFew
	for i := range lists {
		covered.MailedProof = append(covered.MailedProof, lists[i].RequireMailedProof)
	}
	if err := cover(tx, &covered); err != nil {
		return err
	}
	if r.Seen != "" && !r.Seen.Same(covered.Digest()) {
		return core.ChangedContent(nil)
	}
	if c.AuditSeen, err = tx.Number(db.NewestAudited); err != nil {
		return err
	}
	if err := vouchForDesigns(tx, c.TenantID, r.Fields, by, c.AuditSeen); err != nil {
		return err
	}
	return keep(tx, c.No, r.Version)
}

// accepted returns core.ErrApprovalRequired where the approval of by is not enough.
func (r *CampaignSending) accepted(t *core.Tenant, c *core.Campaign, by ...string) error {
	if r.Force {
		return nil
	}
	return t.Accepts(c, by...)
}

// SendCampaign makes the job of a campaign, which it approves first where that was not done: both or neither happen.
// Times are those of n; the start is not before the end of undo. The errors are ApproveCampaign's, core.ErrConflict for
// a list or a tenant that is not active, an audience that can't be told or was written to and for an Idempotency-Key
// that was used with another body, and core.Forbidden where the caller may not send to the list.
func (s *Store) SendCampaign(ctx context.Context, r CampaignSending, n JobRequest, undo core.Instant) (j core.SendJob,
	err error,
) {
	n.TenantID = ""
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("campaign", r.ID); err != nil {
			return err
		}
		c, err := campaign(tx, r.ID)
		if err != nil {
			return err
		}
		n.TenantID = c.TenantID
		j, _ = n.Job(r.Now)
		j.TenantID, j.CampaignID, j.CreatedBy, j.DueAt = c.TenantID, c.ID, r.Actor, max(j.DueAt, undo)
		if n.IdempotencyKey != "" {
			if done, err := repeated(tx, &j, n, r.Now); done || err != nil {
				return err
			}
			if err := n.ValidateSchedule(r.Now); err != nil {
				return err
			}
		}
		if err := r.seenAs(&c); err != nil {
			return err
		}
		was, alongTheWay := c.CopyID, c.State != core.CampaignApproved
		if err := c.MaySend(r.Version); err != nil {
			return err
		}
		if alongTheWay {
			if err := approve(tx, &c, &r); err != nil {
				return err
			}
			if err := answerReview(tx, &c, core.MailReviewApproved, "", r.CampaignEdit); err != nil {
				return err
			}
		}
		lists, err := lists(tx, r.Fields.ListIDs)
		if err != nil {
			return err
		}
		tenant, err := maySendAll(tx, lists)
		if err != nil {
			return err
		}
		c.ApprovedBySend = alongTheWay && (r.Force || !tenant.AsksSecondPerson())
		if err := r.accepted(&tenant, &c, c.ApprovedBy); err != nil {
			return err
		}
		if err := mayExclude(tx, r.Fields.ExcludeCampaignIDs); err != nil {
			return err
		}
		if err := mayFollow(tx, r.Fields.Audience, &tenant); err != nil {
			return err
		}
		j.ListID, j.CopyID, j.Narrowing, j.Expected = lists[0].ID, c.CopyID, r.Fields.Narrowing.Column(), r.Expected
		if first := r.FirstFew; first != nil && *first || first == nil && tenant.FirstFew {
			j.FirstFew = core.FirstFew
		}
		if err := insertSendJobTo(tx, &j, r.Fields.ListIDs); err != nil {
			return err
		}
		c.Scheduled(j.No)
		if err := keepIssue(tx, &c, r.Head); err != nil {
			return err
		}
		if err := saveCampaign(tx, &c, r.CampaignEdit, was); err != nil {
			return err
		}
		return tx.Audit(r.Now, r.Actor, "campaign.send", c.TenantID, c.ID)
	})
	return j, err
}

// UndoCampaign cancels the job of a campaign that waits for its start; no mail of it goes out. The campaign is approved
// still, or a draft again where nothing but its sending had approved it. It returns core.ErrCampaignNotFound,
// core.ErrPreconditionFailed where the campaign is at another revision, or core.ErrConflict for one that is not
// scheduled or whose job has begun.
func (s *Store) UndoCampaign(ctx context.Context, e CampaignEdit) (c core.Campaign, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if c, err = campaignSeen(tx, &e); err != nil {
			return err
		}
		switch {
		case c.State == core.CampaignSending:
			return core.Conflictf("conflict",
				"The campaign is already being sent. Cancel its send job to stop the rest.")
		case c.State != core.CampaignScheduled:
			return core.Conflictf("conflict", "The campaign is %s. There is no scheduled send to undo.", c.State)
		}
		j, err := sendJobNo(tx, c.JobNo)
		if err != nil {
			return err
		}
		j.Cancel(e.Now)
		if err := moveJob(tx, &j); err != nil {
			return err
		}
		if c, err = campaign(tx, e.ID); err != nil {
			return err
		}
		return tx.Audit(e.Now, e.Actor, "campaign.undo", c.TenantID, c.ID)
	})
	return c, err
}
