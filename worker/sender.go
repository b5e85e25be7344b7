package worker

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/smtp"
	"newsletterd/store"
)

// SendOptions of a Sender. What has no default is needed.
type SendOptions struct {
	Connections   int                           // to the daemon.s own relay; 0: 16
	MaxUnrecorded int                           // messages with a final dot written and no durable outcome; 0: 64
	Limits        core.SendLimits               // of the daemon's own relay
	DomainRates   map[string]float64            // messages a second to a destination domain, "*" to every other; none: no limit
	Relay         func(*core.Relay) smtp.Sender // makes the way to a tenant's relay; nil: all tenants use the daemon's
	GiveUpAfter   time.Duration                 // of a route that stays down, before its jobs fail; 0: 48 h
	From          mail.Address                  // for tenants without their own
	Provider      string                        // kind of the mail provider whose relay route is; empty: none
	BounceDomain  string                        // of VERP addresses; empty: MAIL FROM is the plain sender
	PublicURL     string                        // origin of links, for tenants without their own
	Sealer        *auth.Sealer                  // of unsubscribe tokens
	Ident         *mail.Ident                   // of Message-IDs and bounce addresses
	Signers       *Signers                      // of DKIM; nil: mails go out unsigned
	DKIMSkip      []string                      // header fields that the relay changes
	ExtraThread   bool                          // one more thread than CPUs runs while mails go out
	Log           *slog.Logger
}

// Sender mails the recipients of running jobs: one claimer reads them in batches, the connections render and deliver, the
// recorder writes what became of them.
type Sender struct {
	store      *store.Store
	opts       SendOptions
	loop       *Loop
	dispatcher *dispatcher
	inflight   chan struct{} // one element a slot in use
	gate       gate          // before inflight
	rec        *recorder
	paces      paces

	shared      *relayGroup            // the daemon's own relay
	groupsMu    sync.Mutex             // for those who read figures: only the claimer changes the map
	groups      map[string]*relayGroup // of tenants with relays of their own
	connections *connectionSet         // of the step that runs
	pool        *signPool              // likewise
	cpus        int                    // how many sign at once

	dirty          flag      // running jobs may have changed
	rerouted       flag      // relays or limits may have changed
	reasonsChanged flag      // jobs may have begun or ceased to wait
	checked        uint64    // departures of the store when they were read last
	again          time.Time // when a job that could not be taken up is tried again; zero: there is none
	scheduler      atomic.Pointer[Loop]
}

// NewSender makes a sender over a route. It wakes itself when jobs change.
func NewSender(s *store.Store, route smtp.Sender, o SendOptions) *Sender {
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
		store: s, opts: o, dispatcher: newDispatcher(), groups: map[string]*relayGroup{},
		inflight: make(chan struct{}, o.MaxUnrecorded), cpus: runtime.GOMAXPROCS(0),
	}
	w.gate.room = sync.NewCond(&w.gate.mu)
	w.dispatcher.domains = newDomainPace(o.DomainRates)
	w.shared = newRelayGroup("", &w.dispatcher.ended, &relay{
		name: "default", sender: route, connections: o.Connections, ahead: signAhead(o.Connections), skip: o.DKIMSkip, provider: o.Provider,
		relayState: relayState{pace: w.paces.of("relay", o.Limits)},
	})
	w.loop = &Loop{Name: "sender", Step: w.step}
	s.OnKick(store.TopicJobs, w.Kick)
	s.OnKick(store.TopicRecords, func() {
		w.rerouted.Store(true)
		w.Kick()
	})
	return w
}

// signAhead is how many mails a connection lets be signed before their turn, so that all cores sign.
func signAhead(connections int) int { return 2 + runtime.GOMAXPROCS(0)/connections }

// inARow is how many it lets be signed where there are plenty, so that it sends as many in a row.
const inARow = 8

// Loop is the loop to start.
func (s *Sender) Loop() *Loop { return s.loop }

// Kick makes the sender look for work, and for jobs that have ended.
func (s *Sender) Kick() {
	s.dirty.Store(true)
	s.dispatcher.signal()
	s.loop.Kick()
}

// Holds tells whether recipients of a job are claimed: then an outcome may still come.
func (s *Sender) Holds(jobNo int64) bool { return s.dispatcher.has(jobNo) }

// step mails whatever is due and returns when the next deferred recipient is.
func (s *Sender) step(ctx context.Context, _ time.Time) time.Time {
	defer s.tellScheduler()
	defer s.dispatcher.reset()
	if err := s.refresh(ctx); err != nil {
		s.opts.Log.Error("send: jobs cannot be read", slog.Any("error", err))
		return time.Now().Add(time.Second)
	}
	if len(s.dispatcher.jobs) == 0 {
		return s.again
	}
	return s.deliver(ctx)
}

