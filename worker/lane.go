package worker

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/store"
)

// maxLost is how many connections may break in one recipient's own transaction, running, before that counts as a
// temporary failure of the recipient.
const maxLost = 3

// retryRead is the pause after a check that the database did not answer.
const retryRead = 200 * time.Millisecond

// lane is one connection's share of the work. Its envelopes are used again and again.
type lane struct {
	sender    *Sender
	way       *way
	refused   *tenantFeed // whose mail was refused at MAIL for good, by the reply before
	throttled string      // whom the reply before was about, if it was 421 4.7.x
	free      []*mail.Envelope
	scratch   []byte
	ahead     []*draft // made, or being made, before they can be sent

	mu      sync.Mutex // of what follows, and of ahead: held while the lane itself is at work
	turns   int        // how often it was
	watched int        // turns at the last look
	ticking bool
	timer   *time.Timer
	idle    flag // waits for a recipient, and has nothing ahead
}

// next is mail.Source.Next: the recipient is checked once more when the message is ready, just before MAIL.
func (l *lane) next(ctx context.Context, wait bool) (*mail.Envelope, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.watch()
	s := l.sender
	for {
		d, ok := l.draft(ctx, wait)
		if !ok {
			return nil, false
		}
		it, e := d.it, d.e
		if d.err != nil {
			s.opts.Log.Warn("send: a mail cannot be rendered", slog.Int64("job", it.job.job.No), slog.Any("error", d.err))
			s.finish(it, store.RecipientFailed, core.ReasonRender, false)
			l.free = append(l.free, e)
			continue
		}
		skip, err := s.recheck(ctx, it)
		switch {
		case it.job.over.Load(): // paused, say
			l.free = append(l.free, e)
			s.feed.giveBack(it)
			continue
		case it.job.windowClosed(): // the scheduler ends the job
			l.free = append(l.free, e)
			s.feed.settled(it.job, 1)
			continue
		case err != nil:
			l.free = append(l.free, e)
			s.feed.giveBack(it)
			if !wait || !pause(ctx, retryRead) {
				return nil, false
			}
			continue
		case skip != "":
			l.free = append(l.free, e)
			s.finish(it, store.RecipientSkipped, skip, false)
			continue
		}
		e.Tag = it
		return e, true
	}
}

// take takes the next recipient whose turn it is.
func (l *lane) take(ctx context.Context, wait bool) *item {
	s := l.sender
	for {
		it := s.feed.next(ctx, l.way, wait)
		if it == nil {
			return nil
		}
		if it.job.windowClosed() { // the scheduler ends the job
			s.feed.settled(it.job, 1)
			continue
		}
		return it
	}
}

// heldFor is how long a lane keeps what it has made ahead while it waits for a relay, at least; twice as long at most.
const heldFor = 2 * time.Second

// prepare is mail.Source.Ahead. The reply may be there when the next mail is made, and then nobody sleeps and is woken for it. The
// last ones of a job are left to whoever is free first.
func (l *lane) prepare(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s := l.sender; len(l.ahead) == 0 && s.feed.plenty.Load() && !s.pool.full() {
		l.makeOne(ctx, false)
		l.watch()
	}
}

// watch sees to it that others send what is ahead if the relay does not let this lane.
func (l *lane) watch() {
	l.turns++
	if len(l.ahead) == 0 || l.ticking {
		return
	}
	l.ticking, l.watched = true, l.turns
	if l.timer == nil {
		l.timer = time.AfterFunc(heldFor, l.look)
	} else {
		l.timer.Reset(heldFor)
	}
}

// look gives back what is ahead of a lane that has not moved.
func (l *lane) look() {
	if !l.mu.TryLock() { // it moves, or has nothing to send
		again := heldFor
		if l.idle.Load() {
			again = time.Minute
		}
		l.timer.Reset(again)
		return
	}
	defer l.mu.Unlock()
	switch {
	case len(l.ahead) == 0:
		l.ticking = false
	case l.turns == l.watched:
		l.ticking = false
		l.release()
	default:
		l.watched = l.turns
		l.timer.Reset(heldFor)
	}
}

// draft returns the next mail. Of those to be signed some are made ahead, in the pool; others here, one at a time.
func (l *lane) draft(ctx context.Context, wait bool) (draft, bool) {
	for len(l.ahead) == 0 || l.ahead[0].done != nil && (len(l.ahead) < l.way.ahead || len(l.ahead) < inARow && l.sender.feed.plenty.Load()) {
		if !l.makeOne(ctx, wait && len(l.ahead) == 0) {
			break
		}
	}
	return l.signed(ctx, wait)
}

// makeOne has one more mail made, behind those that are; false: there is none.
func (l *lane) makeOne(ctx context.Context, wait bool) bool {
	s := l.sender
	if len(l.ahead) > 0 && s.pool.full() {
		return false
	}
	for {
		l.idle.Store(wait)
		it := l.take(ctx, wait)
		l.idle.Store(false)
		if it == nil {
			return false
		}
		signer, err := it.job.content.sign.signer(ctx)
		if err != nil {
			s.opts.Log.Error("send: the keys cannot be read", slog.Any("error", err))
			s.feed.giveBack(it)
			if wait && pause(ctx, retryRead) {
				continue
			}
			return false
		}
		d := &draft{it: it, e: l.envelope(), signer: signer, skip: l.way.skip}
		if signer == nil {
			d.make(&l.scratch)
		} else if !s.pool.add(ctx, d) {
			s.feed.giveBack(it)
			return false
		}
		l.ahead = append(l.ahead, d)
		return true
	}
}

