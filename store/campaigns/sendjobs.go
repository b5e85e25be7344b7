package campaigns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

const sendJobColumns = `no, id, tenant_id, list_id, lists, narrowing, copy_id, campaign_id, status, scheduled_at, window_start, window_end,
	expected, due_at, created_by, created_at, started_at, finished_at, failure_reason, expanded_to, expanded, recipients, deferred,
	sent, failed, skipped, ambiguous, delivered, bounced, complained, opened, clicked, unsubscribed, machine_opened,
	machine_clicked, hard_bounced, unstoppable, retry_of, first_few, first_until, transport, paused_at, ` + pauseReason

const pauseReason = `CASE WHEN pause_reason <> '' OR send_job.status NOT IN ('pending', 'running') THEN pause_reason
	ELSE ` + switchedOff + ` END AS pause_reason`

// Deferral lists the columns for the deferred recipients of a running job: their number, the time of the next attempt,
// and the time of the last attempt for all of them.
const Deferral = `iif(send_job.status = 'running', deferred, 0) AS deferred,
	iif(send_job.status = 'running' AND deferred > 0, coalesce((SELECT min(due_at) FROM recipient
	INDEXED BY recipient_deferred WHERE job_no = send_job.no AND state = ` + sqlRecipientDeferred + `), 0), 0)
	AS next_attempt_at, iif(send_job.status = 'running' AND deferred > 0, gives_up_at, 0) AS gives_up_at`

// switchedOff is the SQL expression for the reason why a job waits without being paused. It is empty unless the job's
// tenant or one of its lists is not active.
const switchedOff = `coalesce((SELECT CASE WHEN t.status <> 'active' THEN '` + core.PauseTenant + `' WHEN l.status <>
	'active' OR send_job.lists > 1 AND EXISTS (SELECT 1 FROM further_list AS f
	INDEXED BY sqlite_autoindex_further_list_1 CROSS JOIN list AS o ON o.id = f.list_id WHERE f.job_no =
	send_job.no AND o.status <> 'active') THEN '` + core.PauseList + `' END
	FROM list AS l CROSS JOIN tenant AS t ON t.id = l.tenant_id WHERE l.id = send_job.list_id), '')`

const copyColumns = "id, tenant_id, name, subject, body_html, body_text, template, unsubscribe_url, track_open, " +
	"track_click, totals, created_at"

var (
	copyTable = db.TableOf[core.CampaignCopy]("campaign_copy", nil, nil)
	insertJob = db.InsertInto(
		"send_job",
		`id, tenant_id, list_id, lists, narrowing, expected, copy_id, campaign_id, status, scheduled_at, window_start, window_end,
		due_at, retry_of, created_by, created_at, first_few`,
	)
)

// IdempotencyTTL is how long an Idempotency-Key is stored.
const IdempotencyTTL = 7 * 24 * time.Hour

// JobRequest is a request to create a send job.
type JobRequest struct {
	core.NewJob
	Caller         core.Caller
	CreatedBy      string        // requester, in the form of the audit log
	IdempotencyKey string        // empty means none
	BodyHash       []byte        // hash of the body of the request with the key
	DuplicateGuard time.Duration // period in which a job with the same content is rejected; 0 means none
	Force          bool          // whether to skip the second person that the tenant requires
}

// AddSendJob creates a job and its campaign. known reports whether the template that the job names exists.
//
// Its checks have a fixed order. If the caller may not send to the list, it returns an Invalid error on list_id. If
// tenant_id contradicts the list, it returns another Invalid error. If the Idempotency-Key was used before, it returns
// the first job, or a Conflict if the body differs. If the key is new, it checks the times next. Then it checks that
// the list and the tenant are active. If a second person has to approve the job, it returns core.ErrApprovalRequired.
// If the tenant has no such segment, it returns an Invalid error on segment_id. If the segment can't be evaluated, it
// returns a core.Undecided error. Finally, the duplicate guard may return a Conflict.
func (s *Store) AddSendJob(ctx context.Context, r JobRequest, now core.Instant) (j core.SendJob, known bool,
	err error,
) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		list, err := tenants.ReadList(tx, r.ListID)
		if err == nil && !r.Caller.May(core.ActionCampaignSend, list.TenantID) &&
			r.Caller.May(core.ActionFiguresRead, list.TenantID) {
			return core.Lacking(core.ActionCampaignSend)
		}
		if errors.Is(err, core.ErrListNotFound) || err == nil && !r.Caller.May(core.ActionCampaignSend, list.TenantID) {
			return core.Invalidf("list_id", "List not found. It may have been deleted, or you don't have access.")
		}
		if err != nil {
			return err
		}
		if r.TenantID != "" && r.TenantID != list.TenantID {
			return core.Invalidf("tenant_id", "The list belongs to another tenant. Choose a list of this tenant.")
		}
		r.TenantID = list.TenantID
		var campaign core.CampaignCopy
		j, campaign = r.Job(now)
		j.CreatedBy = r.CreatedBy
		if known, err = tenants.TemplateExists(tx, j.TenantID, campaign.TemplateName()); err != nil {
			return err
		}
		if r.IdempotencyKey != "" {
			done, err := repeated(tx, &j, r, now)
			if done || err != nil {
				return err
			}
			if err := r.Validate(now); err != nil {
				return err
			}
		}
		tenant, err := maySend(tx, &list)
		if err != nil {
			return err
		}
		if tenant.Approval == core.ApprovalSecondPerson && !r.Force {
			return core.ErrApprovalRequired
		}
		if j.Narrowing, err = toSegment(tx, j.TenantID, r.SegmentID, now); err != nil {
			return err
		}
		if err := guardDuplicate(tx, &campaign, r, now); err != nil {
			return err
		}
		if err := tx.Watch("send_job", j.ID); err != nil {
			return err
		}
		if err := addSendJob(tx, &j, &campaign, r.SegmentID); err != nil {
			return err
		}
		if _, err := freeze(tx, &campaign, &list, &tenant); err != nil {
			return err
		}
		return tx.Audit(now, r.CreatedBy, "job.create", j.TenantID, j.ID)
	})
	return j, known, err
}

