package campaigns

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

// reasonComplaint is the reason given in requests to the member service.
const reasonComplaint = "complaint reported by the mail provider"

// AddPendingDisable queues a request to the member service to block an address because of a spam complaint.
func AddPendingDisable(tx *db.Tx, e *core.ProviderEvent, now core.Instant) error {
	tx.Kick(db.TopicDisable)
	_, err := tx.Exec(`INSERT INTO disable_request (tenant_id, email, reason, occurred_at, created_at, due_at) VALUES
		(?, ?, ?, ?, ?, ?)`,
		e.TenantID, string(e.Email), reasonComplaint, int64(e.OccurredAt), int64(now), int64(now))
	return err
}

// AddPendingLeave queues a request to a remote member service to unsubscribe an address from a list.
func AddPendingLeave(tx *db.Tx, tenantID string, sub *core.Subscriber, now core.Instant) error {
	tx.Kick(db.TopicDisable)
	_, err := tx.Exec(`INSERT INTO disable_request (tenant_id, list_id, email, reason, occurred_at, created_at, due_at)
		VALUES (?, ?, ?, '', ?, ?, ?)`,
		tenantID, sub.ListID, string(sub.Email), int64(sub.MemberStatusAt), int64(now), int64(now))
	return err
}

// DuePendingDisables returns up to limit requests that are due now, in order. Its only error is core.ErrStorage.
func (s *Store) DuePendingDisables(ctx context.Context, now core.Instant, limit int) ([]core.PendingDisable, error) {
	var d []core.PendingDisable
	err := s.All(ctx, &d,
		`SELECT id, tenant_id, list_id, email, reason, occurred_at, created_at, tries FROM disable_request
		WHERE due_at <= ? ORDER BY due_at, id LIMIT +?`, int64(now), limit)
	return d, err
}

// NextPendingDisable returns when the next request is due, or 0 if none is pending. Its only error is
// core.ErrStorage.
func (s *Store) NextPendingDisable(ctx context.Context) (at core.Instant, err error) {
	err = s.Get(ctx, &at, "SELECT coalesce(min(due_at), 0) FROM disable_request")
	return at, err
}

// FinishPendingDisable records that the member service responded to a request. It ignores a request that a server
// administrator has deleted in the meantime. Its only error is core.ErrStorage.
func (s *Store) FinishPendingDisable(ctx context.Context, id int64) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("DELETE FROM disable_request WHERE id = ?", id)
		return err
	})
}

// PostponePendingDisable records a failure and the time of the next attempt. Its only error is core.ErrStorage.
func (s *Store) PostponePendingDisable(ctx context.Context, id int64, reason string, dueAt core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE disable_request SET tries = tries + 1, last_error = ?, due_at = ? WHERE id = ?",
			reason, int64(dueAt), id)
		return err
	})
}
