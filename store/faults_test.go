package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jmoiron/sqlx"

	"newsletterd/core"
	driverfaults "newsletterd/store/storetest/faults"
)

// faults lets the n-th call of SQLite's driver fail, as a full disk does.
type faults struct {
	mu    sync.Mutex
	in    int  // calls until one fails; 0: none is to
	after bool // they count from the first statement of an operation on, that of a crowd left out
	undo  bool // the transaction goes with the statement, as SQLite lets it go where the disk has failed
	at    string
	wrote bool // a statement has changed rows
	calls int
	locks int // transactions that write
	full  error
}

var order = sync.OnceValue(func() *faults {
	if err := PrepareProcess(); err != nil {
		panic(err)
	}
	f := &faults{full: fullDisk()}
	if err := driverfaults.Register("sqlite-faults", f); err != nil {
		panic(err)
	}
	return f
})

// fullDisk is SQLite's own error.
func fullDisk() error {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, q := range []string{
		"CREATE TABLE a (b)", "PRAGMA max_page_count = 2",
		"INSERT INTO a VALUES (zeroblob(100000))",
	} {
		if _, err = db.Exec(q); err != nil {
			break
		}
	}
	if !errors.Is(translate(err), core.ErrUnavailable) {
		panic(fmt.Sprint("no full disk: ", err))
	}
	return err
}

const insertOfCrowd = "INSERT INTO mark (name, value) VALUES (?, '')"

var ofTheCrowd = []string{
	"BEGIN IMMEDIATE", "ROLLBACK", "PRAGMA data_version", "SAVEPOINT op", "RELEASE op",
	insertOfCrowd,
}

// arm orders the n-th call from now on to fail; 0: none.
func (f *faults) arm(n int, after bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.in, f.after, f.at, f.wrote, f.calls, f.locks = n, after, "", false, 0, 0
}

// disarm tells at which statement a call failed; empty: none did.
func (f *faults) disarm() (at string, wrote bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.in = 0
	return f.at, f.wrote
}

var numberedPlace = regexp.MustCompile(`[?$][0-9]`)