// repeated looks up the Idempotency-Key and stores it if it is new. If the key has already created a job, it sets j to
// that job, and done is true.
func repeated(tx *db.Tx, j *core.SendJob, r JobRequest, now core.Instant) (done bool, err error) {
	first, err := keyed(tx, j.TenantID, r.IdempotencyKey, r.BodyHash, j.ID, now)
	if err != nil || first == "" {
		return false, err
	}
	if *j, err = sendJob(tx, first); err != nil {
		return false, err
	}
	j.Status = core.JobPending // as in the first response
	return true, nil
}

// keyed returns the id of the send job or campaign that a request with an Idempotency-Key created. For a new key it
// returns an empty string and stores the key with id, the id of the record to create. If the key was used with another
// body, it returns a Conflict.
func keyed(tx *db.Tx, tenantID, key string, bodyHash []byte, id string, now core.Instant) (made string, err error) {
	var first struct {
		BodyHash  []byte       `db:"body_hash"`
		JobID     string       `db:"job_id"`
		ExpiresAt core.Instant `db:"expires_at"`
	}
	err = tx.Get(&first, "SELECT body_hash, job_id, expires_at FROM idempotency WHERE tenant_id = ? AND key = ?",
		tenantID, key)
	switch {
	case err == nil && first.ExpiresAt > now && !bytes.Equal(first.BodyHash, bodyHash):
		return "", core.Conflictf("idempotency_key_reused",
			"This Idempotency-Key was already used with another body. Use a new key.")
	case err == nil && first.ExpiresAt > now:
		return first.JobID, nil
	case err != nil && !errors.Is(err, core.ErrNotFound):
		return "", err
	}
	_, err = tx.Exec(`INSERT INTO idempotency (tenant_id, key, body_hash, job_id, expires_at) VALUES (?1, ?2, ?3, ?4,
		?5)
		ON CONFLICT DO UPDATE SET body_hash = ?3, job_id = ?4, expires_at = ?5`,
		tenantID, key, bodyHash, id, int64(now.Add(IdempotencyTTL)))
	return "", err
}

// maySend returns the tenant of a list that jobs can be sent to. If the list or the tenant is not active, it returns a
// Conflict.
func maySend(tx *db.Tx, l *core.List) (t core.Tenant, err error) {
	if !l.Active() {
		return t, core.Conflictf("list_inactive", "The list is inactive. Activate it before you send.")
	}
	t, err = tenants.ReadTenant(tx, l.TenantID)
	if err == nil && !t.Active() {
		return t, core.Conflictf("tenant_suspended", "The tenant is suspended. Contact the server administrator.")
	}
	return t, err
}

// toSegment returns the narrowing of a job to a segment, with the segment's rule. It is empty if there is no segment.
func toSegment(tx *db.Tx, tenantID, segmentID string, now core.Instant) (column string, err error) {
	n := core.Narrowing{SegmentID: segmentID}
	if err := judgeSegments(tx, tenantID, &n); err != nil {
		return "", err
	}
	rule, err := ruleOf(tx, tenantID, &n)
	if err != nil || rule == nil {
		return "", err
	}
	n.Rule = core.RuleText(rule.JSON())
	if _, err := MatchRule(tx, tenantID, rule, now); err != nil {
		return "", err
	}
	return n.Column(), nil
}

