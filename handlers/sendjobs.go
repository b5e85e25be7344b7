package handlers

import (
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail"
	"newsletterd/store"
)

// sendjobs serves /api/send-jobs.
type sendjobs struct {
	store  *store.Store
	sealer *auth.Sealer  // of the links in previews
	guard  time.Duration // in which the same content is not sent to a list again; 0: it is
}

// maxSendJob is the size of a send job's body; each of its two bodies may have a fifth of it.
const maxSendJob = 5 * web.MiB

// tracking are the specification's TrackingOptions.
type tracking struct {
	Open  bool `json:"open"`
	Click bool `json:"click"`

	warnings []string // about its keys
}

// JudgeKeys implements keyJudge.
func (t *tracking) JudgeKeys(unknown []string) (err error) {
	t.warnings, err = core.JudgeJobKeys(core.JobTracking, unknown)
	return err
}

// sendJobRequest is CreateSendJobRequest in both spellings.
type sendJobRequest struct {
	TenantID      string          `json:"tenant_id" is:"uuid"`
	TenantIDc     string          `json:"tenantId" is:"uuid"`
	ListID        string          `json:"list_id" is:"uuid"`
	ListIDc       string          `json:"listId" is:"uuid"`
	Name          string          `json:"name"`
	Subject       string          `json:"subject" is:"required"`
	BodyHTML      *string         `json:"body_html"`
	BodyHTMLc     *string         `json:"bodyHtml"`
	BodyText      *string         `json:"body_text"`
	BodyTextc     *string         `json:"bodyText"`
	Template      json.RawMessage `json:"template"`
	ScheduledAt   core.Instant    `json:"scheduled_at"`
	ScheduledAtc  core.Instant    `json:"scheduledAt"`
	WindowStart   core.Instant    `json:"window_start"`
	WindowStartc  core.Instant    `json:"windowStart"`
	WindowEnd     core.Instant    `json:"window_end"`
	WindowEndc    core.Instant    `json:"windowEnd"`
	Tracking      *tracking       `json:"tracking"`
	IdempotencyID *string         `header:"Idempotency-Key"`

	warnings []string // about its keys
}

// JudgeKeys implements keyJudge.
func (in *sendJobRequest) JudgeKeys(unknown []string) (err error) {
	in.warnings, err = core.JudgeJobKeys(core.JobBody, unknown)
	return err
}

// keyWarnings are those about unknown keys of the request.
func (in *sendJobRequest) keyWarnings() []string {
	if in.Tracking == nil {
		return in.warnings
	}
	return append(in.warnings, in.Tracking.warnings...)
}

// fold brings the camelCase spelling of a field into the other one; both may be given if they agree.
func fold[T comparable](field string, snake *T, camel T) error {
	var none T
	switch {
	case camel == none || camel == *snake:
		return nil
	case *snake != none:
		return contradiction(field)
	}
	*snake = camel
	return nil
}

// foldText does the same for texts, which may be given and empty.
func foldText(field string, snake **string, camel *string) error {
	switch {
	case camel == nil:
		return nil
	case *snake != nil && **snake != *camel:
		return contradiction(field)
	}
	*snake = camel
	return nil
}

func contradiction(field string) error {
	return core.Invalidf(field, "%s is given in both spellings, with different values.", field)
}

