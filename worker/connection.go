package worker

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/mail/report"
	"newsletterd/mail/smtp"
)

// retryRead is the pause after the database could not be read to recheck a recipient.
const retryRead = 200 * time.Millisecond

// connection sends emails to a relay through one SMTP session at a time, and handles the outcome of each email.
type connection struct {
	sender  *Sender
	relay   *relay
	queue   preparedQueue
	refused *tenantQueue // tenant whose sender the relay just permanently refused at MAIL; nil: none
	closed  string       // address whose transaction ended the session with 421; empty: none
}

func newConnection(s *Sender, r *relay) *connection {
	c := &connection{sender: s, relay: r}
	c.queue.init(s, r)
	return c
}

// run runs sessions with the relay until the dispatcher is closed or ctx ends. While the relay is down, run waits.
func (c *connection) run(ctx context.Context) {
	defer c.queue.end()
	s, r := c.sender, c.relay
	src := &smtp.Source{
		Next: c.next, Ahead: c.queue.prepare, Done: c.done,
		Commit: func(e *smtp.Envelope, wait bool) bool { return c.commit(ctx, e, wait) },
	}
	for {
		round, ok := r.enter(ctx)
		if !ok {
			return
		}
		c.refused, c.closed = nil, ""
		err := r.sender.Deliver(ctx, src)
		c.queue.end()
		if err != nil {
			c.failed(ctx, err, round)
			continue
		}
		r.left()
		if ctx.Err() != nil || s.dispatcher.ended.Load() {
			return
		}
		// An earlier relay in the group works again.
	}
}

// commit implements smtp.Source.Commit: it takes an inflight slot for an email and reports whether it got one. It never
// lets a job's last emails wait for earlier ones on the same connection, so that the first free connection can send
// them.
func (c *connection) commit(ctx context.Context, e *smtp.Envelope, wait bool) bool {
	s, it := c.sender, e.Tag.(*item)
	switch {
	case s.store.MayAct() != nil:
		return false
	case wait:
		return s.inflight.take(ctx, c.relay.group, it, s.recorder)
	}
	return s.dispatcher.plenty.Load() && s.inflight.takeNow(c.relay.group, it)
}

// failed handles the error that ended a session: either the relay refused the sender, or the relay itself failed.
func (c *connection) failed(ctx context.Context, err error, round uint64) {
	s, r := c.sender, c.relay
	var re *smtp.RelayError
	if !errors.As(err, &re) {
		re = &smtp.RelayError{Stage: "deliver", Err: err}
	}
	r.tally.fault(re.Fault)
	if !re.ClosedTransaction() {
		c.closed = ""
	} else if c.closed != "" && strings.HasPrefix(re.Enhanced, "4.7.") {
		c.replied(c.closed, true)
	}
	if c.refused != nil && re.Stage == "MAIL" && re.Code/100 == 5 && re.Fault == smtp.FaultRefused {
		r.worked()
		c.senderRefused(ctx, c.refused, re)
		return
	}
	if pause, fresh := r.failed(re, c.closed, round, time.Now()); fresh {
		s.opts.Log.Warn("send: the route fails", slog.String("route", r.name), slog.String("tenant", r.group.owner),
			slog.Any("error", err), slog.Duration("pause", pause))
		s.reasons.look()
		now := time.Now()
		if since := r.group.downSince(); !since.IsZero() && now.Sub(since) >= s.opts.GiveUpAfter {
			c.giveUp(ctx, s.dispatcher.jobsOf(r.group), now)
		}
	}
}

// senderRefused pauses a single tenant, because a relay that permanently refuses MAIL refuses only that tenant's
// sender.
func (c *connection) senderRefused(ctx context.Context, t *tenantQueue, re *smtp.RelayError) {
	s, now := c.sender, time.Now()
	pause, since, fresh := s.dispatcher.refused(t, re, now)
	if !fresh {
		return
	}
	s.reasons.look()
	s.opts.Log.Warn("send: the sender address is rejected", slog.String("tenant", t.id), slog.Any("error", re),
		slog.Duration("pause", pause))
	if now.Sub(since) >= s.opts.GiveUpAfter {
		c.giveUp(ctx, s.dispatcher.jobsOfTenant(t), now)
	}
}

// giveUp ends jobs as failed because their relays have been failing for too long.
func (c *connection) giveUp(ctx context.Context, jobNos []int64, now time.Time) {
	for _, no := range jobNos {
		if err := c.sender.store.FailSendJob(ctx, no, core.ReasonRelay, core.At(now)); err != nil {
			c.sender.opts.Log.Error("send: a job can't be marked as failed", slog.Any("error", err))
		}
	}
}