// guardDuplicate returns a Conflict for an unscheduled job with the same content as a recently created job. Jobs to
// different segments may have the same content.
func guardDuplicate(tx *db.Tx, c *core.CampaignCopy, r JobRequest, now core.Instant) error {
	if r.DuplicateGuard == 0 || r.ScheduledAt != 0 || r.WindowStart != 0 {
		return nil
	}
	var same int
	err := tx.Get(&same, `SELECT count(*) FROM send_job AS j INDEXED BY send_job_list
		CROSS JOIN campaign_copy AS c INDEXED BY sqlite_autoindex_campaign_copy_1 ON c.id = j.copy_id
		WHERE j.list_id = ?1 AND j.created_at > ?2 AND j.status != 'cancelled' AND c.subject = ?3 AND c.body_html = ?4
		AND c.body_text = ?5
		AND c.template = ?6 AND (?7 = '' OR j.narrowing = '' OR j.narrowing->>'$.segment_id' = ?7)`, r.ListID,
		int64(now.Add(-r.DuplicateGuard)), c.Subject, c.BodyHTML, c.BodyText, c.Template, r.SegmentID)
	if err == nil && same > 0 {
		return core.Conflictf("conflict",
			"An identical send job was created moments ago. Wait a few minutes before you send it again.")
	}
	return err
}

func addSendJob(tx *db.Tx, j *core.SendJob, c *core.CampaignCopy, segmentID string) error {
	if _, err := db.InsertRow(tx, &copyTable, c); err != nil {
		return err
	}
	if err := insertSendJob(tx, j); err != nil {
		return err
	}
	campaign := core.CampaignOfJob(j, c)
	if segmentID == "" {
		return addCampaign(tx, &campaign, []string{j.ListID}, "")
	}
	f := core.FieldsOf(c, j.ListID)
	f.SegmentID = segmentID
	fields, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return addCampaign(tx, &campaign, []string{j.ListID}, string(fields))
}

func insertSendJob(tx *db.Tx, j *core.SendJob) (err error) {
	j.No, err = tx.Insert(
		insertJob,
		j.ID,
		j.TenantID,
		j.ListID,
		max(j.Lists, 1),
		j.Narrowing,
		j.Expected,
		j.CopyID,
		j.CampaignID,
		string(j.Status),
		int64(j.ScheduledAt),
		int64(j.WindowStart),
		int64(j.WindowEnd),
		int64(j.DueAt),
		j.RetryOf,
		j.CreatedBy,
		int64(j.CreatedAt),
		j.FirstFew,
	)
	if err != nil {
		return err
	}
	changed(tx, j.No)
	_, err = tx.Exec(
		"UPDATE send_job SET tracked = coalesce((SELECT track_open + 2 * track_click + 4 * totals FROM campaign_copy "+
			"WHERE id = ?), 0) WHERE no = ?",
		j.CopyID,
		j.No,
	)
	return err
}

// SendJob returns a job with its counters. If the job doesn't exist, or its tenant was deleted, it returns
// core.ErrJobNotFound.
func (s *Store) SendJob(ctx context.Context, id string) (j core.SendJob, err error) {
	err = s.Get(ctx, &j, "SELECT "+sendJobColumns+` FROM send_job WHERE id = ?
		AND tenant_id IN (SELECT id FROM tenant WHERE deleted_at = 0)`, id)
	return j, noJob(err)
}

// SendJobByNo returns a job by its number. If there is no such job, it returns core.ErrJobNotFound.
func (s *Store) SendJobByNo(ctx context.Context, no int64) (j core.SendJob, err error) {
	err = s.Get(ctx, &j, "SELECT "+sendJobColumns+" FROM send_job WHERE no = ?", no)
	return j, noJob(err)
}

func sendJob(tx *db.Tx, id string) (j core.SendJob, err error) {
	err = tx.Get(&j, "SELECT "+sendJobColumns+" FROM send_job WHERE id = ?", id)
	return j, noJob(err)
}

func sendJobNo(tx *db.Tx, no int64) (j core.SendJob, err error) {
	err = tx.Get(&j, "SELECT "+sendJobColumns+" FROM send_job WHERE no = ?", no)
	return j, noJob(err)
}

func noJob(err error) error {
	if errors.Is(err, core.ErrNotFound) {
		return core.ErrJobNotFound
	}
	return err
}

// CampaignCopy returns the content of a job. If there is no such content, it returns core.ErrNotFound.
func (s *Store) CampaignCopy(ctx context.Context, id string) (c core.CampaignCopy, err error) {
	err = s.Get(ctx, &c, "SELECT "+copyColumns+" FROM campaign_copy WHERE id = ?", id)
	return c, err
}

