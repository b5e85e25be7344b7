package db

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"newsletterd/core"
)

const (
	queueLength  = 4096                   // queued interactive operations; others wait in their callers
	maxBatch     = 256                    // interactive operations per commit
	busyStep     = 500 * time.Microsecond // pause between attempts to take a lock that another process holds
	watchEvery   = 500 * time.Millisecond // idle checks for foreign commits and due checkpoints
	daemonTries  = 5 * time.Second
	commandTries = time.Minute
)

// op is an operation that the writer runs.
type op struct {
	fn         func(*Tx) error
	repeatable bool // whether fn may run twice; see UpdateRepeatable
	bulk       bool // whether the operation may take long; see Bulk
	background bool // whether it gets only a share of the writer; see Background
	err        error
	done       chan struct{} // closed when the operation is done; nil means that after is called instead
	after      func(error)
	state      atomic.Int32 // opWaiting until the writer or the caller's context takes the operation
	topics     topicSet
	left       leavers
	audited    []auditEntry
	origin     netip.Addr // origin of the request; zero: none
	client     string     // OAuth client of the request's user; empty: none
}

const (
	opWaiting = iota
	opTaken   // taken by the writer; runs to its end even if the caller's context ends
	opGivenUp // given up by the caller before it began
)

// writer owns the only writing connection.
type writer struct {
	store *DB
	conn  *sqlx.Conn
	tx    Tx

	interactive chan *op
	bulk        chan *op
	background  chan *op // bulk operations that take only a share of the writer; see Background
	late        chan *op // operations that run after all others of a batch
	quit        chan struct{}
	stopped     chan struct{}

	checkpointRequests chan func() // functions to run in the writer's goroutine, outside a transaction

	version    int64     // last value of PRAGMA data_version
	auditSeen  int64     // id of the newest audit entry that is logged or existed at the start
	stuck      bool      // whether the last transaction may still be open because its end failed
	changedAt  time.Time // time of the last commit; zero: none yet
	checkpoint checkpointState
	replica    atomic.Bool // whether the replica receives commits
	commands   int64       // last command number that answerCommands has handled
	tries      time.Duration
	batch      []*op     // reused between batches
	resting    time.Time // until when other operations have the writer to themselves; see Background
}

// Update runs one operation in the writer and returns after its commit. If it returns nil, everything fn wrote is on
// the disk. fn may share a transaction with other operations, but if it fails, only its own writes are rolled back.
// If ctx ends while the operation is queued, the operation is dropped; once started it always runs to its end.
func (s *DB) Update(ctx context.Context, fn func(*Tx) error) error {
	return s.submit(ctx, s.writer.interactive, &op{fn: fn})
}

// UpdateRepeatable is like Update, for an operation that may run twice. If another operation of its batch fails, all
// are rolled back and run again one by one. The operation therefore needs no savepoint, which would copy every page
// that it changes. The second run of fn must overwrite everything that the first run left outside the database. Use it
// only for operations that rarely fail.
func (s *DB) UpdateRepeatable(ctx context.Context, fn func(*Tx) error) error {
	return s.submit(ctx, s.writer.interactive, &op{fn: fn, repeatable: true})
}

// Bulk is like Update, for work that no caller waits for. A commit includes at most one bulk operation, so it delays
// the others only by its own duration. Keep it below 500 rows.
func (s *DB) Bulk(ctx context.Context, fn func(*Tx) error) error {
	return s.submit(ctx, s.writer.bulk, &op{fn: fn, bulk: true})
}

// BulkRepeatable is like Bulk, for an operation that may run twice; see UpdateRepeatable.
func (s *DB) BulkRepeatable(ctx context.Context, fn func(*Tx) error) error {
	return s.submit(ctx, s.writer.bulk, &op{fn: fn, repeatable: true, bulk: true})
}

// Background is like Bulk, for work that may take long in total, such as a sync of a list. While other operations wait,
// it gets at most a fifth of the writer's time.
func (s *DB) Background(ctx context.Context, fn func(*Tx) error) error {
	return s.submit(ctx, s.writer.background, &op{fn: fn, bulk: true, background: true})
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

// UpdateLate is like Update, for a caller that does not wait. fn runs after the other operations of its commit. Before
// it starts the next batch, the writer passes the result to the function after, which must not block and must not wait
// for the store. If UpdateLate returns an error, neither function is called.
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
	case <-w.stopped: // the writer may have missed the operation
		w.refuseLate()
	default:
	}
	return nil
}

// refuseLate fails the late operations that the writer did not take before it stopped.
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

