package campaigns

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

// heldAsRestored is the SQL condition for jobs that were paused because the file was restored. Statements repeat it for
// each status in which a job can wait.
const heldAsRestored = "paused_at > 0 AND pause_reason LIKE '" + core.PauseRestored + "%'"

// SettleHome checks whether the file is where it was at the last start. If not, the file is a copy or was restored, and
// its jobs may have sent emails that it does not record. SettleHome then pauses running and pending jobs with the
// reason core.PauseRestored, and away is true. If takeOver is set, it pauses no job, and resumes the jobs that were
// paused for this reason. It must be called before anything is sent. It returns core.ErrStorage or a file system error.
func (s *Store) SettleHome(ctx context.Context, takeOver bool, now core.Instant) (away bool, err error) {
	return s.Settle(ctx, now, func(tx *db.Tx, away bool) error {
		if takeOver {
			_, err := resumeRestored(tx, "serve --take-over", now)
			return err
		}
		if away {
			return holdJobs(tx, now)
		}
		return nil
	})
}

// holdJobs pauses every job that has not ended. If a job was already paused, it also keeps the earlier reason.
func holdJobs(tx *db.Tx, now core.Instant) error {
	tx.Kick(db.TopicJobs)
	_, err := tx.Exec(`UPDATE send_job SET pause_reason = CASE
			WHEN paused_at = 0 THEN ?1
			WHEN pause_reason LIKE ?1 || '%' THEN pause_reason
			ELSE ?1 || '; before: ' || pause_reason END,
		paused_at = CASE WHEN paused_at = 0 THEN ?2 ELSE paused_at END WHERE status IN ('pending', 'running')`,
		core.PauseRestored, int64(now))
	return err
}

// RestoredJobs returns the number of jobs paused because the file was restored. Its only error is core.ErrStorage.
func (s *Store) RestoredJobs(ctx context.Context) (n int64, err error) {
	err = s.Get(ctx, &n, `SELECT (SELECT count(*) FROM send_job INDEXED BY send_job_running WHERE status =
		'running' AND `+heldAsRestored+`)
		+ (SELECT count(*) FROM send_job INDEXED BY send_job_due WHERE status = 'pending' AND `+heldAsRestored+`)`)
	return n, err
}

// ResumeRestored resumes every job that is paused because the file was restored, and returns their number. Its only
// error is core.ErrStorage.
func (s *Store) ResumeRestored(ctx context.Context, actor string, now core.Instant) (n int, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		n, err = resumeRestored(tx, actor, now)
		return err
	})
	return n, err
}

func resumeRestored(tx *db.Tx, actor string, now core.Instant) (n int, err error) {
	var jobs []core.SendJob
	err = tx.All(&jobs,
		"SELECT "+sendJobColumns+" FROM send_job WHERE status IN ('pending', 'running') AND "+heldAsRestored)
	for i := range jobs {
		if err != nil {
			return n, err
		}
		if jobs[i].PauseReason != core.PauseRestored {
			continue // the job was paused before for another reason, about which someone must decide
		}
		if err = jobs[i].Resume(); err != nil {
			return n, err
		}
		if err = savePause(tx, &jobs[i]); err == nil {
			n++
			err = tx.Audit(now, actor, "job.resume", jobs[i].TenantID, jobs[i].ID)
		}
	}
	return n, err
}
