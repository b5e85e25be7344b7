// Package dbtest gives tests direct SQL access to an open database, and a database of the first version.
package dbtest

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"newsletterd/store/db"
)

// SQL runs a statement in its own transaction and empties all caches. It panics if the statement fails.
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

// Count returns the number that a query reads. It panics if the query returns no row.
func Count(d *db.DB, query string, args ...any) (n int) {
	if err := d.Get(context.Background(), &n, query, args...); err != nil {
		panic(err)
	}
	return n
}

// SkewStatistics replaces SQLite's statistics. The new ones claim that each table has a million rows, all of one tenant
// and one list.
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

// FirstVersion unpacks a database written by the first version, with rows in every table, into a new folder and returns
// its path. root is the path of the repository. Call FirstVersion before any other use of SQLite in the test. The
// users' passwords are "the password of ann", "the password of bob", "an operators password".
func FirstVersion(t testing.TB, root string) (path string) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(db.PrepareProcess())
	in, err := os.Open(filepath.Join(root, "testdata", "upgrade", "v1.db.gz"))
	must(err)
	defer in.Close()
	z, err := gzip.NewReader(in)
	must(err)
	path = filepath.Join(t.TempDir(), "newsletterd.db")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	must(err)
	_, err = io.Copy(out, z)
	must(errors.Join(err, out.Close()))
	return path
}
