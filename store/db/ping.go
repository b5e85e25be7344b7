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

// leastRoom is the number of free bytes that the smallest commit needs: a few pages of the -wal.
const leastRoom = 16 << 10

// pingRoom is the number of bytes that Ping must be able to write after a write failed because the disk was full. A
// typical operation writes that much.
const pingRoom = 1 << 20

// Ping checks the database by reading and writing. It takes the write lock, writes a session row and rolls it back.
// After a failed write, it commits the row to prove that the disk accepts writes. If that write failed because
// the disk was full, it first makes the row large, because small writes may still fit. If the disk has no free byte,
// Ping fails without writing. The errors database and sessions are nil or core.ErrStorage.
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

// findRoom checks whether the disk has space again, by writing a large row. Ping later shrinks that row.
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
