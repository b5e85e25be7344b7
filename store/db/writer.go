package db

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

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
	fn         func(*Tx) error
	repeatable bool // fn may run a second time, see updateRepeatable
	bulk       bool // it takes its time, see bulk
	err        error
	done       chan struct{} // nil: after is called instead
	after      func(error)
	state      atomic.Int32 // opWaiting until the writer or the caller's context takes it
	topics     topicSet
	left       bool
	audited    []auditEntry
	origin     netip.Addr // of the request; zero: none
	client     string     // of the request's user; empty: none
}

const (
	opWaiting = iota
	opTaken   // by the writer: it runs to its end, whatever the caller's context says
	opGivenUp // by the caller, before it began
)

// writer owns the one connection that writes.
type writer struct {
	store *DB
	conn  *sqlx.Conn
	tx    Tx

	interactive chan *op
	bulk        chan *op
	late        chan *op // run after all others of a batch
	quit        chan struct{}
	stopped     chan struct{}

	checkpointRequests chan func() // run by the writer's goroutine, outside a transaction

	version    int64     // PRAGMA data_version
	auditSeen  int64     // the newest entry that the log has, or that was there at the start
	stuck      bool      // the last transaction may still be open: its end has failed
	changedAt  time.Time // of the last commit; zero: there was none
	checkpoint checkpointState
	replica    atomic.Bool // it takes what is committed
	commands   int64       // the number of the last command that answerCommands has seen
	tries      time.Duration
	batch      []*op // reused
}

// Update runs one operation in the writer and returns after its commit: when it returns nil, what fn wrote is on the
// disk. fn may run with other operations in one transaction, but sees its own writes rolled back when it fails. A
// context that ends while the operation waits gives it up; once begun it is never cut.
func (s *DB) Update(ctx context.Context, fn func(*Tx) error) error {
	return s.submit(ctx, s.writer.interactive, &op{fn: fn})
}

// UpdateRepeatable is update for an operation that may run twice: when another one of its batch fails, all are rolled
// back and run once more, each for itself. So it needs no savepoint of its own, which would copy each page that it
// changes. What fn leaves outside the database, its second run must overwrite; and it fails seldom, or nothing is won.
func (s *DB) UpdateRepeatable(ctx context.Context, fn func(*Tx) error) error {
	return s.submit(ctx, s.writer.interactive, &op{fn: fn, repeatable: true})
}

// Bulk is update for work that no one waits for: at most one such operation goes into a commit, so that it can hold the
// others up only by its own length. Keep it below 500 rows.
func (s *DB) Bulk(ctx context.Context, fn func(*Tx) error) error {
	return s.submit(ctx, s.writer.bulk, &op{fn: fn, bulk: true})
}

// BulkRepeatable is bulk for an operation that may run twice, as updateRepeatable says.
func (s *DB) BulkRepeatable(ctx context.Context, fn func(*Tx) error) error {
	return s.submit(ctx, s.writer.bulk, &op{fn: fn, repeatable: true, bulk: true})
}

