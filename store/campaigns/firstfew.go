package campaigns

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

// MoreReaders reports whether the given lists have more than n subscribers who may be emailed. It checks only the
// blocks on the lists, and counts a person on two lists twice. Its only error is core.ErrStorage.
func (s *Store) MoreReaders(ctx context.Context, lists []string, n int) (more bool, err error) {
	err = s.Get(ctx, &more, `SELECT EXISTS (SELECT 1 FROM json_each(?) AS j CROSS JOIN subscriber AS s ON s.list_id =
		j.value AND s.word = 'active' AND s.block = '' LIMIT 1 OFFSET ?)`, db.JsonOf(lists), n)
	return more, err
}

// changeFirst changes a running job with a rule, unless the job has already sent to more than its first recipients.
func (s *Store) changeFirst(
	ctx context.Context,
	no int64,
	rule func(*db.Tx, *core.SendJob) (bool, error),
) (j core.SendJob,
	err error,
) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if j, err = sendJobNo(tx, no); err != nil || j.Status != core.JobRunning || !j.First() {
			return err
		}
		changed, err := rule(tx, &j)
		if err != nil || !changed {
			return err
		}
		return tx.One("UPDATE send_job SET first_few = ?, first_until = ? WHERE no = ?", j.FirstFew, int64(j.FirstUntil),
			no)
	})
	return j, err
}

// SkipFirst makes a job send to all its recipients without a hold. If there is no such job, it returns
// core.ErrJobNotFound.
func (s *Store) SkipFirst(ctx context.Context, no int64) (core.SendJob, error) {
	return s.changeFirst(ctx, no, func(_ *db.Tx, j *core.SendJob) (bool, error) {
		j.FirstFew = 0
		return true, nil
	})
}

// HoldFirst starts the hold after the first recipients of a job. If there is no such job, it returns
// core.ErrJobNotFound.
func (s *Store) HoldFirst(ctx context.Context, no int64, now core.Instant) (core.SendJob, error) {
	return s.changeFirst(ctx, no, func(tx *db.Tx, j *core.SendJob) (bool, error) {
		if j.FirstUntil != 0 || !j.FirstThrough() {
			return false, nil
		}
		j.FirstUntil = now.Add(core.FirstFewHold)
		tx.Kick(db.TopicHolds)
		return true, nil
	})
}

// JudgeFirst pauses a job if too many addresses of its first recipients don't exist, or if too many emails to them were
// rejected for policy reasons. It returns the job. If there is no such job, it returns core.ErrJobNotFound.
func (s *Store) JudgeFirst(ctx context.Context, no int64, now core.Instant) (core.SendJob, error) {
	return s.changeFirst(ctx, no, func(tx *db.Tx, j *core.SendJob) (bool, error) {
		var refused int64
		err := tx.Get(&refused, "SELECT count(*) FROM recipient WHERE job_no = ? AND state = "+sqlRecipientFailed+
			" AND reason LIKE '%5.7.%'", no)
		if err != nil {
			return false, err
		}
		if reason := j.FirstFault(refused); reason != "" && j.Pause(reason, now) {
			return false, savePause(tx, j)
		}
		return false, nil
	})
}

// HeldJobs returns the jobs that wait after sending to their first recipients, oldest first. Its only error is
// core.ErrStorage.
func (s *Store) HeldJobs(ctx context.Context, now core.Instant) (js []core.SendJob, err error) {
	err = s.All(ctx, &js, "SELECT "+sendJobColumns+` FROM send_job INDEXED BY send_job_running WHERE status = 'running'
		AND paused_at = 0 AND first_few > 0 AND expanded = 0 AND first_until > ? ORDER BY no`, int64(now))
	return js, err
}

// StopFirst pauses a job during its hold because a link does not respond. If there is no such job, it returns
// core.ErrJobNotFound.
func (s *Store) StopFirst(ctx context.Context, no int64, link string, now core.Instant) error {
	_, err := s.changeFirst(ctx, no, func(tx *db.Tx, j *core.SendJob) (bool, error) {
		if j.FirstHeld(now) && j.Pause(core.PauseLink+": "+link, now) {
			return false, savePause(tx, j)
		}
		return false, nil
	})
	return err
}
