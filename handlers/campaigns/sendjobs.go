package campaigns

import (
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
)

// sendjobs serves /api/send-jobs.
type sendjobs struct{ *Room }

// maxSendJob is the maximum size of a send job's request body. Each of the email's two bodies may take up a fifth.
const maxSendJob = 5 * web.MiB

// TrackingOptions is the specification's TrackingOptions.
type TrackingOptions struct {
	Open  bool `json:"open" about:"Track opens"`
	Click bool `json:"click" about:"Track clicks"`

	warnings []string // warnings about its keys
}

// sendJobRoutes adds the routes for send jobs of the send service.
func (r *Room) sendJobRoutes(t *web.Table) {
	jobs := sendjobs{r}
	one := func(e web.Endpoint) web.Endpoint { return e.Find(jobs.find).Missing(core.ErrJobNotFound) }
	t.Add("POST", "/api/send-jobs", web.Sending(core.ActionCampaignSend), web.Send,
		web.JSON(jobs.create).MaxBody(maxSendJob).Fails(core.Forbidden, core.Conflict), "Create a send job for a list").
		Named("createJob").
		Limits(hasContent).
		Example(web.Object{
			"list_id": web.ExampleID, "name": "May", "subject": "Our news in May",
			"body_html": "<p>Hello {{preferences.first_name | default: \"you\"}}</p>",
			"tracking":  web.Object{"open": false, "click": false},
		}).
		Refuses(times...).
		Refuses(
			web.Refused("list_id", "The list doesn't exist"),
			web.Refused("tenant_id", "The list belongs to another tenant"),
			web.Refused("segment_id", "null, or the list's tenant has no such segment"),
			web.Clashing(core.CodeUndecided, "", "A condition of the segment can't be evaluated"),
			web.Refused("body_html", "The placeholders are malformed"),
			web.Refused("body_text", "The placeholders are malformed"),
			web.Refused("subject", "The placeholders are malformed"),
			web.Refused("template.mailer_template_name", "Not a string, or no template has this name"),
			web.Refused("template.unsubscribe_url", "Not an absolute URL, or {{unsubscribe_token}} is missing"),
			web.Refused("template.preheader", "Not a string"), web.Clash("The same job was created shortly before"),
			web.Clashing("list_inactive", "", "The list isn't active"),
			web.Clashing("tenant_suspended", "", "The tenant is suspended"),
		)
	t.Add("GET", "/api/send-jobs", web.Sent(core.ActionFiguresRead), web.Send,
		web.List(jobs.list, sendJob.key), "List send jobs, newest first").Named("listJobs")
	t.Add("GET", "/api/send-jobs/:id", web.Sent(core.ActionFiguresRead), web.Send,
		one(web.Path(jobs.show)), "Show a send job").Named("getJob")
	t.Add("PATCH", "/api/send-jobs/:id", web.Sending(core.ActionCampaignSend).Fresh(), web.Send,
		one(web.JSON(jobs.move)).Fails(core.Conflict),
		"Reschedule a send job that hasn't started; fields you leave out stay unchanged, empty fields are removed").
		Named("moveJob").
		Example(web.Object{"scheduled_at": "2099-01-31T08:00:00Z"}).
		Refuses(append(times, web.NoZone, web.Clash("The job has started or ended"))...)
	t.Add("POST", "/api/send-jobs/:id/cancel", web.Sending(core.ActionCampaignSend), web.Send,
		one(web.Path(jobs.cancel)), "Cancel a send job").Named("cancelJob")
	t.Add("GET", "/api/send-jobs/:id/stats", web.Sent(core.ActionFiguresRead), web.Send,
		one(web.Path(jobs.stats)), "Show a send job's counts").Named("getJobStats")
	t.Add("GET", "/api/send-jobs/:id/failures", web.Sent(core.ActionFiguresRead), web.Send,
		one(web.Path(jobs.failures)), "Count a send job's undelivered emails by reason").Named("listJobFailures")
	t.Add("GET", "/api/send-jobs/:id/recipients", web.Sent(core.ActionPeopleRead), web.Send,
		one(web.Search(jobs.recipients)), "List the recipients of a send job with their status").Named("listJobRecipients").
		Refuses(web.Refused("search", "Too long"))
	t.Add("GET", "/api/send-jobs/:id/recipients/export", web.Sent(core.ActionPeopleExport).Fresh(), web.Send,
		one(web.Write(jobs.exportRecipients).Answers("text/csv")),
		"Export the recipients of a send job as CSV").Named("exportRecipients").
		Refuses(web.Refused("search", "Too long"))
	t.Add("GET", "/api/send-jobs/:id/links", web.Sent(core.ActionFiguresRead), web.Send,
		one(web.Path(jobs.links)), "List a send job's tracked links with click counts").Named("listJobLinks")
	t.Add("GET", "/api/send-jobs/history", web.Sent(core.ActionPeopleRead), web.Send,
		web.List(jobs.history, core.Mailed.Key).Fails(core.Forbidden), "List all emails sent to an address, newest first").
		Named("listMailsToAddress").
		Refuses(web.BadEmail)
	t.Add("POST", "/api/send-jobs/:id/preview", web.Sent(core.ActionCampaignRead), web.Send,
		one(web.JSON(jobs.preview).BodyOptional()), "Preview a send job's email").Named("previewJob").
		Example(web.Object{"email": "reader@example.org"}).
		Refuses(
			web.Refused("email", "Not a subscriber of the list, or different from the address in the URL"),
			web.BadEmail,
		)
	t.Add("POST", "/api/send-jobs/:id/test", web.Sent(core.ActionTestSend), web.Send,
		one(web.JSON(jobs.test)).Fails(core.TooMany), "Send a test of a send job; editors can only use the team's addresses").
		Named("sendTestMail").
		Example(web.Object{"email": "reader@example.org"}).
		Refuses(web.Refused("email", "The address is blocked"), web.BadEmail)
	t.Add("POST", "/api/send-jobs/:id/pause", web.Sending(core.ActionCampaignSend), web.Send,
		one(web.Path(jobs.pause)).Fails(core.Conflict), "Pause a send job; emails already in progress are still sent").
		Named("pauseJob").
		Refuses(web.Clash("The job has ended or is paused"))
	t.Add("POST", "/api/send-jobs/:id/resume", web.Sending(core.ActionCampaignSend).Fresh(), web.Send,
		one(web.Path(jobs.resume)).Fails(core.Conflict), "Resume a paused send job").Named("resumeJob").
		Refuses(web.Clash("The job has ended, isn't paused, or is waiting for something else"))
	t.Add("POST", "/api/send-jobs/:id/retry-failed", web.Sending(core.ActionCampaignSend).Fresh(), web.Send,
		one(web.Path(jobs.retry)).Created().Fails(core.Conflict),
		"Resend an ended send job to the recipients it didn't reach").Named("retryJob").
		Refuses(web.Clash("The job hasn't ended, has reached everyone, or was already retried"))
}

