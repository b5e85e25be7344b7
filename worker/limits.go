package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

// limits holds the paces of relays and tenants. It is kept between the sender's steps, so that restarting a step
// doesn't allow more messages. For limits per period and per day, messages are leased from the database in parts.
type limits struct {
	store      *store.Store
	dispatcher *dispatcher // its lock also guards the paces
	reasons    *waitReasons
	spent      func() // called when a day's quota is used up
	log        *slog.Logger

	mu   sync.Mutex
	kept map[string]*pace
}

// of returns the pace for a scope: a relay or tenant. If the limits have changed, it creates a new pace. Without
// limits, it returns nil.
func (l *limits) of(scope string, of core.SendLimits) *pace {
	l.mu.Lock()
	defer l.mu.Unlock()
	if of == (core.SendLimits{}) {
		return nil
	}
	if l.kept == nil {
		l.kept = map[string]*pace{}
	}
	p := l.kept[scope]
	if p == nil || p.limits != of {
		p = newPace(scope, of)
		l.kept[scope] = p
	}
	return p
}

// counted returns the paces whose messages are also counted in the database.
func (l *limits) counted() []*pace {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := make([]*pace, 0, len(l.kept))
	for _, p := range l.kept {
		if p.quota != nil || p.period != nil {
			out = append(out, p)
		}
	}
	return out
}

// lease leases messages from the database for all paces that want some.
func (l *limits) lease(ctx context.Context) error {
	for _, p := range l.counted() {
		l.dispatcher.mu.Lock()
		quota, period := p.quota != nil && p.quota.wants, p.period != nil && p.period.wants
		l.dispatcher.mu.Unlock()
		if quota {
			if err := l.leaseQuota(ctx, p); err != nil {
				return err
			}
		}
		if period {
			if err := l.leasePeriod(ctx, p); err != nil {
				return err
			}
		}
		if quota || period {
			l.dispatcher.wake()
		}
	}
	return nil
}

func (l *limits) leaseQuota(ctx context.Context, p *pace) error {
	q, today := p.quota, dayOf(time.Now())
	n, err := l.store.LeaseQuota(ctx, p.scope, today, q.perDay, q.lease())
	if err != nil {
		return err
	}
	l.dispatcher.mu.Lock()
	q.wants = false
	if q.day != today {
		q.left, q.day = 0, today
	}
	q.left += n
	l.dispatcher.mu.Unlock()
	l.reasons.changed.Store(true)
	if n == 0 && q.overDay.Swap(today) != today {
		l.log.Info("send: the daily limit is reached", slog.String("scope", p.scope),
			slog.Int64("per_day", q.perDay))
		l.spent()
	}
	return nil
}

func (l *limits) leasePeriod(ctx context.Context, p *pace) error {
	w := p.period
	l.dispatcher.mu.Lock()
	read := w.read
	l.dispatcher.mu.Unlock()
	if !read {
		known, err := l.store.PacePeriod(ctx, p.scope)
		if err != nil {
			return err
		}
		l.dispatcher.mu.Lock()
		w.recall(known, time.Now())
		l.dispatcher.mu.Unlock()
	}
	l.dispatcher.mu.Lock()
	w.glide(time.Now())
	if w.total >= w.limit {
		w.wants = false
		l.dispatcher.mu.Unlock()
		return nil
	}
	part, n := w.last, w.lease()
	keep := w.counted(n)
	l.dispatcher.mu.Unlock()
	if err := l.store.KeepPacePeriod(ctx, p.scope, keep); err != nil {
		return err
	}
	l.dispatcher.mu.Lock()
	defer l.dispatcher.mu.Unlock()
	w.wants = false
	if w.glide(time.Now()); w.last == part {
		w.granted = *w.at(part) + n
	}
	return nil
}

// giveBack returns unused leases to the database at the end of a step.
func (l *limits) giveBack(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	for _, p := range l.counted() {
		l.dispatcher.mu.Lock()
		var today, n int64
		if q := p.quota; q != nil {
			today, n = q.day, q.left
			q.left, q.wants = 0, false
		}
		var keep *core.PacePeriod
		if w := p.period; w != nil {
			if w.wants = false; w.granted > *w.at(w.last) {
				k := w.counted(0)
				keep, w.granted = &k, 0
			}
		}
		l.dispatcher.mu.Unlock()
		var err error
		if n > 0 {
			err = l.store.ReturnQuota(ctx, p.scope, today, n)
		}
		if keep != nil && err == nil {
			err = l.store.KeepPacePeriod(ctx, p.scope, *keep)
		}
		if err != nil {
			l.log.Error("send: an unused sending allowance can't be returned", slog.String("scope", p.scope),
				slog.Any("error", err))
		}
	}
}
