package worker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

const (
	trackEvery = 500 * time.Millisecond // minimum interval between writes
	trackMost  = 20_000                 // maximum number of different engagements held; any more are not counted
)

// Tracker collects opens and clicks and counts them in batches. A burst of opens costs two database operations per
// second, which have a lower priority than other writes. If the daemon is killed, unwritten engagements are lost.
type Tracker struct {
	store   *store.Store
	log     *slog.Logger
	loop    *Loop
	mu      sync.Mutex
	held    map[trackKey]*core.Engagement
	recent  map[trackKey]followed // clicks in the last seconds
	totals  map[totalKey][]totalClick
	dropped int64
	written time.Time
}

type trackKey struct {
	job, seq, link int64
	program        core.Program
}

// followed is a recent click. It is kept to detect another network that follows the same link right afterwards.
type followed struct {
	network string
	at      core.Instant
}

// NewTracker returns a tracker. The caller must start its loop, and call Flush when no more requests arrive.
func NewTracker(s *store.Store, log *slog.Logger) *Tracker {
	t := &Tracker{store: s, log: log, held: map[trackKey]*core.Engagement{}, recent: map[trackKey]followed{}, totals: map[totalKey][]totalClick{}}
	t.loop = &Loop{Name: "tracker", Step: t.step}
	return t
}

// Loop returns the loop that writes the engagements. The caller must start it.
func (t *Tracker) Loop() *Loop { return t.loop }

// Add counts an engagement. It never blocks.
func (t *Tracker) Add(e core.Engagement) {
	t.mu.Lock()
	first := len(t.held) == 0
	switch {
	case e.Seq == 0:
		t.judgeTotal(&e)
	case t.goesAfter(&e):
		e.Program = core.ProgramScanner
	}
	t.hold(e)
	t.mu.Unlock()
	if first {
		t.loop.Kick()
	}
}

// hold keeps an engagement until it is written.
func (t *Tracker) hold(e core.Engagement) {
	key := trackKey{e.JobNo, e.Seq, e.LinkNo, e.Program}
	switch h := t.held[key]; {
	case h != nil:
		h.Last, h.Times = max(h.Last, e.Last), h.Times+e.Times
	case len(t.held) < trackMost:
		t.held[key] = &e
	default:
		t.dropped++
	}
}

// goesAfter reports whether a click comes from a machine that repeats a subscriber's clicks, because a different
// network followed the same link just before. Such a click counts as automated. Networks are kept in memory for a few
// seconds and never stored.
func (t *Tracker) goesAfter(e *core.Engagement) bool {
	if e.LinkNo == 0 || e.Network == "" {
		return false
	}
	key := trackKey{job: e.JobNo, seq: e.Seq, link: e.LinkNo}
	before, known := t.recent[key]
	if known && e.At.Sub(before.at) < core.SameClick && e.Network != before.network {
		return true
	}
	if len(t.recent) < trackMost {
		t.recent[key] = followed{e.Network, e.At}
	}
	return false
}

// forget drops the networks of clicks that are too old to compare.
func (t *Tracker) forget(now core.Instant) {
	for key, f := range t.recent {
		if now.Sub(f.at) >= core.SameClick {
			delete(t.recent, key)
		}
	}
}

func (t *Tracker) step(ctx context.Context, now time.Time) time.Time {
	if next := t.written.Add(trackEvery); now.Before(next) {
		return next
	}
	t.written = now
	t.mu.Lock()
	t.forget(core.At(now))
	t.forgetTotals(core.At(now))
	t.mu.Unlock()
	if err := t.Flush(ctx); err != nil {
		t.log.Warn("tracker: opens and clicks can't be saved", slog.Any("error", err))
		return now.Add(5 * time.Second)
	}
	return Never
}

// Flush writes the held engagements. After an error, the tracker still holds them.
func (t *Tracker) Flush(ctx context.Context) error {
	t.mu.Lock()
	held, dropped := t.held, t.dropped
	t.held, t.dropped = map[trackKey]*core.Engagement{}, 0
	t.mu.Unlock()
	if dropped > 0 {
		t.log.Warn("tracker: too many events at once, some are not counted", slog.Int64("left_out", dropped))
	}
	if len(held) == 0 {
		return nil
	}
	es := make([]core.Engagement, 0, len(held))
	for _, e := range held {
		es = append(es, *e)
	}
	n, err := t.store.AddEngagements(ctx, es)
	if err != nil {
		for _, e := range es[n:] {
			t.Add(e)
		}
	}
	return err
}
