package campaigns

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/polls"
	"newsletterd/store/tenants"
)

// startAtOnce is the maximum number of jobs that one operation of StartDueJobs starts.
const startAtOnce = 50

// StartDueJobs starts the pending jobs that are due. It fails a job that can't start because its window is over or its
// template is missing. Paused jobs, and jobs with an inactive list or tenant, stay pending. next is the time when the
// next job is due, or 0 if no job is pending. Its only error is core.ErrStorage.
func (s *Store) StartDueJobs(ctx context.Context, now core.Instant) (next core.Instant, err error) {
	const first = "SELECT coalesce(min(due_at), 0) FROM send_job INDEXED BY send_job_due WHERE " +
		"status = 'pending' AND paused_at = 0"
	// A job that waits for its list is due when its window closes.
	const nextDue = `SELECT coalesce(min(CASE WHEN ` + switchedOff + ` = '' THEN due_at WHEN window_end > 0 THEN
		window_end END), 0)
		FROM send_job INDEXED BY send_job_due WHERE status = 'pending' AND paused_at = 0`
	if err := s.Get(ctx, &next, first); err != nil || next == 0 || next > now {
		return next, err
	}
	if err := s.Get(ctx, &next, nextDue); err != nil || next == 0 || next > now {
		return next, err
	}
	err = s.Update(ctx, func(tx *db.Tx) error {
		var due []core.SendJob
		err := tx.All(&due,
			"SELECT "+sendJobColumns+` FROM send_job INDEXED BY send_job_due WHERE status = 'pending'
			AND paused_at = 0 AND due_at <= ?1
			AND (`+switchedOff+` = '' OR window_end > 0 AND window_end <= ?1) ORDER BY due_at LIMIT +?2`, int64(now),
			startAtOnce)
		if err != nil {
			return err
		}
		for i := range due {
			if err := startJob(tx, &due[i], now); err != nil {
				return err
			}
		}
		return tx.Get(&next, nextDue)
	})
	return next, err
}

func startJob(tx *db.Tx, j *core.SendJob, now core.Instant) error {
	if !j.Start(now) || j.Status.Final() {
		return moveJob(tx, j)
	}
	list, err := tenants.ReadList(tx, j.ListID)
	var tenant core.Tenant
	if err == nil {
		tenant, err = tenants.ReadTenant(tx, j.TenantID)
	}
	if errors.Is(err, core.ErrNotFound) {
		j.Fail(core.ReasonListGone, now)
		return moveJob(tx, j)
	}
	if err != nil {
		return err
	}
	frozen, err := frozenContent(tx, j, &list, &tenant)
	if err != nil {
		return err
	}
	if !frozen.Resolved {
		j.Fail(core.ReasonTemplate, now)
		return moveJob(tx, j)
	}
	if err := moveJob(tx, j); err != nil {
		return err
	}
	if err := hideSegmented(tx, j); err != nil || frozen.SenderAllowed(&tenant) {
		return err
	}
	j.Pause(core.PauseSender, now)
	return savePause(tx, j)
}

// hideSegmented hides a campaign from archives when a job starts sending it to segments, unless its author has chosen
// to show it there.
func hideSegmented(tx *db.Tx, j *core.SendJob) error {
	n, err := core.ParseNarrowing(j.Narrowing)
	if err != nil || !n.Segmented() {
		return err
	}
	_, err = tx.Exec("UPDATE campaign SET archive = ? WHERE id = ? AND job_no = ? AND archive = ''",
		core.ArchiveHidden, j.CampaignID, j.No)
	return err
}

// JudgeJob applies the stop rule to a job, and may pause the job.
func JudgeJob(tx *db.Tx, no int64, now core.Instant) error {
	rule := tx.DB().Options().StopRule
	if rule == (core.StopRule{}) {
		return nil
	}
	j, err := sendJobNo(tx, no)
	if err != nil {
		return err
	}
	if reason := rule.Judge(&j); reason != "" && j.Pause(reason, now) {
		return savePause(tx, &j)
	}
	return nil
}

func savePause(tx *db.Tx, j *core.SendJob) error {
	changed(tx, j.No)
	return tx.One("UPDATE send_job SET paused_at = ?, pause_reason = ?, unstoppable = ?, first_until = ? WHERE no = ?",
		int64(j.PausedAt), j.PauseReason, j.Unstoppable, int64(j.FirstUntil), j.No)
}

// PauseSendJob pauses a running job until someone resumes it. A job that is paused or not running stays unchanged. If
// there is no such job, it returns core.ErrJobNotFound.
func (s *Store) PauseSendJob(ctx context.Context, no int64, reason string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		j, err := sendJobNo(tx, no)
		if err != nil || !j.Pause(reason, now) {
			return err
		}
		return savePause(tx, &j)
	})
}

