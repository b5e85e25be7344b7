// Package dbtest gives tests direct SQL access to an open database.
package dbtest

import (
	"context"

	"newsletterd/store/db"
)

// SQL runs a statement in a transaction of its own and empties all caches. It panics if the statement fails.
func SQL(d *db.DB, query string, args ...any) {
	err := d.Update(context.Background(), func(tx *db.Tx) error {
		tx.Kick(db.TopicRecords)
		_, err := tx.Exec(query, args...)
		return err
	})
	if err != nil {
		panic(err)
	}
}

// Count returns the one number that a query reads. It panics if there is none.
func Count(d *db.DB, query string, args ...any) (n int) {
	if err := d.Get(context.Background(), &n, query, args...); err != nil {
		panic(err)
	}
	return n
}

// SkewStatistics replaces SQLite's statistics: each table has a million rows, all of one tenant and one list.
func SkewStatistics(d *db.DB) {
	for _, q := range []string{
		"ANALYZE", "DELETE FROM sqlite_stat1",
		`INSERT INTO sqlite_stat1 SELECT t.name, i.name, '1000000' || (SELECT group_concat(
			iif(c.seqno = 0 AND (i."unique" = 0 OR EXISTS (SELECT 1 FROM pragma_index_info(i.name) WHERE seqno > 0)),
			' 1000000', ' 1'), '') FROM pragma_index_info(i.name) AS c)
		FROM sqlite_schema AS t JOIN pragma_index_list(t.name) AS i WHERE t.type = 'table'`,
		"CREATE TABLE skewed (x)", "DROP TABLE skewed", // a changed schema makes connections read the statistics
	} {
		SQL(d, q)
	}
}
