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

// Faults makes some statements fail, as on a full disk, without running them.
type Faults struct {
	Driver string // for db.Options

	mu     sync.Mutex // guards the fields below
	failed int        // number of statements that have failed
	calls  int        // number of statements since the last choice of failing statements
	fails  func(call int, query string, args []driver.NamedValue) bool
	err    error
}

var faultDrivers atomic.Int64

// NewFaults registers a driver whose statements don't fail until a method of the result is called.
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

// FailAt makes only the n-th of the next statements fail, counted from 1. If n is 0, none fails. It returns the number
// of statements since the last choice of failing statements.
func (f *Faults) FailAt(n int) (calls int) {
	return f.set(func(call int, _ string, _ []driver.NamedValue) bool { return call == n })
}

// FailOften makes each of the next statements fail with a probability of 1/n. seed makes the choice repeatable.
func (f *Faults) FailOften(n int, seed uint64) {
	chance := rand.New(rand.NewPCG(seed, 0))
	f.set(func(int, string, []driver.NamedValue) bool { return chance.IntN(n) == 0 })
}

// FailWhen makes later statements fail if fails returns true for them. fails is never called concurrently.
func (f *Faults) FailWhen(fails func(query string) bool) {
	f.set(func(_ int, query string, _ []driver.NamedValue) bool { return fails(query) })
}

// FailWith is like FailWhen, but fails also gets the first argument of the statement.
func (f *Faults) FailWith(fails func(query string, first driver.Value) bool) {
	f.set(func(_ int, query string, args []driver.NamedValue) bool {
		return len(args) > 0 && fails(query, args[0].Value)
	})
}

// Failed returns the total number of failed statements.
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

// Call counts a statement of an operation. It ignores statements that end a transaction without effect, because SQLite
// doesn't fail there either. It also ignores the check for commits of other processes, which is repeated later anyway.
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

// Ran does nothing.
func (f *Faults) Ran(string) {}
