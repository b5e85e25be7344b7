package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/store"
)

// SendOptions of a Sender. What has no default is needed.
type SendOptions struct {
	Connections   int           // lanes; 0: 16
	MaxUnrecorded int           // messages with a final dot written and no durable outcome; 0: 64
	RatePerSecond float64       // messages over all lanes; 0: no limit
	GiveUpAfter   time.Duration // of a route that stays down, before its jobs fail; 0: 48 h
	From          mail.Address  // for tenants without their own
	BounceDomain  string        // of VERP addresses; empty: MAIL FROM is the plain sender
	PublicURL     string        // origin of links, for tenants without their own
	Sealer        *auth.Sealer  // of unsubscribe tokens
	Ident         *mail.Ident   // of Message-IDs and bounce addresses
	Log           *slog.Logger
}

// Sender mails the recipients of running jobs: one claimer reads them in batches, the lanes render and deliver, the
// recorder writes what became of them.
type Sender struct {
	store   *store.Store
	route   mail.Sender
	opts    SendOptions
	loop    *Loop
	feed    *feed
	way     *routeState
	window  chan struct{} // one element a slot in use
	limiter *rate.Limiter
	rec     *recorder

	dirty     atomic.Bool // running jobs may have changed
	checked   uint64      // departures of the store when they were read last
	scheduler atomic.Pointer[Loop]
}

// NewSender makes a sender over a route. It wakes itself when jobs change.
func NewSender(s *store.Store, route mail.Sender, o SendOptions) *Sender {
	if o.Connections == 0 {
		o.Connections = 16
	}
	if o.MaxUnrecorded == 0 {
		o.MaxUnrecorded = 64
	}
	if o.GiveUpAfter == 0 {
		o.GiveUpAfter = 48 * time.Hour
	}
	w := &Sender{
		store: s, route: route, opts: o, feed: newFeed(), way: newRouteState(),
		window: make(chan struct{}, o.MaxUnrecorded),
	}
	if o.RatePerSecond > 0 {
		w.limiter = rate.NewLimiter(rate.Limit(o.RatePerSecond), max(1, int(o.RatePerSecond/20)))
	}
	w.loop = &Loop{Name: "sender", Step: w.step}
	s.OnKick(store.TopicJobs, w.Kick)
	return w
}

// Loop is the loop to start.
func (s *Sender) Loop() *Loop { return s.loop }

// Kick makes the sender look for work, and for jobs that have ended.
func (s *Sender) Kick() {
	s.dirty.Store(true)
	s.feed.signal()
	s.loop.Kick()
}

// Holds tells whether recipients of a job are claimed: then an outcome may still come.
func (s *Sender) Holds(jobNo int64) bool { return s.feed.has(jobNo) }

// step mails whatever is due and returns when the next deferred recipient is.
func (s *Sender) step(ctx context.Context, _ time.Time) time.Time {
	defer s.tellScheduler()
	defer s.feed.reset()
	if err := s.refresh(ctx); err != nil {
		s.opts.Log.Error("send: jobs cannot be read", slog.Any("error", err))
		return time.Now().Add(time.Second)
	}
	if len(s.feed.jobs) == 0 {
		return Never
	}
	return s.deliver(ctx)
}

func (s *Sender) deliver(ctx context.Context) time.Time {
	lanes, cancel := context.WithCancel(ctx)
	defer cancel()
	s.rec = newRecorder(s)
	go s.rec.run(ctx)
	var wg sync.WaitGroup
	for range s.opts.Connections {
		wg.Go(func() { s.lane(lanes) })
	}
	next := s.claimAll(ctx)
	s.feed.close()
	if s.draining() {
		cancel()
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done(): // the time to drain is over: what is in flight is left to the next start
	}
	s.rec.close()
	return next
}

func (s *Sender) draining() bool {
	select {
	case <-s.loop.Stopping():
		return true
	default:
		return false
	}
}

func (s *Sender) tellScheduler() {
	if l := s.scheduler.Load(); l != nil {
		l.Kick()
	}
}

// lane runs one connection after the other until the feed is closed or ctx has ended.
func (s *Sender) lane(ctx context.Context) {
	l := &lane{sender: s}
	src := &mail.Source{Next: l.next, Commit: func(e *mail.Envelope) bool { return s.takeSlot(ctx, e) }, Done: l.done}
	for {
		round, ok := s.way.enter(ctx)
		if !ok {
			return
		}
		err := s.route.Deliver(ctx, src)
		if err == nil {
			s.way.left()
			return
		}
		var re *mail.RouteError
		if !errors.As(err, &re) {
			re = &mail.RouteError{Stage: "deliver", Err: err}
		}
		pause, since, fresh := s.way.failed(re, round, time.Now())
		if fresh {
			s.opts.Log.Warn("send: the route fails", slog.Any("error", err), slog.Duration("pause", pause))
			s.maybeGiveUp(ctx, since)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// maybeGiveUp fails all running jobs when the route has been down for too long.
func (s *Sender) maybeGiveUp(ctx context.Context, since time.Time) {
	now := time.Now()
	if now.Sub(since) < s.opts.GiveUpAfter {
		return
	}
	jobs, err := s.store.RunningJobs(ctx)
	for i := range jobs {
		if err == nil {
			err = s.store.FailSendJob(ctx, jobs[i].No, core.ReasonRelay, core.At(now))
		}
	}
	if err != nil {
		s.opts.Log.Error("send: jobs cannot be given up", slog.Any("error", err))
	}
}

// takeSlot takes a slot of the max_unrecorded window; it waits for one. False: ctx ended before.
func (s *Sender) takeSlot(ctx context.Context, e *mail.Envelope) bool {
	select {
	case s.window <- struct{}{}:
	default:
		select {
		case s.window <- struct{}{}:
		case <-ctx.Done():
			return false
		}
	}
	e.Tag.(*item).slot = true
	return true
}

func (s *Sender) freeSlot(it *item) {
	if it.slot {
		it.slot = false
		<-s.window
	}
}
