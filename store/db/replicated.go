package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"

	"newsletterd/core"
)

// Replica stores the database outside this machine and decides which machine may serve it. Package store/replica
// implements it.
type Replica interface {
	// Prepare takes the lease, which may involve waiting, and brings the file to the newest state that the replica
	// has.
	Prepare(ctx context.Context) error
	// Start starts copying all further commits. The file must be open.
	Start(ctx context.Context) error
	// Committed notifies the replica of a commit.
	Committed()
	// After calls fn once everything committed so far is in the replica, or this machine has lost the lease.
	After(fn func(error))
	// Wait waits until After would call its function, or until ctx is done.
	Wait(ctx context.Context) error
	// Check returns an error while another machine may have taken over.
	Check() error
	// Checkpoint runs a PASSIVE checkpoint once all commits are in the replica.
	Checkpoint(ctx context.Context, run func() error) error
	// Stop ends copying. It must be called before the file is closed.
	Stop() error
	// Close releases the lease. It must be called after the file is closed.
	Close(ctx context.Context) error
	// Progress returns how long the oldest unreplicated commit has waited, or 0 if there is none. latency is the
	// duration of a write to the replica. txid is the last transaction that the replica has.
	Progress() (lag, latency time.Duration, txid uint64)
	// Generation returns a number that grows each time a machine takes the lease.
	Generation() uint64
	// Broken returns the known reason why the replica can't be restored, and the last problem repaired since the
	// start. Each is nil if there is none.
	Broken() (broken, mended error)
	// Mend makes the replica restorable again by copying the whole database. found is the reason why the replica can't
	// be restored.
	Mend(ctx context.Context, found error) error
	// Name returns a name that distinguishes the replica from others.
	Name() string
}

const (
	// checkpointWait is how long a checkpoint, and with it every writer, waits for the replica.
	checkpointWait = 2 * time.Second
	// checkpointPause is how long no checkpoint is attempted after the replica delayed one for checkpointWait.
	checkpointPause = 10 * time.Second
	// leaveWait is how long a stop waits for the replica.
	leaveWait = 10 * time.Second
)

// takeReplica takes the lock of the file and then the lease. In this order, a lease that this machine already holds
// can be taken immediately, because no other process of the machine can be serving.
func (s *DB) takeReplica(ctx context.Context) error {
	if err := s.takeLock(); err != nil {
		return err
	}
	if err := s.opts.Replica.Prepare(ctx); err != nil {
		return fmt.Errorf("replica %s: %w", s.opts.Replica.Name(), err)
	}
	return nil
}

// replicaMark is the name of the mark that holds the name of the database's last replica.
const replicaMark = "replica"

// KeptIn returns the name of the last replica of the database file at path. It returns an empty string if there was
// none or the file doesn't exist. It doesn't change the file or its -wal.
func KeptIn(ctx context.Context, path string) (name string, err error) {
	err = lookInto(ctx, path, &name, "mark", "SELECT value FROM mark WHERE name = '"+replicaMark+"'")
	return name, err
}

// MadeAt returns when the database in the file at path was created. All copies of a database share this time, and it
// distinguishes them from other databases. MadeAt returns 0 if the file doesn't exist or holds no database. It
// doesn't change the file or its -wal.
func MadeAt(ctx context.Context, path string) (at core.Instant, err error) {
	err = lookInto(ctx, path, &at, "schema_migration", "SELECT applied_at FROM schema_migration ORDER BY number LIMIT 1")
	return at, err
}

// lookInto reads a value from a database file that this process has not opened. If the file, the table or the row is
// missing, it leaves value unchanged.
func lookInto(ctx context.Context, path string, value any, table, query string) error {
	if fi, err := os.Stat(path); errors.Is(err, os.ErrNotExist) || err == nil && fi.Size() == 0 {
		return nil
	}
	how := "mode=ro"
	if WalSize(path) == 0 { // otherwise SQLite would have to create one
		how += "&immutable=1"
	}
	db, err := sqlx.Open("sqlite", dsn(path, nil, how))
	if err != nil {
		return err
	}
	defer db.Close()
	var has bool
	err = db.GetContext(ctx, &has, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?)", table)
	if err != nil || !has {
		return err
	}
	if err = db.GetContext(ctx, value, query); errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return err
}