// gcBallast are so many bytes that nobody touches while mails go out: the collector takes them for used, and lets as much more
// garbage gather before it runs. That is a third of its runs, for 16 MB at most whatever else the daemon holds.
const gcBallast = 16 << 20

func (s *Sender) deliver(ctx context.Context) time.Time {
	ballast := make([]byte, gcBallast)
	defer runtime.KeepAlive(ballast)
	if s.opts.ExtraThread {
		defer useExtraThread()()
	}
	connections, cancel := context.WithCancel(ctx)
	defer cancel()
	s.rec = newRecorder(s)
	s.pool = newSignPool(s.cpus)
	set := &connectionSet{ctx: connections}
	s.connections = set
	for _, t := range s.dispatcher.tenants { // nobody else runs yet
		s.openConnections(t.group)
	}
	next := s.claimAll(ctx)
	s.endConnections()
	s.dispatcher.close()
	s.wakeRelays()
	if s.draining() {
		cancel()
	}
	done := make(chan struct{})
	go func() { set.wg.Wait(); s.pool.close(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done(): // the time to drain is over: what is in flight is left to the next start
	}
	s.rec.flush(ctx)
	s.returnPaces(ctx)
	if err := s.noteWaitReasons(context.WithoutCancel(ctx)); err != nil {
		s.opts.Log.Error("send: why jobs wait cannot be noted", slog.Any("error", err))
	}
	return next
}

// endConnections starts no more connections in this step; those that run end with the dispatcher.
func (s *Sender) endConnections() {
	s.connections, s.shared.cancel = nil, nil
	for _, g := range s.groups {
		g.cancel = nil
	}
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

// connection runs the sessions of one connection to a relay, one after the other, until the dispatcher is closed or ctx has ended.
func (s *Sender) connection(ctx context.Context, w *relay) {
	l := &connection{sender: s, relay: w}
	defer l.end()
	src := &smtp.Source{Next: l.next, Ahead: l.prepare, Commit: func(e *smtp.Envelope) bool { return s.takeSlot(ctx, w.group, e) }, Done: l.done}
	for {
		round, ok := w.enter(ctx)
		if !ok {
			return
		}
		l.refused, l.throttled = nil, ""
		err := w.sender.Deliver(ctx, src)
		l.end()
		if err == nil {
			w.left()
			if ctx.Err() != nil || s.dispatcher.ended.Load() {
				return
			}
			continue // a relay before this one works again
		}
		var re *smtp.RelayError
		if !errors.As(err, &re) {
			re = &smtp.RelayError{Stage: "deliver", Err: err}
		}
		w.tally.fault(re.Fault)
		if l.throttled != "" && re.Code == 421 && re.Stage != "MAIL" {
			s.replied(w.group, l.throttled, true)
		}
		if l.refused != nil && re.Stage == "MAIL" && re.Code/100 == 5 && re.Fault == smtp.FaultRefused {
			w.worked()
			s.senderRefused(ctx, l.refused, re)
			continue
		}
		if pause, fresh := w.failed(re, round, time.Now()); fresh {
			s.opts.Log.Warn("send: the route fails", slog.String("route", w.name), slog.String("tenant", w.group.owner),
				slog.Any("error", err), slog.Duration("pause", pause))
			s.lookAtWaitReasons()
			s.maybeGiveUp(ctx, w.group)
		}
	}
}

// takeSlot takes one of the max_unrecorded slots; it waits for one. False: ctx ended before.
func (s *Sender) takeSlot(ctx context.Context, g *relayGroup, e *smtp.Envelope) bool {
	it := e.Tag.(*item)
	if s.gate.on.Load() {
		if !s.gate.enter(ctx, g, s.opts.MaxUnrecorded) {
			return false
		}
		it.gated = true
	}
	select {
	case s.inflight <- struct{}{}:
	default:
		if !s.waitSlot(ctx) {
			return false
		}
	}
	it.slot = true
	return true
}

// waitSlot waits for a slot, and sees to it that outcomes do not wait for others meanwhile.
func (s *Sender) waitSlot(ctx context.Context) bool {
	s.rec.waiting.Add(1)
	defer s.rec.waiting.Add(-1)
	s.rec.hurry()
	select {
	case s.inflight <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (s *Sender) freeSlot(it *item) {
	if it.slot {
		it.slot = false
		<-s.inflight
	}
}