func (s *DB) submit(ctx context.Context, queue chan *op, o *op) error {
	if err := s.readable(ctx); err != nil {
		return err
	}
	if err := s.MayWrite(); err != nil {
		return err
	}
	o.done = make(chan struct{})
	if from, ok := ctx.Value(OriginKey{}).(*netip.Addr); ok {
		o.origin = *from
	}
	o.client, _ = ctx.Value(ClientKey{}).(string)
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

// UpdateLate is update for a caller that does not wait: fn runs after the other operations of its commit, and after is
// called in the writer when that is over, before the next one begins. after must not block and must not wait for the
// store. An error means that neither will be called.
func (s *DB) UpdateLate(fn func(*Tx) error, after func(error)) error {
	if err := s.readable(context.Background()); err != nil {
		return err
	}
	w := s.writer
	select {
	case w.late <- &op{fn: fn, after: after}:
	case <-w.stopped:
		return core.ErrStorage.With(errClosed)
	}
	select {
	case <-w.stopped: // it may not have seen the operation
		w.refuseLate()
	default:
	}
	return nil
}

// refuseLate answers what the writer did not take before it stopped.
func (w *writer) refuseLate() {
	for {
		select {
		case o := <-w.late:
			o.after(core.ErrStorage.With(errClosed))
		default:
			return
		}
	}
}

// run is the writer's goroutine.
func (w *writer) run() {
	defer w.refuseLate()
	defer close(w.stopped)
	idle := time.NewTicker(w.store.opts.WatchEvery)
	defer idle.Stop()
	for {
		w.batch = w.batch[:0]
		select {
		case o := <-w.interactive:
			giveWay()
			w.batch = append(w.batch, o)
			w.fill(w.bulk, w.late)
		case o := <-w.bulk:
			w.batch = append(w.batch, o)
			w.fill(nil, w.late)
		case o := <-w.late:
			giveWay()
			w.fill(w.bulk, nil)
			w.batch = append(w.batch, o)
		case <-idle.C:
			if err := w.watch(); err != nil {
				w.store.log.Warn("database: data_version", slog.Any("error", err))
			}
			w.maybeCheckpoint()
			continue
		case fn := <-w.checkpointRequests:
			fn()
			continue
		case <-w.quit:
			w.drain()
			return
		}
		w.commit()
		w.lookAtWAL()
	}
}

// giveWay lets all other goroutines run first that can, so that callers who are about to ask for something share the
// commit. It returns at once where all of them wait.
func giveWay() { runtime.Gosched() }

// fill takes what is waiting, without waiting itself: under load batches grow by themselves. bulk and late are nil
// where the batch has its operation from there: it takes one of each, and the after of a late one is called before the
// next begins.
func (w *writer) fill(bulk, late <-chan *op) {
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
	case o := <-bulk:
		w.batch = append(w.batch, o)
	default:
	}
	select {
	case o := <-late:
		w.batch = append(w.batch, o)
	default:
	}
}

func (w *writer) drain() {
	for {
		w.batch = w.batch[:0]
		w.fill(w.bulk, w.late)
		if len(w.batch) == 0 {
			return
		}
		w.commit()
	}
}

// commit runs a batch in one transaction and answers its operations.
func (w *writer) commit() {
	w.take(0)
	if len(w.batch) == 0 {
		return
	}
	began := time.Now()
	err := w.transact()
	taken := w.batch
	if err != nil {
		for _, o := range taken {
			o.err, o.topics, o.left = err, 0, false
		}
	}
	w.noteFailure(taken)
	w.store.stats.batch(len(taken), time.Since(began))
	w.announce(taken)
	for _, o := range taken {
		if o.done != nil {
			close(o.done)
		} else {
			o.after(o.err)
		}
	}
	if w.store.opts.Mode == Command && w.store.DaemonRuns() {
		time.Sleep(time.Since(began)) // leave the daemon its turn: it waits for the lock just as we do
	}
}

// take leaves operations of the batch out, from one on, that their callers have given up. The others run now.
func (w *writer) take(from int) {
	taken := w.batch[:from]
	for _, o := range w.batch[from:] {
		if o.state.CompareAndSwap(opWaiting, opTaken) {
			taken = append(taken, o)
		}
	}
	w.batch = taken
}

// noteFailure remembers whether the disk took what was written: the health check then really writes, until that works
// again. Where there was no room for one, others that are smaller say nothing.
func (w *writer) noteFailure(ops []*op) {
	for _, o := range ops {
		if IsFull(o.err) {
			w.store.full.Store(true)
		}
	}
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

// announce tells loops, caches and the send path what the commit changed, before the callers are answered: a person who
// was told "unsubscribed" is not mailed after that.
func (w *writer) announce(ops []*op) {
	var all topicSet
	left := false
	for _, o := range ops {
		if o.err == nil {
			all |= o.topics
			left = left || o.left
			w.logAudit(o.audited)
		}
	}
	if left {
		w.store.departures.Add(1)
	}
	w.store.kick(all)
	for _, k := range w.store.keepers {
		k.Committed()
	}
}

// watch notices commits of other processes: then every cache is stale and every loop may have work.
func (w *writer) watch() error {
	w.tx.upkeep = true
	defer func() { w.tx.upkeep = false }()
	v, err := w.tx.Number("PRAGMA data_version")
	if err != nil {
		return err
	}
	if v != w.version && w.store.opts.Mode == Daemon {
		if err := w.logCommands(); err != nil {
			return err
		}
	}
	if w.version != 0 && v != w.version {
		w.committed()
		if err := w.answerCommands(); err != nil {
			return err
		}
		w.store.changes.Add(1)
		w.store.departures.Add(1)
		w.store.kick(1<<topics - 1)
		w.store.foreign()
	}
	w.version = v
	return nil
}
