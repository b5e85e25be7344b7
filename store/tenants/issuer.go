package tenants

import (
	"context"

	"newsletterd/store/db"
)

const issuerMark = "issuer"

// KeepIssuer records the issuer that the daemon runs with, for commands whose configuration may be another. It writes
// only when that has changed. Its only error is core.ErrStorage.
func (s *Store) KeepIssuer(ctx context.Context, issuer string) error {
	if kept, err := s.Issuer(ctx); err != nil || kept == issuer {
		return err
	}
	return s.Update(ctx, func(tx *db.Tx) error { return tx.SetMark(issuerMark, issuer) })
}

// Issuer returns the issuer that a daemon last ran with on this database; empty before the first start. Its only error
// is core.ErrStorage.
func (s *Store) Issuer(ctx context.Context) (string, error) { return s.Mark(ctx, issuerMark) }