// next implements smtp.Source.Next: it returns the next email. It rechecks the recipient when the email is rendered,
// just before MAIL.
func (c *connection) next(ctx context.Context, wait bool) (*smtp.Envelope, bool) {
	q := &c.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.watch()
	s := c.sender
	for {
		d, ok := q.next(ctx, wait)
		if !ok {
			return nil, false
		}
		it, e := d.it, d.e
		if d.err != nil {
			s.opts.Log.Warn("send: an email can't be rendered", slog.Int64("job", it.job.job.No),
				slog.Any("error", d.err))
			s.recorder.add(outcome(it, core.RecipientFailed, core.ReasonRender, false))
			q.recycle(e)
			continue
		}
		skip, err := c.recheck(ctx, it)
		switch {
		case it.job.over.Load(): // paused, for example
			q.recycle(e)
			s.dispatcher.giveBack(it)
			continue
		case it.job.windowClosed(): // the scheduler ends the job
			q.recycle(e)
			s.dispatcher.settled(it.job, 1)
			continue
		case err != nil:
			q.recycle(e)
			s.dispatcher.giveBack(it)
			if !wait || !pause(ctx, retryRead) {
				return nil, false
			}
			continue
		case skip != "":
			q.recycle(e)
			s.recorder.add(outcome(it, core.RecipientSkipped, skip, false))
			continue
		}
		e.Tag, e.Alone = it, it.Ambiguous > 0 || it.lost > 0
		return e, true
	}
}

// recheck returns the reason to skip a claimed recipient, or an empty string. It costs nothing if the tenant had no
// departures since the claim, because the check made by the claim is still valid.
func (c *connection) recheck(ctx context.Context, it *item) (skip string, err error) {
	if err := c.sender.store.MayAct(); err != nil {
		return "", err
	}
	now := c.sender.store.Departures(it.job.job.TenantID)
	if now == it.departures {
		return "", nil
	}
	skip, err = c.sender.store.Mailable(ctx, it.job.key.Of(it.Place), it.Seq)
	if err == nil {
		it.departures = now
	}
	return skip, err
}

// done implements smtp.Source.Done: it records the outcome of an email, or returns the recipient to the dispatcher.
func (c *connection) done(e *smtp.Envelope, o smtp.Outcome) {
	s, it := c.sender, e.Tag.(*item)
	e.Tag = nil
	c.queue.recycle(e)
	s.inflight.answered(c.relay.group, it)
	c.relay.tally.count(o)
	if o.Result != smtp.Untouched {
		c.replied(it.EmailKey, throttles(o))
	}
	switch o.Result {
	case smtp.Untouched:
		// If several emails were pipelined, the first refusal ends the session.
		if o.Code/100 == 5 && c.refused == nil {
			c.refused = it.job.tenant
		}
		if o.Lost && o.Code == 421 && c.closed == "" {
			c.closed = it.EmailKey
		}
		c.untouched(it, o)
	case smtp.Ambiguous:
		s.recorder.add(ambiguous(it, o))
	case smtp.Sent:
		c.worked(it)
		if it.job.policy.Load() != 0 {
			it.job.policy.Store(0)
		}
		rec := outcome(it, core.RecipientSent, "", true)
		rec.QueueID = report.QueueID(c.relay.provider, o.Text)
		s.recorder.add(rec)
	case smtp.Later:
		c.worked(it)
		s.recorder.add(deferred(it, o))
	default:
		c.worked(it)
		rec := outcome(it, core.RecipientFailed, replyText(o), true)
		rec.HardBounce, rec.Doubtful = o.HardBounce, o.Doubtful
		s.recorder.add(rec)
		s.countPolicy(it, o)
	}
}

// untouched returns a recipient to the dispatcher whose message the relay has neither accepted nor refused.
func (c *connection) untouched(it *item, o smtp.Outcome) {
	c.sender.inflight.free(it)
	if o.Lost {
		if it.lost++; it.lost >= maxLost {
			c.sender.recorder.add(deferred(it, o))
			return
		}
	}
	c.sender.dispatcher.giveBack(it)
}

// worked records that the relay is available, because it has accepted or refused an email.
func (c *connection) worked(it *item) {
	if c.relay.worked() {
		c.sender.reasons.look()
	}
	if it.job.tenant.refusing.Load() {
		c.sender.dispatcher.welcomed(it.job.tenant)
		c.sender.reasons.look()
	}
}

// replied counts a reply from a destination. To save time, it does so only if a destination of the relay group is being
// watched, or if the reply is a throttling refusal.
func (c *connection) replied(email string, refused bool) {
	s, g := c.sender, c.relay.group
	if !refused && !g.throttling.Load() {
		return
	}
	domain := domainOf(email)
	if slowed, to := s.dispatcher.replied(g, domain, refused, time.Now()); slowed {
		s.opts.Log.Warn("send: a recipient domain limits the rate; sending half as fast",
			slog.String("tenant", g.owner), slog.String("domain", domain),
			slog.Float64("per_second", math.Round(100*to)/100))
	}
}

// pause waits for d, and reports whether ctx is still active.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
