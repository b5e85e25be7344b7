package campaigns

import (
	"bytes"
	"context"
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

// Deferral is how many recipients of a running job wait for another try, when the next of them is due and when the last
// is given up.
const Deferral = `iif(send_job.status = 'running', deferred, 0) AS deferred,
	iif(send_job.status = 'running' AND deferred > 0, coalesce((SELECT min(due_at) FROM recipient
	INDEXED BY recipient_deferred WHERE job_no = send_job.no AND state = ` + sqlRecipientDeferred + `), 0), 0)
	AS next_attempt_at, iif(send_job.status = 'running' AND deferred > 0, gives_up_at, 0) AS gives_up_at`

// switchedOff is why a job waits that no one has paused: one of its lists, or its tenant, is not active. Empty: it
// doesn't.
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

// IdempotencyTTL is how long an Idempotency-Key is remembered.
const IdempotencyTTL = 7 * 24 * time.Hour

// JobRequest asks for a send job.
type JobRequest struct {
	core.NewJob
	Caller         core.Caller
	CreatedBy      string        // who asked, as audit names an actor
	IdempotencyKey string        // empty: none
	BodyHash       []byte        // of the request, with the key
	DuplicateGuard time.Duration // refuse a job with the same content within that time; 0: never
	Force          bool          // without the second person that the tenant asks for
}

// AddSendJob makes a job and its campaign. Its checks come in this order: the list is one that the caller may send to
// (else Invalid on list_id), tenant_id does not contradict it (Invalid), an Idempotency-Key that was used before (the
// first job again, or Conflict with another body; with a new key the times are judged here), list and tenant are
// active, no second person has to approve it (core.ErrApprovalRequired), the duplicate guard (Conflict). known reports
// whether the template that it names exists now.
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
		if err := guardDuplicate(tx, &campaign, r, now); err != nil {
			return err
		}
		if err := tx.Watch("send_job", j.ID); err != nil {
			return err
		}
		if err := addSendJob(tx, &j, &campaign); err != nil {
			return err
		}
		if _, err := freeze(tx, &campaign, &list, &tenant); err != nil {
			return err
		}
		return tx.Audit(now, r.CreatedBy, "job.create", j.TenantID, j.ID)
	})
	return j, known, err
}

// repeated looks the Idempotency-Key up and keeps a new one. done: j is the job that the key made.
func repeated(tx *db.Tx, j *core.SendJob, r JobRequest, now core.Instant) (done bool, err error) {
	first, err := keyed(tx, j.TenantID, r.IdempotencyKey, r.BodyHash, j.ID, now)
	if err != nil || first == "" {
		return false, err
	}
	if *j, err = sendJob(tx, first); err != nil {
		return false, err
	}
	j.Status = core.JobPending // as the first answer said
	return true, nil
}

// keyed returns the id of the record, a send job or a campaign, that a request with an Idempotency-Key has made; empty:
// the key is new, and is kept with the id of the record that it makes now. It returns a Conflict where the key came
// with another body.
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

// maySend returns the tenant of a list. It refuses jobs of lists and tenants that are switched off.
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

// guardDuplicate refuses an unscheduled job whose content equals that of another one made a short time ago.
func guardDuplicate(tx *db.Tx, c *core.CampaignCopy, r JobRequest, now core.Instant) error {
	if r.DuplicateGuard == 0 || r.ScheduledAt != 0 || r.WindowStart != 0 {
		return nil
	}
	var same int
	err := tx.Get(&same, `SELECT count(*) FROM send_job AS j INDEXED BY send_job_list
		CROSS JOIN campaign_copy AS c INDEXED BY sqlite_autoindex_campaign_copy_1 ON c.id = j.copy_id
		WHERE j.list_id = ?1 AND j.created_at > ?2 AND j.status != 'cancelled' AND c.subject = ?3 AND c.body_html = ?4
		AND c.body_text = ?5
		AND c.template = ?6`, r.ListID, int64(now.Add(-r.DuplicateGuard)), c.Subject, c.BodyHTML, c.BodyText,
		c.Template)
	if err == nil && same > 0 {
		return core.Conflictf("conflict",
			"An identical send job was created moments ago. Wait a few minutes if you want to send it twice.")
	}
	return err
}

