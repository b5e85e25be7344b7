package db

import (
	"context"
	"regexp"
)

// analysisLimit is the number of rows of an index that ANALYZE reads. With a limit, ANALYZE also stores no samples of
// values. With samples, SQLite would replan each statement for each value.
const analysisLimit = "400"

// analyzed matches the table name in a line of PRAGMA optimize.
var analyzed = regexp.MustCompile(`"([a-z0-9_]+)"$`)

// Optimize updates SQLite's statistics for tables whose size has changed a lot. Frequent statements name their indexes
// and don't depend on statistics, but pages and reports benefit from them. Each index is analyzed in a separate
// operation, so other operations wait only a few milliseconds. The only error is core.ErrStorage.
func (s *DB) Optimize(ctx context.Context) error {
	var indexes []string
	err := s.Bulk(ctx, func(tx *Tx) error {
		var lines []string
		// list the statements for all tables, because this connection may not have read every table
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
				// The statement can't be canceled once it has started. It isn't cached, because it runs only once a
				// day.
				_, err := tx.conn.ExecContext(context.WithoutCancel(ctx), `ANALYZE "`+name+`"`)
				return tx.Translate(err)
			})
		}
	}
	if len(indexes) > 0 { // connections read statistics when they begin; open ones do so the next time
		s.readers.SetMaxIdleConns(0)
		s.readers.SetMaxIdleConns(s.opts.Readers)
	}
	return err
}

// Explain returns the steps of SQLite's query plan, for tests. It uses a reading connection and NULL for each
// parameter.
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
