package members

import (
	"context"
	"errors"

	"newsletterd/core"
)

const confirmedQuery = `SELECT
	count(*) FILTER (WHERE s.status = 'active' AND s.means = 'mailed') AS done,
	count(*) FILTER (WHERE s.status = 'unsubscribed') AS left
	FROM confirm_token t JOIN subscription s ON s.list_id = t.list_id AND s.id = t.subscription_id
	WHERE t.id = ? AND s.generation = t.generation`

// Confirmed is what became of the request that a mailed confirm token answers.
type Confirmed struct {
	Done bool `db:"done"` // by a mailed token, and it still stands
	Left bool `db:"left"` // the subscription has ended since, and the token does not bring it back
}

// Confirmed returns what became of the request that a confirm token answers. It says nothing of a token that was not
// mailed: the caller that got it in an answer does not learn from it who is subscribed. It returns ErrMasterKey where
// the key of the tokens can't be opened.
func (s *Store) Confirmed(ctx context.Context, token string) (c Confirmed, err error) {
	t, err := s.openConfirmToken(ctx, token)
	if errors.Is(err, core.ErrInvalidToken) || err == nil && (t.proof != core.ProofMailed || t.mark != nil) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	err = s.Get(ctx, &c, confirmedQuery, t.rowID)
	return c, err
}
