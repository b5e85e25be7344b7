package faults

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// FullDisk returns SQLite's own error for a full disk.
func FullDisk() (full, err error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	_, full = db.ExecContext(context.Background(), "PRAGMA max_page_count = 1; CREATE TABLE t (x)")
	if full == nil {
		err = errors.New("one page holds a table")
	}
	return full, errors.Join(err, db.Close())
}

// Calls watches a driver and makes one of its calls fail, as a full disk does.
type Calls struct {
	// Undo makes the failing call also end the transaction, as SQLite does when the disk has failed.
	Undo bool

	full  error
	mu    sync.Mutex // guards the fields below
	in    int        // number of calls until one fails; 0: none
	skip  []string   // statements that don't count, until another statement runs
	at    string
	wrote bool
	calls int
	locks int
	ran   map[string][]any // statements that ran, with their first arguments; nil: not kept
}

// NewCalls registers a driver that initially lets every call pass.
func NewCalls(driverName string) (*Calls, error) {
	full, err := FullDisk()
	if err != nil {
		return nil, err
	}
	c := &Calls{full: full}
	return c, Register(driverName, c)
}

// FailAt makes the n-th following call fail. An n of 0 means none. Statements in skip don't count until a different
// statement has run.
func (c *Calls) FailAt(n int, skip ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in, c.skip, c.at, c.wrote, c.calls, c.locks = n, skip, "", false, 0, 0
}

// Stop lets all calls pass again. It returns the kind and the statement of the failed call, or an empty string if
// none has failed. wrote reports whether a statement has changed rows.
func (c *Calls) Stop() (at string, wrote bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in = 0
	return c.at, c.wrote
}

// Counts returns the number of calls since FailAt, and how many of them began a writing transaction.
func (c *Calls) Counts() (calls, locks int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls, c.locks
}

// KeepStatements starts keeping the statements that run, each with the arguments of its first run.
func (c *Calls) KeepStatements() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran = map[string][]any{}
}

// KeptStatements returns the statements kept since KeepStatements and stops keeping them.
func (c *Calls) KeptStatements() map[string][]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.ran
	c.ran = nil
	return kept
}

var numberedPlace = regexp.MustCompile(`[?$][0-9]`)

// Call counts a call. It also returns an error for a statement with more arguments than placeholders, which SQLite's
// driver ignores.
func (c *Calls) Call(conn driver.Conn, kind, query string, args []driver.NamedValue) error {
	if places := strings.Count(query, "?"); len(args) > places && !numberedPlace.MatchString(query) {
		return fmt.Errorf("%d arguments for %d places: %s", len(args), places, query)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls++
	if _, known := c.ran[query]; c.ran != nil && !known && (kind == "exec" || kind == "query") {
		c.ran[query] = make([]any, len(args))
		for i, a := range args {
			c.ran[query][i] = a.Value
		}
	}
	if query == "BEGIN IMMEDIATE" {
		c.locks++
	}
	if !slices.Contains(c.skip, query) {
		c.skip = nil
	}
	if c.in == 0 || c.skip != nil {
		return nil
	}
	if c.in--; c.in > 0 {
		return nil
	}
	c.at = kind + " " + query
	if c.Undo {
		_, _ = conn.(driver.ExecerContext).ExecContext(context.Background(), "ROLLBACK", nil)
	}
	return c.full
}

// Ran records that an operation has changed rows. Changes to the table mark don't count, because they belong to no
// operation.
func (c *Calls) Ran(query string) {
	word, _, _ := strings.Cut(query, " ")
	if (word == "INSERT" || word == "UPDATE" || word == "DELETE") && !strings.HasPrefix(query, "INSERT INTO mark ") {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wrote = true
	}
}
