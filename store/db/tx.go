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

// Tx is the writer's transaction as one operation sees it. It is valid only inside the function that receives it.
// Statements are prepared once and cached by their text, so the text must be a constant.
type Tx struct {
	Store   *DB
	conn    *sqlx.Conn
	stmts   map[string]*sqlx.Stmt
	topics  topicSet
	left    leavers
	audited []auditEntry // entries of the current operation
	watched watched      // row whose changes the next audit entry records
	origin  netip.Addr   // address that the current operation's request came from; zero: none
	client  string       // id of the OAuth client that the operation's user acts through; empty: none
	upkeep  bool         // true while the writer runs its own statements, which are not counted
	inside  bool         // true while an operation runs
	alone   bool         // whether the current operation is the only one in its transaction so far
	ran     int          // number of statements that the current operation has run; see padTo
	// error of a statement that failed because the disk doesn't work; SQLite may have ended the transaction, and the
	// next statement would commit on its own
	broken error
}

// Topic is a kind of background work that a commit can trigger.
type Topic uint8

// The topics. Loops and caches subscribe to a topic with OnKick.
const (
	TopicMail      Topic = iota // a transactional email was queued
	TopicMailSoon               // a transactional email was queued that is due MailDelay later
	TopicOutbox                 // an event for the send service was written, or must be resent
	TopicEndpoints              // events for endpoints must be resent; for new events see Store.OnFed
	TopicSync                   // a full sync was requested, or its removal is pending
	TopicJobs                   // a send job was created, canceled or became due
	TopicDisable                // an address must be passed to the member service's disable operation
	TopicIdentity               // users, roles, clients, families or keys changed, so cached callers are stale
	// tenants, lists, templates, webhook clients or providers changed, so cached records are stale
	TopicRecords
	TopicImports  // an import is ready to run, or its file can be removed
	TopicHolds    // a job is on hold after its first recipients
	TopicBulk     // a bulk action has something to do
	TopicPictures // images of imported issues have to be copied or removed
	topics
)

type topicSet uint16

// Kick marks work of topic t as due. The loops are woken after the commit.
func (tx *Tx) Kick(t Topic) { tx.topics |= 1 << t }

// Kicked reports whether the operation has called Kick with t.
func (tx *Tx) Kicked(t Topic) bool { return tx.topics&(1<<t) != 0 }

// DB returns the database that the operation writes to.
func (tx *Tx) DB() *DB { return tx.Store }

// Ran returns the number of statements that the operation has run so far.
func (tx *Tx) Ran() int { return tx.ran }

// ByNoOne removes the origin and the client of the operation's request. Later audit entries of the operation then name
// the daemon.
func (tx *Tx) ByNoOne() { tx.origin, tx.client = netip.Addr{}, "" }

// Client returns the id of the OAuth client that the operation's user acts through, or an empty string.
func (tx *Tx) Client() string { return tx.client }

// ActingClient returns the name that the audit log uses for the OAuth client that the operation's user acts through.
// It returns an empty string if there is no such client.
func (tx *Tx) ActingClient() string {
	if tx.client == "" {
		return ""
	}
	return core.ClientActor(tx.client)
}

// Departs records that a tenant may no longer email some person. An empty tenantID stands for all tenants. See
// DB.Departures.
func (tx *Tx) Departs(tenantID string) { tx.left.add(tenantID) }

// BringsFile records that the operation writes a part of an uploaded file. The writer then checks the size of the -wal
// sooner.
func (tx *Tx) BringsFile() { tx.Store.writer.checkpoint.file = true }

// Awaited reports whether another operation waits for this one. If so, a long operation should end early.
func (tx *Tx) Awaited() bool {
	return !tx.alone || tx.Store.writer.waiting() > 0
}

// Translate is like the function Translate. If the error means that the disk doesn't work, it also records that in tx.
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

// Stmt returns the prepared statement for query, which must be a constant.
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

// Exec runs a statement and returns the number of rows it changed.
func (tx *Tx) Exec(query string, args ...any) (int64, error) {
	res, err := tx.run(query, args)
	if err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return n, tx.Translate(err)
}

// Insert runs a statement and returns the rowid of the inserted row.
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

// One runs a statement that must change exactly one row. If it changes none, One returns core.ErrNotFound.
func (tx *Tx) One(query string, args ...any) error {
	n, err := tx.Exec(query, args...)
	if err == nil && n == 0 {
		return core.ErrNotFound
	}
	return err
}

// Get reads one row into a struct or a scalar. If there is no row, it returns core.ErrNotFound.
func (tx *Tx) Get(dest any, query string, args ...any) error {
	s, err := tx.Stmt(query)
	if err != nil {
		return err
	}
	return tx.Translate(s.Get(dest, args...))
}

// Number reads one integer. It is like Get, but uses no reflection. If there is no row, it returns core.ErrNotFound.
func (tx *Tx) Number(query string, args ...any) (n int64, err error) {
	s, err := tx.Stmt(query)
	if err != nil {
		return 0, err
	}
	return n, tx.Translate(s.Stmt.QueryRow(args...).Scan(&n))
}

// Scan reads one row into dest, in the order of the columns. It costs less than Get with a struct, so use it for
// frequent reads.
func (tx *Tx) Scan(query string, args []any, dest ...any) error {
	s, err := tx.Stmt(query)
	if err != nil {
		return err
	}
	return tx.Translate(s.Stmt.QueryRow(args...).Scan(dest...))
}

