package storetest

import (
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"newsletterd/store/db"
	"newsletterd/store/storetest/faults"
)

// Faults fails some statements of databases as a full disk would, without running them.
type Faults struct {
	Driver string // for store.Options

	mu     sync.Mutex // guards what follows
	failed int        // statements that have failed
	calls  int        // statements since it was last said which fail
	fails  func(call int, query string, args []driver.NamedValue) bool
	err    error
}

var faultDrivers atomic.Int64

// NewFaults registers a driver that lets everything pass at first.
func NewFaults(t testing.TB) *Faults {
	t.Helper()
	if err := db.PrepareProcess(); err != nil { // before SQLite is used at all
		t.Fatal(err)
	}
	full, err := faults.FullDisk()
	if err != nil {
		t.Fatal(err)
	}
	f := &Faults{Driver: fmt.Sprint("sqlite with faults ", faultDrivers.Add(1)), err: full}
	if err := faults.Register(f.Driver, f); err != nil {
		t.Fatal(err)
	}
	return f
}

// FailAt has the n-th statement from now fail, counted from 1, and no other; 0: none. It returns how many ran since it
// was called before.
func (f *Faults) FailAt(n int) (calls int) {
	return f.set(func(call int, _ string, _ []driver.NamedValue) bool { return call == n })
}

// FailOften has one statement in n fail from now on, as chance has it.
func (f *Faults) FailOften(n int, seed uint64) {
	chance := rand.New(rand.NewPCG(seed, 0))
	f.set(func(int, string, []driver.NamedValue) bool { return chance.IntN(n) == 0 })
}

// FailWhen has each statement fail from now on of which fails says so; it is asked by one at a time.
func (f *Faults) FailWhen(fails func(query string) bool) {
	f.set(func(_ int, query string, _ []driver.NamedValue) bool { return fails(query) })
}

// FailWith is FailWhen, for what knows statements by their first argument.
func (f *Faults) FailWith(fails func(query string, first driver.Value) bool) {
	f.set(func(_ int, query string, args []driver.NamedValue) bool {
		return len(args) > 0 && fails(query, args[0].Value)
	})
}

// Failed is how many statements have failed in all.
func (f *Faults) Failed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

func (f *Faults) set(fails func(int, string, []driver.NamedValue) bool) (calls int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls, f.calls, f.fails = f.calls, 0, fails
	return calls
}

// Call counts one statement of an operation: not what ends a transaction without effect, which cannot fail in SQLite
// either, and not the look for commits of other processes, which is only repeated later.
func (f *Faults) Call(_ driver.Conn, kind, query string, args []driver.NamedValue) error {
	if kind != "exec" && kind != "query" || strings.HasPrefix(query, "ROLLBACK") || query == "PRAGMA data_version" {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	if f.fails != nil && f.fails(f.calls, query, args) {
		f.failed++
		return f.err
	}
	return nil
}

// Ran is of no interest here.
func (f *Faults) Ran(string) {}
