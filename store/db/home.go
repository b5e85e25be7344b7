package db

import (
	"context"
	"errors"
	"fmt"

	"github.com/jmoiron/sqlx"

	"newsletterd/core"
)

// copyMark is the home mark of files written by Backup and Snapshot. No file has this mark, so a copy is never at home,
// even if it replaces the file that it was made from.
const copyMark = "copy"

// Settle detects whether the file was moved, copied or restored since the last start. In the same transaction it calls
// settle, which decides which emails and events may still be sent. Afterwards the file is at home here. If away is
// true, the file is a copy or was restored. If operations wait for a replica, a file that comes from it is at home on
// every machine. Settle returns core.ErrStorage or a file system error.
func (s *DB) Settle(ctx context.Context, now core.Instant, settle func(tx *Tx, away bool) error) (away bool, err error) {
	file, err := homeMark(s.path)
	if err != nil {
		return false, err
	}
	mark := file
	if s.Acknowledges() { // the replica knows what was sent, on whatever machine the file was
		mark = "replica " + s.opts.Replica.Name()
	}
	err = s.Update(ctx, func(tx *Tx) error {
		var home string
		err := tx.Get(&home, "SELECT mark FROM home")
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return err
		}
		away = err == nil && home != mark && home != file && (mark != "" || home == copyMark)
		if err := settle(tx, away); err != nil || home == mark {
			return err
		}
		_, err = tx.Exec("INSERT OR REPLACE INTO home (no, mark, marked_at) VALUES (1, ?, ?)", mark, int64(now))
		return err
	})
	return away, err
}

// markCopy marks a database file as a copy. If the copy has an older schema, it has no place for the mark and stays
// unmarked.
func markCopy(ctx context.Context, path string) error {
	db, err := sqlx.Open("sqlite", dsn(path, nil, "_pragma=synchronous(OFF)"))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	var has bool
	err = db.GetContext(ctx, &has, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'home')")
	if err == nil && has {
		_, err = db.ExecContext(ctx, "INSERT OR REPLACE INTO home (no, mark, marked_at) VALUES (1, ?, 0)", copyMark)
	}
	if err = errors.Join(err, db.Close()); err == nil && WalSize(path) > 0 {
		err = errors.New("its -wal file still exists")
	}
	if err != nil {
		return fmt.Errorf("mark the copy: %w", err)
	}
	return nil
}
