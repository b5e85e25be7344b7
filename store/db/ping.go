package db

import (
	"context"
	"errors"

	"newsletterd/core"
)

var (
	errUndo     = errors.New("undo")
	errReadOnly = errors.New("the disk is read-only")
	errFull     = errors.New("the disk is full or nearly full")
)

// leastRoom is how many bytes must be free for the smallest commit: a few pages of the -wal.
const leastRoom = 16 << 10

// pingRoom is how much must fit, in bytes, after a write found no room: as much as an operation writes by the rule.
const pingRoom = 1 << 20

// Ping really reads and writes: it takes the write lock, writes a session row and takes it back; after a write that
// failed it leaves the row, so that the disk has to take it, and after one that found no room the row is large for a
// moment: else it would be well as long as the smallest writes still fit. A disk without a free byte fails before any
// write does. database and sessions are nil where each answers. Their errors are core.ErrStorage.
func (s *DB) Ping(ctx context.Context) (database, sessions error) {
	var one int
	if database = s.Get(ctx, &one, "SELECT 1"); database != nil {
		return database, database
	}
	if database = s.checkFile(); database != nil {
		return database, database
	}
	free, _, readOnly, err := DiskOf(s.path)
	full := s.full.Load()
	switch {
	case err != nil:
	case readOnly:
		return core.ErrStorage.With(errReadOnly), core.ErrStorage.With(errReadOnly)
	case free < leastRoom, full && free < pingRoom:
		return core.ErrStorage.With(errFull), core.ErrStorage.With(errFull)
	}
	if full {
		if err := s.findRoom(ctx); err != nil {
			return err, err
		}
	}
	keep := s.failing.Load() || full
	err = s.Update(ctx, func(tx *Tx) error {
		if _, sessions = tx.Exec("INSERT OR REPLACE INTO sessions (token, data, expiry) VALUES ('ping', x'', " +
			"0)"); sessions != nil {
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

// findRoom reports whether there is room again. Ping makes the row small again.
func (s *DB) findRoom(ctx context.Context) error {
	err := s.Update(ctx, func(tx *Tx) error {
		_, err := tx.Exec("INSERT OR REPLACE INTO sessions (token, data, expiry) VALUES ('ping', zeroblob(?), 0)",
			pingRoom)
		return err
	})
	if err == nil {
		s.full.Store(false)
	}
	return err
}
