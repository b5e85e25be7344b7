package identity

import (
	"context"
	"errors"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
)

// Allowances returns the scopes that a user has granted to clients, sorted by the name of the client. The only error is
// core.ErrStorage.
func (s *Store) Allowances(ctx context.Context, userID string) (as []core.Allowance, err error) {
	err = s.All(ctx, &as, `SELECT a.client_id, c.name AS client_name, a.scope, a.created_at FROM client_consent a JOIN
		client c ON c.id = a.client_id
		WHERE a.user_id = ? AND c.deleted_at = 0 ORDER BY c.name, c.id LIMIT 200`, userID)
	return as, err
}

// Disallow removes a user's consent for a client and revokes the client's tokens for the user. If there is no consent,
// it returns core.ErrNotFound.
func (s *Store) Disallow(ctx context.Context, userID, clientID string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.One("DELETE FROM client_consent WHERE user_id = ? AND client_id = ?", userID,
			clientID); err != nil {
			return err
		}
		tx.Kick(db.TopicIdentity)
		_, err := tx.Exec("UPDATE family SET revoked_at = ? WHERE user_id = ? AND client_id = ? AND revoked_at = 0",
			now, userID, clientID)
		return err
	})
}

const allowedScopes = "SELECT scope FROM client_consent WHERE user_id = ? AND client_id = ?"

// allow adds scopes to a user's consent for a client.
func allow(tx *db.Tx, userID, clientID string, scopes []string, now core.Instant) error {
	var scope string
	err := tx.Get(&scope, allowedScopes, userID, clientID)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	had := strings.Fields(scope)
	for _, s := range scopes {
		if !slices.Contains(had, s) {
			had = append(had, s)
		}
	}
	_, err = tx.Exec(`INSERT INTO client_consent (user_id, client_id, scope, created_at) VALUES (?, ?, ?, ?)
		ON CONFLICT (user_id, client_id) DO UPDATE SET scope = excluded.scope, created_at = excluded.created_at`,
		userID, clientID, strings.Join(had, " "), now)
	return err
}
