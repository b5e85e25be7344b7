package worker

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"newsletterd/mail/dkim"
	"newsletterd/mail/smtp"
)

// inARow is the number of emails that a connection has signed in advance and then sends in a row, if many are queued.
const inARow = 8

// keptFor is the minimum time that a connection keeps its prepared emails while it waits for its relay. The maximum is
// twice as long.
const keptFor = 2 * time.Second

// prepared is an email that is being prepared for a connection.
type prepared struct {
	it     *item
	e      *smtp.Envelope
	signer *dkim.Signer
	skip   []string
	err    error
	done   chan struct{} // closed when the email is ready; nil: it was rendered synchronously
}

// ready reports whether the email is ready.
func (d *prepared) ready() bool {
	if d.done == nil {
		return true
	}
	select {
	case <-d.done:
		return true
	default:
		return false
	}
}

// await waits until the email is ready or ctx ends, and reports whether it is ready.
func (d *prepared) await(ctx context.Context) bool {
	if d.done == nil {
		return true
	}
	select {
	case <-d.done:
		return true
	case <-ctx.Done():
		return false
	}
}

// make renders the email and signs it.
func (d *prepared) make(scratch *[]byte) {
	d.err = d.it.job.content[d.it.Place].compose(d.e, &d.it.Claim, time.Now(), scratch)
	if d.err == nil && d.signer != nil {
		d.e.Data, d.err = d.signer.SignAll(d.e.Data, d.e.Tail, d.skip)
	}
}

// preparedQueue prepares the emails of one connection. While a reply is pending, it uses the time to prepare the next
// email. Emails that need a signature are prepared further in advance, in the pool. Envelopes are reused.
//
// The connection holds the lock while it works. If the connection is idle for keptFor, a timer takes the lock and
// returns the prepared emails to the dispatcher, so that other connections send them.
type preparedQueue struct {
	sender  *Sender
	relay   *relay
	free    []*smtp.Envelope // the connection's unused envelopes
	scratch []byte

	mu      sync.Mutex
	queue   []*prepared
	turns   int // how often the connection has worked
	watched int // value of turns at the last check
	ticking bool
	timer   *time.Timer
	idle    flag // the connection is waiting for a recipient and has prepared nothing
}

func (q *preparedQueue) init(s *Sender, r *relay) { q.sender, q.relay = s, r }

// next returns the next email. Emails that need a signature are prepared ahead, all others one at a time. The caller
// holds the lock.
func (q *preparedQueue) next(ctx context.Context, wait bool) (prepared, bool) {
	for q.wants() {
		if !q.add(ctx, wait && len(q.queue) == 0) {
			break
		}
	}
	return q.first(ctx, wait)
}

// wants reports whether to prepare one more email: the first one, or more of those that must be signed.
func (q *preparedQueue) wants() bool {
	n := len(q.queue)
	return n == 0 ||
		q.queue[0].done != nil && (n < q.relay.ahead || n < inARow && q.sender.dispatcher.plenty.Load())
}

// prepare implements smtp.Source.Ahead. It prepares an email while a reply is pending. If the reply arrives in the
// meantime, the connection needn't sleep. prepare leaves a job's last emails to the first free connection.
func (q *preparedQueue) prepare(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s := q.sender; len(q.queue) == 0 && s.dispatcher.plenty.Load() && !s.pool.full() {
		q.add(ctx, false)
		q.watch()
	}
}

// add takes one more email, and prepares it or queues it for the pool. It reports whether there was one.
func (q *preparedQueue) add(ctx context.Context, wait bool) bool {
	s := q.sender
	if len(q.queue) > 0 && s.pool.full() {
		return false
	}
	for {
		q.idle.Store(wait)
		it := q.take(ctx, wait)
		q.idle.Store(false)
		if it == nil {
			return false
		}
		signer, err := it.job.content[it.Place].sign.signer(ctx)
		if err != nil {
			s.opts.Log.Error("send: the keys cannot be read", slog.Any("error", err))
			s.dispatcher.giveBack(it)
			if wait && pause(ctx, retryRead) {
				continue
			}
			return false
		}
		d := &prepared{it: it, e: q.envelope(), signer: signer, skip: q.relay.skip}
		if signer == nil {
			d.make(&q.scratch)
		} else if !s.pool.add(ctx, d) {
			s.dispatcher.giveBack(it)
			return false
		}
		q.queue = append(q.queue, d)
		return true
	}
}

// take takes the next recipient from the dispatcher, or returns nil if there is none.
func (q *preparedQueue) take(ctx context.Context, wait bool) *item {
	d := q.sender.dispatcher
	for {
		it := d.next(ctx, q.relay, wait)
		if it == nil {
			return nil
		}
		if it.job.windowClosed() { // the scheduler ends the job
			d.settled(it.job, 1)
			continue
		}
		return it
	}
}

// first returns the first prepared email if it is ready. If it isn't and wait is true, first waits until all emails in
// preparation are ready. A connection that sends several emails in a row needs one write for each and wakes no other
// connection in between, which leaves more CPU time for signing.
func (q *preparedQueue) first(ctx context.Context, wait bool) (prepared, bool) {
	if len(q.queue) == 0 || !wait && !q.queue[0].ready() {
		return prepared{}, false
	}
	if !q.queue[0].ready() {
		for _, d := range q.queue {
			if !d.await(ctx) {
				return prepared{}, false
			}
		}
	}
	d := q.queue[0]
	q.queue = slices.Delete(q.queue, 0, 1)
	return *d, true
}

// watch makes sure that the timer runs that returns unused prepared emails. The caller holds the lock.
func (q *preparedQueue) watch() {
	q.turns++
	if len(q.queue) == 0 || q.ticking {
		return
	}
	q.ticking, q.watched = true, q.turns
	if q.timer == nil {
		q.timer = time.AfterFunc(keptFor, q.look)
	} else {
		q.timer.Reset(keptFor)
	}
}

// look returns the prepared emails if the connection has not worked since the last check.
func (q *preparedQueue) look() {
	if !q.mu.TryLock() { // the connection is working or waiting for a recipient
		again := keptFor
		if q.idle.Load() {
			again = time.Minute
		}
		q.timer.Reset(again)
		return
	}
	defer q.mu.Unlock()
	switch {
	case len(q.queue) == 0:
		q.ticking = false
	case q.turns == q.watched:
		q.ticking = false
		q.release()
	default:
		q.watched = q.turns
		q.timer.Reset(keptFor)
	}
}

// release returns the prepared emails to the dispatcher. The pool may still write to their envelopes, so these are
// not reused. The caller holds the lock.
func (q *preparedQueue) release() {
	for _, d := range q.queue {
		q.sender.dispatcher.giveBack(d.it)
	}
	q.queue = nil
}

// end releases the prepared emails at the end of a session.
func (q *preparedQueue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release()
}

// envelope returns a free envelope.
func (q *preparedQueue) envelope() *smtp.Envelope {
	if n := len(q.free); n > 0 {
		e := q.free[n-1]
		q.free = q.free[:n-1]
		return e
	}
	return &smtp.Envelope{}
}

// recycle makes an unused envelope available again.
func (q *preparedQueue) recycle(e *smtp.Envelope) { q.free = append(q.free, e) }
