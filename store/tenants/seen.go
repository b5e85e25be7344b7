package tenants

import (
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// How long an id or a nonce is stored.
const (
	NonceTTL = 15 * time.Minute
	EventTTL = 90 * 24 * time.Hour
)

// Nonce is a value that only one signed request can use. The transaction of the request's change uses it up, so a
// request that is rejected for another reason can be repeated with the same nonce.
type Nonce struct {
	ClientID string
	Nonce    string
}

// AcceptNonce uses up a nonce. If the client has used it before, AcceptNonce returns core.ErrReplayedNonce.
func AcceptNonce(tx *db.Tx, n Nonce, now core.Instant) error {
	changed, err := tx.Exec(`INSERT INTO seen_nonce (client_id, nonce, expires_at) VALUES (?1, ?2, ?3)
		ON CONFLICT DO UPDATE SET expires_at = ?3 WHERE expires_at <= ?4`,
		n.ClientID, n.Nonce, int64(now.Add(NonceTTL)), int64(now))
	return onceOnly(changed, err, core.ErrReplayedNonce)
}

// AcceptEvent marks an event as accepted. If the tenant's event was accepted before, it returns
// core.ErrDuplicateEvent.
func AcceptEvent(tx *db.Tx, tenantID, eventID string, now core.Instant) error {
	changed, err := tx.Exec(`INSERT INTO seen_event (tenant_id, event_id, expires_at) VALUES (?1, ?2, ?3)
		ON CONFLICT DO UPDATE SET expires_at = ?3 WHERE expires_at <= ?4`,
		tenantID, eventID, int64(now.Add(EventTTL)), int64(now))
	return onceOnly(changed, err, core.ErrDuplicateEvent)
}

// AcceptBatch marks a batch of a sync as accepted. If it was accepted before, AcceptBatch returns
// core.ErrDuplicateBatch.
func AcceptBatch(tx *db.Tx, tenantID, syncID string, batchNo int, now core.Instant) error {
	changed, err := tx.Exec(`INSERT INTO seen_batch (tenant_id, sync_id, batch_no, expires_at) VALUES (?1, ?2, ?3, ?4)
		ON CONFLICT DO UPDATE SET expires_at = ?4 WHERE expires_at <= ?5`,
		tenantID, syncID, batchNo, int64(now.Add(EventTTL)), int64(now))
	return onceOnly(changed, err, core.ErrDuplicateBatch)
}

func onceOnly(changed int64, err error, seen *core.Error) error {
	if err == nil && changed == 0 {
		return seen
	}
	return err
}
