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
	"newsletterd/mail/smtp"
	"newsletterd/store"
)

// maxLost is how many connections may break in one recipient's own transaction, running, before that counts as a
// temporary failure of the recipient.
const maxLost = 3

// retryRead is the pause after a check that the database did not answer.
const retryRead = 200 * time.Millisecond

// connection is one connection to a relay and its share of the work. Its envelopes are used again and again.
type connection struct {
	sender    *Sender
	relay     *relay
	refused   *tenantQueue // whose mail was refused at MAIL for good, by the reply before
	throttled string       // whom the reply before was about, if it was 421 4.7.x
	free      []*smtp.Envelope
	scratch   []byte
	ahead     []*draft // made, or being made, before they can be sent

	mu      sync.Mutex // of what follows, and of ahead: held while the connection itself is at work
	turns   int        // how often it was
	watched int        // turns at the last look
	ticking bool
	timer   *time.Timer
	idle    flag // waits for a recipient, and has nothing ahead
}

// next is smtp.Source.Next: the recipient is checked once more when the message is ready, just before MAIL.
func (c *connection) next(ctx context.Context, wait bool) (*smtp.Envelope, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.watch()
	s := c.sender
	for {
		d, ok := c.draft(ctx, wait)
		if !ok {
			return nil, false
		}
		it, e := d.it, d.e
		if d.err != nil {
			s.opts.Log.Warn("send: a mail cannot be rendered", slog.Int64("job", it.job.job.No), slog.Any("error", d.err))
			s.finish(it, store.RecipientFailed, core.ReasonRender, false)
			c.free = append(c.free, e)
			continue
		}
		skip, err := s.recheck(ctx, it)
		switch {
		case it.job.over.Load(): // paused, say
			c.free = append(c.free, e)
			s.dispatcher.giveBack(it)
			continue
		case it.job.windowClosed(): // the scheduler ends the job
			c.free = append(c.free, e)
			s.dispatcher.settled(it.job, 1)
			continue
		case err != nil:
			c.free = append(c.free, e)
			s.dispatcher.giveBack(it)
			if !wait || !pause(ctx, retryRead) {
				return nil, false
			}
			continue
		case skip != "":
			c.free = append(c.free, e)
			s.finish(it, store.RecipientSkipped, skip, false)
			continue
		}
		e.Tag = it
		return e, true
	}
}

// take takes the next recipient whose turn it is.
func (c *connection) take(ctx context.Context, wait bool) *item {
	s := c.sender
	for {
		it := s.dispatcher.next(ctx, c.relay, wait)
		if it == nil {
			return nil
		}
		if it.job.windowClosed() { // the scheduler ends the job
			s.dispatcher.settled(it.job, 1)
			continue
		}
		return it
	}
}

// heldFor is how long a connection keeps what it has made ahead while it waits for a relay, at least; twice as long at most.
const heldFor = 2 * time.Second

// prepare is smtp.Source.Ahead. The reply may be there when the next mail is made, and then nobody sleeps and is woken for it. The
// last ones of a job are left to whoever is free first.
func (c *connection) prepare(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.sender; len(c.ahead) == 0 && s.dispatcher.plenty.Load() && !s.pool.full() {
		c.makeOne(ctx, false)
		c.watch()
	}
}

// watch sees to it that others send what is ahead if the relay does not let this connection.
func (c *connection) watch() {
	c.turns++
	if len(c.ahead) == 0 || c.ticking {
		return
	}
	c.ticking, c.watched = true, c.turns
	if c.timer == nil {
		c.timer = time.AfterFunc(heldFor, c.look)
	} else {
		c.timer.Reset(heldFor)
	}
}

// look gives back what is ahead of a connection that has not moved.
func (c *connection) look() {
	if !c.mu.TryLock() { // it works, or has nothing to send
		again := heldFor
		if c.idle.Load() {
			again = time.Minute
		}
		c.timer.Reset(again)
		return
	}
	defer c.mu.Unlock()
	switch {
	case len(c.ahead) == 0:
		c.ticking = false
	case c.turns == c.watched:
		c.ticking = false
		c.release()
	default:
		c.watched = c.turns
		c.timer.Reset(heldFor)
	}
}

// draft returns the next mail. Of those to be signed some are made ahead, in the pool; others here, one at a time.
func (c *connection) draft(ctx context.Context, wait bool) (draft, bool) {
	for len(c.ahead) == 0 || c.ahead[0].done != nil && (len(c.ahead) < c.relay.ahead || len(c.ahead) < inARow && c.sender.dispatcher.plenty.Load()) {
		if !c.makeOne(ctx, wait && len(c.ahead) == 0) {
			break
		}
	}
	return c.signed(ctx, wait)
}

