package identity

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

// ErrOperatorExists is returned if the first server administrator can't be created because there already is one.
var ErrOperatorExists = core.Conflictf("operator_exists", "A server administrator already exists. Sign in instead.")

const anyOperator = "SELECT 1 FROM role WHERE tenant_id = '' AND role = 'operator' LIMIT 1"

// NoOperator returns ErrOperatorExists if any user has the role operator, even an inactive one.
func (s *Store) NoOperator(ctx context.Context) error {
	var n int
	err := s.Get(ctx, &n, anyOperator)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return nil
	case err != nil:
		return err
	}
	return ErrOperatorExists
}

// AddFirstOperator is like AddUser, for the first server administrator. If there already is one, it returns
// ErrOperatorExists.
func (s *Store) AddFirstOperator(ctx context.Context, u core.User, passwordHash string, now core.Instant) error {
	return s.Update(ctx, s.ByActor(ctx, "user.create", "", u.ID, func(tx *db.Tx) error {
		var n int
		if err := tx.Get(&n, anyOperator); err == nil {
			return ErrOperatorExists
		} else if !errors.Is(err, core.ErrNotFound) {
			return err
		}
		return addUser(tx, ctx, u, passwordHash, now)
	}))
}
