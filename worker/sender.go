package worker

import (
	"context"
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
	"newsletterd/store/db"
)

// SendOptions configures a Sender. Fields without a documented default are required.
type SendOptions struct {
	Connections int // connections to the daemon's own relay; 0: 16
	// maximum number of messages whose final dot was written but whose outcome is not durable; 0: 64
	MaxUnrecorded int
	Limits        core.SendLimits               // limits of the daemon's own relay; zero: none
	DomainRates   map[string]float64            // messages per second per domain, "*" for all others; nil: no limit
	Relay         func(*core.Relay) smtp.Sender // creates a tenant relay's sender; nil: all use the daemon's
	Own           *OwnServer                    // the daemon's own server in the database; nil: use the configuration
	Folder        bool                          // the sender passed to NewSender only writes files
	GiveUpAfter   time.Duration                 // downtime of all relays after which a job fails; 0: 48 h
	From          mail.Address                  // for tenants without their own
	Provider      string                        // kind of the daemon relay's email provider; empty: none
	BounceDomain  string                        // domain of VERP addresses; empty: MAIL FROM is the plain sender
	PublicURL     string                        // link origin for tenants without one
	Sealer        *auth.Sealer                  // for unsubscribe tokens
	Ident         *mail.Ident                   // for Message-IDs and bounce addresses
	Signers       *Signers                      // DKIM signers; nil: emails are unsigned
	DKIMSkip      []string                      // header fields that the daemon's own relay changes
	Log           *slog.Logger
	// ExtraThread permits one more thread than there are CPUs until release is called. The sender calls it while it
	// sends emails. It may be nil.
	ExtraThread func() (release func())
}

// Sender sends the emails of running jobs. It owns the parts of the send path shown in doc.go. Each step starts them,
// waits until no work is due, and stops them.
type Sender struct {
	store      *store.Store
	opts       SendOptions
	loop       *Loop
	dispatcher *dispatcher
	inflight   *inflight
	limits     *limits
	relays     *relays
	reasons    *waitReasons
	claimer    *claimer
	scheduler  atomic.Pointer[Loop]
	cpus       int // number of concurrent signers

	// The following fields belong to the running step.
	recorder    *recorder
	pool        *signPool
	connections *connectionSet // nil: the step opens no connections now
}

// NewSender returns a sender that uses r for tenants without their own relay. The sender wakes up when jobs, relays or
// limits change.
func NewSender(st *store.Store, r smtp.Sender, o SendOptions) *Sender {
	if o.Connections == 0 {
		o.Connections = 16
	}
	if o.MaxUnrecorded == 0 {
		o.MaxUnrecorded = 64
	}
	if o.GiveUpAfter == 0 {
		o.GiveUpAfter = 48 * time.Hour
	}
	s := &Sender{
		store: st, opts: o, cpus: runtime.GOMAXPROCS(0),
		dispatcher: newDispatcher(o.DomainRates), inflight: newInflight(o.MaxUnrecorded),
	}
	s.reasons = &waitReasons{store: st, dispatcher: s.dispatcher}
	s.limits = &limits{store: st, dispatcher: s.dispatcher, reasons: s.reasons, log: o.Log}
	s.relays = newRelays(s, &relay{
		name: "default", sender: r, connections: o.Connections, ahead: signAhead(o.Connections),
		skip: o.DKIMSkip, provider: o.Provider, relayState: relayState{pace: s.limits.of("relay", o.Limits)},
	})
	s.limits.spent = s.relays.wake
	s.claimer = &claimer{sender: s}
	s.loop = &Loop{Name: "sender", Step: s.step}
	s.claimer.watch = st.WatchJobs(true, s.look)
	st.OnKick(db.TopicRecords, func() {
		s.claimer.rerouted.Store(true)
		s.Kick()
	})
	return s
}

// Loop returns the loop that sends emails. The caller must start it.
func (s *Sender) Loop() *Loop { return s.loop }

// Kick makes the sender look for new work and for ended jobs.
func (s *Sender) Kick() {
	s.claimer.watch.Touch()
	s.look()
}

// look makes the sender reread the jobs that have changed.
func (s *Sender) look() {
	s.dispatcher.signal()
	s.loop.Kick()
}

// Holds reports whether any of a job's recipients are claimed, so that an outcome may still arrive.
func (s *Sender) Holds(jobNo int64) bool { return s.dispatcher.has(jobNo) }

// step sends all due emails, and returns when the first deferred recipient is due.
func (s *Sender) step(ctx context.Context, _ time.Time) time.Time {
	defer s.kickScheduler()
	defer s.dispatcher.reset()
	s.claimer.watch.Touch() // the dispatcher holds no job
	if err := s.claimer.refresh(ctx); err != nil {
		s.opts.Log.Error("send: jobs cannot be read", slog.Any("error", err))
		return time.Now().Add(time.Second)
	}
	if len(s.dispatcher.jobs) == 0 {
		return s.claimer.again
	}
	return s.deliver(ctx)
}

// deliver runs the send path until no work is due, the daemon is draining, or ctx ends. It returns when the first
// deferred recipient is due.
func (s *Sender) deliver(ctx context.Context) time.Time {
	if s.opts.ExtraThread != nil {
		defer s.opts.ExtraThread()()
	}
	open, cancel := context.WithCancel(ctx)
	defer cancel()
	s.recorder = newRecorder(s)
	s.pool = newSignPool(s.cpus)
	set := &connectionSet{ctx: open, sender: s}
	s.connections = set
	for _, t := range s.dispatcher.tenants { // no other goroutine runs yet
		set.open(t.group)
	}
	next := s.claimer.run(ctx)
	s.connections = nil
	s.relays.forgetConnections()
	s.dispatcher.close()
	s.relays.wake()
	if s.draining() {
		cancel()
	}
	done := make(chan struct{})
	go func() { set.wg.Wait(); s.pool.close(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done(): // the drain limit is over: emails in flight are left to the next start
	}
	s.recorder.flush(ctx)
	s.limits.giveBack(ctx)
	if err := s.reasons.note(context.WithoutCancel(ctx)); err != nil {
		s.opts.Log.Error("send: the reasons why jobs wait can't be saved", slog.Any("error", err))
	}
	return next
}

// draining reports whether the daemon has started to stop.
func (s *Sender) draining() bool {
	select {
	case <-s.loop.Stopping():
		return true
	default:
		return false
	}
}

// kickScheduler makes the scheduler look for jobs that the sender no longer holds.
func (s *Sender) kickScheduler() {
	if l := s.scheduler.Load(); l != nil {
		l.Kick()
	}
}

// connectionSet holds the connections of one step.
type connectionSet struct {
	ctx    context.Context
	wg     sync.WaitGroup
	sender *Sender
}

// open starts a group's connections if they aren't running. On a nil set it does nothing.
func (set *connectionSet) open(g *relayGroup) {
	if set == nil || g.cancel != nil {
		return
	}
	ctx, cancel := context.WithCancel(set.ctx)
	g.cancel = cancel
	for _, r := range g.relays {
		for range r.connections {
			set.wg.Go(func() { newConnection(set.sender, r).run(ctx) })
		}
	}
}