func addSendJob(tx *db.Tx, j *core.SendJob, c *core.CampaignCopy) error {
	if _, err := db.InsertRow(tx, &copyTable, c); err != nil {
		return err
	}
	if err := insertSendJob(tx, j); err != nil {
		return err
	}
	campaign := core.CampaignOfJob(j, c)
	return addCampaign(tx, &campaign, []string{j.ListID}, "")
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
	tx.Kick(db.TopicJobs)
	_, err = tx.Exec(
		"UPDATE send_job SET tracked = coalesce((SELECT track_open + 2 * track_click + 4 * totals FROM campaign_copy "+
			"WHERE id = ?), 0) WHERE no = ?",
		j.CopyID,
		j.No,
	)
	return err
}

// SendJob reads one job with its counters. core.ErrJobNotFound where there is none, or its tenant was deleted.
func (s *Store) SendJob(ctx context.Context, id string) (j core.SendJob, err error) {
	err = s.Get(ctx, &j, "SELECT "+sendJobColumns+` FROM send_job WHERE id = ?
		AND tenant_id IN (SELECT id FROM tenant WHERE deleted_at = 0)`, id)
	return j, noJob(err)
}

// SendJobByNo reads one job by its number. core.ErrJobNotFound where there is none.
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

// CampaignCopy reads the content of a job. core.ErrNotFound.
func (s *Store) CampaignCopy(ctx context.Context, id string) (c core.CampaignCopy, err error) {
	err = s.Get(ctx, &c, "SELECT "+copyColumns+" FROM campaign_copy WHERE id = ?", id)
	return c, err
}

// Content reads all that the mails of a job to the readers of its first list are made of: its campaign and what was
// frozen with it; the rest of list and tenant as they are now. core.ErrNotFound: the list or the tenant is gone, or the
// template, or its layout, does not exist yet.
func (s *Store) Content(ctx context.Context, j *core.SendJob) (core.Content, error) {
	return s.ContentOf(ctx, j, j.ListID)
}

// ContentOf is Content for the readers of one of the job's lists.
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

// CancelSendJob ends a job that has not ended; else it changes nothing. What it returns is the job as it is then. When
// it returns, no message that was not in flight already is sent. It returns core.ErrJobNotFound where there is no such
// job.
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

// moveJob keeps the new state of a job.
func moveJob(tx *db.Tx, j *core.SendJob) error {
	tx.Kick(db.TopicJobs)
	if j.Status.Final() {
		tx.Departs()
		if _, err := tx.Exec("UPDATE send_job SET pause_reason = '' WHERE no = ? AND paused_at = 0", j.No); err != nil {
			return err
		}
	}
	return tx.One("UPDATE send_job SET status = ?, started_at = ?, finished_at = ?, failure_reason = ? WHERE no = ?",
		string(j.Status), int64(j.StartedAt), int64(j.FinishedAt), j.FailureReason, j.No)
}

// FailSendJob ends a job for a cause that hits all its recipients, unless it has ended already. It returns
// core.ErrJobNotFound where there is no such job.
func (s *Store) FailSendJob(ctx context.Context, no int64, reason string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		j, err := sendJobNo(tx, no)
		if err != nil || !j.Fail(reason, now) {
			return err
		}
		return moveJob(tx, &j)
	})
}

// SetJobTransport notes where the emails of a job go, as core.SendJob.Transport has it. Its only error is core.ErrStorage.
func SetJobTransport(ctx context.Context, s *db.DB, no int64, transport string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE send_job SET transport = ? WHERE no = ?", transport, no)
		return err
	})
}

// FinishSendJob completes a job of which every recipient has an outcome; else it changes nothing. It returns
// core.ErrJobNotFound where there is no such job.
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

// CancelJobsOf ends the jobs of a list, or of a tenant, that was deleted.
func CancelJobsOf(tx *db.Tx, listID, tenantID string, now core.Instant) error {
	_, err := tx.Exec(`UPDATE send_job SET status = 'cancelled', finished_at = ?3,
		pause_reason = CASE WHEN paused_at = 0 THEN '' ELSE pause_reason END WHERE status IN ('pending', 'running')
		AND (list_id = ?1 OR tenant_id = ?2 OR no IN (SELECT job_no FROM further_list INDEXED BY
		further_list_list WHERE list_id = ?1))`, listID, tenantID, int64(now))
	return err
}
