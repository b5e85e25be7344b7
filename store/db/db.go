package db

import (
	"cmp"
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gofrs/flock"
	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"

	"newsletterd/core"
	"newsletterd/schema"
)

// Mode is the kind of process that opens the file.
type Mode uint8

const (
	// Daemon is the one process that serves the database. It runs the checkpoints and keeps a second daemon out.
	Daemon Mode = iota
	// Command is a short-lived process that may run next to a daemon. It waits longer for the lock and pauses between
	// writes.
	Command
)

// Options holds the options of Open. Path is required; the other fields may be zero.
type Options struct {
	Path                string
	Mode                Mode
	Migrate             bool // apply pending migrations; if false, Open refuses a schema of another version
	ExternalCheckpoints bool // another program (Litestream) runs the checkpoints
	Readers             int  // reading connections; 0 means 4
	// WatchEvery is how often an idle daemon checks for commits of other processes. Zero means 500 ms. Tests that let
	// hours of fake time pass use a longer interval.
	WatchEvery time.Duration
	StopRule   core.StopRule // stop rule for send jobs; the zero value means none
	// SendElsewhere means that events go to a separate send service. MemberElsewhere means that a separate member
	// service feeds this send service. That member service is notified if a person unsubscribes through the link in an
	// email.
	SendElsewhere, MemberElsewhere bool
	Replica                        Replica // where commits are replicated; nil means nowhere
	// ReplicaLags means that writes don't wait for the replica. If the machine fails, commits that the replica
	// doesn't have yet are lost.
	ReplicaLags bool
	// DaemonReplica means that the daemon next to this command has a replica. Close waits for that replica.
	DaemonReplica bool
	// EndpointEvents is the maximum number of events waiting for an endpoint; 0 means core.MaxEndpointEvents.
	// ImportEvents is the maximum number of an import's changes that endpoints receive as single events; 0 means
	// core.MaxImportEvents.
	EndpointEvents, ImportEvents int64
	// TenantPostBytes is the maximum size of the posts in a tenant's imports, and of its imported issues; 0 means
	// core.MaxTenantPostBytes.
	TenantPostBytes int64
	EndpointBytes   int64  // maximum size of these events; 0 means core.MaxEndpointBytes
	ReadOnly        error  // error that every writing operation returns; nil means that writes are allowed
	MasterKey       []byte // 32-byte key that seals secrets at rest; nil means no sealing
	Log             *slog.Logger
	// name of the database/sql driver; empty means sqlite. Tests use a driver that fails on demand.
	Driver string
}

// DB is an open database file. Its methods are safe for concurrent use.
type DB struct {
	opts    Options
	path    string
	log     *slog.Logger
	lock    *flock.Flock // lock of a daemon, held while the file is open
	file    os.FileInfo  // identity of the opened file: device and inode
	writerD *sqlx.DB
	readers *sqlx.DB
	writer  *writer
	stmts   sync.Map // query → *sqlx.Stmt over the readers

	unclean    bool // whether an unclean stop left a -wal
	background backgroundCheck

	closed     atomic.Bool
	replaced   atomic.Bool
	failing    atomic.Bool // whether the last write failed because the disk did not work
	full       atomic.Bool // whether a write failed for lack of space and Ping has not found space since
	departures departures
	changes    atomic.Uint64
	daemonSeen atomic.Int64 // unix ms of the last check of the daemon's lock; negative if it was running
	stats      stats
	reserve    reserve
	answers    sync.Mutex // guards answered
	answered   int64      // last command number that was acknowledged

	mu         sync.RWMutex // guards kicks and foreigners
	kicks      [topics][]func()
	foreigners []func()

	keepers         []keeperOf
	keys            keyring
	subscriptionKey []byte
	maskedIDs       cipher.Block
}

// Errors returned by Open.
var (
	ErrRunning = errors.New("another newsletterd is serving this database")
	ErrInUse   = errors.New("another process has the database open")
)

// PrepareProcess must run before the first Open of a process. SQLite's default locks (POSIX fcntl) are lost when the
// process closes any descriptor of the file; OFD locks are not.
func PrepareProcess() error {
	sqlite.StrictPragmas(true)
	if _, err := sqlite.OFDLocking(true); err != nil {
		return err
	}
	return useArena()
}

