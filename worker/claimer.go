package worker

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

// deferredEvery is how often a busy job looks for deferred recipients that have become due.
const deferredEvery = 30 * time.Second

// claimAll keeps the connections fed until nothing is left to do now, or the group drains. It returns when the first deferred
// recipient is due.
func (s *Sender) claimAll(ctx context.Context) time.Time {
	var claims []store.Claim
	for {
		if s.draining() || ctx.Err() != nil {
			return Never
		}
		n, err := s.claimRound(ctx, &claims)
		if err != nil {
			s.opts.Log.Error("send: recipients cannot be claimed", slog.Any("error", err))
			pause(ctx, time.Second)
			continue
		}
		if n > 0 {
			continue
		}
		idle, due := s.idle(ctx)
		switch {
		case s.dirty.Load(): // a job was let go of, and may be running again: nobody tells
		case idle:
			return earlier(due, s.again)
		default:
			s.await(ctx, due)
		}
	}
}

// await sleeps until something may have changed. What is in flight may be put off meanwhile, so it never sleeps for long.
func (s *Sender) await(ctx context.Context, due time.Time) {
	wait := deferredEvery
	if due = earlier(due, s.again); !due.IsZero() {
		wait = min(max(time.Until(due), 0), wait)
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-s.dispatcher.low:
	case <-timer.C:
	case <-s.loop.Stopping():
	case <-ctx.Done():
	}
}

// earlier is the earlier of two instants, either of which may be zero: never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// claimRound claims once for each running job that needs it, and returns how many recipients it found.
func (s *Sender) claimRound(ctx context.Context, claims *[]store.Claim) (int, error) {
	if s.dirty.Load() || s.store.Departures() != s.checked || !s.again.IsZero() && !s.again.After(time.Now()) {
		if err := s.refresh(ctx); err != nil {
			return 0, err
		}
	}
	if err := s.leasePaces(ctx); err != nil {
		return 0, err
	}
	if err := s.noteWaitReasons(ctx); err != nil {
		return 0, err
	}
	total := 0
	for _, j := range slices.Clone(s.dispatcher.jobs) { // only the claimer changes the slice
		n, err := s.claim(ctx, j, claims)
		if err != nil {
			s.leaveAlone(j, err)
		}
		total += n
	}
	return total, ctx.Err()
}

// leaveAlone lets a job that can't be read wait, while the others' jobs go on.
func (s *Sender) leaveAlone(j *jobQueue, err error) {
	s.opts.Log.Error("send: recipients of a job cannot be claimed", slog.String("job", j.job.ID), slog.Any("error", err))
	j.readAt = time.Now().Add(time.Second)
	s.again = earlier(s.again, j.readAt)
}

// refresh reads which jobs are running. The departures are read before, so a claim that is made under this reading is
// checked again as soon as a job was cancelled after it.
func (s *Sender) refresh(ctx context.Context) error {
	s.dirty.Store(false)
	s.again = time.Time{}
	if s.rerouted.Swap(false) {
		if err := s.reroute(ctx); err != nil {
			s.dirty.Store(true)
			s.rerouted.Store(true)
			return err
		}
	}
	checked := s.store.Departures()
	jobs, err := s.store.RunningJobs(ctx)
	if err != nil {
		s.dirty.Store(true)
		return err
	}
	s.checked = checked
	for _, j := range s.dispatcher.jobs {
		i := slices.IndexFunc(jobs, func(r core.SendJob) bool { return r.No == j.job.No })
		if i < 0 {
			s.dispatcher.stop(j)
			continue
		}
		j.drained = j.drained && j.found == jobs[i].Recipients
		j.found, j.expanded = jobs[i].Recipients, jobs[i].Expanded
	}
	for i := range jobs {
		if s.dispatcher.has(jobs[i].No) {
			continue
		}
		if err := s.begin(ctx, &jobs[i]); err != nil { // the others' jobs go on
			s.opts.Log.Error("send: a job cannot be taken up", slog.String("job", jobs[i].ID), slog.Any("error", err))
			s.again = time.Now().Add(time.Second)
		}
	}
	s.forgetStopped()
	return nil
}

