package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/netip"

	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"newsletterd/core"
)

// Tx is the writer's transaction as one operation sees it. It is valid only inside the function it is given to.
// Statements are prepared once and cached by their text, so the text must be a constant.
type Tx struct {
	Store   *DB
	conn    *sqlx.Conn
	stmts   map[string]*sqlx.Stmt
	topics  topicSet
	left    bool
	audited []auditEntry // of the operation that runs
	watched watched      // ... and the row whose changes it tells
	origin  netip.Addr   // ... and the address that its request came from; zero: none
	client  string       // ... and the id of the OAuth client that its user acts through; empty: none
	upkeep  bool         // the writer's own statements, which no operation asked for, aren't counted
	inside  bool         // an operation runs
	alone   bool         // ... and no other one in its transaction so far
	ran     int          // statements of the operation that runs, so far; see padTo
	// a statement of it found no working disk: SQLite may have ended the transaction, and the next would commit by
	// itself
	broken error
}

// Topic names a kind of work that a commit may make due.
type Topic uint8

// The topics. A loop or a cache subscribes to one with OnKick.
const (
	TopicMail      Topic = iota // transactional mail was queued
	TopicMailSoon               // ... that is due MailDelay later
	TopicOutbox                 // an event for the send service was written, or is to go out again
	TopicEndpoints              // events for endpoints are to go out again; for written ones see Store.OnFed
	TopicSync                   // a full sync was asked for, or its removal is open
	TopicJobs                   // a send job was made, cancelled or became due
	TopicDisable                // an address waits for the member service's disable operation
	TopicIdentity               // users, roles, clients, families or keys changed: cached callers are stale
	// tenants, lists, templates, webhook clients or providers changed: cached records are stale
	TopicRecords
	TopicImports // an import waits to be run, or its file to be removed
	TopicHolds   // the rest of a job waits after its first few
	topics
)

type topicSet uint16

// Kick marks that work of this topic is due; the loops are woken after the commit.
func (tx *Tx) Kick(t Topic) { tx.topics |= 1 << t }

// Kicked reports whether the operation has marked work of this topic.
func (tx *Tx) Kicked(t Topic) bool { return tx.topics&(1<<t) != 0 }

// DB is the file that the operation writes to.
func (tx *Tx) DB() *DB { return tx.Store }

// Ran is the number of statements that the operation has run so far.
func (tx *Tx) Ran() int { return tx.ran }

// ByNoOne forgets where the request of the operation came from: what is noted next is the daemon's own doing.
func (tx *Tx) ByNoOne() { tx.origin, tx.client = netip.Addr{}, "" }

// Client returns the id of the OAuth client that the user of the operation acts through; empty: none.
func (tx *Tx) Client() string { return tx.client }

// ActingClient returns how the audit trail names the OAuth client that the user of the operation acts through; empty:
// there is none.
func (tx *Tx) ActingClient() string {
	if tx.client == "" {
		return ""
	}
	return core.ClientActor(tx.client)
}

// Departs marks that a person may have become unmailable; see Store.Departures.
func (tx *Tx) Departs() { tx.left = true }

// BringsFile marks that the operation writes a part of a file that comes in: the -wal is looked at sooner.
func (tx *Tx) BringsFile() { tx.Store.writer.checkpoint.file = true }

// Awaited reports whether another operation waits for this one: an operation that could do more ends then.
func (tx *Tx) Awaited() bool {
	w := tx.Store.writer
	return !tx.alone || len(w.interactive)+len(w.bulk)+len(w.late) > 0
}

// Translate is translate, and remembers that the disk has failed the operation.
func (tx *Tx) Translate(err error) error {
	if err == nil {
		return nil
	}
	err = Translate(err)
	if tx.inside && errors.Is(err, core.ErrUnavailable) {
		tx.broken = err
	}
	return err
}

