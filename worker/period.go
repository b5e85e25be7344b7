package worker

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

// windowParts is into how many parts a gliding period is cut: it lets through at most limit in any period, and is late by
// one part.
const windowParts = 60

// window counts messages of the last period by its parts. What is in the file is never less: it is asked for a few messages more
// before they go.
type window struct {
	limit   int
	width   time.Duration // of a part, in whole milliseconds
	parts   [windowParts + 1]int
	last    int64 // part of the latest message, counted from 1970
	total   int
	granted int // messages of the last part that the file knows of
	read    bool
	wants   bool // the claimer is to ask the file
}

func newWindow(l core.SendLimits) *window {
	part := time.Duration(l.PeriodSeconds) * time.Second / windowParts
	return &window{limit: l.PerPeriod, width: (part + time.Millisecond - 1).Truncate(time.Millisecond)}
}

func (w *window) part(t time.Time) int64 { return t.UnixNano() / int64(w.width) }

func (w *window) at(part int64) *int { return &w.parts[part%int64(len(w.parts))] }

func (w *window) glide(now time.Time) {
	part := w.part(now)
	if part > w.last {
		w.granted = 0
	}
	for ; w.last < part && w.total > 0; w.last++ {
		oldest := w.at(w.last + 1)
		w.total -= *oldest
		*oldest = 0
	}
	w.last = max(w.last, part)
}

func (w *window) ready(now time.Time) time.Time {
	w.glide(now)
	if w.read && w.total >= w.limit {
		for k := int64(1); ; k++ { // the oldest part that holds any
			if *w.at(w.last + k) > 0 {
				return time.Unix(0, (w.last+k)*int64(w.width))
			}
		}
	}
	if w.read && *w.at(w.last) < w.granted {
		return now
	}
	w.wants = true
	return now.Add(far)
}

func (w *window) take(now time.Time) {
	w.glide(now)
	*w.at(w.last)++
	w.total++
}

// recall takes over what the file knows, which may have been counted by parts of another width.
func (w *window) recall(p store.PacePeriod, now time.Time) {
	w.glide(now)
	w.read = true
	for part, n := range p.Parts {
		end := time.Unix(0, (part+1)*int64(p.Width)-1)
		if end.After(now) {
			end = now
		}
		if at := w.part(end); at > w.last-int64(len(w.parts)) && n > 0 && p.Width > 0 {
			*w.at(at) += n
			w.total += n
		}
	}
}

// lease is how many messages the file is asked for at once: what a crash may leave unused.
func (w *window) lease() int { return max(min(w.limit/(4*windowParts), w.limit-w.total), 1) }

// counted is what to keep, with n messages more in the last part.
func (w *window) counted(n int) store.PacePeriod {
	p := store.PacePeriod{Width: w.width, Parts: map[int64]int{}}
	for part := w.last - int64(len(w.parts)) + 1; part <= w.last; part++ {
		if k := *w.at(part); k > 0 {
			p.Parts[part] = k
		}
	}
	if n > 0 {
		p.Parts[w.last] += n
	}
	return p
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

// leasePaces takes from the file what the lanes have asked for.
func (s *Sender) leasePaces(ctx context.Context) error {
	for _, p := range s.paces.all() {
		s.feed.mu.Lock()
		quota, window := p.quota != nil && p.quota.wants, p.window != nil && p.window.wants
		s.feed.mu.Unlock()
		if quota {
			if err := s.leaseQuota(ctx, p); err != nil {
				return err
			}
		}
		if window {
			if err := s.leaseWindow(ctx, p); err != nil {
				return err
			}
		}
		if quota || window {
			s.feed.wake()
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
	s.feed.mu.Lock()
	q.wants = false
	if q.day != today {
		q.left, q.day = 0, today
	}
	q.left += n
	s.feed.mu.Unlock()
	s.holds.Store(true)
	if n == 0 && q.overDay.Swap(today) != today {
		s.opts.Log.Info("send: the quota of the day is used up", slog.String("scope", p.scope), slog.Int64("per_day", q.perDay))
		s.wakeWays()
	}
	return nil
}

func (s *Sender) leaseWindow(ctx context.Context, p *pace) error {
	w := p.window
	s.feed.mu.Lock()
	read := w.read
	s.feed.mu.Unlock()
	if !read {
		known, err := s.store.PacePeriod(ctx, p.scope)
		if err != nil {
			return err
		}
		s.feed.mu.Lock()
		w.recall(known, time.Now())
		s.feed.mu.Unlock()
	}
	s.feed.mu.Lock()
	w.glide(time.Now())
	if w.total >= w.limit {
		w.wants = false
		s.feed.mu.Unlock()
		return nil
	}
	part, n := w.last, w.lease()
	keep := w.counted(n)
	s.feed.mu.Unlock()
	if err := s.store.KeepPacePeriod(ctx, p.scope, keep); err != nil {
		return err
	}
	s.feed.mu.Lock()
	defer s.feed.mu.Unlock()
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
		s.feed.mu.Lock()
		var today, n int64
		if q := p.quota; q != nil {
			today, n = q.day, q.left
			q.left, q.wants = 0, false
		}
		var keep *store.PacePeriod
		if w := p.window; w != nil {
			if w.wants = false; w.granted > *w.at(w.last) {
				k := w.counted(0)
				keep, w.granted = &k, 0
			}
		}
		s.feed.mu.Unlock()
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
