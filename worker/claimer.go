package worker

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
)

// deferredEvery is the interval at which a busy job checks for deferred recipients that are due.
const deferredEvery = 30 * time.Second

// claimer picks up running jobs, reads their recipients in batches, and passes them to the dispatcher. It runs only in
// the Sender's goroutine.
//
// Only one process uses the database file, so claiming recipients only means reading them. The read position is kept in
// memory. After a restart, a job continues with the recipients that have no outcome.
type claimer struct {
	sender   *Sender
	watch    *campaigns.JobWatch
	rerouted flag      // relays or limits may have changed
	late     []int64   // jobs to reread on the next refresh
	again    time.Time // when to retry a job that could not be read; zero: none
}

// run passes recipients to the connections until no work is due, the daemon is draining, or ctx ends. It returns when
// the first deferred recipient is due.
func (c *claimer) run(ctx context.Context) time.Time {
	var claims []core.Claim
	for {
		if c.sender.draining() || ctx.Err() != nil {
			return Never
		}
		n, err := c.round(ctx, &claims)
		if err != nil {
			c.sender.opts.Log.Error("send: recipients cannot be claimed", slog.Any("error", err))
			pause(ctx, time.Second)
			continue
		}
		if n > 0 {
			continue
		}
		idle, due := c.idle(ctx)
		switch {
		case c.stale(): // a job was released and may be running again
		case idle:
			return earlier(due, c.again)
		default:
			c.await(ctx, due)
		}
	}
}

// await sleeps until something may have changed, but not beyond due. It never sleeps longer than deferredEvery, because
// recipients in flight may be deferred meanwhile.
func (c *claimer) await(ctx context.Context, due time.Time) {
	wait := deferredEvery
	if due = earlier(due, c.again); !due.IsZero() {
		wait = min(max(time.Until(due), 0), wait)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-c.sender.dispatcher.low:
	case <-timer.C:
	case <-c.sender.loop.Stopping():
	case <-ctx.Done():
	}
}

// earlier returns the earlier of two times. The zero time is later than any other.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// stale reports whether running jobs or their relays may have changed.
func (c *claimer) stale() bool {
	return len(c.late) > 0 && c.again.IsZero() || c.rerouted.Load() || c.watch.Changed()
}

// round makes one claim for each running job that needs recipients, and returns the number of recipients claimed.
func (c *claimer) round(ctx context.Context, claims *[]core.Claim) (int, error) {
	s := c.sender
	retry := !c.again.IsZero() && !c.again.After(time.Now())
	if c.stale() || retry {
		if err := c.refresh(ctx); err != nil {
			return 0, err
		}
	}
	if err := s.limits.lease(ctx); err != nil {
		return 0, err
	}
	if err := s.reasons.note(ctx); err != nil {
		return 0, err
	}
	hungry, share := s.dispatcher.hungry(time.Now())
	if err := c.check(ctx, hungry); err != nil {
		return 0, err
	}
	total := 0
	for _, j := range hungry {
		n, err := c.claim(ctx, j, claims, share)
		if err != nil {
			c.leaveAlone(j, err)
		}
		total += n
	}
	return total, ctx.Err()
}

// check stops jobs that are no longer running. It rereads only the jobs of tenants whose number of departures has
// changed since the last check. It reads that number before the jobs. If a job is canceled after that, the number
// changes again, so claims made in the meantime are rechecked.
func (c *claimer) check(ctx context.Context, jobs []*jobQueue) error {
	s := c.sender
	var doubtful []*jobQueue
	var nos []int64
	for _, j := range jobs {
		if now := s.store.Departures(j.job.TenantID); !j.sure || now != j.checked {
			j.checked, j.sure = now, false
			doubtful, nos = append(doubtful, j), append(nos, j.job.No)
		}
	}
	if len(nos) == 0 {
		return nil
	}
	running, err := c.watch.StillRunning(ctx, nos)
	if err != nil {
		return err
	}
	for _, j := range doubtful {
		if _, j.sure = slices.BinarySearch(running, j.job.No); !j.sure {
			s.dispatcher.stop(j)
		}
	}
	return nil
}