// PauseSendJobBy pauses a job, at the request of actor, until someone resumes it. If there is no such job, it returns
// core.ErrJobNotFound. If the job is paused or has ended, it returns core.ErrConflict.
func (s *Store) PauseSendJobBy(ctx context.Context, id, actor string, now core.Instant) (j core.SendJob, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("send_job", id); err != nil {
			return err
		}
		if j, err = sendJob(tx, id); err != nil {
			return err
		}
		if err := j.PauseByPerson(now); err != nil {
			return err
		}
		if err := savePause(tx, &j); err != nil {
			return err
		}
		return tx.Audit(now, actor, "job.pause", j.TenantID, id)
	})
	return j, err
}

// MoveSendJob changes the times of a job that has not started. Its campaign and the approval stay unchanged, and a
// paused job stays paused. It returns core.ErrJobNotFound if there is no such job, an Invalid error if a poll closes
// before the job starts, or the errors of core.SendJob.Move.
func (s *Store) MoveSendJob(ctx context.Context, id, actor string, to core.JobTimes, now core.Instant) (j core.SendJob,
	err error,
) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("send_job", id); err != nil {
			return err
		}
		if j, err = sendJob(tx, id); err != nil {
			return err
		}
		if err := j.Move(to, now); err != nil {
			return err
		}
		if j.RetryOf == "" {
			if err := polls.StayOpen(tx, j.CampaignID, j.DueAt); err != nil {
				return err
			}
		}
		changed(tx, j.No)
		if err := tx.One("UPDATE send_job SET scheduled_at = ?, window_start = ?, window_end = ?, due_at = ? WHERE no = ?",
			int64(j.ScheduledAt), int64(j.WindowStart), int64(j.WindowEnd), int64(j.DueAt), j.No); err != nil {
			return err
		}
		return tx.Audit(now, actor, "job.move", j.TenantID, id)
	})
	return j, err
}

// HoldSendJob records why a running job waits. The job resumes automatically when the reason no longer applies. An
// empty reason ends the wait. A paused job stays unchanged. Its only error is core.ErrStorage.
func (s *Store) HoldSendJob(ctx context.Context, no int64, reason string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec("UPDATE send_job SET pause_reason = ?1 WHERE no = ?2 AND status = 'running' AND paused_at "+
			"= 0 AND pause_reason <> ?1", reason, no)
		if err == nil && n > 0 {
			changed(tx, no)
		}
		return err
	})
}

// ResumeSendJob resumes a job that is paused or on hold after its first recipients. It returns core.ErrConflict if the
// job is not paused, or if the reason for the pause must be removed first.
func (s *Store) ResumeSendJob(ctx context.Context, id, actor string, now core.Instant) (j core.SendJob, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("send_job", id); err != nil {
			return err
		}
		if j, err = sendJob(tx, id); err != nil {
			return err
		}
		if err := mayResume(tx, &j); err != nil {
			return err
		}
		held := j.FirstHeld(now)
		if held {
			j.FirstUntil = now // the actor ends the hold early
		}
		if err := j.Resume(); err != nil && (!held || j.PausedAt != 0) {
			return err
		}
		if err := savePause(tx, &j); err != nil {
			return err
		}
		return tx.Audit(now, actor, "job.resume", j.TenantID, id)
	})
	return j, err
}

// mayResume returns an error if a job was paused because its sender does not belong to the tenant, and this is still
// the case.
func mayResume(tx *db.Tx, j *core.SendJob) error {
	if j.PausedAt == 0 || !strings.HasSuffix(j.PauseReason, core.PauseSender) {
		return nil
	}
	var f core.FrozenContent
	if err := tx.Get(&f, "SELECT "+frozenHead+" FROM frozen_content WHERE copy_id = ?", j.CopyID); err != nil {
		return err
	}
	t, err := tenants.ReadTenant(tx, j.TenantID)
	if err != nil {
		return err
	}
	if !f.SenderAllowed(&t) {
		return core.Conflictf("conflict",
			"The sender address %s doesn't belong to a verified sender domain. Verify the domain, or cancel the "+
				"send job.", f.MailFrom)
	}
	return nil
}

