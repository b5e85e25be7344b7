package core

import (
	"encoding/json"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// JobStatus is the state of a send job.
type JobStatus string

// The states of a send job: pending → running → completed, failed or cancelled. A pending job may also become
// cancelled or failed. The last three states are final.
const (
	JobPending   JobStatus = "pending"
	JobRunning   JobStatus = "running"
	JobCompleted JobStatus = "completed"
	JobFailed    JobStatus = "failed"
	JobCancelled JobStatus = "cancelled"
)

// Final reports whether the state can no longer change.
func (s JobStatus) Final() bool { return s != JobPending && s != JobRunning }

// Limits for send jobs.
const (
	MaxSubject      = 998     // characters (RFC 5322 section 2.1.1)
	MaxBody         = 1 << 20 // bytes of each body
	MaxTemplateName = 100     // characters
	DefaultTemplate = "default"

	// ScheduleGrace is how far in the past scheduled_at can be, because clocks differ and requests take time.
	ScheduleGrace = time.Minute
)

// The reasons why a recipient was skipped or failed. They are stored and shown, so they must not change.
const (
	ReasonUnsubscribed = "unsubscribed"
	ReasonNoProof      = "no mailed proof"
	ReasonDisabled     = "disabled"
	ReasonSuppressed   = "suppressed"
	ReasonGone         = "no longer a subscriber"
	ReasonCancelled    = "job cancelled"
	ReasonWindow       = "window closed"
	ReasonRelay        = "relay unavailable"
	ReasonTemplate     = "template missing"
	ReasonRender       = "cannot be rendered"
	ReasonListGone     = "list or tenant gone"
	ReasonNoReply      = "no reply to the message, twice"
)

// Stats counts a job's recipients by outcome.
type Stats struct {
	Recipients   int64 `db:"recipients" json:"recipients" about:"Recipients so far; grows until the job has found all of them"`
	Sent         int64 `db:"sent" json:"sent"`
	Delivered    int64 `db:"delivered" json:"delivered" about:"Reported as delivered by the mail provider"`
	Deferred     int64 `db:"deferred" json:"deferred"`
	Failed       int64 `db:"failed" json:"failed"`
	Skipped      int64 `db:"skipped" json:"skipped"`
	Bounced      int64 `db:"bounced" json:"bounced" about:"Bounced, when sending or later"`
	Complained   int64 `db:"complained" json:"complained" about:"Recipients who marked the email as spam"`
	Opened       int64 `db:"opened" json:"opened" about:"Recipients with an open, including automated ones; opens if the emails identify no one"`
	Clicked      int64 `db:"clicked" json:"clicked" about:"Recipients with a click, including automated ones; clicks if the emails identify no one"`
	Unsubscribed int64 `db:"unsubscribed" json:"unsubscribed" about:"Recipients who unsubscribed through this email"`
	Ambiguous    int64 `db:"ambiguous" json:"ambiguous" about:"Sent again: the connection was lost before a response"`

	NextAttemptAt Instant `db:"next_attempt_at" json:"next_attempt_at,omitzero"`
	// GivesUpAt is an upper limit for the last try of any deferred recipient, provided that the relay is available.
	GivesUpAt Instant `db:"gives_up_at" json:"gives_up_at,omitzero"`

	MachineOpened  int64 `db:"machine_opened" json:"machine_opened" about:"Part of opened: automated opens only"`
	MachineClicked int64 `db:"machine_clicked" json:"machine_clicked" about:"Part of clicked: automated clicks only"`

	Opens  *OpenFigures  `db:"-" json:"opens,omitempty" about:"Opens, split into people, image proxies and link scanners"`
	Clicks *ClickFigures `db:"-" json:"clicks,omitempty" about:"Clicks, split into people and link scanners"`
}

// SendJob is one send of a campaign to one or more lists.
type SendJob struct {
	No            int64     `db:"no"`
	ID            string    `db:"id"`
	TenantID      string    `db:"tenant_id"`
	ListID        string    `db:"list_id"`   // the first list if there are several
	Lists         int64     `db:"lists"`     // number of lists
	Narrowing     string    `db:"narrowing"` // column form of a Narrowing
	CopyID        string    `db:"copy_id"`   // id of the CampaignCopy that it sends
	CampaignID    string    `db:"campaign_id"`
	Status        JobStatus `db:"status"`
	ScheduledAt   Instant   `db:"scheduled_at"`
	WindowStart   Instant   `db:"window_start"`
	WindowEnd     Instant   `db:"window_end"`
	DueAt         Instant   `db:"due_at"`
	CreatedBy     string    `db:"created_by"`
	CreatedAt     Instant   `db:"created_at"`
	StartedAt     Instant   `db:"started_at"`
	FinishedAt    Instant   `db:"finished_at"`
	FailureReason string    `db:"failure_reason"`
	// of a running or held job; 0: not paused, or paused only while its list or tenant is inactive
	PausedAt    Instant `db:"paused_at"`
	PauseReason string  `db:"pause_reason"` // reason why no emails are currently sent; empty: not paused
	HardBounced int64   `db:"hard_bounced"`
	Unstoppable bool    `db:"unstoppable"` // resumed by a person, so the stop rule no longer applies
	RetryOf     string  `db:"retry_of"`    // the job whose unreached recipients this one emails; empty: none
	ExpandedTo  string  `db:"expanded_to"` // email_key of the last subscriber that became a recipient
	Expanded    bool    `db:"expanded"`
	Expected    int64   `db:"expected"`    // recipients counted when it was sent; 0: not counted
	FirstFew    int64   `db:"first_few"`   // number of first recipients; 0: everyone at the same time
	FirstUntil  Instant `db:"first_until"` // end of the pause after the first recipients; 0: not all of them are done
	Transport   string  `db:"transport"`   // TransportFolder, TransportPartly or empty
	Stats
}

// The values of SendJob.Transport. If it is empty, all emails went to a mail server.
const (
	TransportFolder = "folder" // saved to a folder because no mail server was set; no one received them
	TransportPartly = "partly" // some were saved to a folder because the server was set or removed during the job
)

// CampaignCopy is a campaign as sent by a job. It never changes.
type CampaignCopy struct {
	ID             string  `db:"id"`
	TenantID       string  `db:"tenant_id"`
	Name           string  `db:"name"`
	Subject        string  `db:"subject"`
	BodyHTML       string  `db:"body_html"`
	BodyText       string  `db:"body_text"`
	Template       string  `db:"template"` // JSON object as given; empty: none
	UnsubscribeURL string  `db:"unsubscribe_url"`
	TrackOpen      bool    `db:"track_open"`
	TrackClick     bool    `db:"track_click"`
	Totals         bool    `db:"totals"` // tracking doesn't identify subscribers
	CreatedAt      Instant `db:"created_at"`
}

// TemplateName returns the name of the campaign's template, or an empty string if the bodies are the whole content. For
// a campaign without a body, the default is DefaultTemplate.
func (c *CampaignCopy) TemplateName() string {
	if name := templateText(c.Template, "mailer_template_name"); name != "" {
		return name
	}
	if c.BodyHTML == "" && c.BodyText == "" {
		return DefaultTemplate
	}
	return ""
}

// Preheader returns the preview text that mailboxes show after the subject.
func (c *CampaignCopy) Preheader() string {
	return templateText(c.Template, "preheader")
}

// templateKey returns the string under key in the template object. It returns nil if the key is absent or null, and ok
// is false if the value is not a string.
func templateKey(object, key string) (*string, bool) {
	if object == "" {
		return nil, true
	}
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(object), &m) != nil {
		return nil, false
	}
	var s *string
	if raw := m[key]; len(raw) > 0 && json.Unmarshal(raw, &s) != nil {
		return nil, false
	}
	return s, true
}

