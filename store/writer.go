package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"newsletterd/core"
)

const (
	queueLength  = 4096                   // waiting interactive operations; more wait in their own goroutine
	maxBatch     = 256                    // interactive operations in one commit
	busyStep     = 500 * time.Microsecond // between tries at a lock that another process holds
	watchEvery   = 500 * time.Millisecond // when idle: look for commits of other processes, and for a due checkpoint
	daemonTries  = 5 * time.Second
	commandTries = time.Minute
)

// op is one operation on its way through the writer.
type op struct {
	fn     func(*Tx) error
	err    error
	done   chan struct{}
	state  atomic.Int32 // opWaiting until the writer or the caller's context takes it
	topics topicSet
	left   bool
}

const (
	opWaiting = iota
	opTaken   // by the writer: it runs to its end, whatever the caller's context says
	opGivenUp // by the caller, before it began
)

// writer owns the one connection that writes.
type writer struct {
	store *Store
	conn  *sqlx.Conn
	tx    Tx

	interactive chan *op
	bulk        chan *op
	quit        chan struct{}
	stopped     chan struct{}

	checkpointRequests chan func() // run in the writer's lane, outside a transaction

	version    int64     // PRAGMA data_version
	changedAt  time.Time // of the last commit; zero: there was none
	checkpoint checkpointState
	tries      time.Duration
	batch      []*op // reused
}

// update runs one operation in the writer and returns after its commit: when it returns nil, what fn wrote is on the
// disk. fn may run beside other operations in one transaction, but sees its own writes rolled back when it fails. A context
// that ends while the operation waits gives it up; once begun it is never cut.
func (s *Store) update(ctx context.Context, fn func(*Tx) error) error {
	return s.submit(ctx, s.writer.interactive, fn)
}

// bulk is update for work that nobody waits for: at most one such operation goes into a commit, so that it can hold the
// others up only by its own length. Keep it below 500 rows.
func (s *Store) bulk(ctx context.Context, fn func(*Tx) error) error {
	return s.submit(ctx, s.writer.bulk, fn)
}

func (s *Store) submit(ctx context.Context, queue chan *op, fn func(*Tx) error) error {
	if err := s.readable(ctx); err != nil {
		return err
	}
	o := &op{fn: fn, done: make(chan struct{})}
	select {
	case queue <- o:
	case <-s.writer.quit:
		return core.ErrStorage.With(errClosed)
	case <-ctx.Done():
		return core.ErrStorage.With(ctx.Err())
	}
	select {
	case <-o.done:
		return o.err
	case <-s.writer.stopped:
		select { // the writer may have finished it just before it stopped
		case <-o.done:
			return o.err
		default:
			return core.ErrStorage.With(errClosed)
		}
	case <-ctx.Done():
		if o.state.CompareAndSwap(opWaiting, opGivenUp) {
			return core.ErrStorage.With(ctx.Err())
		}
		<-o.done
		return o.err
	}
}

// run is the writer's goroutine.
func (w *writer) run() {
	defer close(w.stopped)
	idle := time.NewTicker(w.store.opts.WatchEvery)
	defer idle.Stop()
	for {
		w.batch = w.batch[:0]
		select {
		case o := <-w.interactive:
			w.batch = append(w.batch, o)
		case o := <-w.bulk:
			w.batch = append(w.batch, o)
		case <-idle.C:
			w.watch()
			w.maybeCheckpoint()
			continue
		case fn := <-w.checkpointRequests:
			fn()
			continue
		case <-w.quit:
			w.drain()
			return
		}
		w.fill()
		w.commit()
		w.maybeCheckpoint()
	}
}

// fill takes what is waiting, without waiting itself: under load batches grow by themselves.
func (w *writer) fill() {
	for len(w.batch) < maxBatch {
		select {
		case o := <-w.interactive:
			w.batch = append(w.batch, o)
			continue
		default:
		}
		break
	}
	select {
	case o := <-w.bulk:
		w.batch = append(w.batch, o)
	default:
	}
}

func (w *writer) drain() {
	for {
		w.batch = w.batch[:0]
		w.fill()
		if len(w.batch) == 0 {
			return
		}
		w.commit()
	}
}

