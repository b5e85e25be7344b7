package people

import (
	"context"
	"os"

	"newsletterd/core"
	"newsletterd/schema"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// Overview is the server status that server administrators see.
type Overview struct {
	DaemonRuns bool                `json:"daemon_runs" about:"Whether newsletterd serves the database"`
	Schema     int                 `json:"schema" about:"Number of the newest migration"`
	Disk       DiskState           `json:"disk" about:"Sizes of the database and its disk"`
	Outbox     tenants.OutboxState `json:"outbox" about:"Events for the send service"`
	Endpoints  tenants.OutboxState `json:"endpoints" about:"Events for webhook endpoints, counted once per endpoint"`
	Mails      QueueState          `json:"mails" about:"Transactional emails"`
	Jobs       []JobState          `json:"jobs" about:"Send jobs that have not ended"`
	JobCounts  []StatusCount       `json:"job_counts" about:"Numbers of send jobs by status"`
	Restored   int64               `json:"restored_jobs" about:"Send jobs paused because the database was copied or restored"`
	Records    RecordCounts        `json:"records" about:"Numbers of main records"`
	Lists      []tenants.ListState `json:"lists" about:"Newsletter lists with their counts"`
}

// DiskState is the size of the database and of its disk, in bytes.
type DiskState struct {
	Database int64 `json:"database" about:"Size of the database in bytes"`
	WAL      int64 `json:"wal" about:"Size of the write-ahead log in bytes"`
	Free     int64 `json:"free" about:"Free space on the disk in bytes"`
	Total    int64 `json:"total" about:"Size of the disk in bytes"`
	ReadOnly bool  `json:"read_only" about:"Whether the disk is read-only"`
}

// QueueState holds the numbers of transactional emails by state.
type QueueState struct {
	Waiting  int64        `db:"waiting"   json:"waiting" about:"Emails to send"`
	Failed   int64        `db:"failed"    json:"failed" about:"Emails that failed permanently"`
	OldestAt core.Instant `db:"oldest_at" json:"oldest_at" is:"nullable" about:"Creation time of the oldest waiting email; null: none waits"`
}

// JobState is a job that has not ended.
type JobState struct {
	ID         string       `db:"id"         json:"id"`
	Name       string       `db:"name"       json:"name" about:"Name of the campaign"`
	Status     string       `db:"status"     json:"status" about:"Status of the job"`
	DueAt      core.Instant `db:"due_at"     json:"due_at" about:"Time from which the job may send"`
	Recipients int64        `db:"recipients" json:"recipients"`
	Sent       int64        `db:"sent"       json:"sent"`
	Failed     int64        `db:"failed"     json:"failed"`
	Skipped    int64        `db:"skipped"    json:"skipped"`
	Deferred   int64        `db:"deferred"   json:"deferred"`

	NextAttemptAt core.Instant `db:"next_attempt_at" json:"next_attempt_at,omitzero"` // for deferred recipients
	GivesUpAt     core.Instant `db:"gives_up_at"     json:"gives_up_at,omitzero"`     // last attempt for all of them
}

// StatusCount is the number of jobs with a status.
type StatusCount struct {
	Status string `db:"status" json:"status" about:"Status of the jobs"`
	Count  int64  `db:"count"  json:"count" about:"Number of jobs"`
}

// RecordCounts holds the numbers of the main kinds of records.
type RecordCounts struct {
	Tenants int64 `db:"tenants" json:"tenants" about:"Number of tenants"`
	Lists   int64 `db:"lists"   json:"lists" about:"Number of newsletter lists"`
	Users   int64 `db:"users"   json:"users" about:"Number of users"`
}

// overviewLists is the maximum number of lists in an overview. An overview contains the lists with the most mailable
// subscribers.
const overviewLists = 20

// overviewJobs is the maximum number of jobs in an overview.
const overviewJobs = 50

// Overview reads all figures, each in a separate transaction. It returns core.ErrStorage or a file system error.
func (s *Store) Overview(ctx context.Context) (o Overview, err error) {
	o.DaemonRuns, o.Schema = s.DaemonRuns(), schema.Latest()
	if o.Disk, err = s.DiskState(); err != nil {
		return o, err
	}
	if o.Outbox, err = s.OutboxState(ctx); err != nil {
		return o, err
	}
	if o.Endpoints, err = s.EndpointState(ctx); err != nil {
		return o, err
	}
	if o.Mails, err = s.MailQueue(ctx); err != nil {
		return o, err
	}
	o.Jobs, o.JobCounts = []JobState{}, []StatusCount{}
	err = s.All(ctx, &o.Jobs,
		`SELECT send_job.id, campaign_copy.name, status, due_at, recipients, sent, failed, skipped, `+campaigns.Deferral+`
		FROM send_job JOIN campaign_copy INDEXED BY campaign_copy_head ON campaign_copy.id = send_job.copy_id
		WHERE status IN ('running', 'pending') ORDER BY status DESC, due_at LIMIT +?`, overviewJobs)
	if err != nil {
		return o, err
	}
	if o.JobCounts, err = s.JobCounts(ctx); err != nil {
		return o, err
	}
	if o.Restored, err = s.RestoredJobs(ctx); err != nil {
		return o, err
	}
	err = s.Get(ctx, &o.Records, `SELECT (SELECT count(*) FROM tenant WHERE deleted_at = 0) AS tenants,
		(SELECT count(*) FROM list WHERE deleted_at = 0) AS lists, (SELECT count(*) FROM user) AS users`)
	if err != nil {
		return o, err
	}
	o.Lists, err = s.LargestLists(ctx, overviewLists)
	return o, err
}

// JobCounts returns the number of jobs per status. Its only error is core.ErrStorage.
func (s *Store) JobCounts(ctx context.Context) (n []StatusCount, err error) {
	err = s.All(ctx, &n, "SELECT status, count(*) AS count FROM send_job GROUP BY status ORDER BY status")
	return n, err
}

// RecipientCounts holds the numbers of recipients of all jobs by outcome.
type RecipientCounts struct {
	Sent       int64 `db:"sent"`
	Failed     int64 `db:"failed"`
	Skipped    int64 `db:"skipped"`
	Ambiguous  int64 `db:"ambiguous"`
	Delivered  int64 `db:"delivered"`
	Bounced    int64 `db:"bounced"`
	Complained int64 `db:"complained"`
	Opened     int64 `db:"opened"`
	Clicked    int64 `db:"clicked"`
	Left       int64 `db:"unsubscribed"`
}

// RecipientCounts returns the totals of all jobs. Its only error is core.ErrStorage.
func (s *Store) RecipientCounts(ctx context.Context) (n RecipientCounts, err error) {
	err = s.Get(ctx, &n, `SELECT coalesce(sum(sent), 0) AS sent, coalesce(sum(failed), 0) AS failed,
		coalesce(sum(skipped), 0) AS skipped,
		coalesce(sum(ambiguous), 0) AS ambiguous, coalesce(sum(delivered), 0) AS delivered, coalesce(sum(bounced), 0) AS bounced,
		coalesce(sum(complained), 0) AS complained, coalesce(sum(opened), 0) AS opened, coalesce(sum(clicked), 0) AS clicked,
		coalesce(sum(unsubscribed), 0) AS unsubscribed FROM send_job`)
	return n, err
}

// MailQueue returns the numbers of transactional emails by state. Its only error is core.ErrStorage.
func (s *Store) MailQueue(ctx context.Context) (q QueueState, err error) {
	err = s.Get(ctx, &q, `SELECT m.n AS waiting, (SELECT count(*) FROM mail INDEXED BY mail_failed WHERE state =
		`+tenants.SQLMailFailed+`)
		AS failed, coalesce((SELECT created_at FROM mail WHERE id = m.oldest), 0) AS oldest_at FROM (SELECT
		count(*) AS n,
		min(+id) AS oldest FROM mail INDEXED BY mail_due WHERE state = `+tenants.SQLMailQueued+`) AS m`)
	return q, err
}

// DiskState returns the sizes of the database files and of their disk. It can return a file system error.
func (s *Store) DiskState() (d DiskState, err error) {
	fi, err := os.Stat(s.Path())
	if err != nil {
		return d, err
	}
	d.Database, d.WAL = fi.Size(), db.WalSize(s.Path())
	d.Free, d.Total, d.ReadOnly, err = db.DiskOf(s.Path())
	return d, err
}

// NewestChange returns the time of the newest audit entry, or 0 if there is none. If the clock now shows an earlier
// time, it is wrong or was wrong when the entry was written. Its only error is core.ErrStorage.
func (s *Store) NewestChange(ctx context.Context) (at core.Instant, err error) {
	err = s.Get(ctx, &at,
		"SELECT coalesce(max(at), 0) FROM audit WHERE id > (SELECT coalesce(max(id), 0) - 100 FROM audit)")
	return at, err
}
