package worker

import (
	"context"
	"log/slog"
	"time"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/campaigns"
)

// schedulerRetry is the pause after a database error.
const schedulerRetry = time.Second

// A job waits until earlier changes to its lists have arrived from the member service, so that it includes subscribers
// who were just imported or confirmed. It waits at most changesMost.
const (
	changesPoll = 50 * time.Millisecond
	changesMost = 15 * time.Minute
)

// expandSteps is how many expansion steps a job makes before it is the other jobs' turn.
const expandSteps = 4

// scheduler starts due jobs, creates their recipients, and ends them when their delivery window closes. It also
// settles ended jobs.
type scheduler struct {
	store    *store.Store
	sender   *Sender
	log      *slog.Logger
	watch    *campaigns.JobWatch
	running  map[int64]core.Instant // job number → next look at the job; 0: after its next change
	settling map[int64]int64        // job number → position
	paused   map[int64]bool         // jobs whose pause was logged
	primed   bool
}

// Scheduler returns the loop that moves jobs from one state to the next.
func Scheduler(s *store.Store, sender *Sender, log *slog.Logger) *Loop {
	w := &scheduler{
		store: s, sender: sender, log: log, running: map[int64]core.Instant{}, settling: map[int64]int64{},
		paused: map[int64]bool{},
	}
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
	w.watch = s.WatchJobs(false, loop.Kick)
	return loop
}

// step does one round of all due work. more reports whether another round is due immediately.
func (w *scheduler) step(ctx context.Context, now core.Instant) (next core.Instant, more bool, err error) {
	if next, err = w.store.StartDueJobs(ctx, now); err != nil {
		return 0, false, err
	}
	more = next != 0 && next <= now
	jobs, err := w.look(ctx, now)
	if err != nil {
		return 0, false, err
	}
	for i := range jobs {
		j := &jobs[i]
		at, err := w.advance(ctx, j, now)
		if err != nil {
			return 0, false, err
		}
		w.notePause(j)
		if end := j.WindowEnd; end > now && (at == 0 || end < at) {
			at = end
		}
		w.running[j.No] = at
	}
	for _, at := range w.running {
		if at != 0 && (next == 0 || at < next) {
			next = at
		}
	}
	more = more || next != 0 && next <= now
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
	return next, more || settling, nil
}

// look returns the running jobs that have changed or are due. They stay due until step has advanced them. look also
// marks jobs that have ended for settling.
func (w *scheduler) look(ctx context.Context, now core.Instant) ([]core.SendJob, error) {
	var due []int64
	for no, at := range w.running {
		if at != 0 && at <= now {
			due = append(due, no)
		}
	}
	changes, err := w.watch.Read(ctx, due...)
	if err != nil {
		return nil, err
	}
	var ended []int64
	for no := range w.running {
		if changes.Ended(no) {
			w.running[no] = now // even after an error, the job is checked again
			ended = append(ended, no)
		}
	}
	for i := range changes.Running {
		w.running[changes.Running[i].No] = now
	}
	return changes.Running, w.noteEnded(ctx, ended)
}

// advance ends a job whose delivery window has closed, or creates recipients. next is when to call it again; 0 means
// after a kick.
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
		}
		if more {
			return now, nil
		}
		if j.First() {
			return now.Add(firstPoll), nil
		}
	case j.Sent+j.Failed+j.Skipped >= j.Recipients: // a kill happened between the last outcome and the end of the job
		return 0, w.store.FinishSendJob(ctx, j.No, now)
	}
	return 0, nil
}

// changesUnderway reports whether changes to any of a job's lists have not yet arrived from the member service.
func (w *scheduler) changesUnderway(ctx context.Context, j *core.SendJob, now core.Instant) (yes bool, err error) {
	lists, err := w.store.JobLists(ctx, j)
	for i := 0; i < len(lists) && !yes && err == nil; i++ {
		yes, err = w.store.ChangesUnderway(ctx, lists[i], j.StartedAt, now)
	}
	return yes, err
}

// notePause logs that a job was paused or resumed.
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
	w.log.Info("send: a job resumed", slog.String("job", j.ID))
}

// noteEnded marks ended jobs for settling. At startup, it marks all unsettled jobs.
func (w *scheduler) noteEnded(ctx context.Context, ended []int64) error {
	if !w.primed {
		unsettled, err := w.store.UnsettledJobs(ctx)
		if err != nil {
			return err
		}
		ended = append(ended, unsettled...)
	}
	for _, no := range ended {
		j, err := w.store.SendJobByNo(ctx, no)
		if err != nil {
			return err
		}
		delete(w.running, no)
		delete(w.paused, no)
		if _, known := w.settling[no]; known {
			continue
		}
		if j.Status != core.JobCompleted {
			w.settling[no] = 0
		}
		w.log.Info("send: job ended", slog.String("job", j.ID), slog.String("status", string(j.Status)),
			slog.String("reason", j.FailureReason), slog.Int64("recipients", j.Recipients), slog.Int64("sent", j.Sent),
			slog.Int64("failed", j.Failed), slog.Int64("skipped", j.Skipped))
	}
	w.primed = true
	return nil
}

// settle advances the settling of each ended job by one step, once the sender has released the job.
func (w *scheduler) settle(ctx context.Context, now core.Instant) (more bool, err error) {
	for no, after := range w.settling {
		if w.sender.Holds(no) {
			continue // the sender kicks when it has released the job
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