// templateText returns the string under key in a validated template object, or "" if the key is absent.
func templateText(object, key string) string {
	if s, _ := templateKey(object, key); s != nil {
		return *s
	}
	return ""
}

// NewJob holds the fields of a send job request, after merging the two spellings of each key.
type NewJob struct {
	TenantID, ListID   string
	Name, Subject      string
	BodyHTML, BodyText string
	Template           json.RawMessage // nil: not given
	ScheduledAt        Instant
	WindowStart        Instant
	WindowEnd          Instant
	TrackOpen          bool
	TrackClick         bool
	SegmentID          string // only subscribers in this segment get it; empty: all
}

// Validate checks everything that does not need the database. Its error names the first invalid field.
func (n *NewJob) Validate(now Instant) error {
	if err := checkBodies(n.BodyHTML, n.BodyText); err != nil {
		return err
	}
	if n.ListID == "" {
		return Invalidf("list_id", "list_id is required.")
	}
	if err := n.validateContent(); err != nil {
		return err
	}
	if err := n.validateTemplate(); err != nil {
		return err
	}
	return n.ValidateTimes(now)
}

func (n *NewJob) validateContent() error {
	switch {
	case strings.TrimSpace(n.Subject) == "":
		return Invalidf("subject", "subject is empty. Write a subject.")
	case utf8.RuneCountInString(n.Subject) > MaxSubject:
		return Invalidf("subject", "subject must have at most %d characters.", MaxSubject)
	case hasControl(n.Subject):
		return Invalidf("subject", "subject contains control characters. Remove them.")
	case hasControl(n.Name):
		return Invalidf("name", "name contains control characters. Remove them.")
	case utf8.RuneCountInString(n.Name) > MaxSubject:
		return Invalidf("name", "name must have at most %d characters.", MaxSubject)
	case n.BodyHTML == "" && n.BodyText == "" && n.Template == nil:
		return Invalidf("body_html", "The email has no content. Set body_html, body_text or template.")
	}
	return nil
}