// New returns a database that is not open yet. Rooms register their keepers and kicks on it before Open.
func New(o Options) *DB {
	if o.Readers == 0 {
		o.Readers = 4
	}
	if o.WatchEvery == 0 {
		o.WatchEvery = watchEvery
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.EndpointEvents = cmp.Or(o.EndpointEvents, core.MaxEndpointEvents)
	o.EndpointBytes = cmp.Or(o.EndpointBytes, core.MaxEndpointBytes)
	o.ImportEvents = cmp.Or(o.ImportEvents, core.MaxImportEvents)
	o.TenantPostBytes = cmp.Or(o.TenantPostBytes, core.MaxTenantPostBytes)
	o.Driver = cmp.Or(o.Driver, "sqlite")
	s := &DB{opts: o, log: o.Log}
	s.reserve.measure, s.reserve.said = s.roomBeyondReserve, s.sayRoom
	return s
}

// Open opens the file and creates it with mode 0600 if it doesn't exist. It refuses a file that belongs to another
// program, has a newer schema, or has an older schema while Options.Migrate is false. In Daemon mode it also refuses a
// file that another daemon serves. It refuses an old copy of the file next to a newer -wal. Once operations can run,
// but before commands can see that a daemon is serving, Open calls the function started.
func (s *DB) Open(ctx context.Context, started func(context.Context) error) error {
	if err := PrepareProcess(); err != nil {
		return fmt.Errorf("database locks: %w", err)
	}
	path, err := filepath.Abs(s.opts.Path)
	if err != nil {
		return err
	}
	s.path = path
	if err := s.open(ctx, started); err != nil {
		_ = s.shut()
		if file, ok := errors.AsType[*fs.PathError](err); ok && file.Path == path && err == error(file) {
			return err // the error names its cause
		}
		return fmt.Errorf("open %s: %w", path, err)
	}
	return nil
}

func (s *DB) open(ctx context.Context, started func(context.Context) error) error {
	if s.opts.Replica != nil {
		if err := s.takeReplica(ctx); err != nil {
			return err
		}
	}
	if err := createFile(s.path, s.opts.Migrate); err != nil {
		return err
	}
	if s.opts.Mode == Daemon && s.lock == nil {
		if err := s.takeLock(); err != nil {
			return err
		}
	}
	state, err := s.checkLeftoverWAL()
	if err != nil {
		return err
	}
	s.unclean = state.wal
	if s.opts.Migrate {
		done, err := Migrate(ctx, s.path, MigrateOptions{Now: time.Now()})
		if err != nil {
			return err
		}
		if done.Copy != "" {
			s.log.Info("the database schema was upgraded; a copy of the old database is kept",
				slog.Int("schema", schema.Latest()), slog.String("copy", done.Copy))
		}
	}
	if err := s.connect(ctx); err != nil {
		return err
	}
	if err := s.startWriter(ctx, state); err != nil {
		return err
	}
	if s.opts.Replica != nil {
		if err := s.startReplica(ctx); err != nil {
			return err
		}
	}
	if err := started(ctx); err != nil {
		return err
	}
	if s.subscriptionKey, err = s.PurposeKey(ctx, PurposeSubscriptionID); err != nil {
		return err
	}
	if s.maskedIDs, err = maskedIDs(s.subscriptionKey); err != nil {
		return err
	}
	for _, purpose := range []string{PurposeShareEmail, PurposeClientToken} {
		// Create the key now, because the code that needs it must not write.
		if _, err = s.PurposeKey(ctx, purpose); err != nil {
			return err
		}
	}
	if s.lock != nil {
		s.saysServing()
	}
	return nil
}

func (s *DB) startWriter(ctx context.Context, left leftover) error {
	conn, err := s.writerD.Connx(ctx)
	if err != nil {
		return Translate(err)
	}
	w := &writer{
		store: s, conn: conn, tries: daemonTries,
		interactive: make(chan *op, queueLength), bulk: make(chan *op, 64), background: make(chan *op, 64),
		late: make(chan *op, 16),
		quit: make(chan struct{}), stopped: make(chan struct{}), checkpointRequests: make(chan func()),
	}
	if s.opts.Mode == Command {
		w.tries = commandTries
	}
	w.tx = Tx{
		Store: s, conn: conn, stmts: map[string]*sqlx.Stmt{},
	}
	var through map[string]string
	err = retryBusy(daemonTries, func() error { through, err = marks(ctx, conn); return err })
	if err != nil {
		return Translate(err)
	}
	w.checkpoint.resume(left, s.DaemonRuns(), through)
	if err := conn.GetContext(ctx, &w.auditSeen, NewestAudited); err != nil {
		return Translate(err)
	}
	s.writer = w
	go w.run()
	return nil
}

// Close finishes the queued operations, moves the -wal into the file and closes it. After a clean stop of a daemon, the
// main file alone is complete. If another process still uses the -wal, Close logs that and returns no error.
//
// If a command made changes while a daemon was running, Close waits until the daemon has dropped its caches. After
// that, the daemon refuses blocked users and revoked tokens. If the replica doesn't have a command's changes after some
// seconds, Close returns ErrBehind. It also returns errors of the checkpoint, the replica and the file system.
func (s *DB) Close() error {
	if s.closed.Load() {
		return nil
	}
	asked, behind := s.askDaemon()
	if behind == nil {
		behind = s.awaitReplica()
	}
	if s.closed.Swap(true) {
		return nil
	}
	err := s.shut()
	if asked > 0 {
		behind = s.awaitDaemon(asked)
	}
	if behind != nil {
		if err != nil {
			s.log.Warn("close", slog.Any("error", err))
		}
		err = behind
	}
	if w := s.writer; w != nil && !w.changedAt.IsZero() && s.DaemonRuns() {
		time.Sleep(time.Until(w.changedAt.Add(watchEvery + watchEvery/10)))
	}
	return err
}

// shut releases everything that Open acquired, however far Open came.
func (s *DB) shut() (err error) {
	s.closed.Store(true)
	s.background.end()
	s.stmts.Range(func(_, st any) bool { _ = st.(io.Closer).Close(); return true })
	if w := s.writer; w != nil {
		close(w.quit)
		<-w.stopped
		if s.readers != nil {
			_ = s.readers.Close()
		}
		err = s.finalCheckpoint()
		for _, st := range w.tx.stmts {
			_ = st.Close()
		}
		_ = w.conn.Close()
	} else if s.readers != nil {
		_ = s.readers.Close()
	}
	if r := s.opts.Replica; r != nil {
		err = errors.Join(err, r.Stop())
	}
	if s.writerD != nil {
		err = errors.Join(err, s.writerD.Close())
	}
	if r := s.opts.Replica; r != nil {
		err = errors.Join(err, s.leaveReplica())
	}
	if s.opts.Mode == Daemon && s.writer != nil && !s.replaced.Load() &&
		WalSize(s.path) > 0 { // without a writer, the -wal was never ours
		s.log.Warn("database: the -wal file stays, because another process has the database "+
			"open", slog.String("path", s.path))
	}
	if s.lock != nil {
		err = errors.Join(err, s.lock.Close())
	}
	return err
}

func (s *DB) finalCheckpoint() error {
	if s.opts.Mode != Daemon && s.opts.Replica == nil || s.opts.ExternalCheckpoints || s.checkFile() != nil {
		return nil
	}
	if _, err := s.writer.tx.Exec("PRAGMA optimize"); err != nil {
		s.log.Warn("database: optimize", slog.Any("error", err))
	}
	_, err := s.writer.moveWAL("PRAGMA wal_checkpoint(TRUNCATE)")
	if isBusy(err) {
		return nil
	}
	return err
}

// Unclean reports whether the previous process ended without closing the file. A quick_check is due in that case.
func (s *DB) Unclean() bool { return s.unclean }

// Options returns the options that the file was opened with, with defaults filled in. The caller must not change them.
func (s *DB) Options() *Options { return &s.opts }

// Path returns the absolute path of the file.
func (s *DB) Path() string { return s.path }

// Changes returns a number that changes with every commit, including those of other processes. If two values are
// equal, the database has not changed in between.
func (s *DB) Changes() uint64 { return s.changes.Load() }

// OnKick registers fn to be called after each commit that makes work of topic t due, and after commits of other
// processes. fn must not block and must not call the store.
func (s *DB) OnKick(t Topic, fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kicks[t] = append(s.kicks[t], fn)
}

// OnForeign registers fn to be called after commits of other processes, when every cached row may be stale. fn must
// not block and must not call the store.
func (s *DB) OnForeign(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.foreigners = append(s.foreigners, fn)
}

func (s *DB) kick(set topicSet) {
	if set == 0 {
		return
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for t := range topics {
		if set&(1<<t) != 0 {
			for _, fn := range s.kicks[t] {
				fn()
			}
		}
	}
}

func (s *DB) foreign() {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, fn := range s.foreigners {
		fn()
	}
}
