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
	outboxPosts  = 16  // events posted concurrently
	outboxRead   = 512 // events per read
	outboxLow    = 128 // minimum number held; below it, more are read
	outboxRecord = 256 // results per write
	expireBatch  = 500 // dead letters per write
	outboxAgain  = time.Second
)

// outbox delivers events: several subscriptions in parallel, and each subscription's events in order. No other process
// delivers events, so claims are kept in memory. After a crash, claimed events are sent again. The receiver responds
// with 409 to those that it already has. The send service and each endpoint have their own outbox, so that none waits
// for another.
type outbox struct {
	store     *store.Store
	endpoint  string // endpoint id; empty: the send service
	post      func(context.Context, *core.OutboxEvent) verdict
	probes    []time.Duration // delays between probes of a receiver that is down
	log       *slog.Logger
	loop      *Loop
	wake      chan struct{}         // signals that an event was written during a Step
	down      int                   // consecutive probes without a response
	lookAt    time.Time             // time of the next probe while the receiver is down
	notBefore time.Time             // earliest next probe, even if new events arrive
	urge      string                // the store's OutboxUrge when the receiver went down
	refused   int                   // consecutive events refused on their first try
	answered  core.Instant          // when the receiver last accepted or permanently refused an event; 0: never
	unwritten []tenants.EventResult // results that could not be recorded
}

// Outbox returns the loop that delivers events to the send service. The loop wakes up when an event is written.
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

// delivery is the state of one Step.
type delivery struct {
	*outbox
	work    chan *core.OutboxEvent
	results chan result
	held    map[int64]bool                 // claimed events without a recorded result
	chains  map[string][]*core.OutboxEvent // by subscription: the events after the one in flight
	read    bool                           // there may be more events to read
	// time of the last complete read; events due later are still unread
	readAt core.Instant
	alone  bool // a summary is next or in flight, and is sent on its own
	broken bool // the store or the receiver fails, so no more events are claimed
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
		case <-again.C: // A slow response must not delay events that have become due.
			d.read = true
		}
	}
	return o.next(ctx, d)
}

// next returns the time of the next Step.
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

// rest records that the receiver is down, and starts a pause. after is the pause that the receiver requested, or 0.
func (o *outbox) rest(after time.Duration) {
	o.down++
	pause, now := jitter(backoff(o.probes, o.down)), time.Now()
	o.lookAt, o.notBefore = now.Add(max(pause, after)), now.Add(max(min(pause, lookEvery), after))
}

// urged reports whether a person has resent events or changed the endpoint since the receiver went down. If so, the
// receiver is tried immediately, even if it requested a pause.
func (o *outbox) urged(ctx context.Context) bool {
	urge, err := o.store.OutboxUrge(ctx, o.endpoint)
	if err != nil || urge == o.urge {
		return false
	}
	o.urge = urge
	return true
}

// nextLook returns when to probe the receiver next. If the planned time has already passed because the store failed,
// that is in a second.
func (o *outbox) nextLook() time.Time {
	if now := time.Now(); !o.lookAt.After(now) {
		return now.Add(time.Second)
	}
	return o.lookAt
}

// claim reads due events if few are held, and hands out the first event of each subscription. A summary waits for all
// earlier events, and later events wait for the summary.
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

// deliverAll posts events until no due events are left.
func (d *delivery) deliverAll(ctx context.Context) {
	for e := range d.work {
		began := time.Now()
		v := d.post(ctx, e)
		d.results <- result{e, v, time.Since(began)}
	}
}

// record takes a result and all others that are ready, hands out the next events of their subscriptions, and records
// the results in one operation.
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

// refusedDown is the number of consecutive refused events after which a tenant's receiver counts as down. Otherwise,
// each waiting event would be retried separately, which would keep the daemon busy with a receiver that accepts
// nothing.
const refusedDown = 20

// count decides whether a failure concerns the whole receiver or only one event. An event that fails again, although
// others were accepted since its first failure, is retried separately. A receiver that refuses everything counts as
// down.
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

// finish records results, including earlier unwritten ones, and reports whether it succeeded. It keeps results that
// can't be written, and nothing is posted until they are written. With a full disk, the database can still be read, so
// an accepted event would otherwise seem due again.
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

// gather returns first and the values that are ready in the channel more, at most limit in total.
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

// cut reports whether an attempt was interrupted because the daemon is stopping, so that it does not count.
func cut(ctx context.Context, r result) bool { return !r.done && !r.dead && ctx.Err() != nil }

// settle hands out the next event of the same subscription if r's is done or a dead letter. Otherwise it releases the
// subscription's events. It returns the ids of the events that are no longer held.
func (d *delivery) settle(ctx context.Context, r result) (gone []int64) {
	key := r.event.ListID + r.event.SubscriptionID
	chain := d.chains[key]
	gone = append(gone, r.event.ID)
	if r.down && !d.broken {
		d.urged(ctx) // this attempt serves all resend requests so far
		d.rest(r.after)
		d.broken = true
		d.log.Warn("outbox: the endpoint doesn't respond", slog.String("reason", r.reason))
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
	if d.broken { // unposted events are released, and don't count as tried
		gone = append(gone, d.release()...)
	}
	return gone
}

// release removes events from the queue that no goroutine has started to post, and returns their ids.
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

// outcome returns the result to store for an event. If the receiver is at fault rather than the event, the event is due
// again once the receiver responds, after all untried events. For the send service, such an event never becomes a dead
// letter.
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

// retry returns when to try an event again. If the event has expired instead, dead is true.
func retry(since core.Instant, tries int, after time.Duration, now core.Instant) (dead bool, at core.Instant) {
	if now.Sub(since) >= core.EventLife {
		return true, 0
	}
	return false, now.Add(max(jitter(backoff(eventDelays, tries+1)), after))
}

// probe tries one event at a receiver that was down, and reports whether the receiver responds.
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
		o.log.Info("outbox: the endpoint responds again", slog.String("endpoint", o.endpoint))
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

// probed picks the event to probe a receiver with that is down. events is sorted by due time. Because the receiver may
// fail only for some events, probed picks an untried one: the last or the first, according to last. If all were tried,
// it picks the one tried longest ago. It never skips an earlier event of the same subscription, or a summary.
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

// expire turns events that have waited too long for an endpoint that is down into dead letters. Events for the send
// service wait until it responds again.
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
