package store

import (
	"context"
	"errors"

	"newsletterd/core"
)

const issuerMark = "issuer"

// KeepIssuer records the issuer that the daemon runs with, for commands whose configuration may be another. It writes
// only when that has changed. Its only error is core.ErrStorage.
func (s *Store) KeepIssuer(ctx context.Context, issuer string) error {
	if kept, err := s.Issuer(ctx); err != nil || kept == issuer {
		return err
	}
	return s.update(ctx, func(tx *Tx) error {
		_, err := tx.exec("INSERT INTO mark (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = "+
			"excluded.value", issuerMark, issuer)
		return err
	})
}

// Issuer returns the issuer that a daemon last ran with on this database; empty before the first start. Its only error
// is core.ErrStorage.
func (s *Store) Issuer(ctx context.Context) (issuer string, err error) {
	err = s.get(ctx, &issuer, "SELECT value FROM mark WHERE name = ?", issuerMark)
	if errors.Is(err, core.ErrNotFound) {
		return "", nil
	}
	return issuer, err
}
