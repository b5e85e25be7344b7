package store

import (
	"context"

	"newsletterd/store/db/dbtest"
	"newsletterd/store/imports"

	"newsletterd/store/files"
	"newsletterd/store/tenants"
)

// Names that tests outside this package use.
const (
	UploadDead           = files.UploadDead
	ConfirmsPerListEmail = tenants.ConfirmsPerListEmail
	MailPeriod           = tenants.MailPeriod
	MailLeftOut          = tenants.MailLeftOut
	MailQueued           = tenants.MailQueued
	RequestsApart        = tenants.RequestsApart
	UndosPerEmail        = tenants.UndosPerEmail
	UndosPerListEmail    = tenants.UndosPerListEmail
)

// SQL runs a statement in its own transaction and then empties all caches. It panics if the statement fails.
func (s *Store) SQL(query string, args ...any) {
	dbtest.SQL(s.DB, query, args...)
}

// Count returns the number that a query reads. If there is none, it panics.
func (s *Store) Count(query string, args ...any) (n int) {
	return dbtest.Count(s.DB, query, args...)
}

// AllRows reads the rows of a query into the slice rows. If that fails, it panics.
func (s *Store) AllRows(rows any, query string, args ...any) {
	if err := s.All(context.Background(), rows, query, args...); err != nil {
		panic(err)
	}
}

// Columns returns the columns of each table, except tables that SQLite creates.
func (s *Store) Columns() map[string][]string {
	var rows []struct{ Table, Column string }
	s.AllRows(&rows, `SELECT s.name AS "table", c.name AS "column" FROM sqlite_schema AS s,
		pragma_table_info(s.name) AS c WHERE s.type = 'table' AND s.name NOT LIKE 'sqlite_%'
		AND s.name NOT LIKE 'model_search%' AND s.name NOT LIKE 'issue_search%' ORDER BY s.name, c.cid`)
	columns := map[string][]string{}
	for _, r := range rows {
		columns[r.Table] = append(columns[r.Table], r.Column)
	}
	return columns
}

// CountFaults returns the counts of lists that differ from their records.
func (s *Store) CountFaults() []string {
	wrong, err := s.WrongCounts(context.Background())
	if err != nil {
		panic(err)
	}
	return wrong
}

// SkewStatistics makes SQLite believe that each table has a million rows, all of one tenant and one list.
func (s *Store) SkewStatistics() {
	dbtest.SkewStatistics(s.DB)
}

// SetMaxReplacedBytes changes the maximum size of replaced values that are stored for an import. undo restores the
// maximum.
func SetMaxReplacedBytes(n int64) (undo func()) {
	was := imports.MaxReplacedBytes
	imports.MaxReplacedBytes = n
	return func() { imports.MaxReplacedBytes = was }
}