// given is a text, empty where there is none.
func given(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (in *sendJobRequest) CheckInput() error {
	for _, err := range []error{
		fold("tenant_id", &in.TenantID, in.TenantIDc), fold("list_id", &in.ListID, in.ListIDc),
		foldText("body_html", &in.BodyHTML, in.BodyHTMLc), foldText("body_text", &in.BodyText, in.BodyTextc),
		fold("scheduled_at", &in.ScheduledAt, in.ScheduledAtc), fold("window_start", &in.WindowStart, in.WindowStartc),
		fold("window_end", &in.WindowEnd, in.WindowEndc),
	} {
		if err != nil {
			return err
		}
	}
	if len(in.Template) > 0 && in.Template[0] != '{' {
		return core.Invalidf("template", "template must be an object.")
	}
	return validIdempotencyKey(in.IdempotencyID)
}

// validIdempotencyKey accepts 1 to 255 printable ASCII characters.
func validIdempotencyKey(key *string) error {
	if key == nil {
		return nil
	}
	for i := 0; i < len(*key); i++ {
		if c := (*key)[i]; c < ' ' || c > '~' {
			return core.Invalidf("Idempotency-Key", "Idempotency-Key must be printable ASCII.")
		}
	}
	if len(*key) < 1 || len(*key) > 255 {
		return core.Invalidf("Idempotency-Key", "Idempotency-Key must have 1 to 255 characters.")
	}
	return nil
}

func (in *sendJobRequest) job() core.NewJob {
	n := core.NewJob{
		TenantID: in.TenantID, ListID: in.ListID, Name: in.Name, Subject: in.Subject,
		BodyHTML: given(in.BodyHTML), BodyText: given(in.BodyText),
		Template: in.Template, ScheduledAt: in.ScheduledAt, WindowStart: in.WindowStart, WindowEnd: in.WindowEnd,
	}
	if in.Tracking != nil {
		n.TrackOpen, n.TrackClick = in.Tracking.Open, in.Tracking.Click
	}
	return n
}

// createdJob is CreateSendJobResponse.
type createdJob struct {
	SendJobID  string         `json:"send_job_id"`
	SendJobIDc string         `json:"sendJobId"`
	Status     core.JobStatus `json:"status" enum:"pending|running|completed|failed|cancelled"`
	Warnings   []string       `json:"warnings,omitempty"`
}

func (a sendjobs) create(c *web.Call, in sendJobRequest) (out createdJob, err error) {
	n, at := in.job(), c.Now
	if in.IdempotencyID != nil {
		at = 0 // whether a window is over is judged after the key: the first answer holds for longer than the window
	}
	if err := n.Validate(at); err != nil {
		return out, err
	}
	warnings, err := mail.TryContent(&n)
	if err != nil {
		return out, err
	}
	if n.TenantID != "" {
		if err := mayFor(c, n.TenantID); err != nil {
			return out, err
		}
	}
	r := store.JobRequest{NewJob: n, Caller: c.Caller, CreatedBy: actor(c), DuplicateGuard: a.guard}
	if in.IdempotencyID != nil {
		sum := sha256.Sum256(c.Body())
		r.IdempotencyKey, r.BodyHash = *in.IdempotencyID, sum[:]
	}
	j, known, err := a.store.AddSendJob(c, r, c.Now)
	if err != nil {
		return out, err
	}
	c.Tenant = j.TenantID
	warnings = append(in.keyWarnings(), warnings...)
	if n.ScheduledInPast(j.CreatedAt) {
		warnings = append(warnings, "scheduled_at lies in the past; the job starts at once.")
	}
	if !known {
		warnings = append(warnings, "The template does not exist yet; the job fails if it is still missing when it starts.")
	}
	if n.TrackOpen || n.TrackClick {
		if t, err := a.store.Tenant(c, j.TenantID); err == nil && t.NoTracking {
			warnings = append(warnings, "The tenant does not track its readers; the job will not be tracked.")
		} else if err == nil && t.TotalsOnly {
			warnings = append(warnings, "The tenant counts opens and clicks without their readers (totals_only).")
		} else if err == nil && t.TrackingConsent {
			warnings = append(warnings, "Opens and clicks name the readers who have agreed, and count the others without them "+
				"(tracking_consent).")
		}
	}
	return createdJob{j.ID, j.ID, j.Status, warnings}, nil
}

// sendJob is the specification's SendJob, with what we add: a view in both spellings.
type sendJob struct {
	core.JobView
	TenantIDc    string       `json:"tenantId"`
	ListIDc      string       `json:"listId"`
	CampaignIDc  string       `json:"campaignId"`
	ScheduledAtc core.Instant `json:"scheduledAt,omitzero"`
	WindowStartc core.Instant `json:"windowStart,omitzero"`
	WindowEndc   core.Instant `json:"windowEnd,omitzero"`
}

func sendJobOf(v *core.JobView) sendJob {
	return sendJob{*v, v.TenantID, v.ListID, v.CampaignID, v.ScheduledAt, v.WindowStart, v.WindowEnd}
}

// key is by which the list of jobs goes on.
func (j sendJob) key() string { return strconv.FormatInt(j.No, 10) }

// find is the 404 of a job that isn't the caller's to see.
func (a sendjobs) find(c *web.Call) error {
	j, err := a.store.SendJob(c, c.ID())
	return ownRecord(c, j.TenantID, core.ActionFiguresRead, err, core.ErrJobNotFound)
}

func (a sendjobs) show(c *web.Call, id string) (sendJob, error) {
	v, err := a.store.JobView(c, id)
	return sendJobOf(&v), err
}

// jobStatus is SendJobStatusResponse.
type jobStatus struct {
	ID     string         `json:"id"`
	Status core.JobStatus `json:"status" enum:"pending|running|completed|failed|cancelled"`
}

func (a sendjobs) cancel(c *web.Call, id string) (jobStatus, error) {
	j, err := a.store.CancelSendJob(store.By(c, actor(c), c.Now), id, c.Now)
	return jobStatus{j.ID, j.Status}, err
}

func (a sendjobs) pause(c *web.Call, id string) (sendJob, error) {
	if _, err := a.store.PauseSendJobBy(c, id, actor(c), c.Now); err != nil {
		return sendJob{}, err
	}
	return a.show(c, id)
}

// resume lets a paused job go on. One that the daemon has paused because it did harm, or because the file was restored,
// is an operator's to judge.
func (a sendjobs) resume(c *web.Call, id string) (sendJob, error) {
	err := a.mayGoOn(c, id)
	if err == nil {
		_, err = a.store.ResumeSendJob(c, id, actor(c), c.Now)
	}
	if err != nil {
		return sendJob{}, err
	}
	return a.show(c, id)
}

func (a sendjobs) mayGoOn(c *web.Call, id string) error {
	j, err := a.store.SendJob(c, id)
	if err == nil && j.PausedForHarm() && !isOperator(c) {
		err = core.Forbiddenf("An operator decides whether this job goes on; it is paused: %s.", j.PauseReason)
	}
	return err
}

// retry mails those whom an ended job has not reached. One that was cancelled while it was paused for harm is an
// operator's to judge, as before its end.
func (a sendjobs) retry(c *web.Call, id string) (sendJob, error) {
	if err := a.mayGoOn(c, id); err != nil {
		return sendJob{}, err
	}
	j, err := a.store.RetryFailed(c, id, actor(c), c.Now)
	if err != nil {
		return sendJob{}, err
	}
	return a.show(c, j.ID)
}

// jobFilter narrows the list of jobs.
type jobFilter struct {
	TenantID string         `query:"tenant_id"`
	Status   core.JobStatus `query:"status" enum:"pending|running|completed|failed|cancelled"`
	ListID   string         `query:"list_id"`

	CampaignID string `query:"campaign_id"` // with its retries; list_id is not asked for then
}

func (a sendjobs) list(c *web.Call, in jobFilter, page core.Page) ([]sendJob, error) {
	tenants, all, err := tenantsFor(c, tenantFilter{in.TenantID})
	if err != nil {
		return nil, err
	}
	jobs, err := a.store.JobViews(c, store.JobFilter{
		Tenants: tenants, All: all, Status: in.Status, ListID: in.ListID, CampaignID: in.CampaignID,
	}, page)
	return rowsOf(jobs, sendJobOf), err
}

func (a sendjobs) stats(c *web.Call, id string) (core.Stats, error) {
	v, err := a.store.JobView(c, id)
	return v.Stats, err
}

// recipient is what happened to one recipient of a job.
type recipient struct {
	Seq        int64        `json:"seq"`
	Email      string       `json:"email"`
	Name       string       `json:"name,omitempty"` // as it is known today
	ListID     string       `json:"list_id"`        // by which the recipient is reached
	Status     string       `json:"status" enum:"queued|deferred|sent|failed|skipped"`
	Reason     string       `json:"reason,omitempty"`
	Tries      int          `json:"tries"`
	Ambiguous  int          `json:"ambiguous"`
	NextTryAt  core.Instant `json:"next_try_at,omitzero"`
	FinishedAt core.Instant `json:"finished_at,omitzero"`
	// what was reported of it since: delivered, bounced, complained, opened, clicked
	Events []string `json:"events"`
}

// recipientFilter narrows the list of a job's recipients.
type recipientFilter struct {
	Status string     `query:"status" enum:"queued|deferred|sent|failed|skipped"`
	Code   string     `query:"code"`
	Email  core.Email `query:"email"`
	Event  string     `query:"event" enum:"bounced|complained|opened|clicked|machine_opened|machine_clicked"`
	Search string     `query:"search"`
}

func (a sendjobs) recipients(c *web.Call, in recipientFilter, page core.Page) ([]recipient, string, error) {
	j, err := a.store.SendJob(c, c.ID())
	if err != nil {
		return nil, "", err
	}
	f, next := store.RecipientFilter(in), ""
	var rows []core.Recipient
	if in.Search != "" {
		rows, next, err = a.store.FindRecipients(c, &j, f, page)
	} else { // one more than asked for shows whether there is a next page
		rows, err = a.store.Recipients(c, &j, f, core.Page{After: page.After, Limit: page.Limit + 1})
		if len(rows) > page.Limit {
			rows = rows[:page.Limit]
			next = strconv.FormatInt(rows[len(rows)-1].Seq, 10)
		}
	}
	out := make([]recipient, len(rows))
	for i, r := range rows {
		out[i] = recipient{
			r.Seq, r.Email, r.Name, r.ListID, core.RecipientStates[r.State], r.Reason, r.Tries, r.Ambiguous, r.DueAt,
			r.FinishedAt, r.Marks.Names(),
		}
	}
	return out, next, err
}
