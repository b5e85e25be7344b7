package db

import (
	"context"
	"errors"
	"fmt"
)

// KeptPages is the number of unused 4 KiB pages that the file keeps for reuse. If there are more, and they make up
// more than a quarter of the file, they are returned to the file system in steps.
const KeptPages = 4096

const shrinkStep = 256 // pages, which take a few milliseconds

// Shrink returns one step of unused pages to the file system. more reports whether there are more to return.
func (s *DB) Shrink(ctx context.Context) (more bool, err error) {
	var all, unused int64
	if err := s.Get(ctx, &all, "PRAGMA page_count"); err != nil {
		return false, err
	}
	if err := s.Get(ctx, &unused, "PRAGMA freelist_count"); err != nil {
		return false, err
	}
	if unused <= max(KeptPages, all/4) {
		return false, nil
	}
	err = s.Bulk(ctx, func(tx *Tx) error {
		// A started statement is never canceled, because that would roll back the whole transaction.
		rows, err := tx.conn.QueryContext(context.WithoutCancel(ctx),
			fmt.Sprintf("PRAGMA incremental_vacuum(%d)", shrinkStep))
		if err != nil {
			return tx.Translate(err)
		}
		for rows.Next() { // one row per page
		}
		return tx.Translate(errors.Join(rows.Err(), rows.Close()))
	})
	return err == nil, err
}
