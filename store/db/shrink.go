package db

import (
	"context"
	"errors"
	"fmt"
)

// KeptPages is how many pages that nothing needs any more are kept to be used again, of 4 KiB. Where they are more, and
// more than a quarter of the file, they are given back to the file system in steps.
const KeptPages = 4096

const shrinkStep = 256 // pages, a few milliseconds

// Shrink gives a step of unused pages back, and reports whether there is more to give.
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
		// What was begun is never cut: an interrupted statement would take the whole transaction along.
		rows, err := tx.conn.QueryContext(context.WithoutCancel(ctx),
			fmt.Sprintf("PRAGMA incremental_vacuum(%d)", shrinkStep))
		if err != nil {
			return tx.Translate(err)
		}
		for rows.Next() { // a page each
		}
		return tx.Translate(errors.Join(rows.Err(), rows.Close()))
	})
	return err == nil, err
}