// Content returns everything needed to generate a job's emails to its first list: the campaign copy, the content frozen
// with it and, for everything else, the current list and tenant. If the list or the tenant no longer exists, or the
// template or its layout does not exist yet, it returns core.ErrNotFound.
func (s *Store) Content(ctx context.Context, j *core.SendJob) (core.Content, error) {
	return s.ContentOf(ctx, j, j.ListID)
}

// ContentOf is like Content, for any list of the job.
func (s *Store) ContentOf(ctx context.Context, j *core.SendJob, listID string) (c core.Content, err error) {
	if c.Copy, err = s.CampaignCopy(ctx, j.CopyID); err != nil {
		return c, err
	}
	place := 0
	if listID != j.ListID {
		if place, err = s.placeOf(ctx, j, listID); err != nil {
			return c, err
		}
	}
	if c.List, err = s.List(ctx, listID); err != nil {
		return c, err
	}
	if c.Tenant, err = s.Tenant(ctx, j.TenantID); err != nil {
		return c, err
	}
	f, err := s.frozen(ctx, j.CopyID)
	if errors.Is(err, core.ErrNotFound) {
		f, err = core.Freeze(&c.Copy, &c.List, &c.Tenant), nil
	}
	if err != nil {
		return c, err
	}
	if place > 0 && place <= len(f.ListNames) {
		f.ListName = f.ListNames[place-1]
	}
	f.Restore(&c)
	if f.Resolved {
		return c, nil
	}
	if c.Template, err = s.Template(ctx, j.TenantID, f.TemplateName); err != nil || c.Template.Layout == "" {
		return c, err
	}
	c.Layout, err = s.Template(ctx, j.TenantID, c.Template.Layout)
	return c, err
}

// CancelSendJob cancels a job that has not ended and returns the job. An ended job stays unchanged. After CancelSendJob
// returns, only emails that were already in progress are still sent. If there is no such job, it returns
// core.ErrJobNotFound.
func (s *Store) CancelSendJob(ctx context.Context, id string, now core.Instant) (j core.SendJob, err error) {
	err = s.Update(ctx, s.ByActor(ctx, "job.cancel", "", id, func(tx *db.Tx) error {
		if j, err = sendJob(tx, id); err != nil {
			return err
		}
		if !j.Cancel(now) {
			return nil
		}
		return moveJob(tx, &j)
	}))
	return j, err
}

// moveJob stores the changed status of a job.
func moveJob(tx *db.Tx, j *core.SendJob) error {
	changed(tx, j.No)
	if j.Status.Final() {
		if j.Status != core.JobCompleted { // in a completed job, every recipient has an outcome
			tx.Departs(j.TenantID)
		}
		if _, err := tx.Exec("UPDATE send_job SET pause_reason = '' WHERE no = ? AND paused_at = 0", j.No); err != nil {
			return err
		}
	}
	return tx.One("UPDATE send_job SET status = ?, started_at = ?, finished_at = ?, failure_reason = ? WHERE no = ?",
		string(j.Status), int64(j.StartedAt), int64(j.FinishedAt), j.FailureReason, j.No)
}

// FailSendJob ends a job for a reason that affects all its recipients. An ended job stays unchanged. If there is no
// such job, it returns core.ErrJobNotFound.
func (s *Store) FailSendJob(ctx context.Context, no int64, reason string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		j, err := sendJobNo(tx, no)
		if err != nil || !j.Fail(reason, now) {
			return err
		}
		return moveJob(tx, &j)
	})
}

// SetJobTransport records how a job's emails are sent, in the form of core.SendJob.Transport. Its only error is
// core.ErrStorage.
func SetJobTransport(ctx context.Context, s *db.DB, no int64, transport string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE send_job SET transport = ? WHERE no = ?", transport, no)
		return err
	})
}

// FinishSendJob completes a job if all its recipients have an outcome. Otherwise it changes nothing. If there is no
// such job, it returns core.ErrJobNotFound.
func (s *Store) FinishSendJob(ctx context.Context, no int64, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error { return finishJob(tx, no, now) })
}

func finishJob(tx *db.Tx, no int64, now core.Instant) error {
	j, err := sendJobNo(tx, no)
	if err != nil || !j.Finish(now) {
		return err
	}
	return moveJob(tx, &j)
}

// CancelJobsOf cancels the jobs of a deleted list or tenant.
func CancelJobsOf(tx *db.Tx, listID, tenantID string, now core.Instant) error {
	_, err := tx.Exec(`UPDATE send_job SET status = 'cancelled', finished_at = ?3,
		pause_reason = CASE WHEN paused_at = 0 THEN '' ELSE pause_reason END WHERE status IN ('pending', 'running')
		AND (list_id = ?1 OR tenant_id = ?2 OR no IN (SELECT job_no FROM further_list INDEXED BY
		further_list_list WHERE list_id = ?1))`, listID, tenantID, int64(now))
	return err
}
