package worker

import (
	"context"
	"log/slog"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

const (
	outboxPosts  = 16  // events posted at once
	outboxRead   = 512 // events read at once
	outboxLow    = 128 // fewer than these held: read more
	outboxRecord = 256 // results in one operation
	expireBatch  = 500 // dead letters made in one operation
	outboxAgain  = time.Second
)

// outbox delivers events: several subscriptions at once, the events of one in their order. It is the only one that
// delivers, so what it has claimed is only remembered; after a crash those events go out again, and the receiver
// answers 409. There is one for the send service and one for each endpoint, so that none waits for another.
type outbox struct {
	store     *store.Store
	endpoint  string // id; empty: the send service
	post      func(context.Context, *core.OutboxEvent) verdict
	probes    []time.Duration // between looks at a receiver that is down
	log       *slog.Logger
	loop      *Loop
	wake      chan struct{}         // an event was written while a Step runs
	down      int                   // looks at a receiver that did not answer, running
	lookAt    time.Time             // while it is down: the next look
	notBefore time.Time             // … and the earliest, for new events bring it forward
	urge      string                // of operators, when it went down
	refused   int                   // events in a row that were refused at their first try
	answered  core.Instant          // when the receiver last took an event, or wanted never to have it; 0: not yet
	unwritten []tenants.EventResult // that could not be written down
}

// Outbox returns the loop that delivers events to the send service. It kicks itself when one is written.
func Outbox(s *store.Store, p *Poster, log *slog.Logger) *Loop {
	o := &outbox{store: s, probes: probeDelays, log: log, wake: make(chan struct{}, 1)}
	o.post = func(ctx context.Context, e *core.OutboxEvent) verdict { return p.post(ctx, eventPath, []byte(e.Body)) }
	o.loop = &Loop{Name: "outbox", Step: o.step}
	s.OnKick(db.TopicOutbox, o.kick)
	return o.loop
}

func (o *outbox) kick() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
	o.loop.Kick()
}

// delivery is one Step's work in hand.
type delivery struct {
	*outbox
	work    chan *core.OutboxEvent
	results chan result
	held    map[int64]bool                 // claimed, until the result is recorded
	chains  map[string][]*core.OutboxEvent // by subscription: what waits for the event in flight
	read    bool                           // there may be more to read
	// when all that was due had been read: what became due since then is still to be found
	readAt core.Instant
	alone  bool // a summary is due next, or in hand: nothing else goes out with it
	broken bool // the store or the receiver fails: claim nothing more
}

type result struct {
	event *core.OutboxEvent
	verdict
	took time.Duration
}

func (o *outbox) step(ctx context.Context, now time.Time) time.Time {
	if !o.finish(ctx, nil, core.At(now)) {
		return now.Add(time.Second)
	}
	if o.down > 0 {
		if now.Before(o.notBefore) && !o.urged(ctx) {
			return o.notBefore
		}
		if !o.probe(ctx) {
			return o.nextLook()
		}
	}
	d := &delivery{
		outbox: o, work: make(chan *core.OutboxEvent, outboxRead+outboxLow),
		results: make(chan result, outboxRead+outboxLow),
		held:    map[int64]bool{}, chains: map[string][]*core.OutboxEvent{}, read: true,
	}
	posters := 0
	defer close(d.work)
	again := time.NewTicker(outboxAgain)
	defer again.Stop()
	for {
		if err := d.claim(ctx); err != nil {
			o.log.Warn("outbox: read", slog.Any("error", err))
			d.broken = true
		}
		for ; posters < min(outboxPosts, len(d.held)); posters++ {
			go d.deliverAll(ctx)
		}
		if len(d.held) == 0 {
			break
		}
		select {
		case r := <-d.results:
			d.record(ctx, r)
		case <-o.wake:
			d.read = true
		case <-again.C: // one slow answer must not hold back what has become due
			d.read = true
		}
	}
	return o.next(ctx, d)
}

// next returns when the loop has to run again.
func (o *outbox) next(ctx context.Context, d *delivery) time.Time {
	switch {
	case o.down > 0:
		return o.nextLook()
	case d.broken:
		return time.Now().Add(time.Second)
	}
	at, err := o.store.NextEvent(ctx, o.endpoint, d.readAt)
	if err != nil {
		return time.Now().Add(time.Second)
	}
	return at.Time()
}

// rest notes that the receiver does not answer, and for how long it is left alone: after is what it asked for.
func (o *outbox) rest(after time.Duration) {
	o.down++
	pause, now := jitter(backoff(o.probes, o.down)), time.Now()
	o.lookAt, o.notBefore = now.Add(max(pause, after)), now.Add(max(min(pause, lookEvery), after))
}

