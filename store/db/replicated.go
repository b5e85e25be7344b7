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

// Replica keeps the database outside this machine and says which machine may serve it (package store/replica).
type Replica interface {
	// Prepare takes the lease, for which it may have to wait, and makes the file the newest that the replica has.
	Prepare(ctx context.Context) error
	// Start copies what is committed from now on. The file is open.
	Start(ctx context.Context) error
	// Committed says that something was committed.
	Committed()
	// After calls fn once all that was committed so far is in the replica, or this machine has lost the lease.
	After(fn func(error))
	// Wait returns when After would call its function, or ctx is done.
	Wait(ctx context.Context) error
	// Check fails while another machine may have taken over.
	Check() error
	// Checkpoint runs a PASSIVE checkpoint, once all that is committed is in the replica.
	Checkpoint(ctx context.Context, run func() error) error
	// Stop ends copying, before the file is closed.
	Stop() error
	// Close gives the lease up, after the file was closed.
	Close(ctx context.Context) error
	// Progress returns how long the oldest commit waits that is not in the replica, 0 where all are; how long a write
	// to it takes; and the last transaction that it has.
	Progress() (lag, latency time.Duration, txid uint64)
	// Generation grows each time that a machine takes the lease.
	Generation() uint64
	// Broken returns why it can't be restored, as far as is known, and what was mended last since the start; nil: nothing.
	Broken() (broken, mended error)
	// Mend makes it one that can be restored, by a copy of the whole database. found is why it can't.
	Mend(ctx context.Context, found error) error
	// Name tells it from other replicas.
	Name() string
}

const (
	// checkpointWait is how long a checkpoint waits for the replica, and everyone who writes with it.
	checkpointWait = 2 * time.Second
	// checkpointPause is how long none is tried after the replica kept one waiting for that long.
	checkpointPause = 10 * time.Second
	// leaveWait is how long a stop waits for the replica.
	leaveWait = 10 * time.Second
)

// takeReplica takes the lock of the file and the lease, in this order: a lease of this machine is taken at once, for no
// other process of it can be serving.
func (s *DB) takeReplica(ctx context.Context) error {
	if err := s.takeLock(); err != nil {
		return err
	}
	if err := s.opts.Replica.Prepare(ctx); err != nil {
		return fmt.Errorf("replica %s: %w", s.opts.Replica.Name(), err)
	}
	return nil
}

// replicaMark is the name of the replica that the database was kept in last, in the table mark.
const replicaMark = "replica"

// KeptIn returns the name of the replica that the database file at path was kept in last; empty where there is none, or
// no file. It leaves the file and its -wal as they are.
func KeptIn(ctx context.Context, path string) (name string, err error) {
	err = lookInto(ctx, path, &name, "mark", "SELECT value FROM mark WHERE name = '"+replicaMark+"'")
	return name, err
}

// MadeAt returns when the database in the file at path was made, which its copies have in common and which tells it
// from others; 0 where there is none, or no file. It leaves the file and its -wal as they are.
func MadeAt(ctx context.Context, path string) (at core.Instant, err error) {
	err = lookInto(ctx, path, &at, "schema_migration", "SELECT applied_at FROM schema_migration ORDER BY number LIMIT 1")
	return at, err
}

// lookInto reads a value from a file that is not opened otherwise. It leaves the value as it is where there is no file,
// table or row.
func lookInto(ctx context.Context, path string, value any, table, query string) error {
	if fi, err := os.Stat(path); errors.Is(err, os.ErrNotExist) || err == nil && fi.Size() == 0 {
		return nil
	}
	how := "mode=ro"
	if WalSize(path) == 0 { // then SQLite would need to make one
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

// startReplica begins to copy, and writes the generation and where it is kept into the file: it is the first that the
// replica gets of it.
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

// leaveReplica gives the lease up.
func (s *DB) leaveReplica() error {
	ctx, cancel := context.WithTimeout(context.Background(), leaveWait)
	defer cancel()
	return s.opts.Replica.Close(ctx)
}

// ReplicaState is how the replica is.
type ReplicaState struct {
	Fresh      bool          // no other machine can have taken over
	Lag        time.Duration // of the oldest commit that it has not got; 0: it has all
	Latency    time.Duration // of a write to it, of late
	TXID       uint64        // of the last transaction that it has
	Generation uint64        // grows each time that a machine takes over
	Broken     error         // why it can't be restored; nil: nothing is known
	Mended     error         // what was mended last since the start; nil: nothing
}

// replicaLate is how long a commit may wait before the replica counts as late.
const replicaLate = 5 * time.Second

// Late reports whether answers have to wait for so long that callers give up.
func (r ReplicaState) Late() bool { return !r.Fresh || r.Lag > replicaLate }

// ReplicaState returns how the replica is; ok is false where there is none.
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

// MendReplica ships a copy of the whole database, for what the replica has can't be restored, as found says. The caller
// has looked whether the database is whole. Its error is core.ErrStorage.
func (s *DB) MendReplica(ctx context.Context, found error) error {
	if s.opts.Replica == nil {
		return core.ErrStorage.With(errors.New("there is no replica"))
	}
	if err := s.opts.Replica.Mend(ctx, found); err != nil {
		return core.ErrStorage.With(err)
	}
	return nil
}

// Acknowledges reports whether there is a replica, and answers wait for it.
func (s *DB) Acknowledges() bool { return s.opts.Replica != nil && !s.opts.ReplicaLags }

// Acknowledged returns once all that was committed so far is in the replica, at once where none is waited for. Its
// error is core.ErrStorage: what was committed stays, and may still arrive there.
func (s *DB) Acknowledged(ctx context.Context) error {
	if !s.Acknowledges() {
		return nil
	}
	if err := s.opts.Replica.Wait(ctx); err != nil {
		return core.ErrStorage.With(err)
	}
	return nil
}

// OnceAcknowledged calls fn when Acknowledged would return, at once where no replica is waited for. fn must not block.
func (s *DB) OnceAcknowledged(fn func(error)) {
	if !s.Acknowledges() {
		fn(nil)
		return
	}
	s.opts.Replica.After(fn)
}

// MayAct returns nil while no other machine can serve the database, else core.ErrStorage: then nothing may leave this
// machine. It costs next to nothing.
func (s *DB) MayAct() error {
	if s.opts.Replica == nil {
		return nil
	}
	if err := s.opts.Replica.Check(); err != nil {
		return core.ErrStorage.With(err)
	}
	return nil
}

// committed tells the replica of a commit, this process's own or another one's.
func (w *writer) committed() {
	if w.replica.Load() {
		w.store.opts.Replica.Committed()
	}
}

// runCheckpointPragma runs a checkpoint. One that the replica keeps waiting counts as one that a reader kept from its
// end.
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