// JudgeKeys implements the web package's interface keyJudge.
func (t *TrackingOptions) JudgeKeys(unknown []string) (err error) {
	t.warnings, err = core.JudgeJobKeys(core.JobTracking, unknown)
	return err
}

// createSendJobRequest is the specification's CreateSendJobRequest, with both spellings of its fields.
type createSendJobRequest struct {
	TenantID      string           `json:"tenant_id" is:"uuid"`
	TenantIDc     string           `json:"tenantId" is:"uuid"`
	ListID        string           `json:"list_id" is:"uuid,needed"`
	ListIDc       string           `json:"listId" is:"uuid"`
	SegmentID     string           `json:"segment_id" is:"uuid,value"`
	SegmentIDc    string           `json:"segmentId" is:"uuid,value"`
	Name          string           `json:"name" like:"line" max:"998" about:"Name of the campaign; defaults to the subject"`
	Subject       string           `json:"subject" is:"required" like:"name" max:"998"`
	BodyHTML      *string          `json:"body_html"`
	BodyHTMLc     *string          `json:"bodyHtml"`
	BodyText      *string          `json:"body_text"`
	BodyTextc     *string          `json:"bodyText"`
	Template      json.RawMessage  `json:"template" about:"Settings: unsubscribe_url (with {{unsubscribe_token}}), mailer_template_name"`
	ScheduledAt   core.Instant     `json:"scheduled_at"`
	ScheduledAtc  core.Instant     `json:"scheduledAt"`
	WindowStart   core.Instant     `json:"window_start"`
	WindowStartc  core.Instant     `json:"windowStart"`
	WindowEnd     core.Instant     `json:"window_end"`
	WindowEndc    core.Instant     `json:"windowEnd"`
	Tracking      *TrackingOptions `json:"tracking" about:"Opens and clicks to track; both off by default"`
	IdempotencyID *string          `header:"Idempotency-Key" like:"idempotency_key"`

	warnings []string // warnings about its keys
}

