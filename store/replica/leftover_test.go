package replica

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"newsletterd/store/replica/objectstest"
)

// cutShort returns the files that a kill leaves of another database, by suffix. If journal is true, the kill comes
// during the first transaction, which still uses a rollback journal.
func cutShort(t *testing.T, journal bool) map[string][]byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "other.db")
	mode := "WAL"
	if journal {
		mode = "DELETE"
	}
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode("+mode+")&_pragma=cache_size(1)"+
		"&_pragma=wal_autocheckpoint(0)")
	must(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	if journal {
		_, err = db.ExecContext(t.Context(), "BEGIN")
		must(t, err)
	}
	_, err = db.ExecContext(t.Context(), "CREATE TABLE number (n INTEGER PRIMARY KEY, filler BLOB); "+
		"WITH RECURSIVE up(n) AS (SELECT 100 UNION ALL SELECT n + 1 FROM up WHERE n < 150) "+
		"INSERT INTO number SELECT n, randomblob(3000) FROM up")
	must(t, err)
	files := map[string][]byte{}
	for _, ending := range []string{"", "-wal", "-journal"} {
		b, err := os.ReadFile(path + ending)
		if err == nil && len(b) > 0 {
			files[ending] = b
		} else if !os.IsNotExist(err) {
			must(t, err)
		}
	}
	return files
}

// TestNothingOfAnotherFileGetsIntoWhatIsRestored checks that a -wal or journal of another file is not left next to a
// restored database, because SQLite would apply it.
func TestNothingOfAnotherFileGetsIntoWhatIsRestored(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		journal bool
		main    string // missing, empty or whole
	}{
		{"a journal of the first start, without its file", true, "none"},
		{"a journal of the first start, next to an empty file", true, "empty"},
		{"a journal of the first start, next to its file", true, "whole"},
		{"a -wal without its file", false, "none"},
		{"a -wal next to an empty file", false, "empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			s := objectstest.New(t)
			a := boot(t, s.URL(), filepath.Join(t.TempDir(), "a.db"))
			for i := range 5 {
				must(t, a.add(ctx, i))
			}
			a.stop(t)
			path := filepath.Join(t.TempDir(), "b.db")
			left := cutShort(t, c.journal)
			switch c.main {
			case "none":
				delete(left, "")
			case "empty":
				left[""] = nil
			}
			var endings []string
			for ending, b := range left {
				must(t, os.WriteFile(path+ending, b, 0o600))
				if len(b) > 0 {
					endings = append(endings, ending)
				}
			}
			b := boot(t, s.URL(), path)
			if got := b.numbers(t); !slices.Equal(got, upTo(5)) {
				t.Errorf("the restored file has %v", got)
			}
			must(t, b.add(ctx, 5))
			b.stop(t)
			if got := boot(t, s.URL(), filepath.Join(t.TempDir(), "c.db")).numbers(t); !slices.Equal(got, upTo(6)) {
				t.Errorf("the bucket has %v", got)
			}
			var kept []string
			for _, f := range aside(t, path) {
				ending := strings.TrimLeft(strings.TrimPrefix(f, path+".superseded-"), "0123456789T.")
				kept = append(kept, ending)
				if got, err := os.ReadFile(f); err != nil || !bytes.Equal(got, left[ending]) {
					t.Errorf("%s was changed: %v", f, err)
				}
			}
			slices.Sort(kept)
			slices.Sort(endings)
			if !slices.Equal(kept, endings) {
				t.Errorf("kept %q of %q", kept, endings)
			}
		})
	}
}

// TestAFirstStartThatWasCutShortIsBegunAgain repeats an interrupted first start on the same disk, before anything was
// kept in the bucket.
func TestAFirstStartThatWasCutShortIsBegunAgain(t *testing.T) {
	t.Parallel()
	s := objectstest.New(t)
	path := filepath.Join(t.TempDir(), "a.db")
	for ending, b := range cutShort(t, true) {
		must(t, os.WriteFile(path+ending, b, 0o600))
	}
	a := boot(t, s.URL(), path)
	must(t, a.add(t.Context(), 0))
	a.stop(t)
	if got := boot(t, s.URL(), filepath.Join(t.TempDir(), "b.db")).numbers(t); !slices.Equal(got, upTo(1)) {
		t.Errorf("the bucket has %v", got)
	}
}