// urged reports whether an operator has sent events again, or changed the endpoint, since it went down: then it is
// tried now, whatever it has asked for.
func (o *outbox) urged(ctx context.Context) bool {
	urge, err := o.store.OutboxUrge(ctx, o.endpoint)
	if err != nil || urge == o.urge {
		return false
	}
	o.urge = urge
	return true
}

// nextLook returns when the loop looks at the receiver again. It is in the past where the store failed then.
func (o *outbox) nextLook() time.Time {
	if now := time.Now(); !o.lookAt.After(now) {
		return now.Add(time.Second)
	}
	return o.lookAt
}

// claim reads due events, when few are held, and hands out the first of each subscription. A summary waits for what is
// due before it, and what is due after it waits for the summary.
func (d *delivery) claim(ctx context.Context) error {
	select {
	case <-d.loop.Stopping():
		d.broken = true
	default:
	}
	if d.broken || !d.read || len(d.held) >= outboxLow || d.alone && len(d.held) > 0 {
		return nil
	}
	d.alone = false
	now := core.At(time.Now())
	events, err := d.store.DueEvents(ctx, d.endpoint, now, outboxRead)
	if err != nil {
		return err
	}
	if len(events) > 0 {
		if err := kept(ctx, d.store); err != nil {
			return err
		}
	}
	if d.read = len(events) == outboxRead; !d.read {
		d.readAt = now
	}
	for i := range events {
		e := &events[i]
		if d.held[e.ID] {
			continue
		}
		if core.IsSummary(e.EventType) {
			d.alone, d.read = true, true
			if len(d.held) == 0 {
				d.held[e.ID] = true
				d.work <- e
			}
			return nil
		}
		d.held[e.ID] = true
		key := e.ListID + e.SubscriptionID
		if chain, busy := d.chains[key]; busy {
			d.chains[key] = append(chain, e)
			continue
		}
		d.chains[key] = nil
		d.work <- e
	}
	return nil
}

// deliverAll posts events until none is left to post.
func (d *delivery) deliverAll(ctx context.Context) {
	for e := range d.work {
		began := time.Now()
		v := d.post(ctx, e)
		d.results <- result{e, v, time.Since(began)}
	}
}

// record takes a result and those that are ready too, hands out what waited for them, and writes all of them
// down in one operation.
func (d *delivery) record(ctx context.Context, first result) {
	now := core.At(time.Now())
	var records []tenants.EventResult
	var gone []int64
	for _, r := range gather(first, d.results, outboxRecord) {
		d.count(&r, now)
		gone = append(gone, d.settle(ctx, r)...)
		if !cut(ctx, r) {
			records = append(records, d.outcome(r, now))
		}
	}
	if !d.finish(ctx, records, now) {
		d.broken = true
	}
	for _, id := range gone {
		delete(d.held, id)
	}
}

// refusedDown is how many events in a row are refused before the receiver of a tenant counts as down. Each of the
// events that wait would be tried by a schedule of its own otherwise, which keeps the daemon busy with a receiver that
// takes nothing.
const refusedDown = 20

// count judges whether it is the receiver that fails, or an event alone: one that fails again, although others were
// taken since it failed, follows its own schedule, whatever the answer was. A receiver that refuses everything is taken
// for one that does not answer.
func (o *outbox) count(r *result, now core.Instant) {
	failed := r.event.FailedAt
	switch {
	case r.done || r.dead:
		o.refused, o.answered = 0, now
	case failed > 0 && o.answered > failed:
		r.down = false
	case o.endpoint == "" || r.down:
	default:
		if failed == 0 {
			o.refused++
		}
		r.down = o.refused >= refusedDown
	}
}

// finish writes results down, with those of before, and reports whether it could. What cannot be written is kept, and
// nothing is posted until it is: a full disk can be read, and an event that was taken would be found due again.
func (o *outbox) finish(ctx context.Context, more []tenants.EventResult, now core.Instant) bool {
	o.unwritten = append(o.unwritten, more...)
	if len(o.unwritten) == 0 {
		return true
	}
	if err := o.store.FinishEvents(context.WithoutCancel(ctx), o.unwritten, now); err != nil {
		o.log.Warn("outbox: record", slog.Any("error", err))
		return false
	}
	o.unwritten = nil
	return true
}

// gather returns a first value and those that are ready in a channel, at most limit in all.
func gather[T any](first T, more <-chan T, limit int) []T {
	all := []T{first}
	for len(all) < limit {
		select {
		case v := <-more:
			all = append(all, v)
		default:
			return all
		}
	}
	return all
}

// cut reports whether an attempt ended because the daemon stops: it does not count.
func cut(ctx context.Context, r result) bool { return !r.done && !r.dead && ctx.Err() != nil }

