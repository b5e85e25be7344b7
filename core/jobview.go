package core

// JobView is a send job as the API and the commands show it, with the name and subject of its campaign and with its
// statistics.
type JobView struct {
	No            int64     `db:"no" json:"-"` // in order of creation
	ID            string    `db:"id" json:"id"`
	TenantID      string    `db:"tenant_id" json:"tenant_id"`
	ListID        string    `db:"list_id" json:"list_id"` // first of list_ids
	ListIDs       Strings   `db:"list_ids" json:"list_ids"`
	CampaignID    string    `db:"campaign_id" json:"campaign_id"`
	Status        JobStatus `db:"status" json:"status" enum:"pending|running|completed|failed|cancelled"`
	Name          string    `db:"name" json:"name,omitempty"`
	Subject       string    `db:"subject" json:"subject"`
	ScheduledAt   Instant   `db:"scheduled_at" json:"scheduled_at,omitzero"`
	WindowStart   Instant   `db:"window_start" json:"window_start,omitzero"`
	WindowEnd     Instant   `db:"window_end" json:"window_end,omitzero"`
	CreatedAt     Instant   `db:"created_at" json:"created_at"`
	StartsAt      Instant   `db:"starts_at" json:"starts_at,omitzero"` // of a pending job: not before undoing ends
	StartedAt     Instant   `db:"started_at" json:"started_at,omitzero"`
	FinishedAt    Instant   `db:"finished_at" json:"finished_at,omitzero"`
	FailureReason string    `db:"failure_reason" json:"failure_reason,omitempty"`
	PausedAt      Instant   `db:"paused_at" json:"paused_at,omitzero"`
	PauseReason   string    `db:"pause_reason" json:"pause_reason,omitempty"`
	RetryOf       string    `db:"retry_of" json:"retry_of,omitempty"`
	Expected      int64     `db:"expected" json:"expected_recipients,omitempty"` // as counted when the campaign was sent; stats has those of the job
	Duplicates    int64     `db:"duplicates" json:"duplicates,omitempty"`        // skipped: on an earlier list
	Excluded      int64     `db:"excluded" json:"excluded,omitempty"`            // skipped by exclusions
	FirstFew      int64     `db:"first_few" json:"first_few,omitempty"`          // number of first recipients
	FirstUntil    Instant   `db:"first_until" json:"first_few_until,omitzero"`   // when the rest follows
	Expanded      bool      `db:"expanded" json:"-"`                             // all recipients are known
	// folder: all emails were saved to a folder on the server and reached no one; partly: some of them
	Transport  string `db:"transport" json:"transport,omitempty" enum:"folder|partly"`
	Stats      `json:"stats"`
	OpenCounts `json:"-"`
}