// RetryFailed creates a job with the same content for the recipients of an ended job who got no email. A job can be
// retried once, because two retries would email the same people. It returns core.ErrConflict if the job was retried or
// has not ended, or if the list or the tenant is not active.
func (s *Store) RetryFailed(ctx context.Context, id, createdBy string, now core.Instant) (j core.SendJob, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		old, err := sendJob(tx, id)
		if err != nil {
			return err
		}
		var other string
		switch err := tx.Get(&other, "SELECT id FROM send_job INDEXED BY send_job_retry WHERE retry_of = ? AND "+
			"retry_of <> ''", id); {
		case err == nil:
			return core.Conflictf("conflict", "The send job was already retried as %s. Retry that job instead.", other)
		case !errors.Is(err, core.ErrNotFound):
			return err
		}
		if j, err = old.Retry(now); err != nil {
			return err
		}
		j.CreatedBy = createdBy
		to, err := listsOf(tx, &old)
		if err != nil {
			return err
		}
		lists, err := lists(tx, to)
		if err != nil {
			return err
		}
		if _, err := maySendAll(tx, lists); err != nil {
			return err
		}
		if err := tx.Watch("send_job", j.ID); err != nil {
			return err
		}
		if err := insertSendJobTo(tx, &j, to); err != nil {
			return err
		}
		if err := retryCampaign(tx, &j, &old); err != nil {
			return err
		}
		return tx.Audit(now, createdBy, "job.retry", j.TenantID, j.ID)
	})
	return j, err
}

// retryCampaign links the campaign of the job old to its retry j. If old was stopped before it had a recipient, and the
// campaign has since been edited or changes were requested, it returns core.ErrConflict. Such a campaign must be sent
// again.
func retryCampaign(tx *db.Tx, j, old *core.SendJob) error {
	n, err := tx.Exec(`UPDATE campaign SET job_no = ?1, state = 'scheduled', revision = revision + 1,
		approved_version = last_approved, copy_id = ?2 WHERE id = ?3 AND (state IN ('sent', 'archived') OR
		job_no = ?4 AND last_approved = version AND (state = 'approved' OR state = 'draft' AND approved_by_send = 1))`, j.No, j.CopyID, j.CampaignID, old.No)
	if err != nil || n > 0 {
		return err
	}
	switch c, err := campaign(tx, j.CampaignID); {
	case errors.Is(err, core.ErrCampaignNotFound):
		return nil
	case err != nil:
		return err
	default:
		return core.Conflictf("conflict",
			"The campaign is now %s. Send the campaign instead of retrying this send job.", c.State)
	}
}

// expandRetry is like expand, for a job that retries another one. It goes through the recipients of that job, list by
// list, and then through the subscribers that it did not reach. A recipient who may have got the email, because a reply
// was lost, does not get it again.
func expandRetry(tx *db.Tx, j *core.SendJob, ahead lookahead) (more bool, err error) {
	if strings.HasPrefix(j.ExpandedTo, restOfList) {
		return expand(tx, j, ahead)
	}
	old, err := sendJob(tx, j.RetryOf)
	if err != nil {
		return false, err
	}
	after, err := strconv.ParseInt("0"+j.ExpandedTo, 10, 64)
	if err != nil {
		return false, err
	}
	parts, err := jobParts(tx, j)
	if err != nil {
		return false, err
	}
	of, err := jobParts(tx, &old)
	if err != nil {
		return false, err
	}
	place := lastBegun(parts)
	list, end := parts[place].ListID, max(of[place].To, 0)
	upper := min(after+expandStep, end)
	n, err := tx.Exec(`INSERT INTO recipient (job_no, seq, subscriber_id, email_key)
		SELECT ?1, ?2 + row_number() OVER (ORDER BY r.seq), s.id, s.email_key FROM recipient AS r
		JOIN subscriber AS s ON s.list_id = ?3 AND s.id = r.subscriber_id
		WHERE r.job_no = ?7 AND r.seq > ?4 AND r.seq <= ?5 AND (r.state = `+sqlRecipientFailed+` OR r.state =
		`+sqlRecipientSkipped+` AND r.reason = '`+core.ReasonCancelled+`')
		AND r.ambiguous = 0 AND s.word = 'active' AND s.block = ''
		AND NOT EXISTS (SELECT 1 FROM suppression WHERE tenant_id = ?6 AND email_key = s.email_key)
		AND NOT EXISTS (SELECT 1 FROM disabled WHERE email_key = s.email_key AND tenant_id IN ('', ?6))
		ORDER BY r.seq`, j.No, j.Recipients, list, after, upper, j.TenantID, old.No)
	if err != nil {
		return false, err
	}
	to := strconv.FormatInt(upper, 10)
	switch {
	case upper < end:
		more = true
	case place < lastBegun(of):
		more, err = true, beginList(tx, j, int64(place)+1, n)
	case !old.Expanded:
		more, to = true, restOfList+strings.TrimPrefix(old.ExpandedTo, restOfList)
	}
	if err != nil {
		return false, err
	}
	return more, tx.One("UPDATE send_job SET recipients = recipients + ?, expanded_to = ?, expanded = ? WHERE no = ?",
		n, to, !more, j.No)
}

// restOfList is the prefix of a position among a list's subscribers. A position without the prefix is among the
// recipients of the retried job.
const restOfList = "list:"