// settle goes on with the subscription of a result and returns the events that are no longer in hand.
func (d *delivery) settle(ctx context.Context, r result) (gone []int64) {
	key := r.event.ListID + r.event.SubscriptionID
	chain := d.chains[key]
	gone = append(gone, r.event.ID)
	if r.down && !d.broken {
		d.urged(ctx) // what was asked for before this attempt has had it
		d.rest(r.after)
		d.broken = true
		d.log.Warn("outbox: the receiver doesn't respond", slog.String("reason", r.reason))
	}
	if len(chain) > 0 && (r.done || r.dead) && !d.broken {
		d.chains[key] = chain[1:]
		d.work <- chain[0]
		return gone
	}
	for _, e := range chain {
		gone = append(gone, e.ID)
	}
	delete(d.chains, key)
	if d.broken { // what no poster has taken yet goes back, untried
		gone = append(gone, d.release()...)
	}
	return gone
}

// release takes back what waits for a poster.
func (d *delivery) release() (gone []int64) {
	for {
		select {
		case e := <-d.work:
			key := e.ListID + e.SubscriptionID
			gone = append(gone, e.ID)
			for _, later := range d.chains[key] {
				gone = append(gone, later.ID)
			}
			delete(d.chains, key)
		default:
			return gone
		}
	}
}

// outcome returns what the store keeps of a result. An event that is not at fault is due when the receiver is back,
// after those that were not tried; what is meant for the send service never becomes a dead letter so.
func (o *outbox) outcome(r result, now core.Instant) tenants.EventResult {
	e := tenants.EventResult{
		Event: r.event, Done: r.done, Dead: r.dead, Gone: r.gone, Reason: r.reason, Status: r.status,
		Took: r.took,
	}
	if r.done {
		return e
	}
	if !e.Dead {
		e.Dead, e.RetryAt = retry(r.event.Since(), r.event.Tries, r.after, now)
		if r.down {
			e.Dead, e.RetryAt = e.Dead && o.endpoint != "", now
		}
	}
	o.log.Warn("outbox: an event could not be delivered", slog.String("event", r.event.EventID),
		slog.String("endpoint", o.endpoint),
		slog.Int("tries", r.event.Tries+1), slog.Bool("dead", e.Dead), slog.String("reason", r.reason))
	return e
}

// retry returns when to try again, or that it has been long enough (dead).
func retry(since core.Instant, tries int, after time.Duration, now core.Instant) (dead bool, at core.Instant) {
	if now.Sub(since) >= core.EventLife {
		return true, 0
	}
	return false, now.Add(max(jitter(backoff(eventDelays, tries+1)), after))
}

// probe tries one event at a receiver that was down, and reports whether it answers.
func (o *outbox) probe(ctx context.Context) bool {
	now := core.At(time.Now())
	events, err := o.store.DueEvents(ctx, o.endpoint, now, outboxRead)
	if err != nil {
		return false
	}
	if len(events) == 0 {
		o.down = 0
		return true
	}
	r := result{event: probed(events, o.down%2 > 0)}
	began := time.Now()
	r.verdict = o.post(ctx, r.event)
	r.took, now = time.Since(began), core.At(time.Now())
	if o.count(&r, now); cut(ctx, r) {
		return false
	}
	if r.down {
		o.rest(r.after)
	} else {
		o.log.Info("outbox: the receiver answers again", slog.String("endpoint", o.endpoint))
		o.down = 0
	}
	if !o.finish(ctx, []tenants.EventResult{o.outcome(r, now)}, now) {
		return false
	}
	if r.down {
		o.expire(ctx, r.reason, now)
	}
	return !r.down
}

// probed picks, of events that are due, in order, the one to try at a receiver that is down. It may only fail at some
// of them, so this is one that was not tried yet, the last and the first by turns, or else the one that was tried
// longest ago. None comes before another of its subscription, and none across a summary.
func probed(events []core.OutboxEvent, last bool) *core.OutboxEvent {
	pick, before := &events[0], map[string]bool{}
	for i := range events {
		e := &events[i]
		if core.IsSummary(e.EventType) {
			break
		}
		key := e.ListID + e.SubscriptionID
		if e.FailedAt == 0 && !before[key] {
			if pick = e; !last {
				break
			}
		}
		before[key] = true
	}
	return pick
}

// expire makes dead letters of what has waited for too long for an endpoint that is down. What is meant for the send
// service waits until it is back.
func (o *outbox) expire(ctx context.Context, reason string, now core.Instant) {
	if o.endpoint == "" {
		return
	}
	for n := int64(expireBatch); n == expireBatch; {
		var err error
		n, err = o.store.ExpireEvents(ctx, o.endpoint, reason, now.Add(-core.EventLife), now, expireBatch)
		if err != nil {
			o.log.Warn("outbox: record", slog.Any("error", err))
			return
		}
	}
}
