// Package faults provides a database driver that fails on demand: SQLite's own driver with a Watcher in front.
package faults

import (
	"context"
	"database/sql"
	"database/sql/driver"

	_ "modernc.org/sqlite" // the driver that is wrapped
)

// Watcher observes each call of the driver before it is made, and may make it fail.
type Watcher interface {
	// Call returns an error if the call must fail. kind is prepare, begin, exec, query or step (to the next row).
	// args are the arguments of exec and query.
	Call(c driver.Conn, kind, query string, args []driver.NamedValue) error
	// Ran is called after a statement has changed rows.
	Ran(query string)
}

// Register registers the driver with database/sql.
func Register(name string, w Watcher) error {
	db, err := sql.Open("sqlite", "")
	if err != nil {
		return err
	}
	sql.Register(name, &between{db.Driver(), w})
	return db.Close()
}

type between struct {
	driver.Driver
	w Watcher
}

func (d *between) Open(name string) (driver.Conn, error) {
	c, err := d.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	return &conn{c, d.w}, nil
}

type conn struct {
	driver.Conn
	w Watcher
}

func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.w.Call(c.Conn, "prepare", query, nil); err != nil {
		return nil, err
	}
	s, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	return &stmt{s, c, query}, nil
}

func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if err := c.w.Call(c.Conn, "begin", "", nil); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
}

func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.w.Call(c.Conn, "exec", query, args); err != nil {
		return nil, err
	}
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.w.Call(c.Conn, "query", query, args); err != nil {
		return nil, err
	}
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

type stmt struct {
	driver.Stmt
	c     *conn
	query string
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.c.w.Call(s.c.Conn, "exec", s.query, args); err != nil {
		return nil, err
	}
	res, err := s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
	if err != nil {
		return nil, err
	}
	if n, err := res.RowsAffected(); err == nil && n > 0 {
		s.c.w.Ran(s.query)
	}
	return res, nil
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.c.w.Call(s.c.Conn, "query", s.query, args); err != nil {
		return nil, err
	}
	r, err := s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	return &rows{r, s}, nil
}

type rows struct {
	driver.Rows
	s *stmt
}

func (r *rows) Next(dest []driver.Value) error {
	if err := r.s.c.w.Call(r.s.c.Conn, "step", r.s.query, nil); err != nil {
		return err
	}
	return r.Rows.Next(dest)
}
