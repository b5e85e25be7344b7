package tenants

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

// ErrForeignFed is returned when a full sync would overwrite the list of another member service.
var ErrForeignFed = core.Conflictf("conflict",
	"Another webhook client manages this list. Start the full sync there.")

// FedBy returns the webhook client, other than the daemon's own, that feeds a list. It returns an empty string if
// there is none. The only error is core.ErrStorage.
func (s *Store) FedBy(ctx context.Context, listID string) (clientID string, err error) {
	return FedBy(s.Reads(ctx), listID)
}

// FedBy is like Store.FedBy within a transaction or a read.
func FedBy(q db.Querier, listID string) (clientID string, err error) {
	err = q.Get(&clientID, "SELECT coalesce(max(client_id), '') FROM fed_list WHERE list_id = ?", listID)
	return clientID, err
}

// Feeds records that a client feeds a list. It ignores the daemon's own client.
func Feeds(tx *db.Tx, clientID, listID string, now core.Instant) error {
	if clientID == core.LoopClientID {
		return nil
	}
	_, err := tx.Exec(`INSERT INTO fed_list (list_id, client_id, since) VALUES (?1, ?2, ?3)
		ON CONFLICT DO UPDATE SET client_id = ?2, since = ?3 WHERE client_id <> ?2`, listID, clientID, int64(now))
	return err
}

// MayRemove reports whether a client's full sync, started at startedAt, may remove people who are missing from the
// sync. It may not if another client feeds the list now, or fed it when the sync started.
func MayRemove(tx *db.Tx, clientID, listID string, startedAt core.Instant) (bool, error) {
	var fed struct {
		ClientID string       `db:"client_id"`
		Since    core.Instant `db:"since"`
	}
	err := tx.Get(&fed, "SELECT client_id, since FROM fed_list WHERE list_id = ?", listID)
	if errors.Is(err, core.ErrNotFound) {
		return clientID == core.LoopClientID, nil
	}
	return fed.ClientID == clientID && fed.Since < startedAt, err
}