// run is the writer goroutine's loop.
func (w *writer) run() {
	defer w.refuseLate()
	defer close(w.stopped)
	idle := time.NewTicker(w.store.opts.WatchEvery)
	defer idle.Stop()
	quiet := time.NewTimer(0)
	defer quiet.Stop()
	for {
		w.batch = w.batch[:0]
		background, unused := w.background, (<-chan time.Time)(nil)
		if rest := time.Until(w.resting); rest > 0 {
			quiet.Reset(min(rest, unusedFor))
			background, unused = nil, quiet.C
		}
		select {
		case o := <-w.interactive:
			giveWay()
			w.batch = append(w.batch, o)
			w.fill(w.bulk, background, w.late)
		case o := <-w.bulk:
			w.batch = append(w.batch, o)
			w.fill(nil, nil, w.late)
		case o := <-background:
			w.batch = append(w.batch, o)
			w.fill(nil, nil, w.late)
		case o := <-w.late:
			giveWay()
			w.fill(w.bulk, background, nil)
			w.batch = append(w.batch, o)
		case <-unused:
			if w.awaited() == 0 { // on a busy machine, operations may have come in the meantime
				w.resting = time.Time{}
			}
			continue
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

// giveWay lets all other runnable goroutines run first, so that callers about to submit an operation share the
// commit. It returns immediately if none is runnable.
func giveWay() { runtime.Gosched() }

// fill takes queued operations without waiting, so batches grow under load. It takes at most one operation from bulk or
// background, and one from late. A nil channel means that the batch already has one, or must not have one. The after
// function of a late operation is called before the next batch begins.
func (w *writer) fill(bulk, background, late <-chan *op) {
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
	case o := <-background:
		w.batch = append(w.batch, o)
	default:
	}
	select {
	case o := <-late:
		w.batch = append(w.batch, o)
	default:
	}
}

// waiting returns the number of queued operations.
func (w *writer) waiting() int { return w.awaited() + len(w.background) }

// awaited is like waiting, without the operations of Background.
func (w *writer) awaited() int { return len(w.interactive) + len(w.bulk) + len(w.late) }

func (w *writer) drain() {
	for {
		w.batch = w.batch[:0]
		w.fill(w.bulk, w.background, w.late)
		if len(w.batch) == 0 {
			return
		}
		w.commit()
	}
}

// commit runs a batch in one transaction and returns the results of its operations.
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
			o.err, o.topics, o.left = err, 0, nil
		}
	}
	w.noteFailure(taken)
	took := time.Since(began)
	w.share(taken, took)
	w.store.stats.batch(len(taken), took)
	w.announce(taken)
	for _, o := range taken {
		if o.done != nil {
			close(o.done)
		} else {
			o.after(o.err)
		}
	}
	if w.store.opts.Mode == Command && w.store.DaemonRuns() {
		time.Sleep(time.Since(began)) // give the daemon a turn, because it competes for the same lock
	}
}

// The share of Background: after a commit with one of its operations, others have the writer for othersShare times as
// long, unless the writer is idle for a moment. Clients that send their next request after each response need less than
// that moment.
const (
	othersShare = 4
	unusedFor   = 2 * time.Millisecond
)

// share starts a pause for Background after a batch with one of its operations, if other operations were in the batch
// or are waiting.
func (w *writer) share(ops []*op, took time.Duration) {
	if slices.ContainsFunc(ops, func(o *op) bool { return o.background }) &&
		(len(ops) > 1 || w.awaited() > 0) {
		w.resting = time.Now().Add(othersShare * took)
	}
}

// take removes the operations of the batch, from index from on, that their callers have given up. It marks the others
// as taken.
func (w *writer) take(from int) {
	taken := w.batch[:from]
	for _, o := range w.batch[from:] {
		if o.state.CompareAndSwap(opWaiting, opTaken) {
			taken = append(taken, o)
		}
	}
	w.batch = taken
}

// noteFailure records whether the disk accepted the writes. After a failure, the health check writes to the disk until
// a write succeeds. After a write that failed for lack of space, the success of smaller writes proves nothing.
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

// announce notifies loops, caches and the send path of what the commit changed, before the callers get their results. A
// person who has seen the response "unsubscribed" therefore gets no more email.
func (w *writer) announce(ops []*op) {
	var all topicSet
	for _, o := range ops {
		if o.err == nil {
			all |= o.topics
			w.store.departures.note(o.left)
			w.logAudit(o.audited)
		}
	}
	w.store.kick(all)
	for _, k := range w.store.keepers {
		k.Committed()
	}
}

// watch detects commits of other processes. After one, every cache is stale and every loop may have work.
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
		w.store.departures.all.Add(1)
		w.store.kick(1<<topics - 1)
		w.store.foreign()
	}
	w.version = v
	return nil
}
