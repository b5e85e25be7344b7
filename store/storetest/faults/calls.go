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

// FullDisk returns SQLite's own error where the disk is full.
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

// Calls watches a driver and lets one of its calls fail, as a full disk does.
type Calls struct {
	// Undo has the transaction go with the call that fails, as SQLite lets it go where the disk has failed.
	Undo bool

	full  error
	mu    sync.Mutex // guards what follows
	in    int        // calls until one fails; 0: none is to
	skip  []string   // statements that do not count, up to the first that is none of them
	at    string
	wrote bool
	calls int
	locks int
	ran   map[string][]any // statements that were run, with their first arguments; nil: they aren't kept
}

// NewCalls registers a driver that lets everything pass at first.
func NewCalls(driverName string) (*Calls, error) {
	full, err := FullDisk()
	if err != nil {
		return nil, err
	}
	c := &Calls{full: full}
	return c, Register(driverName, c)
}

// FailAt has the n-th call from now on fail; 0: none. Statements of skip do not count until another one has come.
func (c *Calls) FailAt(n int, skip ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in, c.skip, c.at, c.wrote, c.calls, c.locks = n, skip, "", false, 0, 0
}

// Stop lets all calls pass again. It returns the kind and the statement of the call that has failed, empty if none
// has, and whether a statement has changed rows.
func (c *Calls) Stop() (at string, wrote bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in = 0
	return c.at, c.wrote
}

// Counts returns how many calls there were since FailAt, and how many of them began a transaction that writes.
func (c *Calls) Counts() (calls, locks int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls, c.locks
}

// KeepStatements keeps the statements that are run from now on, each with the arguments of its first run.
func (c *Calls) KeepStatements() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ran = map[string][]any{}
}

// KeptStatements returns the statements that were run since KeepStatements, and keeps no more.
func (c *Calls) KeptStatements() map[string][]any {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := c.ran
	c.ran = nil
	return kept
}

var numberedPlace = regexp.MustCompile(`[?$][0-9]`)

// Call counts a call. It fails, too, where a statement has more arguments than places, which SQLite's driver ignores.
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

// Ran notes that an operation has changed rows; those of the table mark are no operation's.
func (c *Calls) Ran(query string) {
	word, _, _ := strings.Cut(query, " ")
	if (word == "INSERT" || word == "UPDATE" || word == "DELETE") && !strings.HasPrefix(query, "INSERT INTO mark ") {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.wrote = true
	}
}
