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

// Confirmed is the state of the request that an emailed confirm token belongs to.
type Confirmed struct {
	Mailed bool `db:"-"` // whether the token was emailed, so that its holder has the mailbox

	Done bool `db:"done"` // confirmed by an emailed token and still active
	Left bool `db:"left"` // unsubscribed since; the token does not undo this
}

// Confirmed returns the state of the request that a confirm token belongs to. For a token that was not emailed it
// returns the zero value, because its holder must not learn who is subscribed. If the token key can't be decrypted, it
// returns ErrMasterKey.
func (s *Store) Confirmed(ctx context.Context, token string) (c Confirmed, err error) {
	t, err := s.openConfirmToken(ctx, token)
	if errors.Is(err, core.ErrInvalidToken) || err == nil && (t.proof != core.ProofMailed || t.mark != nil) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	err = s.Get(ctx, &c, confirmedQuery, t.rowID)
	c.Mailed = err == nil
	return c, err
}
