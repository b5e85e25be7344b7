package db

import (
	"context"
	"time"

	"github.com/alexedwards/scs/sqlite3store"
)

// Sessions is an scs session store in the same database. Reads use the reading connections and writes go through the
// writer. A failure is an error of kind Unavailable, because there is no other store to fall back to.
type Sessions struct {
	*sqlite3store.SQLite3Store
	store *DB
}

// Sessions returns the session store. scs hashes its tokens (HashTokenInStore). Housekeeping deletes expired
// sessions, so sqlite3store's own cleanup goroutine is not started.
func (s *DB) Sessions() *Sessions {
	return &Sessions{SQLite3Store: sqlite3store.NewWithCleanupInterval(s.readers.DB, 0), store: s}
}

// Commit writes a session (scs.Store).
func (s *Sessions) Commit(token string, data []byte, expiry time.Time) error {
	return s.store.Update(context.Background(), func(tx *Tx) error {
		_, err := tx.Exec("INSERT INTO sessions (token, data, expiry) VALUES (?, ?, julianday(?)) ON CONFLICT "+
			"(token) DO UPDATE SET data = excluded.data, expiry = excluded.expiry",
			token, data, expiry.UTC().Format("2006-01-02T15:04:05.999"))
		return err
	})
}

// Delete removes a session (scs.Store).
func (s *Sessions) Delete(token string) error {
	return s.store.Update(context.Background(), func(tx *Tx) error {
		_, err := tx.Exec("DELETE FROM sessions WHERE token = ?", token)
		return err
	})
}

// Find reads a session (scs.Store). If it doesn't exist or has expired, found is false.
func (s *Sessions) Find(token string) (data []byte, found bool, err error) {
	if err := s.store.readable(context.Background()); err != nil {
		return nil, false, err
	}
	data, found, err = s.SQLite3Store.Find(token)
	return data, found, Translate(err)
}
