package store

import (
	"context"
	"errors"

	"newsletterd/core"
)

var (
	errUndo     = errors.New("undo")
	errReadOnly = errors.New("the disk is read-only")
)

// Ping really reads and writes: it takes the write lock, writes a session row and takes it back; after a write that
// failed it leaves the row, so that the disk has to take it. database and sessions are nil where each answers.
func (s *Store) Ping(ctx context.Context) (database, sessions error) {
	var one int
	if database = s.get(ctx, &one, "SELECT 1"); database != nil {
		return database, database
	}
	if database = s.checkFile(); database != nil {
		return database, database
	}
	if _, _, readOnly, err := diskOf(s.path); err == nil && readOnly {
		return core.ErrStorage.With(errReadOnly), core.ErrStorage.With(errReadOnly)
	}
	keep := s.failing.Load()
	err := s.update(ctx, func(tx *Tx) error {
		if _, sessions = tx.exec("INSERT OR REPLACE INTO sessions (token, data, expiry) VALUES ('ping', x'', 0)"); sessions != nil {
			return sessions
		}
		if keep {
			return nil
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
