package worker

import (
	"context"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// Never is returned by a Step that needs to run again only after a kick.
var Never time.Time

// ErrDrain is the cause of a context that is canceled at the end of the drain limit. Interrupted work is released and
// does not count as a failed attempt.
var ErrDrain = errors.New("the daemon is stopping")

// Loop runs Step whenever it is due, but never concurrently. Step does the work that is due at now, and returns when to
// run again. If it returns Never, it runs again only after a kick.
type Loop struct {
	Name string
	Step func(ctx context.Context, now time.Time) (next time.Time)
	End  func(ctx context.Context) // runs after the last Step, within the drain limit; may be nil

	once     sync.Once
	armed    atomic.Bool // a Kick of KickIn is pending
	kicked   chan struct{}
	stopping <-chan struct{}
}

// Stopping returns a channel that is closed when the daemon starts to drain. A Step that works through a queue should
// then stop claiming. Only Step may use the channel, which is nil if a test calls Step directly.
func (l *Loop) Stopping() <-chan struct{} { return l.stopping }

func (l *Loop) init() { l.once.Do(func() { l.kicked = make(chan struct{}, 1) }) }

// Kick makes Step run soon. It never blocks. Several kicks before the next Step count as one.
func (l *Loop) Kick() {
	l.init()
	select {
	case l.kicked <- struct{}{}:
	default:
	}
}

// KickIn calls Kick after d. If a call from an earlier KickIn is pending, it does nothing.
func (l *Loop) KickIn(d time.Duration) {
	if l.armed.CompareAndSwap(false, true) {
		time.AfterFunc(d, func() { l.armed.Store(false); l.Kick() })
	}
}

// run calls Step until stop is closed. A panic in Step is logged, and Step runs again a second later.
func (l *Loop) run(ctx context.Context, stop <-chan struct{}, log *slog.Logger) {
	l.init()
	l.stopping = stop
	if l.End != nil {
		defer l.End(ctx)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		default:
		}
		select {
		case <-stop:
			return
		case <-timer.C:
		case <-l.kicked:
		}
		next := l.step(ctx, log)
		timer.Stop()
		if !next.IsZero() {
			timer.Reset(max(time.Until(next), 0))
		}
	}
}

func (l *Loop) step(ctx context.Context, log *slog.Logger) (next time.Time) {
	defer func() {
		if r := recover(); r != nil {
			log.Error("worker: panic", slog.String("loop", l.Name), slog.Any("panic", r),
				slog.String("stack", string(debug.Stack())))
			next = time.Now().Add(time.Second)
		}
	}()
	return l.Step(ctx, time.Now())
}

// Group starts loops and stops them together.
type Group struct {
	log    *slog.Logger
	loops  []*Loop
	wg     sync.WaitGroup
	stop   chan struct{}
	ctx    context.Context
	cancel context.CancelCauseFunc
	once   sync.Once
}

// NewGroup returns a group of loops. log must not be nil.
func NewGroup(log *slog.Logger, loops ...*Loop) *Group {
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Group{log: log, loops: loops, stop: make(chan struct{}), ctx: ctx, cancel: cancel}
}

// Start runs each loop in its own goroutine. The first Step runs immediately.
func (g *Group) Start() {
	for _, l := range g.loops {
		g.wg.Go(func() { l.run(g.ctx, g.stop, g.log) })
	}
}

// Drain stops the loops from starting anything new, and waits up to limit for the running steps. It then cancels their
// contexts with the cause ErrDrain and waits for them to return. Drain may be called more than once, or without Start.
func (g *Group) Drain(limit time.Duration) {
	g.once.Do(func() { close(g.stop) })
	cut := time.AfterFunc(limit, func() { g.cancel(ErrDrain) })
	defer cut.Stop()
	g.wg.Wait()
	g.cancel(ErrDrain)
}