// Stmt returns the prepared statement of a text, which must be a constant.
func (tx *Tx) Stmt(query string) (*sqlx.Stmt, error) {
	if tx.broken != nil {
		return nil, tx.broken
	}
	if !tx.upkeep {
		tx.Store.stats.statements.Add(1)
		tx.ran++
	}
	if s, ok := tx.stmts[query]; ok {
		return s, nil
	}
	s, err := tx.conn.PreparexContext(context.Background(), query)
	if err != nil {
		return nil, tx.Translate(err)
	}
	tx.stmts[query] = s
	return s, nil
}

// Exec runs a statement and returns the number of rows that it changed.
func (tx *Tx) Exec(query string, args ...any) (int64, error) {
	res, err := tx.run(query, args)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return n, tx.Translate(err)
}

// Insert runs a statement and returns the rowid that it gave.
func (tx *Tx) Insert(query string, args ...any) (int64, error) {
	res, err := tx.run(query, args)
	if err != nil {
		return 0, err
	}
	id, err := res.LastInsertId()
	return id, tx.Translate(err)
}

func (tx *Tx) run(query string, args []any) (sql.Result, error) {
	s, err := tx.Stmt(query)
	if err != nil {
		return nil, err
	}
	res, err := s.Exec(args...)
	return res, tx.Translate(err)
}

// One runs a statement that must change exactly one row; none is core.ErrNotFound.
func (tx *Tx) One(query string, args ...any) error {
	n, err := tx.Exec(query, args...)
	if err == nil && n == 0 {
		return core.ErrNotFound
	}
	return err
}

// Get reads one row into a struct or a scalar; none is core.ErrNotFound.
func (tx *Tx) Get(dest any, query string, args ...any) error {
	s, err := tx.Stmt(query)
	if err != nil {
		return err
	}
	return tx.Translate(s.Get(dest, args...))
}

// Number reads one integer; none is core.ErrNotFound. It is get without reflection.
func (tx *Tx) Number(query string, args ...any) (n int64, err error) {
	s, err := tx.Stmt(query)
	if err != nil {
		return 0, err
	}
	return n, tx.Translate(s.Stmt.QueryRow(args...).Scan(&n))
}

// Scan is get into places in the order of the columns, which costs less than a struct: for what is asked all the time.
func (tx *Tx) Scan(query string, args []any, dest ...any) error {
	s, err := tx.Stmt(query)
	if err != nil {
		return err
	}
	return tx.Translate(s.Stmt.QueryRow(args...).Scan(dest...))
}

// All reads all rows into a slice; for a bounded number of them.
func (tx *Tx) All(dest any, query string, args ...any) error {
	s, err := tx.Stmt(query)
	if err != nil {
		return err
	}
	return tx.Translate(s.Select(dest, args...))
}

// Reader is one snapshot of the database for several reads.
type Reader struct {
	store *DB
	tx    *sqlx.Tx
}

// Get reads one row into a struct or a scalar; none is core.ErrNotFound.
func (r *Reader) Get(dest any, query string, args ...any) error {
	s, err := r.store.readStmt(query)
	if err != nil {
		return err
	}
	return Translate(r.tx.Stmtx(s).Get(dest, args...))
}

// All reads all rows into a slice; for a bounded number of them.
func (r *Reader) All(dest any, query string, args ...any) error {
	s, err := r.store.readStmt(query)
	if err != nil {
		return err
	}
	return Translate(r.tx.Stmtx(s).Select(dest, args...))
}

// reads is what a Tx and a Reader have in common.
type Querier interface {
	Get(dest any, query string, args ...any) error
	All(dest any, query string, args ...any) error
}

// SnapshotRead runs several reads in one snapshot. Keep it short: a held snapshot stops the -wal from shrinking.
func (s *DB) SnapshotRead(ctx context.Context, fn func(*Reader) error) error {
	if err := s.readable(ctx); err != nil {
		return err
	}
	// Reads are short: a context that can be cancelled would cost each statement a goroutine.
	tx, err := s.readers.BeginTxx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return Translate(err)
	}
	defer tx.Rollback()
	return fn(&Reader{store: s, tx: tx})
}

// Get reads one row into a struct or a scalar; none is core.ErrNotFound.
func (s *DB) Get(ctx context.Context, dest any, query string, args ...any) error {
	st, err := s.Prepared(ctx, query)
	if err != nil {
		return err
	}
	return Translate(st.Get(dest, args...))
}

