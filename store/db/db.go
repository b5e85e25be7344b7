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

// Mode says what the process that opens the file is.
type Mode uint8

const (
	// Daemon is the one process that serves: it owns checkpoints and keeps a second daemon out.
	Daemon Mode = iota
	// Command is a short-lived process, perhaps next to a daemon: it waits longer for the lock and leaves pauses.
	Command
)

// Options of Open. Path is needed, the rest may be zero.
type Options struct {
	Path                string
	Mode                Mode
	Migrate             bool // apply pending migrations; else a schema that is not this program's is refused
	ExternalCheckpoints bool // another program (Litestream) runs the checkpoints
	Readers             int  // connections that read; 0 is 4
	// WatchEvery is how often an idle daemon looks for commits of other processes; 0 is 500 ms. Tests that let hours of
	// fake time pass look less often.
	WatchEvery time.Duration
	StopRule   core.StopRule // of send jobs; zero: none
	// SendElsewhere: events go to a send service of its own. MemberElsewhere: another member service feeds this send
	// service, and is told of those who leave by the link of a mail.
	SendElsewhere, MemberElsewhere bool
	Replica                        Replica // where commits are kept besides the disk; nil: nowhere
	// ReplicaLags: no one waits for the replica, so a machine that dies loses what it has not got yet.
	ReplicaLags bool
	// DaemonReplica: the daemon that runs next to a command has a replica, which Close waits for.
	DaemonReplica bool
	// EndpointEvents is how many events may wait for an endpoint; 0 is core.MaxEndpointEvents. ImportEvents is how many
	// changes of an import endpoints hear of one by one; 0 is core.MaxImportEvents.
	EndpointEvents, ImportEvents int64
	EndpointBytes                int64  // of these events; 0 is core.MaxEndpointBytes
	ReadOnly                     error  // what every operation that writes returns; nil: they write
	MasterKey                    []byte // 32 bytes that seal secrets at rest; nil: they are stored as they are
	Log                          *slog.Logger
	// of database/sql; empty: sqlite. A test puts one between that fails on order.
	Driver string
}

// DB is the open file. Its methods may be called from any goroutine.
type DB struct {
	opts    Options
	path    string
	log     *slog.Logger
	lock    *flock.Flock // of a daemon, held while open
	file    os.FileInfo  // of the file that was opened: device and inode
	writerD *sqlx.DB
	readers *sqlx.DB
	writer  *writer
	stmts   sync.Map // query → *sqlx.Stmt over the readers

	unclean    bool // a -wal was left by an unclean stop
	background backgroundCheck

	closed     atomic.Bool
	replaced   atomic.Bool
	failing    atomic.Bool // the last operation that wrote failed for want of a working disk
	full       atomic.Bool // one failed for want of room, and Ping has not found room since
	departures atomic.Uint64
	changes    atomic.Uint64
	daemonSeen atomic.Int64 // unix ms of the last look at the daemon's lock, negative when it runs
	stats      stats
	reserve    reserve
	answers    sync.Mutex // guards answered
	answered   int64      // the number that commands were told last

	mu         sync.RWMutex // guards kicks and foreigners
	kicks      [topics][]func()
	foreigners []func()

	keepers         []keeperOf
	keys            keyring
	subscriptionKey []byte
	maskedIDs       cipher.Block
}

// Errors of Open.
var (
	ErrRunning = errors.New("another newsletterd is serving this database")
	ErrInUse   = errors.New("another process has the database open")
)

// PrepareProcess must run before the first Open of a process: SQLite's default locks vanish when the process
// closes any descriptor of the file (POSIX fcntl), OFD locks do not.
func PrepareProcess() error {
	sqlite.StrictPragmas(true)
	if _, err := sqlite.OFDLocking(true); err != nil {
		return err
	}
	return useArena()
}

// New returns a file that is not open yet: rooms register what they keep and what wakes them, then Open.
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
	o.Driver = cmp.Or(o.Driver, "sqlite")
	s := &DB{opts: o, log: o.Log}
	s.reserve.measure, s.reserve.said = s.roomBeyondReserve, s.sayRoom
	return s
}

// Open opens the file, makes it with mode 0600 if it is missing, and refuses it where it is not ours, newer, older
// (without Migrate), served by another daemon (Daemon mode), or an old copy next to a newer -wal. started runs when
// operations may, before commands are told that a daemon serves.
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
			return err // it says so itself
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
	_, err = s.PurposeKey(ctx, PurposeShareEmail) // reads need it: they must not be the first to make it
	if err == nil && s.lock != nil {
		s.saysServing()
	}
	return err
}

func (s *DB) startWriter(ctx context.Context, left leftover) error {
	conn, err := s.writerD.Connx(ctx)
	if err != nil {
		return Translate(err)
	}
	w := &writer{
		store: s, conn: conn, tries: daemonTries,
		interactive: make(chan *op, queueLength), bulk: make(chan *op, 64), late: make(chan *op, 16),
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

// Close ends the writer after what is queued, moves the -wal into the file and closes it. After a daemon's clean stop
// the one file is complete; where another process keeps the -wal alive, that is logged and no error. A command that
// changed something next to a daemon returns when the daemon's caches have dropped what they knew: a user who was
// switched off, or a token that was revoked, is then refused. It returns ErrBehind where a command has changed
// something that the replica has not got after some seconds, and errors of the checkpoint, the replica and the file
// system.
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

// shut lets go of all that open took, as far as it came.
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
		WalSize(s.path) > 0 { // without a writer it was never ours
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

// Unclean reports whether the process before this one ended without closing the file: then a quick_check is due.
func (s *DB) Unclean() bool { return s.unclean }

// Options are those that the file was opened with, defaults filled in. Never change them.
func (s *DB) Options() *Options { return &s.opts }

// Path is the absolute path of the file.
func (s *DB) Path() string { return s.path }

// Departures moves with every commit after which a person may no longer be mailed, and with every commit of another
// process, before the one who asked for it is answered. Equal values read around a check mean that the check still
// holds.
func (s *DB) Departures() uint64 { return s.departures.Load() }

// Changes moves with every commit, of other processes too: equal values mean that the database has not changed.
func (s *DB) Changes() uint64 { return s.changes.Load() }

// OnKick calls fn after each commit that makes work of a topic due, and after commits of other processes. fn must not
// block and must not call the store.
func (s *DB) OnKick(t Topic, fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kicks[t] = append(s.kicks[t], fn)
}

// OnForeign calls fn after commits of other processes, when every cached row may be stale. fn must not block and must
// not call the store.
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