// leaveAlone skips a job that can't be read for a second. The other jobs continue.
func (c *claimer) leaveAlone(j *jobQueue, err error) {
	c.sender.opts.Log.Error("send: recipients of a job cannot be claimed", slog.String("job", j.job.ID),
		slog.Any("error", err))
	j.readAt = time.Now().Add(time.Second)
	c.again = earlier(c.again, j.readAt)
}

// refresh reads the running jobs that have changed, picks up new ones and stops those that have ended.
func (c *claimer) refresh(ctx context.Context) error {
	s := c.sender
	c.again = time.Time{}
	if c.rerouted.Swap(false) {
		if err := c.reroute(ctx); err != nil {
			c.rerouted.Store(true)
			return err
		}
	}
	changes, err := c.watch.Read(ctx, c.late...)
	if err != nil {
		return err
	}
	c.late = c.late[:0]
	known := make(map[int64]*jobQueue, len(s.dispatcher.jobs))
	for _, j := range s.dispatcher.jobs {
		known[j.job.No] = j
		if changes.Ended(j.job.No) {
			s.dispatcher.stop(j)
		}
		if changes.All { // perhaps by another process, which may have changed recipients as well
			j.deferred.Store(true)
		}
	}
	for i := range changes.Running {
		r := &changes.Running[i]
		if j := known[r.No]; j != nil {
			j.drained = j.drained && j.found == r.Recipients
			j.found = r.Recipients
			continue
		}
		if err := c.begin(ctx, r); err != nil { // the other jobs continue
			s.opts.Log.Error("send: a job can't be started", slog.String("job", r.ID), slog.Any("error", err))
			c.late = append(c.late, r.No)
			c.again = time.Now().Add(time.Second)
		}
	}
	c.forgetEnded()
	return nil
}

// reroute updates the relays and the pace of each tenant with running jobs.
func (c *claimer) reroute(ctx context.Context) error {
	s := c.sender
	s.dispatcher.mu.Lock()
	tenants := slices.Clone(s.dispatcher.tenants)
	s.dispatcher.mu.Unlock()
	for _, t := range tenants {
		g, p, err := s.relays.of(ctx, t.id)
		if err != nil {
			return err
		}
		s.dispatcher.mu.Lock()
		jobs, changed := slices.Clone(t.jobs), ownChanged(t.group, g)
		s.dispatcher.mu.Unlock()
		for _, j := range jobs {
			if changed { // a job's content depends on the server, so begin must pick it up again
				s.dispatcher.stop(j)
			}
		}
		s.dispatcher.setRoute(t, g, p)
		s.connections.open(g)
	}
	return nil
}

// ownChanged reports whether the content of jobs depends on the change from one relay group to another. It does if
// either is the daemon's own server, because the sender address and the provider's header fields may differ.
func ownChanged(from, to *relayGroup) bool {
	return from != nil && from != to && (from.owner == "" || to.owner == "")
}

// begin adds a running job to the dispatcher. If the job's content can't be compiled, the job fails before any email is
// sent.
func (c *claimer) begin(ctx context.Context, j *core.SendJob) error {
	s := c.sender
	contents, err := compileContents(ctx, s.store, &s.opts, j)
	switch core.KindOf(err) {
	case core.Invalid:
		return s.store.FailSendJob(ctx, j.No, err.Error(), core.At(time.Now()))
	case core.NotFound:
		return s.store.FailSendJob(ctx, j.No, core.ReasonTemplate, core.At(time.Now()))
	}
	if err != nil {
		return err
	}
	key, err := s.store.ClaimKey(ctx, j)
	if err != nil {
		return err
	}
	q := &jobQueue{job: *j, content: contents, found: j.Recipients, waitReason: j.PauseReason, key: key}
	q.deferred.Store(true)
	s.opts.Log.Info("send: job started", slog.String("job", j.ID), slog.String("tenant", j.TenantID),
		slog.String("list", j.ListID))
	g, p, err := s.relays.of(ctx, j.TenantID)
	if err != nil {
		return err
	}
	transport := ""
	if g == s.relays.own && s.opts.Folder {
		transport = core.TransportFolder
	}
	if j.Sent > 0 && transport != j.Transport {
		transport = core.TransportPartly
	}
	if transport != j.Transport {
		if err := campaigns.SetJobTransport(ctx, s.store.DB, j.No, transport); err != nil {
			return err
		}
	}
	s.dispatcher.add(q, g, p)
	s.reasons.changed.Store(true)
	s.connections.open(g)
	return nil
}

