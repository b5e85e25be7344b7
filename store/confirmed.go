package store

import (
	"context"
	"errors"

	"newsletterd/core"
)

const confirmedQuery = `SELECT count(*) FROM confirm_token t JOIN subscription s ON s.list_id = t.list_id AND s.id =
	t.subscription_id
	WHERE t.id = ? AND s.generation = t.generation AND s.status = 'active' AND s.means = 'mailed'`

// Confirmed reports whether what a mailed confirm token asks for has been done already, by a mailed token, and still
// stands. It is always false for a token that was not mailed: the caller that got it in an answer does not learn from
// it who is subscribed. It returns ErrMasterKey where the key of the tokens can't be opened.
func (s *Store) Confirmed(ctx context.Context, token string) (bool, error) {
	t, err := s.openConfirmToken(ctx, token)
	if errors.Is(err, core.ErrInvalidToken) || err == nil && (t.proof != core.ProofMailed || t.mark != nil) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var n int
	err = s.get(ctx, &n, confirmedQuery, t.rowID)
	return n > 0, err
}
