package campaigns

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/polls"
	"newsletterd/store/tenants"
)

// CampaignSending is a request to approve or send a campaign version.
type CampaignSending struct {
	CampaignEdit
	Version  int64                // version that the actor saw
	Fields   *core.CampaignFields // fields of the revision
	Copy     *core.CampaignCopy   // compiled from the fields; used if the version is not approved yet
	Expected int64                // number of recipients that the actor expects; 0 means not counted
	FirstFew *bool                // whether to send to the first recipients first; nil means the tenant's default
	Force    bool                 // whether to skip the second person that the tenant requires
	Head     IssueHead            // head of the issue in archives
}

// ApproveCampaign freezes the copy of a campaign's version. Later sends use the frozen copy. It returns
// core.ErrCampaignNotFound or, if the revision or the content differs from what was seen (CampaignEdit.Seen),
// core.ErrPreconditionFailed. It returns core.ErrConflict if another version is the current one or the campaign is past
// approval. If a layout or sender is no longer the tenant's, it returns an Invalid error. If the tenant requires
// approval by another person, it returns core.ErrApprovalRequired. If the campaign's segments can't be evaluated or are
// too large together, it returns a core.Undecided error.
func (s *Store) ApproveCampaign(ctx context.Context, r CampaignSending) (core.Campaign, error) {
	return s.changeCampaign(ctx, r.CampaignEdit, "campaign.approve", func(tx *db.Tx, c *core.Campaign) (bool, error) {
		if err := approve(tx, c, &r); err != nil {
			return false, err
		}
		return true, answerReview(tx, c, core.MailReviewApproved, "", r.CampaignEdit)
	})
}

func approve(tx *db.Tx, c *core.Campaign, r *CampaignSending) error {
	fields := *r.Fields
	fields.Rule = ""
	covered := core.Covered{Copy: r.Copy, Fields: &fields, WantedAt: c.WantedAt()}
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
	if c.WrittenBy(by[1:]...) { // recorded in case the tenant requires a second person later
		c.AlsoWrittenBy(r.Actor)
	}
	if err := judgeCampaign(tx, c.TenantID, r.Fields); err != nil {
		return err
	}
	lists, err := lists(tx, r.Fields.ListIDs)
	if err != nil {
		return err
	}
	// The tracking setting is frozen too: a campaign approved without tracking is sent without it.
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
	if covered.Rule == "" && fields.Segmented() { // never approve a campaign to a segment as one to everyone
		_, err := ruleOf(tx, c.TenantID, &fields.Narrowing)
		return err
	}
	if r.Seen != "" && !r.Seen.Same(covered.Digest()) {
		return core.ChangedContent(nil)
	}
	if covered.Rule != "" {
		if err := tx.One("UPDATE frozen_content SET rule = ? WHERE copy_id = ?", covered.Rule, r.Copy.ID); err != nil {
			return err
		}
	}
	if c.AuditSeen, err = tx.Number(db.NewestAudited); err != nil {
		return err
	}
	if err := vouchForDesigns(tx, c.TenantID, r.Fields, by, c.AuditSeen); err != nil {
		return err
	}
	return keep(tx, c.No, r.Version)
}

// accepted returns core.ErrApprovalRequired if an approval by the actors in by is not enough.
func (r *CampaignSending) accepted(t *core.Tenant, c *core.Campaign, by ...string) error {
	if r.Force {
		return nil
	}
	return t.Accepts(c, by...)
}

// SendCampaign creates the job of a campaign. If the campaign is not approved yet, SendCampaign approves it in the same
// transaction. The times of the job come from n, but the job never starts before undo, which is the end of the undo
// period. In addition to ApproveCampaign's errors, it returns core.ErrConflict if a list or the tenant is not active.
// It also returns core.ErrConflict if the audience is unknown or already got a follow-up, or if the Idempotency-Key was
// used with another body. If a segment can't be evaluated, it returns a core.Undecided error. If the caller may not
// send to the list, it returns an error of kind core.Forbidden.
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
		narrowing, err := approvedNarrowing(tx, &c, r.Fields, r.Now)
		if err != nil {
			return err
		}
		j.ListID, j.CopyID, j.Narrowing, j.Expected = lists[0].ID, c.CopyID, narrowing.Column(), r.Expected
		if first := r.FirstFew; first != nil && *first || first == nil && tenant.FirstFew {
			j.FirstFew = core.FirstFew
		}
		if err := insertSendJobTo(tx, &j, r.Fields.ListIDs); err != nil {
			return err
		}
		c.Scheduled(j.No)
		if err := keepShown(tx, &c, &r, j.DueAt); err != nil {
			return err
		}
		if err := saveCampaign(tx, &c, r.CampaignEdit, was); err != nil {
			return err
		}
		return auditSend(tx, &r, &j, max(r.Now, undo))
	})
	return j, err
}

// auditSend records that a campaign was sent, or scheduled if its job starts later than at earliest, when it could.
func auditSend(tx *db.Tx, r *CampaignSending, j *core.SendJob, earliest core.Instant) error {
	if j.DueAt > earliest {
		return tx.Audit(r.Now, r.Actor, "campaign.schedule", j.TenantID, j.CampaignID)
	}
	return tx.Audit(r.Now, r.Actor, "campaign.send", j.TenantID, j.CampaignID)
}

// keepShown stores a campaign's issues and polls for web pages. due is the start of the campaign's job. If emails of
// the campaign were already sent, it changes nothing. A job without recipients has sent none, even if it started.
func keepShown(tx *db.Tx, c *core.Campaign, r *CampaignSending, due core.Instant) error {
	if err := keepIssue(tx, c, r.Head); err != nil {
		return err
	}
	var sent bool
	err := tx.Get(&sent, `SELECT EXISTS (SELECT 1 FROM send_job INDEXED BY send_job_campaign
		WHERE campaign_id = ? AND recipients > 0)`, c.ID)
	if err != nil || sent {
		return err
	}
	return polls.Keep(tx, c, r.Fields.Polls, due)
}

// approvedNarrowing returns a campaign's narrowing with the approved segment rule. If the rule can't be evaluated, it
// returns a core.Undecided error.
func approvedNarrowing(tx *db.Tx, c *core.Campaign, f *core.CampaignFields, now core.Instant) (core.Narrowing, error) {
	n := f.Narrowing
	var err error
	if n.Rule, err = frozenRule(tx, c.CopyID); err != nil {
		return n, err
	}
	rule, err := storedRule(&n)
	if err == nil && rule != nil {
		_, err = MatchRule(tx, c.TenantID, rule, now)
	}
	return n, err
}

// UndoCampaign cancels the job of a campaign before it starts, so that no email is sent. The campaign stays approved if
// it was approved before SendCampaign. Otherwise, it becomes a draft again. It returns core.ErrCampaignNotFound or, if
// the revision has changed, core.ErrPreconditionFailed. If the campaign is not scheduled or its job has started, it
// returns core.ErrConflict.
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