// JudgeKeys implements the web package's interface keyJudge.
func (in *createSendJobRequest) JudgeKeys(unknown []string) (err error) {
	in.warnings, err = core.JudgeJobKeys(core.JobBody, unknown)
	return err
}

// keyWarnings returns the warnings about unknown keys in the request.
func (in *createSendJobRequest) keyWarnings() []string {
	if in.Tracking == nil {
		return in.warnings
	}
	return append(in.warnings, in.Tracking.warnings...)
}

// hasContent holds the OpenAPI limits for the body of a request for a send job, which needs HTML, text or a template.
var hasContent = web.Object{"not": web.Object{"anyOf": []web.Object{{"not": web.Object{"anyOf": []web.Object{
	{"required": []string{"body_html"}, "properties": web.Object{"body_html": web.Object{"minLength": 1}}},
	{"required": []string{"body_text"}, "properties": web.Object{"body_text": web.Object{"minLength": 1}}},
	{"required": []string{"template"}},
}}}}}}

// fold copies the value of a field's camelCase spelling to its snake_case spelling. If both are set, they must agree.
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

// foldText is like fold, for strings that may be set but empty.
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
	return core.Invalidf(field, "%s is set in snake_case and camelCase, with different values. Send only one of them.",
		field)
}

// given returns *s, or an empty string if s is nil.
func given(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func (in *createSendJobRequest) CheckInput() error {
	for _, err := range []error{
		fold("tenant_id", &in.TenantID, in.TenantIDc), fold("list_id", &in.ListID, in.ListIDc),
		fold("segment_id", &in.SegmentID, in.SegmentIDc),
		foldText("body_html", &in.BodyHTML, in.BodyHTMLc), foldText("body_text", &in.BodyText, in.BodyTextc),
		fold("scheduled_at", &in.ScheduledAt, in.ScheduledAtc), fold("window_start", &in.WindowStart, in.WindowStartc),
		fold("window_end", &in.WindowEnd, in.WindowEndc),
	} {
		if err != nil {
			return err
		}
	}
	if len(in.Template) > 0 && in.Template[0] != '{' {
		return core.Invalidf("template", "template must be a JSON object.")
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
			return core.Invalidf("Idempotency-Key", "Idempotency-Key must contain only printable ASCII characters.")
		}
	}
	if len(*key) < 1 || len(*key) > 255 {
		return core.Invalidf("Idempotency-Key", "Idempotency-Key must have 1 to 255 characters.")
	}
	return nil
}

func (in *createSendJobRequest) job() core.NewJob {
	n := core.NewJob{
		TenantID: in.TenantID, ListID: in.ListID, Name: in.Name, Subject: in.Subject,
		SegmentID: in.SegmentID, BodyHTML: given(in.BodyHTML), BodyText: given(in.BodyText),
		Template: in.Template, ScheduledAt: in.ScheduledAt, WindowStart: in.WindowStart, WindowEnd: in.WindowEnd,
	}
	if in.Tracking != nil {
		n.TrackOpen, n.TrackClick = in.Tracking.Open, in.Tracking.Click
	}
	return n
}

// createSendJobResponse is the specification's CreateSendJobResponse.
type createSendJobResponse struct {
	SendJobID  string         `json:"send_job_id"`
	SendJobIDc string         `json:"sendJobId"`
	Status     core.JobStatus `json:"status" enum:"pending|running|completed|failed|cancelled" about:"Status of the send job"`
	Warnings   []string       `json:"warnings,omitempty" about:"Problems of the request that don't prevent sending; absent: none"`
}