// checkBodies returns a TooLarge error if a body has more than MaxBody bytes.
func checkBodies(html, text string) error {
	for _, body := range [...]struct{ field, text string }{{"body_html", html}, {"body_text", text}} {
		if len(body.text) > MaxBody {
			err := tooLargef("%s must have at most %d bytes.", body.field, MaxBody)
			err.Field = body.field
			return err
		}
	}
	return nil
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, unicode.IsControl)
}

// hasInvisible reports whether s has invisible characters: bidirectional controls, zero-width characters or soft
// hyphens.
func hasInvisible(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
	})
}

func (n *NewJob) validateTemplate() error {
	name, ok := templateKey(string(n.Template), "mailer_template_name")
	if !ok {
		return Invalidf("template.mailer_template_name", "template.mailer_template_name must be a string.")
	}
	if name != nil {
		if err := ValidateTemplateName(*name); err != nil {
			return err.On("template.mailer_template_name")
		}
	}
	if _, ok = templateKey(string(n.Template), "preheader"); !ok {
		return Invalidf("template.preheader", "template.preheader must be a string.")
	}
	link, ok := templateKey(string(n.Template), "unsubscribe_url")
	if !ok {
		return Invalidf("template.unsubscribe_url", "template.unsubscribe_url must be a string.")
	}
	if link != nil {
		return validateUnsubscribeURL(*link)
	}
	return nil
}

// ValidateTemplateName checks a template's name.
func ValidateTemplateName(name string) *Error {
	if name == "" || utf8.RuneCountInString(name) > MaxTemplateName || hasControl(name) || strings.Contains(name, "/") {
		return Invalidf("name", "The name must have 1 to %d characters. Remove control characters and slashes.",
			MaxTemplateName)
	}
	return nil
}

