package store

import (
	"context"
	"errors"

	"newsletterd/core"
)

var errUndo = errors.New("undo")

// Ping really reads and writes: it takes the write lock, writes a session row and takes it back. database and sessions
// are nil where each answers.
func (s *Store) Ping(ctx context.Context) (database, sessions error) {
	var one int
	if database = s.get(ctx, &one, "SELECT 1"); database != nil {
		return database, database
	}
	if database = s.checkFile(); database != nil {
		return database, database
	}
	err := s.update(ctx, func(tx *Tx) error {
		if _, sessions = tx.exec("INSERT OR REPLACE INTO sessions (token, data, expiry) VALUES ('ping', x'', 0)"); sessions != nil {
			return sessions
		}
		return errUndo
	})
	if errors.Is(err, errUndo) {
		err = nil
	}
	if err != nil && sessions != nil && !errors.Is(sessions, core.ErrUnavailable) {
		return nil, sessions
	}
	return err, err
}
