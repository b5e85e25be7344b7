package tenants

import (
	"context"

	"newsletterd/store/db"
)

const issuerMark = "issuer"

// KeepIssuer stores the daemon's issuer, so that commands with another configuration can read it. It writes only if the
// issuer has changed. The only error is core.ErrStorage.
func (s *Store) KeepIssuer(ctx context.Context, issuer string) error {
	if kept, err := s.Issuer(ctx); err != nil || kept == issuer {
		return err
	}
	return s.Update(ctx, func(tx *db.Tx) error { return tx.SetMark(issuerMark, issuer) })
}

// Issuer returns the issuer that a daemon last used with this database, or an empty string before the first start.
// The only error is core.ErrStorage.
func (s *Store) Issuer(ctx context.Context) (string, error) { return s.Mark(ctx, issuerMark) }
