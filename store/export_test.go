package store

import (
	"context"

	"newsletterd/core"
)

// What the tests outside of the package count with.
const (
	UploadDead           = uploadDead
	ConfirmsPerListEmail = confirmsPerListEmail
	ImportBatch          = importBatch
	ImportSteps          = importSteps
	ImportIdle           = importIdle
	MailPeriod           = mailPeriod
	MailLeftOut          = mailLeftOut
	MailQueued           = mailQueued
	MaxSingle            = maxSingle
	RequestsApart        = requestsApart
	SearchReads          = searchReads
	UndosPerEmail        = undosPerEmail
	UndosPerListEmail    = undosPerListEmail
)

// ReferenceQueries has a query for each noun.
var ReferenceQueries = references

// AddSteps is Add for several steps, which are all ready.
func (im *Import) AddSteps(ctx context.Context, now core.Instant, steps ...[]ImportRow) error {
	ready := make(chan importStep, len(steps))
	for _, rows := range steps {
		im.prepare(rows)
		ready <- importStep{rows: rows}
	}
	for len(ready) > 0 {
		if _, err := im.add(ctx, <-ready, ready, now); err != nil {
			return err
		}
	}
	return nil
}

// SQL runs a statement in a transaction of its own, after which no cache holds what was. It panics where the statement
// fails.
func (s *Store) SQL(query string, args ...any) {
	err := s.update(context.Background(), func(tx *Tx) error {
		tx.kick(TopicRecords)
		_, err := tx.exec(query, args...)
		return err
	})
	if err != nil {
		panic(err)
	}
}

// Count returns the one number that a query reads; it panics where there is none.
func (s *Store) Count(query string, args ...any) (n int) {
	if err := s.get(context.Background(), &n, query, args...); err != nil {
		panic(err)
	}
	return n
}

// AllRows reads rows into a slice; it panics where that fails.
func (s *Store) AllRows(rows any, query string, args ...any) {
	if err := s.all(context.Background(), rows, query, args...); err != nil {
		panic(err)
	}
}

// Columns returns the columns of each table; what SQLite makes by itself is left out.
func (s *Store) Columns() map[string][]string {
	var rows []struct{ Table, Column string }
	s.AllRows(&rows, `SELECT s.name AS "table", c.name AS "column" FROM sqlite_schema AS s,
		pragma_table_info(s.name) AS c WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_%'
		AND s.name NOT LIKE 'model_search%' ORDER BY s.name, c.cid`)
	columns := map[string][]string{}
	for _, r := range rows {
		columns[r.Table] = append(columns[r.Table], r.Column)
	}
	return columns
}

// CountFaults says which counts of lists differ from their records.
func (s *Store) CountFaults() []string {
	wrong, err := s.wrongCounts(context.Background())
	if err != nil {
		panic(err)
	}
	return wrong
}

// SkewStatistics has SQLite believe that each table has a million rows, all of one tenant and one list.
func (s *Store) SkewStatistics() {
	s.SQL("ANALYZE")
	s.SQL("DELETE FROM sqlite_stat1")
	s.SQL(`INSERT INTO sqlite_stat1 SELECT t.name, i.name, '1000000' || (SELECT group_concat(
			iif(c.seqno = 0 AND (i."unique" = 0 OR EXISTS (SELECT 1 FROM pragma_index_info(i.name) WHERE seqno > 0)),
			' 1000000', ' 1'), '') FROM pragma_index_info(i.name) AS c)
		FROM sqlite_schema AS t JOIN pragma_index_list(t.name) AS i WHERE t.type = 'table'`)
	s.SQL("CREATE TABLE skewed (x)") // each connection reads them when it sees another schema
	s.SQL("DROP TABLE skewed")
}

// SetMaxReplacedBytes changes how much is kept of what an import has replaced, and returns what undoes that.
func SetMaxReplacedBytes(n int64) (undo func()) {
	was := maxReplacedBytes
	maxReplacedBytes = n
	return func() { maxReplacedBytes = was }
}