// makeOne has one more mail made, behind those that are; false: there is none.
func (c *connection) makeOne(ctx context.Context, wait bool) bool {
	s := c.sender
	if len(c.ahead) > 0 && s.pool.full() {
		return false
	}
	for {
		c.idle.Store(wait)
		it := c.take(ctx, wait)
		c.idle.Store(false)
		if it == nil {
			return false
		}
		signer, err := it.job.content.sign.signer(ctx)
		if err != nil {
			s.opts.Log.Error("send: the keys cannot be read", slog.Any("error", err))
			s.dispatcher.giveBack(it)
			if wait && pause(ctx, retryRead) {
				continue
			}
			return false
		}
		d := &draft{it: it, e: c.envelope(), signer: signer, skip: c.relay.skip}
		if signer == nil {
			d.make(&c.scratch)
		} else if !s.pool.add(ctx, d) {
			s.dispatcher.giveBack(it)
			return false
		}
		c.ahead = append(c.ahead, d)
		return true
	}
}

// signed returns the first of the mails made ahead, if it is ready or may be waited for. Then all of them are: a connection that sends
// several in a row needs one write for each and wakes nobody between, and what signs has its CPU for longer.
func (c *connection) signed(ctx context.Context, wait bool) (draft, bool) {
	if len(c.ahead) == 0 || !wait && !c.ahead[0].ready() {
		return draft{}, false
	}
	if !c.ahead[0].ready() {
		for _, d := range c.ahead {
			if !d.await(ctx) {
				return draft{}, false
			}
		}
	}
	d := c.ahead[0]
	c.ahead = slices.Delete(c.ahead, 0, 1)
	return *d, true
}

// release gives back what was made ahead and is not sent. Its envelopes may still be written into.
func (c *connection) release() {
	for _, d := range c.ahead {
		c.sender.dispatcher.giveBack(d.it)
	}
	c.ahead = nil
}

// end is release at the end of an SMTP session.
func (c *connection) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.release()
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *connection) envelope() *smtp.Envelope {
	if n := len(c.free); n > 0 {
		e := c.free[n-1]
		c.free = c.free[:n-1]
		return e
	}
	return &smtp.Envelope{}
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

// done is smtp.Source.Done.
func (c *connection) done(e *smtp.Envelope, o smtp.Outcome) {
	s, it := c.sender, e.Tag.(*item)
	e.Tag = nil
	c.free = append(c.free, e)
	if it.gated {
		it.gated = false
		s.gate.leave(c.relay.group)
	}
	c.relay.tally.count(o)
	if o.Result != smtp.Untouched {
		s.replied(c.relay.group, it.EmailKey, throttles(o))
	}
	switch o.Result {
	case smtp.Untouched:
		if o.Code/100 == 5 {
			c.refused = it.job.tenant
		}
		if o.Code == 421 && strings.HasPrefix(o.Enhanced, "4.7.") {
			c.throttled = it.EmailKey
		}
		s.untouched(it, o)
		return
	case smtp.Ambiguous:
		s.ambiguous(it, o)
		return
	case smtp.Sent:
		c.worked(it)
		if it.job.policy.Load() != 0 {
			it.job.policy.Store(0)
		}
		rec := s.outcome(it, store.RecipientSent, "", true)
		rec.QueueID = mail.QueueID(c.relay.provider, o.Text)
		s.rec.add(rec)
	case smtp.Later:
		c.worked(it)
		s.later(it, o)
	default:
		c.worked(it)
		rec := s.outcome(it, store.RecipientFailed, replyText(o), true)
		rec.HardBounce = o.HardBounce
		s.rec.add(rec)
		s.refused(it, o)
	}
}

// worked notes that the relay took or judged a mail.
func (c *connection) worked(it *item) {
	if c.relay.worked() {
		c.sender.lookAtWaitReasons()
	}
	if it.job.tenant.refusing.Load() {
		c.sender.dispatcher.welcomed(it.job.tenant)
		c.sender.lookAtWaitReasons()
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
func (s *Sender) untouched(it *item, o smtp.Outcome) {
	s.freeSlot(it)
	if o.Lost {
		if it.lost++; it.lost >= maxLost {
			s.later(it, o)
			return
		}
	}
	s.dispatcher.giveBack(it)
}

// ambiguous records that a reply was lost; after that the message goes out once more, with the same Message-ID.
func (s *Sender) ambiguous(it *item, o smtp.Outcome) {
	if it.Ambiguous > 0 {
		s.finish(it, store.RecipientFailed, core.ReasonNoReply, true)
		return
	}
	rec := s.outcome(it, store.RecipientQueued, replyText(o), false)
	rec.Ambiguous = true
	s.rec.add(rec)
}

// later defers a recipient, or ends it where its time is over.
func (s *Sender) later(it *item, o smtp.Outcome) {
	at, ok := it.job.job.NextTry(it.Tries+1, core.At(time.Now()))
	rec := s.outcome(it, store.RecipientDeferred, replyText(o), true)
	rec.DueAt, rec.GivesUpAt = at, it.job.job.LastTry(it.Tries+1, at)
	if !ok {
		rec.State, rec.DueAt, rec.GivesUpAt, rec.SoftBounce = store.RecipientFailed, 0, 0, o.MailboxFull()
	}
	s.rec.add(rec)
}

// replyText is the server's reply as it is kept.
func replyText(o smtp.Outcome) string {
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
