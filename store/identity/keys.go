package identity

import (
	"context"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// SigningKeys returns the keys whose tokens may still be valid, oldest first. Keys of the same age are sorted by
// algorithm. If a key can't be decrypted, it returns ErrMasterKey.
func (s *Store) SigningKeys(ctx context.Context, now core.Instant) ([]core.SigningKey, error) {
	var keys []core.SigningKey
	err := s.All(ctx, &keys, `SELECT kid, alg, private, created_at, active_at, retired_at, expires_at FROM signing_key
		WHERE expires_at = 0 OR expires_at > ? ORDER BY active_at, alg, kid`, int64(now))
	if err != nil {
		return nil, err
	}
	for i := range keys {
		if keys[i].Private, err = s.OpenSecret(keys[i].Private); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// AddFirstSigningKey adds a key unless its algorithm already has a signing key. If two processes start on a new
// database, one adds its key and both use that key. The only error is core.ErrStorage.
func (s *Store) AddFirstSigningKey(ctx context.Context, k core.SigningKey) error {
	sealed := s.Seal(k.Private)
	return s.Update(ctx, func(tx *db.Tx) error {
		n, err := tx.Exec(`INSERT INTO signing_key (kid, alg, private, created_at, active_at)
			SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS (SELECT 1 FROM signing_key WHERE alg = ?2 AND retired_at = 0)`,
			k.KID, k.Alg, sealed, int64(k.CreatedAt), int64(k.ActiveAt))
		if n > 0 {
			tx.Kick(db.TopicIdentity)
		}
		return err
	})
}

// AddNextSigningKey adds the next key for an algorithm, which replaces the current signing key at k.ActiveAt. If there
// already is a next key, AddNextSigningKey adds no key and added is false. If By has stored an actor in ctx, it writes
// an audit entry. The only error is core.ErrStorage.
func (s *Store) AddNextSigningKey(ctx context.Context, k core.SigningKey, now core.Instant) (added bool, err error) {
	sealed := s.Seal(k.Private)
	err = s.Update(ctx, func(tx *db.Tx) error {
		added = false
		var waiting int
		if err := tx.Get(&waiting, "SELECT count(*) FROM signing_key WHERE alg = ? AND active_at > ?", k.Alg,
			int64(now)); err != nil || waiting > 0 {
			return err
		}
		if _, err := tx.Exec("UPDATE signing_key SET retired_at = ? WHERE alg = ? AND retired_at = 0",
			int64(k.ActiveAt), k.Alg); err != nil {
			return err
		}
		tx.Kick(db.TopicIdentity)
		err := s.ByActor(ctx, "key.rotate", "", k.KID, func(tx *db.Tx) error {
			_, err := tx.Exec("INSERT INTO signing_key (kid, alg, private, created_at, active_at) VALUES (?, ?, ?, ?, ?)",
				k.KID, k.Alg, sealed, int64(k.CreatedAt), int64(k.ActiveAt))
			return err
		})(tx)
		added = err == nil
		return err
	})
	return added, err
}

// ExpireSigningKeys sets the time when each retired key leaves the key set: after the last token that it may have
// signed expires. Tokens live for ttl, except tokens from the command line, which live as long as their families. It
// deletes keys that have left the set. The only error is core.ErrStorage.
func (s *Store) ExpireSigningKeys(ctx context.Context, ttl time.Duration, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(`UPDATE signing_key SET expires_at = max(retired_at + ?2,
			coalesce((SELECT max(f.expires_at) FROM family f WHERE f.kind = 'admin' AND f.created_at <= retired_at AND
			f.revoked_at = 0), 0) + ?2)
			WHERE retired_at > 0 AND retired_at <= ?1 AND expires_at = 0`, int64(now), ttl.Milliseconds())
		if err != nil {
			return err
		}
		_, err = tx.Exec("DELETE FROM signing_key WHERE expires_at > 0 AND expires_at <= ?", int64(now))
		return err
	})
}