// Call counts the calls of the driver. It fails where a statement has more arguments than places, which SQLite's driver
// ignores.
func (f *faults) Call(c driver.Conn, kind, query string, args []driver.NamedValue) error {
	if places := strings.Count(query, "?"); len(args) > places && !numberedPlace.MatchString(query) {
		return fmt.Errorf("%d arguments for %d places: %s", len(args), places, query)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if query == "BEGIN IMMEDIATE" {
		f.locks++
	}
	if f.after = f.after && slices.Contains(ofTheCrowd, query); f.in == 0 || f.after {
		return nil
	}
	if f.in--; f.in > 0 {
		return nil
	}
	f.at = kind + " " + query
	if f.undo {
		_, _ = c.(driver.ExecerContext).ExecContext(context.Background(), "ROLLBACK", nil)
	}
	return f.full
}

// Ran notes that an operation has changed rows.
func (f *faults) Ran(query string) {
	word, _, _ := strings.Cut(query, " ")
	if (word == "INSERT" || word == "UPDATE" || word == "DELETE") && !strings.HasPrefix(query, "INSERT INTO mark ") {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.wrote = true
	}
}

// story is a run of operations, each tried with a fault at its first call of the driver, its second, and so on, until
// it gets through without one. What was refused has left no trace in the file; what was acknowledged stands there.
type story struct {
	*testing.T
	*Store
	*faults
	tenant, list, user, endpoint string
	job                          core.SendJob
	clean                        *sqlx.DB // looks at the file without faults
	crowd                        bool     // each operation shares its transaction with two others
	tries                        int
	told                         map[string]bool
}

func newStory(t *testing.T, undo, crowd bool) *story {
	f := order()
	f.undo = undo
	path := filepath.Join(t.TempDir(), "story.db")
	// Without checkpoints: no fault is to hit what the writer does after an operation.
	s, err := Open(t.Context(),
		Options{Path: path, Migrate: true, WatchEvery: 1 << 40, ExternalCheckpoints: true, Driver: "sqlite-faults"})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	clean, err := sqlx.Open("sqlite", "file:"+path)
	must(t, err)
	t.Cleanup(func() { _ = clean.Close() })
	clean.SetMaxOpenConns(1)
	return &story{
		T: t, Store: s, faults: f, clean: clean, crowd: crowd,
		told: map[string]bool{},
	}
}

// version moves with every commit of the store.
func (s *story) version() (v int64) {
	s.Helper()
	must(s.T, s.clean.Get(&v, "PRAGMA data_version"))
	return v
}

// op tells of an operation that is one transaction at most; steps of one that is several: what it did before the fault
// stays.
func (s *story) op(name string, fn func() error)    { s.Helper(); s.tell(name, false, fn) }
func (s *story) steps(name string, fn func() error) { s.Helper(); s.tell(name, true, fn) }

func (s *story) tell(name string, several bool, fn func() error) {
	s.Helper()
	s.told[name] = true
	step := 1
	if s.crowd && os.Getenv("NEWSLETTERD_TORTURE") == "" {
		step = 5 // enough for a day's work: each takes a dozen goroutines
	}
	for n := 1; ; n += step {
		s.kick(1 << TopicRecords) // no cache spares a read
		before := s.version()
		s.arm(n, s.crowd)
		err := s.try(fn)
		at, wrote := s.disarm()
		s.tries++
		if err != nil && strings.Contains(err.Error(), "panic") {
			s.Fatalf("%s, fault at %s: %v", name, at, err)
		}
		switch {
		case at == "" && err != nil:
			s.Fatalf("%s without a fault: %v", name, err)
		case at == "":
			return
		case strings.HasSuffix(at, " ROLLBACK") && (err == nil || s.crowd || several || s.version() == before):
			// It was refused for a reason of its own, or meant to leave nothing; what follows has to find no
			// transaction open.
			if err == nil {
				return
			}
		case err != nil && !errors.Is(err, core.ErrUnavailable):
			s.Errorf("%s, fault at %s: %v; it is no error of the storage", name, at, err)
		case s.crowd:
			if err == nil {
				return
			}
		case err != nil && !several && s.version() != before:
			s.Errorf("%s, fault at %s: refused, and something was committed: %v", name, at, err)
		case err == nil && wrote && s.version() == before:
			s.Errorf("%s, fault at %s: acknowledged, and nothing was committed", name, at)
		case err == nil:
			s.Errorf("%s, fault at %s: swallowed", name, at)
			return
		}
		if n > 5000 {
			s.Fatalf("%s does not come to an end", name)
		}
	}
}

// try runs an operation, in a crowd together with two others in one transaction: theirs is kept if, and only if, they
// are told so.
func (s *story) try(fn func() error) (err error) {
	s.Helper()
	if !s.crowd {
		return fn()
	}
	var wg sync.WaitGroup
	release := s.hold(&wg)
	over := make(chan struct{})
	wg.Go(func() { defer close(over); err = fn() })
	s.queued(1, over)
	var errs [2]error
	row := func(i int) string { return fmt.Sprint("crowd", s.tries, " ", i) }
	for i, do := range []func(context.Context, func(*Tx) error) error{s.update, s.updateRepeatable} {
		wg.Go(func() {
			errs[i] = do(context.Background(), func(tx *Tx) error {
				_, err := tx.exec(insertOfCrowd,
					row(i))
				return err
			})
		})
		s.queued(2+i, over)
	}
	close(release)
	wg.Wait()
	for i, err := range errs {
		var there bool
		must(s.T, s.clean.Get(&there, "SELECT EXISTS (SELECT 1 FROM mark WHERE name = ?)", row(i)))
		if there != (err == nil) {
			s.Errorf("one of the crowd was told %v, and its row is there: %v (fault at %s)", err, there, s.at)
		}
	}
	return err
}

// hold keeps the writer at an operation until release is closed.
func (s *story) hold(wg *sync.WaitGroup) (release chan struct{}) {
	release, held := make(chan struct{}), make(chan struct{})
	wg.Go(func() { _ = s.update(context.Background(), func(*Tx) error { close(held); <-release; return errUndo }) })
	<-held
	return release
}

// queued returns when n operations wait for the writer, or one has come to its end without.
func (s *story) queued(n int, over <-chan struct{}) {
	for w := s.writer; len(w.interactive)+len(w.bulk)+len(w.late) < n; runtime.Gosched() {
		select {
		case <-over:
			return
		default:
		}
	}
}
