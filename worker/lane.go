package worker

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
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
	sender  *Sender
	free    []*mail.Envelope
	scratch []byte
}

// next is mail.Source.Next: the recipient is checked once more when the message is ready, just before MAIL.
func (l *lane) next(ctx context.Context, wait bool) (*mail.Envelope, bool) {
	s := l.sender
	for {
		it := s.feed.next(ctx, wait)
		if it == nil {
			return nil, false
		}
		if !s.pace(ctx, wait) {
			s.feed.giveBack(it)
			return nil, false
		}
		now := time.Now()
		if it.job.job.WindowClosed(core.At(now)) { // the scheduler ends the job
			s.feed.settled(it.job, 1)
			continue
		}
		e := l.envelope()
		if err := it.job.content.compose(e, &it.Claim, now, &l.scratch); err != nil {
			s.opts.Log.Warn("send: a mail cannot be rendered", slog.Int64("job", it.job.job.No), slog.Any("error", err))
			s.finish(it, store.RecipientFailed, core.ReasonRender, false)
			l.free = append(l.free, e)
			continue
		}
		skip, err := s.recheck(ctx, it)
		switch {
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

// pace waits for the relay's pace, or says that it is not yet time.
func (s *Sender) pace(ctx context.Context, wait bool) bool {
	switch {
	case s.limiter == nil:
		return true
	case wait:
		return s.limiter.Wait(ctx) == nil
	}
	return s.limiter.Allow()
}

// recheck asks whether a claimed recipient may still be mailed. While nobody has left since the claim was read, the
// claim's own check holds and costs nothing.
func (s *Sender) recheck(ctx context.Context, it *item) (skip string, err error) {
	now := s.store.Departures()
	if now == it.departures {
		return "", nil
	}
	skip, err = s.store.Mailable(ctx, it.job.key, it.Seq)
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
	switch o.Result {
	case mail.Untouched:
		s.untouched(it, o)
		return
	case mail.Ambiguous:
		s.ambiguous(it, o)
		return
	case mail.Sent:
		s.way.worked()
		s.finish(it, store.RecipientSent, "", true)
	case mail.Later:
		s.way.worked()
		s.later(it, o)
	default:
		s.way.worked()
		rec := s.outcome(it, store.RecipientFailed, replyText(o), true)
		rec.HardBounce = o.HardBounce
		s.rec.add(rec)
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
		s.finish(it, store.RecipientFailed, "no reply to the message, twice", true)
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
	rec.DueAt = at
	if !ok {
		rec.State, rec.DueAt, rec.SoftBounce = store.RecipientFailed, 0, o.MailboxFull()
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
