package worker

import (
	"context"
	"time"

	"newsletterd/core"
)

// The intervals at which the scheduler checks a job's first recipients: until all are emailed, and then for bounces.
const (
	firstPoll = time.Second
	holdPoll  = 10 * time.Second
)

// firstFew reports whether a job may go beyond its first recipients now, and if not, when to check again. If next is 0,
// only a kick starts another check. Subscriber ids are keyed hashes, so a list's first recipients are a mix of all its
// domains.
func (w *scheduler) firstFew(ctx context.Context, j *core.SendJob, now core.Instant) (expand bool, next core.Instant,
	err error,
) {
	if !j.First() {
		return true, 0, nil
	}
	if j.ExpandedTo == "" {
		lists, err := w.store.JobLists(ctx, j)
		var more bool
		if err == nil {
			more, err = w.store.MoreReaders(ctx, lists, core.FirstFewFrom)
		}
		if err == nil && !more {
			*j, err = w.store.SkipFirst(ctx, j.No)
		}
		return err == nil, now.Add(schedulerRetry), err
	}
	switch {
	case j.Recipients < j.FirstFew:
		return true, 0, nil
	case j.FirstUntil == 0 && !j.FirstThrough():
		return false, now.Add(firstPoll), nil
	case j.FirstUntil == 0:
		if *j, err = w.store.HoldFirst(ctx, j.No, now); err != nil {
			return false, 0, err
		}
	}
	if j.PausedAt == 0 {
		if *j, err = w.store.JudgeFirst(ctx, j.No, now); err != nil {
			return false, 0, err
		}
	}
	switch {
	case j.PausedAt != 0:
		return false, 0, nil // until a person resumes it
	case j.FirstHeld(now):
		return false, min(j.FirstUntil, now.Add(holdPoll)), nil
	}
	return true, 0, nil
}