// forgetEnded releases ended jobs without a recipient in flight, so that the scheduler can settle them.
func (c *claimer) forgetEnded() {
	if ended := c.sender.dispatcher.forget(); len(ended) > 0 {
		c.late = append(c.late, ended...) // begin picks up a job that was resumed in the meantime
		c.sender.kickScheduler()
	}
}

// claim reads the next recipients of a job. Deferred recipients that are due go before queued ones.
func (c *claimer) claim(ctx context.Context, j *jobQueue, claims *[]core.Claim, share int) (int, error) {
	now := time.Now()
	if j.readAt.After(now) {
		c.again = earlier(c.again, j.readAt)
		return 0, nil
	}
	cs, err := c.claimDeferred(ctx, j, (*claims)[:0], now, share)
	if err == nil && len(cs) == 0 && !j.drained {
		cs, err = c.sender.store.ClaimRecipients(ctx, cs, &j.key, j.after, share)
		if err == nil { // a claim that failed doesn't count
			j.drained = len(cs) < share
		}
		if err == nil && len(cs) > 0 {
			j.after = cs[len(cs)-1].Seq
		}
	}
	*claims = cs
	if err != nil || len(cs) == 0 {
		return 0, err
	}
	c.queue(j, cs)
	return len(cs), nil
}

// claimDeferred reads deferred recipients that are due.
func (c *claimer) claimDeferred(
	ctx context.Context, j *jobQueue, cs []core.Claim, now time.Time, limit int,
) ([]core.Claim, error) {
	if j.lookAt.After(now) {
		return cs, nil
	}
	cs, err := c.sender.store.ClaimDeferred(ctx, cs, &j.key, j.dueAt, j.dueSeq, core.At(now), limit)
	if err != nil {
		return cs, err
	}
	if len(cs) < limit {
		j.lookAt = now.Add(deferredEvery)
	}
	j.deferred.Store(true)
	if n := len(cs); n > 0 {
		j.dueAt, j.dueSeq = cs[n-1].DueAt, cs[n-1].Seq
	}
	return cs, nil
}

// queue passes claimed recipients to the dispatcher. It immediately records those that are skipped.
func (c *claimer) queue(j *jobQueue, cs []core.Claim) {
	items := make([]item, len(cs)) // one allocation for all
	ready := make([]*item, 0, len(cs))
	d := c.sender.dispatcher
	d.mu.Lock()
	j.out += len(cs)
	d.mu.Unlock()
	for i := range cs {
		it := &items[i]
		it.Claim, it.job, it.departures = cs[i], j, j.checked
		if it.Skip != "" {
			c.sender.recorder.add(outcome(it, core.RecipientSkipped, it.Skip, false))
			continue
		}
		ready = append(ready, it)
	}
	d.push(j, ready)
}

// idle reports whether nothing is queued or in flight. due is when the first deferred recipient is due, among all jobs
// that need more recipients, or zero if there is none.
func (c *claimer) idle(ctx context.Context) (idle bool, due time.Time) {
	c.forgetEnded()
	idle = true
	var hungry []*jobQueue
	d := c.sender.dispatcher
	d.mu.Lock()
	for _, j := range d.jobs {
		idle = idle && j.out == 0 && j.drained
		// The dispatcher signals when a job needs more recipients.
		if j.drained && !j.enough(d.share) && !j.readAt.After(time.Now()) {
			hungry = append(hungry, j)
		}
	}
	d.mu.Unlock()
	for _, j := range hungry {
		if err := c.lookAhead(ctx, j); err != nil {
			c.leaveAlone(j, err)
			continue
		}
		due = earlier(due, j.nextDue)
	}
	return idle, due
}

// lookAhead rereads when the first deferred recipient of a job is due, if that may have changed.
func (c *claimer) lookAhead(ctx context.Context, j *jobQueue) error {
	if !j.deferred.Swap(false) {
		return nil
	}
	at, err := c.sender.store.NextDeferred(ctx, j.job.No, j.dueAt, j.dueSeq)
	if err != nil {
		j.deferred.Store(true)
		return err
	}
	j.nextDue, j.lookAt = at.Time(), at.Time()
	if at == 0 {
		j.nextDue, j.lookAt = time.Time{}, time.Now().Add(deferredEvery)
	}
	return nil
}