func (a sendjobs) create(c *web.Call, in createSendJobRequest) (out createSendJobResponse, err error) {
	n, at := in.job(), c.Now
	if in.IdempotencyID != nil {
		at = 0 // the window is checked after the key, because the first response stays valid for longer
	}
	if err := n.Validate(at); err != nil {
		return out, err
	}
	warnings, err := mail.TryContent(&n)
	if err != nil {
		return out, err
	}
	if n.TenantID != "" {
		if err := web.MayFor(c, n.TenantID); err != nil {
			return out, err
		}
	}
	r := campaigns.JobRequest{NewJob: n, Caller: c.Caller, CreatedBy: web.Actor(c), DuplicateGuard: a.DuplicateGuard}
	if in.IdempotencyID != nil {
		sum := sha256.Sum256(c.Body())
		r.IdempotencyKey, r.BodyHash = *in.IdempotencyID, sum[:]
	}
	j, known, err := a.Store.AddSendJob(c, r, c.Now)
	if err != nil {
		return out, err
	}
	c.Tenant = j.TenantID
	warnings = append(in.keyWarnings(), warnings...)
	if n.ScheduledInPast(j.CreatedAt) {
		warnings = append(warnings, "scheduled_at is in the past. The send job starts immediately.")
	}
	if !known {
		warnings = append(warnings, "The template does not exist. Create it before the send job starts, or the job "+
			"fails.")
	}
	if n.TrackOpen || n.TrackClick {
		if t, err := a.Store.Tenant(c, j.TenantID); err == nil && t.NoTracking {
			warnings = append(warnings, "This tenant does not allow tracking. The send job is not tracked.")
		} else if err == nil && t.TotalsOnly {
			warnings = append(warnings, "This tenant counts opens and clicks only in total (totals_only).")
		} else if err == nil && t.TrackingConsent {
			warnings = append(warnings, "Opens and clicks are tracked per subscriber only for subscribers who "+
				"consented (tracking_consent). For others, only totals are counted.")
		}
	}
	return createSendJobResponse{j.ID, j.ID, j.Status, warnings}, nil
}

// sendJob is the specification's SendJob with this server's additions. Its fields have both spellings.
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

// key returns the sort key for the list of jobs.
func (j sendJob) key() string { return strconv.FormatInt(j.No, 10) }

// find reads the job in the path. If the caller may not see it, find returns a 404 error.
func (a sendjobs) find(c *web.Call) error {
	j, err := a.Store.SendJob(c, c.ID())
	return web.OwnRecord(c, j.TenantID, core.ActionFiguresRead, err, core.ErrJobNotFound)
}

func (a sendjobs) show(c *web.Call, id string) (sendJob, error) {
	v, err := a.Store.JobView(c, id)
	return sendJobOf(&v), err
}

// sendJobStatusResponse is the specification's SendJobStatusResponse.
type sendJobStatusResponse struct {
	ID     string         `json:"id"`
	Status core.JobStatus `json:"status" enum:"pending|running|completed|failed|cancelled" about:"Status of the send job"`
}

func (a sendjobs) cancel(c *web.Call, id string) (sendJobStatusResponse, error) {
	j, err := a.Store.CancelSendJob(db.By(c, web.Actor(c), c.Now), id, c.Now)
	return sendJobStatusResponse{j.ID, j.Status}, err
}

// jobTimes is the body of a request to change a send job's times.
type jobTimes struct {
	ScheduledAt *string `json:"scheduled_at" like:"time" about:"Start; now if empty; without an offset, in time_zone"`
	WindowStart *string `json:"window_start" like:"time" about:"Sending waits until this time; no limit if empty"`
	WindowEnd   *string `json:"window_end" like:"time" about:"End of sending; recipients not reached by then get no email; empty: no end"`
	TimeZone    string  `json:"time_zone" max:"64" about:"IANA time zone; defaults to the tenant's"`
}

// JudgeKeys implements the web package's interface keyJudge.
func (in *jobTimes) JudgeKeys(unknown []string) error {
	for _, key := range unknown {
		return core.Invalidf(key,
			"%s can't be changed. Leave it out: only scheduled_at, window_start and window_end can be changed.", key)
	}
	return nil
}

