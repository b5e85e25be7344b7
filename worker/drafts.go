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

// inARow is how many mails a connection lets be signed ahead where plenty are queued. It then sends as many in a row.
const inARow = 8

// keptFor is how long a connection that waits for its relay keeps what it has made ahead, at least; twice as long at
// most.
const keptFor = 2 * time.Second

// draft is a mail that is being made for a connection.
type draft struct {
	it     *item
	e      *smtp.Envelope
	signer *dkim.Signer
	skip   []string
	err    error
	done   chan struct{} // closed when the mail is made; nil: it was made at once
}

// ready reports whether the mail is made.
func (d *draft) ready() bool {
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

// await waits until the mail is made or ctx has ended, and reports whether it is made.
func (d *draft) await(ctx context.Context) bool {
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

// make renders the mail and signs it.
func (d *draft) make(scratch *[]byte) {
	d.err = d.it.job.content[d.it.Place].compose(d.e, &d.it.Claim, time.Now(), scratch)
	if d.err == nil && d.signer != nil {
		d.e.Data, d.err = d.signer.SignAll(d.e.Data, d.e.Tail, d.skip)
	}
}

// draftQueue makes the mails of one connection. Some are made before they can be sent: one while a reply is on its
// way, so that the connection does not sleep then, and more where they must be signed, in the pool. The envelopes are
// used again.
//
// Its lock is held while the connection itself is at work. A timer takes it to give back what was made ahead when the
// connection has stood still for keptFor: then other connections send it.
type draftQueue struct {
	sender  *Sender
	relay   *relay
	free    []*smtp.Envelope // the connection's
	scratch []byte

	mu      sync.Mutex
	drafts  []*draft
	turns   int // how often the connection was at work
	watched int // turns at the last look
	ticking bool
	timer   *time.Timer
	idle    flag // it waits for a recipient, and has made nothing ahead
}

func (q *draftQueue) init(s *Sender, r *relay) { q.sender, q.relay = s, r }

// next returns the next mail. Of mails to be signed some are made ahead; others are made here, one at a time. The lock
// is held.
func (q *draftQueue) next(ctx context.Context, wait bool) (draft, bool) {
	for q.wants() {
		if !q.add(ctx, wait && len(q.drafts) == 0) {
			break
		}
	}
	return q.first(ctx, wait)
}

// wants reports whether one more mail is to be made: the first one, and more of those that must be signed.
func (q *draftQueue) wants() bool {
	n := len(q.drafts)
	return n == 0 ||
		q.drafts[0].done != nil && (n < q.relay.ahead || n < inARow && q.sender.dispatcher.plenty.Load())
}

// prepare is smtp.Source.Ahead. It makes a mail while a reply is on its way: the reply may be there when the mail is
// made, and then the connection need not sleep. The last mails of a job are left to the connection that is free first.
func (q *draftQueue) prepare(ctx context.Context) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if s := q.sender; len(q.drafts) == 0 && s.dispatcher.plenty.Load() && !s.pool.full() {
		q.add(ctx, false)
		q.watch()
	}
}

// add makes one more mail, or has it made, and reports whether there was one.
func (q *draftQueue) add(ctx context.Context, wait bool) bool {
	s := q.sender
	if len(q.drafts) > 0 && s.pool.full() {
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
		d := &draft{it: it, e: q.envelope(), signer: signer, skip: q.relay.skip}
		if signer == nil {
			d.make(&q.scratch)
		} else if !s.pool.add(ctx, d) {
			s.dispatcher.giveBack(it)
			return false
		}
		q.drafts = append(q.drafts, d)
		return true
	}
}

// take takes the next recipient whose turn it is; nil: there is none.
func (q *draftQueue) take(ctx context.Context, wait bool) *item {
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

// first returns the first mail, if it is made or may be waited for. Then all of them are waited for: a connection that
// sends several in a row needs one write for each and wakes no other between, and what signs has its CPU for longer.
func (q *draftQueue) first(ctx context.Context, wait bool) (draft, bool) {
	if len(q.drafts) == 0 || !wait && !q.drafts[0].ready() {
		return draft{}, false
	}
	if !q.drafts[0].ready() {
		for _, d := range q.drafts {
			if !d.await(ctx) {
				return draft{}, false
			}
		}
	}
	d := q.drafts[0]
	q.drafts = slices.Delete(q.drafts, 0, 1)
	return *d, true
}

// watch starts the timer that gives back what was made ahead, if it does not run. The lock is held.
func (q *draftQueue) watch() {
	q.turns++
	if len(q.drafts) == 0 || q.ticking {
		return
	}
	q.ticking, q.watched = true, q.turns
	if q.timer == nil {
		q.timer = time.AfterFunc(keptFor, q.look)
	} else {
		q.timer.Reset(keptFor)
	}
}

// look gives back what was made ahead if the connection was not at work since the last look.
func (q *draftQueue) look() {
	if !q.mu.TryLock() { // it is at work, or waits for a recipient
		again := keptFor
		if q.idle.Load() {
			again = time.Minute
		}
		q.timer.Reset(again)
		return
	}
	defer q.mu.Unlock()
	switch {
	case len(q.drafts) == 0:
		q.ticking = false
	case q.turns == q.watched:
		q.ticking = false
		q.release()
	default:
		q.watched = q.turns
		q.timer.Reset(keptFor)
	}
}

// release gives back what was made ahead. The pool may still write into its envelopes, so they are not used again. The
// lock is held.
func (q *draftQueue) release() {
	for _, d := range q.drafts {
		q.sender.dispatcher.giveBack(d.it)
	}
	q.drafts = nil
}

// end is release at the end of a session.
func (q *draftQueue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.release()
}

// envelope returns an envelope that is free.
func (q *draftQueue) envelope() *smtp.Envelope {
	if n := len(q.free); n > 0 {
		e := q.free[n-1]
		q.free = q.free[:n-1]
		return e
	}
	return &smtp.Envelope{}
}

// recycle takes an envelope back that no session uses any more.
func (q *draftQueue) recycle(e *smtp.Envelope) { q.free = append(q.free, e) }
