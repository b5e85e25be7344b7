package worker

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

// periodParts is into how many parts a gliding period is cut: it lets through at most limit in any period, and is late by
// one part.
const periodParts = 60

// period counts messages of the last period by its parts. What is in the file is never less: it is asked for a few messages more
// before they go.
type period struct {
	limit   int
	width   time.Duration // of a part, in whole milliseconds
	parts   [periodParts + 1]int
	last    int64 // part of the latest message, counted from 1970
	total   int
	granted int // messages of the last part that the file knows of
	read    bool
	wants   bool // the claimer is to ask the file
}

func newPeriod(l core.SendLimits) *period {
	part := time.Duration(l.PeriodSeconds) * time.Second / periodParts
	return &period{limit: l.PerPeriod, width: (part + time.Millisecond - 1).Truncate(time.Millisecond)}
}

func (p *period) part(t time.Time) int64 { return t.UnixNano() / int64(p.width) }

func (p *period) at(part int64) *int { return &p.parts[part%int64(len(p.parts))] }

func (p *period) glide(now time.Time) {
	part := p.part(now)
	if part > p.last {
		p.granted = 0
	}
	for ; p.last < part && p.total > 0; p.last++ {
		oldest := p.at(p.last + 1)
		p.total -= *oldest
		*oldest = 0
	}
	p.last = max(p.last, part)
}

func (p *period) ready(now time.Time) time.Time {
	p.glide(now)
	if p.read && p.total >= p.limit {
		for k := int64(1); ; k++ { // the oldest part that holds any
			if *p.at(p.last + k) > 0 {
				return time.Unix(0, (p.last+k)*int64(p.width))
			}
		}
	}
	if p.read && *p.at(p.last) < p.granted {
		return now
	}
	p.wants = true
	return now.Add(far)
}

func (p *period) take(now time.Time) {
	p.glide(now)
	*p.at(p.last)++
	p.total++
}

// recall takes over what the file knows, which may have been counted by parts of another width.
func (p *period) recall(known store.PacePeriod, now time.Time) {
	p.glide(now)
	p.read = true
	for part, n := range known.Parts {
		end := time.Unix(0, (part+1)*int64(known.Width)-1)
		if end.After(now) {
			end = now
		}
		if at := p.part(end); at > p.last-int64(len(p.parts)) && n > 0 && known.Width > 0 {
			*p.at(at) += n
			p.total += n
		}
	}
}

// lease is how many messages the file is asked for at once: what a crash may leave unused.
func (p *period) lease() int { return max(min(p.limit/(4*periodParts), p.limit-p.total), 1) }

// counted is what to keep, with n messages more in the last part.
func (p *period) counted(n int) store.PacePeriod {
	k := store.PacePeriod{Width: p.width, Parts: map[int64]int{}}
	for part := p.last - int64(len(p.parts)) + 1; part <= p.last; part++ {
		if n := *p.at(part); n > 0 {
			k.Parts[part] = n
		}
	}
	if n > 0 {
		k.Parts[p.last] += n
	}
	return k
}

// quota is the part of a day's messages that was taken out of the file, and what is left of it.
type quota struct {
	perDay  int64
	day     int64
	left    int64
	wants   bool         // the claimer is to take more
	overDay atomic.Int64 // of which nothing is left
}

func dayOf(t time.Time) int64 { return t.Unix() / int64(24*time.Hour/time.Second) }

func endOfDay(day int64) time.Time { return time.Unix((day+1)*int64(24*time.Hour/time.Second), 0) }

func (q *quota) ready(now time.Time) time.Time {
	today := dayOf(now)
	if q.day != today {
		q.left, q.day = 0, today
	}
	switch {
	case q.left > 0:
		return now
	case q.overDay.Load() == today:
		return endOfDay(today)
	}
	q.wants = true
	return now.Add(far)
}

// lease is how much of a quota is taken at once: what a crash may leave unused.
func (q *quota) lease() int64 { return min(max(q.perDay/100, 1), 1000) }

// leasePaces takes from the file what the connections have asked for.
func (s *Sender) leasePaces(ctx context.Context) error {
	for _, p := range s.paces.all() {
		s.dispatcher.mu.Lock()
		quota, period := p.quota != nil && p.quota.wants, p.period != nil && p.period.wants
		s.dispatcher.mu.Unlock()
		if quota {
			if err := s.leaseQuota(ctx, p); err != nil {
				return err
			}
		}
		if period {
			if err := s.leasePeriod(ctx, p); err != nil {
				return err
			}
		}
		if quota || period {
			s.dispatcher.wake()
		}
	}
	return nil
}

func (s *Sender) leaseQuota(ctx context.Context, p *pace) error {
	q, today := p.quota, dayOf(time.Now())
	n, err := s.store.LeaseQuota(ctx, p.scope, today, q.perDay, q.lease())
	if err != nil {
		return err
	}
	s.dispatcher.mu.Lock()
	q.wants = false
	if q.day != today {
		q.left, q.day = 0, today
	}
	q.left += n
	s.dispatcher.mu.Unlock()
	s.reasonsChanged.Store(true)
	if n == 0 && q.overDay.Swap(today) != today {
		s.opts.Log.Info("send: the quota of the day is used up", slog.String("scope", p.scope), slog.Int64("per_day", q.perDay))
		s.wakeRelays()
	}
	return nil
}

func (s *Sender) leasePeriod(ctx context.Context, p *pace) error {
	w := p.period
	s.dispatcher.mu.Lock()
	read := w.read
	s.dispatcher.mu.Unlock()
	if !read {
		known, err := s.store.PacePeriod(ctx, p.scope)
		if err != nil {
			return err
		}
		s.dispatcher.mu.Lock()
		w.recall(known, time.Now())
		s.dispatcher.mu.Unlock()
	}
	s.dispatcher.mu.Lock()
	w.glide(time.Now())
	if w.total >= w.limit {
		w.wants = false
		s.dispatcher.mu.Unlock()
		return nil
	}
	part, n := w.last, w.lease()
	keep := w.counted(n)
	s.dispatcher.mu.Unlock()
	if err := s.store.KeepPacePeriod(ctx, p.scope, keep); err != nil {
		return err
	}
	s.dispatcher.mu.Lock()
	defer s.dispatcher.mu.Unlock()
	w.wants = false
	if w.glide(time.Now()); w.last == part {
		w.granted = *w.at(part) + n
	}
	return nil
}

// returnPaces gives back what is left at the end of a step.
func (s *Sender) returnPaces(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for _, p := range s.paces.all() {
		s.dispatcher.mu.Lock()
		var today, n int64
		if q := p.quota; q != nil {
			today, n = q.day, q.left
			q.left, q.wants = 0, false
		}
		var keep *store.PacePeriod
		if w := p.period; w != nil {
			if w.wants = false; w.granted > *w.at(w.last) {
				k := w.counted(0)
				keep, w.granted = &k, 0
			}
		}
		s.dispatcher.mu.Unlock()
		var err error
		if n > 0 {
			err = s.store.ReturnQuota(ctx, p.scope, today, n)
		}
		if keep != nil && err == nil {
			err = s.store.KeepPacePeriod(ctx, p.scope, *keep)
		}
		if err != nil {
			s.opts.Log.Error("send: what a pace has left cannot be given back", slog.String("scope", p.scope), slog.Any("error", err))
		}
	}
}