// move changes the times of a job that hasn't started.
func (a sendjobs) move(c *web.Call, in jobTimes) (sendJob, error) {
	j, err := a.Store.SendJob(c, c.ID())
	if err != nil {
		return sendJob{}, err
	}
	t, err := a.Store.Tenant(c, j.TenantID)
	if err != nil {
		return sendJob{}, err
	}
	zone, err := t.ZoneOf(in.TimeZone)
	if err != nil {
		return sendJob{}, err
	}
	var to core.JobTimes
	for _, f := range []struct {
		field string
		text  *string
		to    **core.Instant
	}{
		{"scheduled_at", in.ScheduledAt, &to.ScheduledAt},
		{"window_start", in.WindowStart, &to.WindowStart},
		{"window_end", in.WindowEnd, &to.WindowEnd},
	} {
		if f.text == nil {
			continue
		}
		at, err := core.ParseTime(f.field, *f.text, zone)
		if err != nil {
			return sendJob{}, err
		}
		*f.to = &at
	}
	if _, err := a.Store.MoveSendJob(c, j.ID, web.Actor(c), to, c.Now); err != nil {
		return sendJob{}, err
	}
	return a.show(c, j.ID)
}

func (a sendjobs) pause(c *web.Call, id string) (sendJob, error) {
	if _, err := a.Store.PauseSendJobBy(c, id, web.Actor(c), c.Now); err != nil {
		return sendJob{}, err
	}
	return a.show(c, id)
}

// resume resumes a paused job. Only a server administrator can resume a job that newsletterd paused because it might
// harm others or send emails twice, such as after a database restore.
func (a sendjobs) resume(c *web.Call, id string) (sendJob, error) {
	err := a.mayGoOn(c, id)
	if err == nil {
		_, err = a.Store.ResumeSendJob(c, id, web.Actor(c), c.Now)
	}
	if err != nil {
		return sendJob{}, err
	}
	return a.show(c, id)
}

func (a sendjobs) mayGoOn(c *web.Call, id string) error {
	j, err := a.Store.SendJob(c, id)
	if err == nil && j.PausedForHarm() && !web.IsOperator(c) {
		err = core.Forbiddenf("The send job is paused: %s. Ask a server administrator to resume it.", j.PauseReason)
	}
	return err
}

// retry sends to the recipients that an ended job has not reached. If the job was canceled while only a server
// administrator could resume it, only a server administrator can retry it.
func (a sendjobs) retry(c *web.Call, id string) (sendJob, error) {
	if err := a.mayGoOn(c, id); err != nil {
		return sendJob{}, err
	}
	j, err := a.Store.RetryFailed(c, id, web.Actor(c), c.Now)
	if err != nil {
		return sendJob{}, err
	}
	return a.show(c, j.ID)
}

// jobFilter filters the list of jobs.
type jobFilter struct {
	TenantID string         `query:"tenant_id"`
	Status   core.JobStatus `query:"status" enum:"pending|running|completed|failed|cancelled" about:"Only jobs with this status"`
	ListID   string         `query:"list_id"`

	CampaignID string `query:"campaign_id" about:"Jobs of these campaigns and their retries; up to 100 IDs, separated by commas; list_id is ignored"`
}

// maxJobCampaigns is the maximum number of ids in campaign_id.
const maxJobCampaigns = 100

func (in *jobFilter) CheckInput() error {
	ids := in.campaigns()
	if len(ids) > maxJobCampaigns {
		return core.Invalidf("campaign_id", "campaign_id must have at most %d IDs. Remove some.", maxJobCampaigns)
	}
	if slices.Contains(ids, "") {
		return core.Invalidf("campaign_id", "campaign_id contains an empty ID. Separate the IDs with single commas.")
	}
	return nil
}

// campaigns returns the ids in campaign_id, or nil for any campaign.
func (in *jobFilter) campaigns() []string {
	if in.CampaignID == "" {
		return nil
	}
	return strings.Split(in.CampaignID, ",")
}

func (a sendjobs) list(c *web.Call, in jobFilter, page core.Page) ([]sendJob, error) {
	tenants, all, err := web.TenantsFor(c, web.TenantFilter{TenantID: in.TenantID})
	if err != nil {
		return nil, err
	}
	jobs, err := a.Store.JobViews(c, campaigns.JobFilter{
		Tenants: tenants, All: all, Status: in.Status, ListID: in.ListID, CampaignIDs: in.campaigns(),
	}, page)
	return web.RowsOf(jobs, sendJobOf), err
}

func (a sendjobs) stats(c *web.Call, id string) (core.Stats, error) {
	v, err := a.Store.JobView(c, id)
	return v.Stats, err
}