// commit runs a batch in one transaction and answers its operations.
func (w *writer) commit() {
	taken := w.batch[:0]
	for _, o := range w.batch {
		if o.state.CompareAndSwap(opWaiting, opTaken) {
			taken = append(taken, o)
		}
	}
	if len(taken) == 0 {
		return
	}
	w.watch()
	began := time.Now()
	err := w.transact(taken)
	if err != nil {
		for _, o := range taken {
			o.err, o.topics, o.left = err, 0, false
		}
	}
	w.noteFailure(taken)
	w.store.stats.batch(len(taken), time.Since(began))
	w.announce(taken)
	for _, o := range taken {
		close(o.done)
	}
	if w.store.opts.Mode == Command && w.store.daemonRuns() {
		time.Sleep(time.Since(began)) // leave the daemon its turn: it waits for the lock just as we do
	}
}

// noteFailure remembers whether the disk took what was written: the health check then really writes, until that works again.
func (w *writer) noteFailure(ops []*op) {
	for _, o := range ops {
		if o.err == nil {
			w.store.failing.Store(false)
			return
		}
	}
	for _, o := range ops {
		if errors.Is(o.err, core.ErrUnavailable) {
			w.store.failing.Store(true)
			return
		}
	}
}

// announce tells loops, caches and the send path what the commit changed, before the callers are answered: whoever was
// told "unsubscribed" is not mailed after that.
func (w *writer) announce(ops []*op) {
	var all topicSet
	left := false
	for _, o := range ops {
		if o.err == nil {
			all |= o.topics
			left = left || o.left
		}
	}
	if left {
		w.store.departures.Add(1)
	}
	w.store.kick(all)
}

// transact runs the operations and commits. An error means that none of them took effect.
func (w *writer) transact(ops []*op) error {
	if err := w.store.checkFile(); err != nil {
		return err
	}
	if err := w.begin(); err != nil {
		return err
	}
	err := w.markBase()
	ok := 0
	for _, o := range ops {
		if err != nil {
			break
		}
		if len(ops) == 1 {
			o.err = w.call(o)
		} else {
			err = w.callSaved(o)
		}
		if o.err == nil {
			ok++
		}
	}
	if err == nil && ok > 0 {
		if err = w.store.checkFile(); err == nil {
			_, err = w.tx.exec("COMMIT")
		}
		if err == nil {
			w.checkpoint.based = true
			w.store.changes.Add(1)
			w.changedAt = time.Now()
			return nil
		}
	}
	// A full disk may have rolled the transaction back already; then this fails, and that is fine.
	_, _ = w.tx.exec("ROLLBACK")
	return err
}

// begin takes the write lock. SQLite's own back-off starves beside a busy writer, hence short tries of our own.
func (w *writer) begin() error {
	return retryBusy(w.tries, func() error {
		s, err := w.tx.stmt("BEGIN IMMEDIATE")
		if err == nil {
			_, err = s.Exec()
		}
		return translate(err)
	})
}

// retryBusy calls fn until another process lets it through, for at most limit.
func retryBusy(limit time.Duration, fn func() error) error {
	for deadline := time.Now().Add(limit); ; time.Sleep(busyStep) {
		if err := fn(); !isBusy(err) || time.Now().After(deadline) {
			return err
		}
	}
}

func isBusy(err error) bool {
	var se *sqlite.Error
	return errors.As(err, &se) && se.Code()&0xff == sqlite3.SQLITE_BUSY
}

// callSaved runs an operation inside a savepoint. The error that it returns is one of the transaction as a whole.
func (w *writer) callSaved(o *op) error {
	if _, err := w.tx.exec("SAVEPOINT op"); err != nil {
		return err
	}
	o.err = w.call(o)
	if o.err != nil {
		if _, err := w.tx.exec("ROLLBACK TO op"); err != nil {
			return core.ErrStorage.With(errors.Join(o.err, err))
		}
	}
	_, err := w.tx.exec("RELEASE op")
	return err
}

// call runs an operation and turns a panic in it into its error: the others go on.
func (w *writer) call(o *op) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic in an operation: %v\n%s", r, debug.Stack())
		}
	}()
	w.tx.topics, w.tx.left = 0, false
	err = o.fn(&w.tx)
	o.topics, o.left = w.tx.topics, w.tx.left
	return err
}

// watch notices commits of other processes: then every cache is stale and every loop may have work.
func (w *writer) watch() {
	var v int64
	if err := w.tx.get(&v, "PRAGMA data_version"); err != nil {
		w.store.log.Warn("database: data_version", slog.Any("error", err))
		return
	}
	if w.version != 0 && v != w.version {
		w.store.changes.Add(1)
		w.store.departures.Add(1)
		w.store.kick(1<<topics - 1)
		w.store.foreign()
	}
	w.version = v
}
