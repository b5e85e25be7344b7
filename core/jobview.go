package core

// JobView is a send job as shown by the API and commands, with its campaign's name and subject, and its statistics.
type JobView struct {
	No            int64     `db:"no" json:"-"` // in order of creation
	ID            string    `db:"id" json:"id"`
	TenantID      string    `db:"tenant_id" json:"tenant_id"`
	ListID        string    `db:"list_id" json:"list_id" about:"The first of list_ids"`
	ListIDs       Strings   `db:"list_ids" json:"list_ids"`
	CampaignID    string    `db:"campaign_id" json:"campaign_id"`
	Status        JobStatus `db:"status" json:"status" enum:"pending|running|completed|failed|cancelled" about:"Status of the job"`
	Name          string    `db:"name" json:"name,omitempty" about:"Name of the campaign; absent: none"`
	Subject       string    `db:"subject" json:"subject"`
	ScheduledAt   Instant   `db:"scheduled_at" json:"scheduled_at,omitzero"`
	WindowStart   Instant   `db:"window_start" json:"window_start,omitzero"`
	WindowEnd     Instant   `db:"window_end" json:"window_end,omitzero"`
	CreatedAt     Instant   `db:"created_at" json:"created_at"`
	StartsAt      Instant   `db:"starts_at" json:"starts_at,omitzero" about:"When a pending job starts; until then, a send can be undone"`
	StartedAt     Instant   `db:"started_at" json:"started_at,omitzero"`
	FinishedAt    Instant   `db:"finished_at" json:"finished_at,omitzero"`
	FailureReason string    `db:"failure_reason" json:"failure_reason,omitempty" about:"Why the job failed; absent: it didn't"`
	PausedAt      Instant   `db:"paused_at" json:"paused_at,omitzero" about:"Time since which the job is paused; absent: it isn't"`
	PauseReason   string    `db:"pause_reason" json:"pause_reason,omitempty" about:"Why the job is paused or waits; absent: it isn't"`
	RetryOf       string    `db:"retry_of" json:"retry_of,omitempty" about:"Job whose unsent recipients this one takes; absent: none"`
	Expected      int64     `db:"expected" json:"expected_recipients,omitempty" about:"Recipients when the campaign was sent; absent: unknown. stats has the current number"`
	Duplicates    int64     `db:"duplicates" json:"duplicates,omitempty" about:"Subscribers skipped because they are also on an earlier list; absent: none"`
	Excluded      int64     `db:"excluded" json:"excluded,omitempty" about:"Subscribers skipped by exclusions; absent: none"`
	FirstFew      int64     `db:"first_few" json:"first_few,omitempty" about:"Number of first recipients; absent: the job sends to all without a break"`
	FirstUntil    Instant   `db:"first_until" json:"first_few_until,omitzero" about:"When the rest follows; absent: no wait is running"`
	Expanded      bool      `db:"expanded" json:"recipients_known" about:"All recipients are known; until then, stats.recipients grows"`
	// folder: all emails were saved to a folder on the server and reached no one; partly: some of them
	Transport  string `db:"transport" json:"transport,omitempty" enum:"folder|partly"`
	Stats      `json:"stats" about:"Numbers of recipients by outcome"`
	OpenCounts `json:"-"`
}