// startReplica starts copying and writes the generation and the replica's name into the file. That write is the first
// that the replica receives.
func (s *DB) startReplica(ctx context.Context) error {
	r := s.opts.Replica
	if err := s.forgetAnswers(); err != nil {
		return err
	}
	if err := r.Start(ctx); err != nil {
		return err
	}
	s.writer.replica.Store(true)
	err := s.Update(ctx, func(tx *Tx) error {
		if err := tx.SetMark(replicaMark, r.Name()); err != nil {
			return err
		}
		return tx.SetMark("generation", strconv.FormatUint(r.Generation(), 10))
	})
	if err != nil {
		return err
	}
	return r.Wait(ctx)
}

// leaveReplica releases the lease.
func (s *DB) leaveReplica() error {
	ctx, cancel := context.WithTimeout(context.Background(), leaveWait)
	defer cancel()
	return s.opts.Replica.Close(ctx)
}

// ReplicaState is the current state of the replica.
type ReplicaState struct {
	Fresh      bool          // whether no other machine can have taken over
	Lag        time.Duration // age of the oldest commit that the replica lacks; 0 means that it has all
	Latency    time.Duration // recent duration of a write to the replica
	TXID       uint64        // last transaction that the replica has
	Generation uint64        // grows each time a machine takes over
	Broken     error         // reason why it can't be restored; nil: none known
	Mended     error         // last problem repaired since the start; nil: none
}

// replicaLate is how long a commit may wait before the replica counts as late.
const replicaLate = 5 * time.Second

// Late reports whether operations wait for the replica so long that callers give up.
func (r ReplicaState) Late() bool { return !r.Fresh || r.Lag > replicaLate }

// ReplicaState returns the state of the replica. ok is false if there is none.
func (s *DB) ReplicaState() (state ReplicaState, ok bool) {
	r := s.opts.Replica
	if r == nil {
		return state, false
	}
	state = ReplicaState{Fresh: r.Check() == nil, Generation: r.Generation()}
	state.Lag, state.Latency, state.TXID = r.Progress()
	state.Broken, state.Mended = r.Broken()
	return state, true
}

// MendReplica copies the whole database to the replica, because its current contents can't be restored. found is the
// reason. The caller must have checked that the database is undamaged. The only error is core.ErrStorage.
func (s *DB) MendReplica(ctx context.Context, found error) error {
	if s.opts.Replica == nil {
		return core.ErrStorage.With(errors.New("there is no replica"))
	}
	if err := s.opts.Replica.Mend(ctx, found); err != nil {
		return core.ErrStorage.With(err)
	}
	return nil
}

// Acknowledges reports whether there is a replica and operations wait until it has their commits.
func (s *DB) Acknowledges() bool { return s.opts.Replica != nil && !s.opts.ReplicaLags }

// Acknowledged waits until everything committed so far is in the replica. If operations don't have to wait for a
// replica, it returns immediately. The only error is core.ErrStorage. After an error, the commits remain and may still
// reach the replica.
func (s *DB) Acknowledged(ctx context.Context) error {
	if !s.Acknowledges() {
		return nil
	}
	if err := s.opts.Replica.Wait(ctx); err != nil {
		return core.ErrStorage.With(err)
	}
	return nil
}

// OnceAcknowledged calls fn with the result of Acknowledged once that is known. If operations don't have to wait for
// a replica, it calls fn immediately. fn must not block.
func (s *DB) OnceAcknowledged(fn func(error)) {
	if !s.Acknowledges() {
		fn(nil)
		return
	}
	s.opts.Replica.After(fn)
}

// MayAct returns nil as long as no other machine can serve the database. Otherwise it returns core.ErrStorage, and this
// machine must not send anything. MayAct is cheap to call.
func (s *DB) MayAct() error {
	if s.opts.Replica == nil {
		return nil
	}
	if err := s.opts.Replica.Check(); err != nil {
		return core.ErrStorage.With(err)
	}
	return nil
}

// committed notifies the replica of a commit by this or another process.
func (w *writer) committed() {
	if w.replica.Load() {
		w.store.opts.Replica.Committed()
	}
}

// runCheckpointPragma runs a checkpoint. If the replica delays the checkpoint too long, the result is the same as if a
// reader had kept it from finishing.
func (w *writer) runCheckpointPragma(mode string, res *checkpointResult) error {
	r := w.store.opts.Replica
	if r == nil {
		return w.tx.Get(res, mode)
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkpointWait)
	defer cancel()
	ran := false
	err := r.Checkpoint(ctx, func() error {
		ran = true
		return w.tx.Get(res, "PRAGMA wal_checkpoint(PASSIVE)")
	})
	if err != nil && !ran {
		w.store.log.Warn("database: a checkpoint waits for the replica", slog.Any("error", err))
		w.checkpoint.pausedTill = time.Now().Add(checkpointPause)
		res.Busy, err = 1, nil
	}
	return err
}