// signed returns the first of the mails made ahead, if it is ready or may be waited for. Then all of them are: a lane that sends
// several in a row needs one write for each and wakes nobody between, and what signs has its CPU for longer.
func (l *lane) signed(ctx context.Context, wait bool) (draft, bool) {
	if len(l.ahead) == 0 || !wait && !l.ahead[0].ready() {
		return draft{}, false
	}
	if !l.ahead[0].ready() {
		for _, d := range l.ahead {
			if !d.await(ctx) {
				return draft{}, false
			}
		}
	}
	d := l.ahead[0]
	l.ahead = slices.Delete(l.ahead, 0, 1)
	return *d, true
}

// release gives back what was made ahead and is not sent. Its envelopes may still be written into.
func (l *lane) release() {
	for _, d := range l.ahead {
		l.sender.feed.giveBack(d.it)
	}
	l.ahead = nil
}

// end is release for a lane whose connection has ended.
func (l *lane) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release()
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *lane) envelope() *mail.Envelope {
	if n := len(l.free); n > 0 {
		e := l.free[n-1]
		l.free = l.free[:n-1]
		return e
	}
	return &mail.Envelope{}
}

// recheck asks whether a claimed recipient may still be mailed. While nobody has left since the claim was read, the
// claim's own check holds and costs nothing.
func (s *Sender) recheck(ctx context.Context, it *item) (skip string, err error) {
	now := s.store.Departures()
	if now == it.departures {
		return "", nil
	}
	skip, err = s.store.Mailable(ctx, &it.job.key, it.Seq)
	if err == nil {
		it.departures = now
	}
	return skip, err
}

// done is mail.Source.Done.
func (l *lane) done(e *mail.Envelope, o mail.Outcome) {
	s, it := l.sender, e.Tag.(*item)
	e.Tag = nil
	l.free = append(l.free, e)
	if it.gated {
		it.gated = false
		s.gate.leave(l.way.group)
	}
	l.way.tally.count(o)
	if o.Result != mail.Untouched {
		s.replied(l.way.group, it.EmailKey, throttles(o))
	}
	switch o.Result {
	case mail.Untouched:
		if o.Code/100 == 5 {
			l.refused = it.job.tenant
		}
		if o.Code == 421 && strings.HasPrefix(o.Enhanced, "4.7.") {
			l.throttled = it.EmailKey
		}
		s.untouched(it, o)
		return
	case mail.Ambiguous:
		s.ambiguous(it, o)
		return
	case mail.Sent:
		l.worked(it)
		if it.job.policy.Load() != 0 {
			it.job.policy.Store(0)
		}
		rec := s.outcome(it, store.RecipientSent, "", true)
		rec.QueueID = mail.QueueID(l.way.provider, o)
		s.rec.add(rec)
	case mail.Later:
		l.worked(it)
		s.later(it, o)
	default:
		l.worked(it)
		rec := s.outcome(it, store.RecipientFailed, replyText(o), true)
		rec.HardBounce = o.HardBounce
		s.rec.add(rec)
		s.refused(it, o)
	}
}

// worked notes that the relay took or judged a mail.
func (l *lane) worked(it *item) {
	if l.way.worked() {
		l.sender.lookAtHolds()
	}
	if it.job.tenant.refusing.Load() {
		l.sender.feed.welcomed(it.job.tenant)
		l.sender.lookAtHolds()
	}
}

func (s *Sender) outcome(it *item, state int, reason string, tried bool) record {
	return record{it: it, Outcome: store.Outcome{
		JobNo: it.job.job.No, TenantID: it.job.job.TenantID, Seq: it.Seq, EmailKey: it.EmailKey,
		State: state, Reason: reason, Tried: tried,
	}}
}

func (s *Sender) finish(it *item, state int, reason string, tried bool) {
	s.rec.add(s.outcome(it, state, reason, tried))
}

// untouched gives a recipient back; nobody has taken the message.
func (s *Sender) untouched(it *item, o mail.Outcome) {
	s.freeSlot(it)
	if o.Lost {
		if it.lost++; it.lost >= maxLost {
			s.later(it, o)
			return
		}
	}
	s.feed.giveBack(it)
}

// ambiguous records that a reply was lost; after that the message goes out once more, with the same Message-ID.
func (s *Sender) ambiguous(it *item, o mail.Outcome) {
	if it.Ambiguous > 0 {
		s.finish(it, store.RecipientFailed, core.ReasonNoReply, true)
		return
	}
	rec := s.outcome(it, store.RecipientQueued, replyText(o), false)
	rec.Ambiguous = true
	s.rec.add(rec)
}

// later defers a recipient, or ends it where its time is over.
func (s *Sender) later(it *item, o mail.Outcome) {
	at, ok := it.job.job.NextTry(it.Tries+1, core.At(time.Now()))
	rec := s.outcome(it, store.RecipientDeferred, replyText(o), true)
	rec.DueAt, rec.GivesUpAt = at, it.job.job.LastTry(it.Tries+1, at)
	if !ok {
		rec.State, rec.DueAt, rec.GivesUpAt, rec.SoftBounce = store.RecipientFailed, 0, 0, o.MailboxFull()
	}
	s.rec.add(rec)
}

// replyText is the server's reply as it is kept.
func replyText(o mail.Outcome) string {
	parts := make([]string, 0, 3)
	if o.Code != 0 {
		parts = append(parts, strconv.Itoa(o.Code))
	}
	for _, p := range [...]string{o.Enhanced, o.Text} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return "connection lost"
	}
	return strings.Join(parts, " ")
}
