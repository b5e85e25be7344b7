package db

import (
	"context"
	"regexp"
)

// analysisLimit is how many rows of an index ANALYZE looks at. With a limit it keeps no samples of values either, for
// which each statement would be planned anew with each value.
const analysisLimit = "400"

// analyzed finds the table in a line of PRAGMA optimize.
var analyzed = regexp.MustCompile(`"([a-z0-9_]+)"$`)

// Optimize has SQLite look at the tables whose size has changed much since it last did. Statements that run all the
// time name their indexes and don't depend on what it notes; pages and reports do better with it. Each index is an
// operation of its own, so that others wait for a few milliseconds at most. Its only error is core.ErrStorage.
func (s *DB) Optimize(ctx context.Context) error {
	var indexes []string
	err := s.Bulk(ctx, func(tx *Tx) error {
		var lines []string
		// what it would do, with all tables: this connection may not have asked for a table yet
		if err := tx.All(&lines, "PRAGMA optimize(0x10003)"); err != nil {
			return err
		}
		indexes = nil
		for _, line := range lines {
			if table := analyzed.FindStringSubmatch(line); table != nil {
				var names []string
				if err := tx.All(&names, "SELECT name FROM pragma_index_list(?)", table[1]); err != nil {
					return err
				}
				indexes = append(indexes, names...)
			}
		}
		return nil
	})
	for _, name := range indexes {
		if err == nil {
			err = s.Bulk(ctx, func(tx *Tx) error {
				// What was begun is never cut, and what runs once a day is not kept.
				_, err := tx.conn.ExecContext(context.WithoutCancel(ctx), `ANALYZE "`+name+`"`)
				return tx.Translate(err)
			})
		}
	}
	if len(indexes) > 0 { // a connection reads what was noted when it begins; one that reads now does so at its next start
		s.readers.SetMaxIdleConns(0)
		s.readers.SetMaxIdleConns(s.opts.Readers)
	}
	return err
}

// Explain returns the steps of SQLite's plan of a query, for tests: as a connection that reads would run it, with NULL
// for each parameter.
func (s *DB) Explain(ctx context.Context, query string) (steps []string, err error) {
	rows, err := s.readers.QueryxContext(ctx, "EXPLAIN QUERY PLAN "+query, make([]any, 15)...)
	if err != nil {
		return nil, Translate(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			return nil, Translate(err)
		}
		steps = append(steps, step)
	}
	return steps, Translate(rows.Err())
}
