package core

// Sync is an outgoing full sync. It has no batches until it is planned, so that several changes can request the same
// sync.
type Sync struct {
	ID         string  `db:"id" json:"sync_id"`
	TenantID   string  `db:"tenant_id" json:"tenant_id"`
	ListID     string  `db:"list_id" json:"list_id"`
	BatchTotal int     `db:"batch_total" json:"batch_total"` // 0: not planned yet
	DueAt      Instant `db:"due_at" json:"due_at"`           // when it is planned or continued; 0: immediately
	StartedAt  Instant `db:"started_at" json:"started_at"`   // start of the plan: occurred_at of every batch
	FinishedAt Instant `db:"finished_at" json:"finished_at"`
	FailedAt   Instant `db:"failed_at" json:"failed_at"`
	Reason     string  `db:"reason" json:"reason,omitempty"`
	Done       int     `db:"done" json:"done"` // number of delivered batches
}

// The states that Sync.State returns.
const (
	SyncWaiting  = "waiting" // not planned yet
	SyncRunning  = "running"
	SyncFinished = "finished"
	SyncFailed   = "failed"
)

// State returns SyncWaiting, SyncRunning, SyncFinished or SyncFailed.
func (y *Sync) State() string {
	switch {
	case y.FailedAt > 0:
		return SyncFailed
	case y.FinishedAt > 0:
		return SyncFinished
	case y.BatchTotal > 0:
		return SyncRunning
	}
	return SyncWaiting
}

// SyncBatch is an undelivered batch of a planned sync.
type SyncBatch struct {
	SyncID  string  `db:"sync_id"`
	BatchNo int     `db:"batch_no"`
	FromID  string  `db:"from_id"` // exclusive
	ToID    string  `db:"to_id"`   // inclusive
	DueAt   Instant `db:"due_at"`
	Tries   int     `db:"tries"`
}