// Scan is get into places in the order of the columns, which costs less than a struct: for what is asked all the time.
func (s *DB) Scan(ctx context.Context, query string, arg any, dest ...any) error {
	st, err := s.Prepared(ctx, query)
	if err != nil {
		return err
	}
	return Translate(st.Stmt.QueryRow(arg).Scan(dest...))
}

// All reads all rows into a slice; for a bounded number of them (a page).
func (s *DB) All(ctx context.Context, dest any, query string, args ...any) error {
	st, err := s.Prepared(ctx, query)
	if err != nil {
		return err
	}
	return Translate(st.Select(dest, args...))
}

// Long is all for a statement that may take its time: it ends with the context.
func (s *DB) Long(ctx context.Context, dest any, query string, args ...any) error {
	if err := s.readable(ctx); err != nil {
		return err
	}
	return Translate(s.readers.SelectContext(ctx, dest, query, args...))
}

// Prepared returns the prepared statement of a text for a connection that reads.
func (s *DB) Prepared(ctx context.Context, query string) (*sqlx.Stmt, error) {
	if err := s.readable(ctx); err != nil {
		return nil, err
	}
	return s.readStmt(query)
}

// readStmt returns the prepared statement of a text; database/sql prepares it on each connection once.
func (s *DB) readStmt(query string) (*sqlx.Stmt, error) {
	s.stats.statements.Add(1)
	if st, ok := s.stmts.Load(query); ok {
		return st.(*sqlx.Stmt), nil
	}
	st, err := s.readers.Preparex(query)
	if err != nil {
		return nil, Translate(err)
	}
	if old, raced := s.stmts.LoadOrStore(query, st); raced {
		st.Close()
		return old.(*sqlx.Stmt), nil
	}
	return st, nil
}

func (s *DB) readable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return core.ErrStorage.With(err)
	}
	if s.closed.Load() {
		return core.ErrStorage.With(errClosed)
	}
	if s.replaced.Load() {
		return core.ErrStorage.With(ErrReplaced)
	}
	return nil
}

var errClosed = errors.New("the store is closed")

// ErrReplaced says that the file at the path is no longer the one that was opened: nothing more is written, since it
// would go into a file that no one can find.
var ErrReplaced = errors.New("database_replaced: the database file was deleted or replaced while it was open")

// Translate turns a driver's error into one of core, by result code alone.
func Translate(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, sql.ErrNoRows) {
		return core.ErrNotFound
	}
	var ce *core.Error
	if errors.As(err, &ce) {
		return err
	}
	var se *sqlite.Error
	if !errors.As(err, &se) {
		if errors.Is(err, sql.ErrConnDone) || errors.Is(err, sql.ErrTxDone) {
			return core.ErrStorage.With(err)
		}
		return fmt.Errorf("store: %w", err)
	}
	switch se.Code() {
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_ROWID:
		return (&core.Error{
			Kind: core.Conflict, Code: "already_exists",
			Message: "This already exists. Use another name or ID.",
		}).With(err)
	}
	switch se.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CORRUPT,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_NOMEM,
		sqlite3.SQLITE_PROTOCOL:
		return core.ErrStorage.With(err)
	}
	return fmt.Errorf("store: %w", err)
}

// OrNotFound returns word where err is any "not found", else err.
func OrNotFound(err error, word *core.Error) error {
	if errors.Is(err, core.ErrNotFound) {
		return word
	}
	return err
}

// readsOf makes single reads of a store a querier.
type readsOf struct {
	ctx context.Context
	s   *DB
}

// Reads is the file for single reads, each of its own snapshot.
func (s *DB) Reads(ctx context.Context) Querier { return readsOf{ctx, s} }

// Get reads one row.
func (r readsOf) Get(dest any, query string, args ...any) error {
	return r.s.Get(r.ctx, dest, query, args...)
}

// All reads all rows.
func (r readsOf) All(dest any, query string, args ...any) error {
	return r.s.All(r.ctx, dest, query, args...)
}