// All reads all rows into a slice. Use it only for a bounded number of rows.
func (tx *Tx) All(dest any, query string, args ...any) error {
	s, err := tx.Stmt(query)
	if err != nil {
		return err
	}
	return tx.Translate(s.Select(dest, args...))
}

// Reader runs several reads in one snapshot of the database.
type Reader struct {
	store *DB
	tx    *sqlx.Tx
	cold  []string // queries that were not prepared yet
}

// stmt returns the prepared statement for query on the connection of the snapshot. It never waits for another
// connection: if all readers did, none would be released.
func (r *Reader) stmt(query string) (*sqlx.Stmt, error) {
	r.store.stats.statements.Add(1)
	if st, ok := r.store.stmts.Load(query); ok {
		return r.tx.Stmtx(st), nil
	}
	r.cold = append(r.cold, query)
	st, err := r.tx.Preparex(query)
	return st, Translate(err)
}

// Get reads one row into a struct or a scalar. If there is no row, it returns core.ErrNotFound.
func (r *Reader) Get(dest any, query string, args ...any) error {
	s, err := r.stmt(query)
	if err != nil {
		return err
	}
	return Translate(s.Get(dest, args...))
}

// All reads all rows into a slice. Use it only for a bounded number of rows.
func (r *Reader) All(dest any, query string, args ...any) error {
	s, err := r.stmt(query)
	if err != nil {
		return err
	}
	return Translate(s.Select(dest, args...))
}

// Querier is the set of read methods that Tx and Reader share.
type Querier interface {
	Get(dest any, query string, args ...any) error
	All(dest any, query string, args ...any) error
}

// SnapshotRead runs several reads in one snapshot. Keep it short: an open snapshot stops the -wal from shrinking.
func (s *DB) SnapshotRead(ctx context.Context, fn func(*Reader) error) error {
	if err := s.readable(ctx); err != nil {
		return err
	}
	// Reads are short. A cancelable context would cost each statement a goroutine.
	tx, err := s.readers.BeginTxx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return Translate(err)
	}
	defer tx.Rollback()
	r := &Reader{store: s, tx: tx}
	if err = fn(r); err != nil || len(r.cold) == 0 {
		return err
	}
	tx.Rollback() // the connection is free before the statements are prepared for all
	for _, query := range r.cold {
		if _, err := s.readStmt(query); err != nil {
			return err
		}
	}
	return nil
}

// Get reads one row into a struct or a scalar. If there is no row, it returns core.ErrNotFound.
func (s *DB) Get(ctx context.Context, dest any, query string, args ...any) error {
	st, err := s.Prepared(ctx, query)
	if err != nil {
		return err
	}
	return Translate(st.Get(dest, args...))
}

// Scan reads one row into dest, in the order of the columns. It costs less than Get with a struct, so use it for
// frequent reads.
func (s *DB) Scan(ctx context.Context, query string, arg any, dest ...any) error {
	st, err := s.Prepared(ctx, query)
	if err != nil {
		return err
	}
	return Translate(st.Stmt.QueryRow(arg).Scan(dest...))
}

// All reads all rows into a slice. Use it only for a bounded number of rows, such as a page.
func (s *DB) All(ctx context.Context, dest any, query string, args ...any) error {
	st, err := s.Prepared(ctx, query)
	if err != nil {
		return err
	}
	return Translate(st.Select(dest, args...))
}

// Long is like All, for a statement that may run for a long time. It is canceled when ctx ends.
func (s *DB) Long(ctx context.Context, dest any, query string, args ...any) error {
	if err := s.readable(ctx); err != nil {
		return err
	}
	return Translate(s.readers.SelectContext(ctx, dest, query, args...))
}

// Text runs a query that returns one string. It is the cheapest way to read many rows, if the query concatenates them
// into one string.
func (s *DB) Text(ctx context.Context, query string, args ...any) (text string, err error) {
	st, err := s.Prepared(ctx, query)
	if err == nil {
		err = Translate(st.Stmt.QueryRow(args...).Scan(&text))
	}
	return text, err
}

// Prepared returns the prepared statement for query on a reading connection.
func (s *DB) Prepared(ctx context.Context, query string) (*sqlx.Stmt, error) {
	if err := s.readable(ctx); err != nil {
		return nil, err
	}
	return s.readStmt(query)
}

// readStmt returns the prepared statement for query. database/sql prepares it once on each connection.
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

// ErrReplaced is returned when the path no longer names the file that was opened. The store then writes nothing more,
// because the writes would go into a file that no path leads to.
var ErrReplaced = errors.New("database_replaced: the database file was deleted or replaced while it was open")

// Translate converts a driver error into a core error. It looks only at the result code.
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
			Message: "This name or ID is already in use. Choose another one.",
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

// OrNotFound replaces core.ErrNotFound with word, a more specific error. It returns all other errors unchanged.
func OrNotFound(err error, word *core.Error) error {
	if errors.Is(err, core.ErrNotFound) {
		return word
	}
	return err
}

// readsOf implements Querier with separate reads of a DB.
type readsOf struct {
	ctx context.Context
	s   *DB
}

// Reads returns a Querier for single reads. Each read has its own snapshot.
func (s *DB) Reads(ctx context.Context) Querier { return readsOf{ctx, s} }

// Get reads one row.
func (r readsOf) Get(dest any, query string, args ...any) error {
	return r.s.Get(r.ctx, dest, query, args...)
}

// All reads all rows.
func (r readsOf) All(dest any, query string, args ...any) error {
	return r.s.All(r.ctx, dest, query, args...)
}
