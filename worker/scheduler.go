package worker

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
)

// schedulerRetry is the pause after a failure of the database.
const schedulerRetry = time.Second

// A job waits for the changes of its list that were made before it began and are on their way from the member service,
// so that subscribers who were imported or confirmed just before are in it; but not for ever.
const (
	changesPoll = 50 * time.Millisecond
	changesMost = 15 * time.Minute
)

// expandSteps is how often a job is expanded before the others have their turn: each round reads all jobs.
const expandSteps = 4

// scheduler starts due jobs, makes their recipients, ends them when their window closes, settles what ended jobs have
// left undone, and removes the subscribers that a full sync did not name.
type scheduler struct {
	store    *store.Store
	sender   *Sender
	log      *slog.Logger
	running  []int64
	settling map[int64]int64 // job number → position
	paused   map[int64]bool  // whose pause was logged
	primed   bool
}

// Scheduler returns the loop that moves jobs from one state to the next.
func Scheduler(s *store.Store, sender *Sender, log *slog.Logger) *Loop {
	w := &scheduler{store: s, sender: sender, log: log, settling: map[int64]int64{}, paused: map[int64]bool{}}
	loop := &Loop{Name: "scheduler"}
	loop.Step = func(ctx context.Context, now time.Time) time.Time {
		next, more, err := w.step(ctx, core.At(now))
		switch {
		case err != nil:
			log.Error("scheduler", slog.Any("error", err))
			return now.Add(schedulerRetry)
		case more:
			return now
		}
		return next.Time()
	}
	sender.scheduler.Store(loop)
	s.OnKick(db.TopicJobs, loop.Kick)
	return loop
}

// step does one round of everything that is due; more asks for another one at once.
func (w *scheduler) step(ctx context.Context, now core.Instant) (next core.Instant, more bool, err error) {
	if next, err = w.store.StartDueJobs(ctx, now); err != nil {
		return 0, false, err
	}
	more = next != 0 && next <= now
	jobs, err := w.store.StartedJobs(ctx)
	if err != nil {
		return 0, false, err
	}
	if err := w.noteEnded(ctx, jobs); err != nil { // first, so that no other error makes it forget which were running
		return 0, false, err
	}
	for i := range jobs {
		at, err := w.advance(ctx, &jobs[i], now)
		if err != nil {
			return 0, false, err
		}
		if at == now {
			more = true
		} else if at != 0 && (next == 0 || at < next) {
			next = at
		}
		w.notePause(&jobs[i])
		if end := jobs[i].WindowEnd; end > now && (next == 0 || end < next) {
			next = end
		}
	}
	settling, err := w.settle(ctx, now)
	if err != nil {
		return 0, false, err
	}
	wanted, err := w.store.MissReviews(ctx, now)
	if err != nil {
		return 0, false, err
	}
	if wanted != 0 && (next == 0 || wanted < next) {
		next, more = wanted, more || wanted <= now
	}
	removing, err := w.store.RemoveAbsent(ctx, now)
	return next, more || settling || removing, err
}

// advance closes a window, or makes recipients. It returns when there is more to do; 0: not by itself.
func (w *scheduler) advance(ctx context.Context, j *core.SendJob, now core.Instant) (next core.Instant, err error) {
	switch {
	case j.WindowClosed(now):
		return 0, w.store.FailSendJob(ctx, j.No, core.ReasonWindow, now)
	case !j.Expanded:
		if j.ExpandedTo == "" && j.RetryOf == "" && now < j.StartedAt.Add(changesMost) {
			if wait, err := w.changesUnderway(ctx, j, now); err != nil || wait {
				return now.Add(changesPoll), err
			}
		}
		more, at, err := w.firstFew(ctx, j, now)
		if err != nil || !more {
			return at, err
		}
		for step := 0; more && step < expandSteps && ctx.Err() == nil; step++ {
			if more, err = w.store.ExpandJob(ctx, j.No, now); err != nil {
				return 0, err
			}
			w.sender.Kick()
		}
		if more {
			return now, nil
		}
		if j.First() {
			return now.Add(firstPoll), nil
		}
	case j.Sent+j.Failed+j.Skipped >= j.Recipients: // killed between the last outcome and the end
		return 0, w.store.FinishSendJob(ctx, j.No, now)
	}
	return 0, nil
}

// changesUnderway reports whether changes of one of a job's lists are on their way.
func (w *scheduler) changesUnderway(ctx context.Context, j *core.SendJob, now core.Instant) (yes bool, err error) {
	lists, err := w.store.JobLists(ctx, j)
	for i := 0; i < len(lists) && !yes && err == nil; i++ {
		yes, err = w.store.ChangesUnderway(ctx, lists[i], j.StartedAt, now)
	}
	return yes, err
}

// notePause logs that a job is paused, and that it goes on.
func (w *scheduler) notePause(j *core.SendJob) {
	held := j.PauseReason != ""
	if held == w.paused[j.No] {
		return
	}
	if held {
		w.paused[j.No] = true
		w.log.Warn("send: job paused", slog.String("job", j.ID), slog.String("tenant", j.TenantID),
			slog.String("reason", j.PauseReason),
			slog.Int64("sent", j.Sent), slog.Int64("recipients", j.Recipients))
		return
	}
	delete(w.paused, j.No)
	w.log.Info("send: a job goes on", slog.String("job", j.ID))
}

// noteEnded finds the jobs that were running at the last look and are no more.
func (w *scheduler) noteEnded(ctx context.Context, running []core.SendJob) error {
	ended := w.running
	if !w.primed {
		var err error
		if ended, err = w.store.UnsettledJobs(ctx); err != nil {
			return err
		}
	}
	now := make([]int64, len(running))
	for i := range running {
		now[i] = running[i].No
	}
	for _, no := range ended {
		if _, known := w.settling[no]; known || slices.Contains(now, no) {
			continue
		}
		j, err := w.store.SendJobByNo(ctx, no)
		if err != nil {
			return err
		}
		w.settling[no] = 0
		delete(w.paused, no)
		w.log.Info("send: job ended", slog.String("job", j.ID), slog.String("status", string(j.Status)),
			slog.String("reason", j.FailureReason), slog.Int64("recipients", j.Recipients), slog.Int64("sent", j.Sent),
			slog.Int64("failed", j.Failed), slog.Int64("skipped", j.Skipped))
	}
	w.running, w.primed = now, true
	return nil
}

// settle goes one step through each ended job that the sender has let go of.
func (w *scheduler) settle(ctx context.Context, now core.Instant) (more bool, err error) {
	for no, after := range w.settling {
		if w.sender.Holds(no) {
			continue // the sender kicks when it has let go
		}
		next, again, err := w.store.SettleJob(ctx, no, after, now)
		if err != nil {
			return false, err
		}
		if again {
			w.settling[no] = next
			more = true
		} else {
			delete(w.settling, no)
		}
	}
	return more, nil
}