func validateUnsubscribeURL(link string) error {
	const field = "template.unsubscribe_url"
	filled, found := FillUnsubscribeURL(link, "t")
	if !found {
		return Invalidf(field, "%s must contain the placeholder {{unsubscribe_token}}.", field)
	}
	u, err := url.Parse(filled)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || hasControl(link) {
		return Invalidf(field, "%s must be an absolute http or https URL.", field)
	}
	return nil
}

// FillUnsubscribeURL replaces every {{unsubscribe_token}} in a job's own unsubscribe link with token. Spaces inside the
// braces are allowed. found is false if there is no such placeholder.
func FillUnsubscribeURL(link, token string) (filled string, found bool) {
	var b strings.Builder
	for {
		i := strings.Index(link, "{{")
		if i < 0 {
			break
		}
		j := strings.Index(link[i:], "}}")
		if j < 0 {
			break
		}
		b.WriteString(link[:i])
		if strings.TrimSpace(link[i+2:i+j]) == "unsubscribe_token" {
			b.WriteString(token)
			found = true
		} else {
			b.WriteString(link[i : i+j+2])
		}
		link = link[i+j+2:]
	}
	b.WriteString(link)
	return b.String(), found
}

// ValidateTimes checks the schedule and the window. Its error names the first invalid field.
func (n *NewJob) ValidateTimes(now Instant) error {
	switch {
	case n.WindowEnd != 0 && n.WindowEnd <= n.WindowStart:
		return Invalidf("window_end", "window_end must be later than window_start.")
	case n.WindowEnd != 0 && n.WindowEnd <= now:
		return Invalidf("window_end", "window_end is in the past. Choose a later time.")
	case n.ScheduledAt != 0 && n.ScheduledAt < n.WindowStart,
		n.ScheduledAt != 0 && n.WindowEnd != 0 && n.ScheduledAt >= n.WindowEnd:
		return Invalidf("scheduled_at", "scheduled_at must be between window_start and window_end.")
	}
	return nil
}

// ValidateSchedule is like ValidateTimes, but also refuses a schedule in the past. It is for sending campaigns.
func (n *NewJob) ValidateSchedule(now Instant) error {
	if err := n.ValidateTimes(now); err != nil {
		return err
	}
	if n.ScheduledInPast(now) {
		return Invalidf("scheduled_at", "scheduled_at is in the past. Choose a later time.")
	}
	return nil
}

// ScheduledInPast reports whether scheduled_at is more than ScheduleGrace ago.
func (n *NewJob) ScheduledInPast(now Instant) bool {
	return n.ScheduledAt != 0 && n.ScheduledAt.Add(ScheduleGrace) < now
}

// Job returns the send job that was requested, and the campaign copy that it sends. The caller must call Validate first
// and set TenantID to the list's tenant.
func (n *NewJob) Job(now Instant) (SendJob, CampaignCopy) {
	link := templateText(string(n.Template), "unsubscribe_url")
	c := CampaignCopy{
		ID: NewID(), TenantID: n.TenantID, Name: n.Name, Subject: n.Subject, BodyHTML: n.BodyHTML,
		BodyText: n.BodyText, Template: string(n.Template), UnsubscribeURL: link,
		TrackOpen: n.TrackOpen, TrackClick: n.TrackClick, CreatedAt: now,
	}
	j := SendJob{
		ID: NewID(), TenantID: n.TenantID, ListID: n.ListID, Lists: 1, CopyID: c.ID, CampaignID: c.ID, Status: JobPending,
		ScheduledAt: n.ScheduledAt, WindowStart: n.WindowStart, WindowEnd: n.WindowEnd,
		DueAt: max(n.ScheduledAt, n.WindowStart, now), CreatedAt: now,
	}
	return j, c
}

// JobTimes holds new times for a send job. A nil time is left unchanged, and 0 removes it.
type JobTimes struct{ ScheduledAt, WindowStart, WindowEnd *Instant }

