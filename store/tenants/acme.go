package tenants

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

// ACMEData returns the data stored under name in the certificate cache: certificates with their keys, or the account's
// key. If there is no such data, it returns core.ErrNotFound.
func (s *Store) ACMEData(ctx context.Context, name string) ([]byte, error) {
	var sealed []byte
	if err := s.Get(ctx, &sealed, "SELECT data FROM acme_cache WHERE name = ?", name); err != nil {
		return nil, err
	}
	return s.OpenSecret(sealed)
}

// PutACMEData stores data under name in the certificate cache. It replaces earlier data with that name. The only error
// is core.ErrStorage.
func (s *Store) PutACMEData(ctx context.Context, name string, data []byte, now core.Instant) error {
	sealed := s.Seal(data)
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(`INSERT INTO acme_cache (name, data, updated_at) VALUES (?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET data = excluded.data, updated_at = excluded.updated_at`, name, sealed, now)
		return err
	})
}

// DeleteACMEData removes the data stored under name from the certificate cache, if it exists. The only error is
// core.ErrStorage.
func (s *Store) DeleteACMEData(ctx context.Context, name string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("DELETE FROM acme_cache WHERE name = ?", name)
		return err
	})
}