// begin takes up a running job. One whose content cannot be made fails before any mail.
func (s *Sender) begin(ctx context.Context, j *core.SendJob) error {
	c, err := s.compile(ctx, j)
	switch core.KindOf(err) {
	case core.Invalid:
		return s.store.FailSendJob(ctx, j.No, err.Error(), core.At(time.Now()))
	case core.NotFound:
		return s.store.FailSendJob(ctx, j.No, core.ReasonTemplate, core.At(time.Now()))
	}
	if err != nil {
		return err
	}
	list, err := s.store.List(ctx, j.ListID)
	if err != nil {
		return err
	}
	jf := &jobQueue{
		job: *j, content: c, found: j.Recipients, expanded: j.Expanded, held: j.PauseReason,
		key: store.ClaimKey{JobNo: j.No, TenantID: j.TenantID, ListID: j.ListID, MailedProof: list.RequireMailedProof},
	}
	s.opts.Log.Info("send: a job is taken up", slog.String("job", j.ID), slog.String("tenant", j.TenantID), slog.String("list", j.ListID))
	g, p, err := s.groupOf(ctx, j.TenantID)
	if err != nil {
		return err
	}
	s.dispatcher.add(jf, g, p)
	s.reasonsChanged.Store(true)
	s.openConnections(g)
	return nil
}

// forgetStopped lets go of ended jobs of which nothing is in flight, so that the scheduler may settle them.
func (s *Sender) forgetStopped() {
	gone := s.dispatcher.forget()
	if gone {
		s.dirty.Store(true) // a job that was resumed meanwhile is taken up again
		s.tellScheduler()
	}
}

// claim reads the next recipients of a job when its queue runs low.
func (s *Sender) claim(ctx context.Context, j *jobQueue, claims *[]store.Claim) (int, error) {
	s.dispatcher.mu.Lock()
	enough, share := j.enough(), max(claimSize/len(s.dispatcher.jobs), 32)
	s.dispatcher.mu.Unlock()
	if enough {
		return 0, nil
	}
	now, departures := time.Now(), s.checked
	if j.readAt.After(now) {
		s.again = earlier(s.again, j.readAt)
		return 0, nil
	}
	cs, err := s.claimDeferred(ctx, j, (*claims)[:0], now, share)
	if err == nil && len(cs) == 0 && !j.drained {
		if cs, err = s.store.ClaimRecipients(ctx, cs, &j.key, j.after, share); err == nil { // half a claim is none
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
	s.queue(j, cs, departures)
	return len(cs), nil
}

func (s *Sender) claimDeferred(ctx context.Context, j *jobQueue, cs []store.Claim, now time.Time, limit int) ([]store.Claim, error) {
	if j.lookAt.After(now) {
		return cs, nil
	}
	cs, err := s.store.ClaimDeferred(ctx, cs, &j.key, j.dueAt, j.dueSeq, core.At(now), limit)
	if err != nil {
		return cs, err
	}
	if len(cs) < limit {
		j.lookAt = now.Add(deferredEvery)
	}
	if n := len(cs); n > 0 {
		j.dueAt, j.dueSeq = cs[n-1].DueAt, cs[n-1].Seq
	}
	return cs, nil
}

// queue hands claims to the connections; those who are to be left out are recorded at once.
func (s *Sender) queue(j *jobQueue, cs []store.Claim, departures uint64) {
	items := make([]item, len(cs)) // one allocation for all
	ready := make([]*item, 0, len(cs))
	s.dispatcher.mu.Lock()
	j.out += len(cs)
	s.dispatcher.mu.Unlock()
	for i := range cs {
		it := &items[i]
		it.Claim, it.job, it.departures = cs[i], j, departures
		if it.Skip != "" {
			s.finish(it, store.RecipientSkipped, it.Skip, false)
			continue
		}
		ready = append(ready, it)
	}
	s.dispatcher.push(j, ready)
}

// idle tells whether nothing is queued or in flight, and when the first deferred recipient is due of a job that wants any.
func (s *Sender) idle(ctx context.Context) (idle bool, due time.Time) {
	s.forgetStopped()
	idle = true
	var hungry []*jobQueue
	s.dispatcher.mu.Lock()
	for _, j := range s.dispatcher.jobs {
		idle = idle && j.out == 0 && j.drained
		if j.drained && !j.enough() && !j.readAt.After(time.Now()) { // the connections tell when one of the others wants more
			hungry = append(hungry, j)
		}
	}
	s.dispatcher.mu.Unlock()
	for _, j := range hungry {
		at, err := s.store.NextDeferred(ctx, j.job.No, j.dueAt, j.dueSeq)
		if err != nil {
			s.leaveAlone(j, err)
			continue
		}
		if at == 0 {
			j.lookAt = time.Now().Add(deferredEvery)
			continue
		}
		j.lookAt = at.Time()
		if due.IsZero() || j.lookAt.Before(due) {
			due = j.lookAt
		}
	}
	return idle, due
}