// Move changes when a pending job starts and how long it may send. It doesn't change the content and the approval. A
// job that can still be undone does not start before its undo period ends. If the job has started or ended, Move
// returns a Conflict error. An Invalid error names the time that doesn't fit or is in the past.
func (j *SendJob) Move(to JobTimes, now Instant) error {
	if j.Status != JobPending {
		return Conflictf("conflict", "The send job is %s. Only pending send jobs can be rescheduled.", j.Status)
	}
	n := NewJob{ScheduledAt: j.ScheduledAt, WindowStart: j.WindowStart, WindowEnd: j.WindowEnd}
	undo := j.DueAt
	if undo <= max(n.ScheduledAt, n.WindowStart) {
		undo = 0
	}
	for _, t := range []struct{ to, from *Instant }{
		{&n.ScheduledAt, to.ScheduledAt}, {&n.WindowStart, to.WindowStart}, {&n.WindowEnd, to.WindowEnd},
	} {
		if t.from != nil {
			*t.to = *t.from
		}
	}
	check := n.ValidateTimes
	if to.ScheduledAt != nil {
		check = n.ValidateSchedule
	}
	if err := check(now); err != nil {
		return err
	}
	j.ScheduledAt, j.WindowStart, j.WindowEnd = n.ScheduledAt, n.WindowStart, n.WindowEnd
	j.DueAt = max(n.ScheduledAt, n.WindowStart, undo, now)
	return nil
}

// WindowClosed reports whether the job's delivery window is over.
func (j *SendJob) WindowClosed(now Instant) bool { return j.WindowEnd != 0 && now >= j.WindowEnd }

// Start starts a job that is due, and reports whether its state changed. If its window is already over, the job fails
// instead.
func (j *SendJob) Start(now Instant) bool {
	switch {
	case j.Status != JobPending:
		return false
	case j.WindowClosed(now):
		return j.Fail(ReasonWindow, now)
	case now < j.DueAt:
		return false
	}
	j.Status, j.StartedAt = JobRunning, now
	return true
}

// Cancel cancels a pending or running job and reports whether it did. It doesn't change a job in a final state.
func (j *SendJob) Cancel(now Instant) bool { return j.end(JobCancelled, now) }

// Fail ends a pending or running job as failed, for a reason that affects all recipients, and reports whether it did.
func (j *SendJob) Fail(reason string, now Instant) bool {
	if !j.end(JobFailed, now) {
		return false
	}
	j.FailureReason = reason
	return true
}

// Finish completes a running job once every recipient has a final outcome, and reports whether it did.
func (j *SendJob) Finish(now Instant) bool {
	if j.Status != JobRunning || !j.Expanded || j.Sent+j.Failed+j.Skipped < j.Recipients {
		return false
	}
	return j.end(JobCompleted, now)
}

func (j *SendJob) end(s JobStatus, now Instant) bool {
	if j.Status.Final() {
		return false
	}
	j.Status, j.FinishedAt = s, now
	return true
}

// retrySchedule holds the waits after a recipient's temporary failures. The last wait repeats.
var retrySchedule = [...]time.Duration{
	5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
}

// RetryFor is how long a recipient is retried in total.
const RetryFor = 48 * time.Hour

// NextTry returns when a recipient is due again after tries temporary failures, the last one at now. ok is false if the
// time for retries or the job's window ends before that.
func (j *SendJob) NextTry(tries int, now Instant) (at Instant, ok bool) {
	var spent, wait time.Duration
	for i := range tries {
		wait = retrySchedule[min(i, len(retrySchedule)-1)]
		spent += wait
		if spent > RetryFor {
			return 0, false
		}
	}
	at = now.Add(wait)
	return at, !j.WindowClosed(at)
}

// LastTry returns when a recipient is tried for the last time if every try fails. tries attempts have failed so far,
// and the next one is at due.
func (j *SendJob) LastTry(tries int, due Instant) Instant {
	for {
		next, ok := j.NextTry(tries+1, due)
		if !ok {
			return due
		}
		tries, due = tries+1, next
	}
}
