package campaigns

import (
	"context"
	"slices"

	"newsletterd/core"
	"newsletterd/store/db"
)

// jobCount holds the totals of a batch of outcomes for one job.
type jobCount struct {
	no                                       int64
	sent, failed, skipped, ambiguous, bounce int64
	hard                                     int64 // part of bounce, not in addition to it
	deferred                                 int64 // change in the number of deferred recipients; may be negative
	givesUpAt                                core.Instant
	sentSeqs                                 []int64
}

// FinishRecipients records a batch of outcomes in one operation, with one row change for each recipient and one for
// each job. If every recipient of a job then has an outcome, the job is completed. An outcome that is already recorded
// changes nothing. If a job no longer exists, it returns core.ErrNotFound.
func (s *Store) FinishRecipients(ctx context.Context, batch []core.Outcome, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error { return finishRecipients(tx, batch, now) })
}

// FinishLater is like FinishRecipients, for a caller that does not wait. The writer calls the function take during the
// transaction, so that the batch includes all outcomes that have arrived by then. It calls the function after when the
// transaction has been committed or has failed. Neither function may block or wait for the store. If FinishLater
// returns an error, neither is called. If a job no longer exists, after gets core.ErrNotFound.
func (s *Store) FinishLater(take func() ([]core.Outcome, core.Instant), after func(error)) error {
	return s.UpdateLate(func(tx *db.Tx) error {
		batch, now := take()
		return finishRecipients(tx, batch, now)
	}, after)
}

func finishRecipients(tx *db.Tx, batch []core.Outcome, now core.Instant) error {
	var counts []*jobCount
	for i := range batch {
		o := &batch[i]
		c := countOf(&counts, o.JobNo)
		if o.State == core.RecipientSent {
			c.sentSeqs = append(c.sentSeqs, o.Seq)
			if o.QueueID != "" {
				if err := keepQueueID(tx, o, now); err != nil {
					return err
				}
			}
			continue
		}
		if err := finishUnsent(tx, o, c, now); err != nil {
			return err
		}
	}
	for _, c := range counts {
		if err := countOutcomes(tx, c, now); err != nil {
			return err
		}
	}
	return nil
}

func countOf(counts *[]*jobCount, no int64) *jobCount {
	for _, c := range *counts {
		if c.no == no {
			return c
		}
	}
	c := &jobCount{no: no}
	*counts = append(*counts, c)
	return c
}

// keepQueueID records the queue ID that a provider's events may use to refer to an email. If two emails have the same
// ID, the first keeps it.
func keepQueueID(tx *db.Tx, o *core.Outcome, now core.Instant) error {
	_, err := tx.Exec("INSERT INTO queue_id (id, job_no, seq, sent_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
		o.QueueID, o.JobNo, o.Seq, int64(now))
	return err
}

// finishUnsent records an outcome other than sent, and its effect on the address.
func finishUnsent(tx *db.Tx, o *core.Outcome, c *jobCount, now core.Instant) error {
	finished := core.Instant(0)
	if o.State > core.RecipientDeferred {
		finished = now
	}
	was := core.RecipientQueued
	n, err := finishOne(tx, o, was, finished)
	if err == nil && n == 0 {
		was = core.RecipientDeferred
		n, err = finishOne(tx, o, was, finished)
	}
	if err != nil || n == 0 {
		return err
	}
	if was == core.RecipientDeferred {
		c.deferred--
	}
	switch {
	case o.State == core.RecipientDeferred:
		c.deferred++
		c.givesUpAt = max(c.givesUpAt, o.GivesUpAt)
	case o.State == core.RecipientFailed:
		c.failed++
	case o.State == core.RecipientSkipped:
		c.skipped++
	}
	if o.Ambiguous {
		c.ambiguous++
	}
	for _, word := range wordsOf(o.State, o.Reason) {
		if _, err := tx.Exec("INSERT INTO recipient_word (job_no, word, seq) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
			o.JobNo, word, o.Seq); err != nil {
			return err
		}
	}
	if o.Tried || o.Ambiguous {
		if err := addAttempt(tx, o, now); err != nil {
			return err
		}
	}
	effect := ""
	switch {
	case o.HardBounce:
		effect = core.HardBounce
		c.hard++
	case o.Doubtful:
		effect = core.DoubtfulBounce
	case o.SoftBounce:
		effect = core.SoftBounce
	default:
		return nil
	}
	c.bounce++
	_, err = ApplyEffect(tx, o.TenantID, o.EmailKey, effect, now, now)
	return err
}

// finishOne writes an outcome if the recipient is in the state given by was. Otherwise, it changes nothing and n is 0.
func finishOne(tx *db.Tx, o *core.Outcome, was int, finished core.Instant) (n int64, err error) {
	return tx.Exec(`UPDATE recipient SET state = ?, tries = tries + ?, due_at = ?, finished_at = ?, ambiguous =
		ambiguous + ?, reason = ?
		WHERE job_no = ? AND seq = ? AND state = ?`,
		o.State, o.Tried, int64(o.DueAt), int64(finished), o.Ambiguous, o.Reason, o.JobNo, o.Seq, was)
}

// addAttempt stores the relay's reply to an attempt that did not succeed.
func addAttempt(tx *db.Tx, o *core.Outcome, now core.Instant) error {
	outcome := [...]string{"ambiguous", "deferred", "sent", "failed", "skipped"}[o.State]
	_, err := tx.Exec("INSERT INTO attempt (job_no, seq, at, outcome, reply) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO "+
		"NOTHING",
		o.JobNo, o.Seq, int64(now), outcome, o.Reason)
	return err
}

// countOutcomes marks the sent recipients of a batch, adds the totals to the job, and completes the job after its last
// outcome.
func countOutcomes(tx *db.Tx, c *jobCount, now core.Instant) error {
	if err := noteSent(tx, c, now); err != nil {
		return err
	}
	_, err := tx.Exec(`UPDATE send_job SET sent = sent + ?1, failed = failed + ?2, skipped = skipped + ?3, ambiguous =
		ambiguous + ?4,
		bounced = bounced + ?5, hard_bounced = hard_bounced + ?6, deferred = max(0, deferred + ?7),
		gives_up_at = CASE WHEN deferred + ?7 > 0 THEN max(gives_up_at, ?8) ELSE 0 END WHERE no = ?9`,
		c.sent, c.failed, c.skipped, c.ambiguous, c.bounce, c.hard, c.deferred, int64(c.givesUpAt), c.no)
	if err != nil {
		return err
	}
	open := tx.Kept("campaigns").(*changedJobs).open
	open[c.no] -= c.sent + c.failed + c.skipped
	if open[c.no] <= 0 {
		open[c.no], err = tx.Number("SELECT recipients - sent - failed - skipped FROM send_job WHERE no = ?", c.no)
		if err != nil {
			return err
		}
	}
	switch {
	case open[c.no] == 0:
		delete(open, c.no)
		return finishJob(tx, c.no, now)
	case c.hard > 0:
		return JudgeJob(tx, c.no, now)
	}
	return nil
}

// noteSent marks the sent recipients of a job, up to 63 consecutive seqs per statement. Each statement costs more than
// a row, and a list of seqs (IN) costs more than a bit mask.
func noteSent(tx *db.Tx, c *jobCount, now core.Instant) error {
	slices.Sort(c.sentSeqs)
	for seqs := c.sentSeqs; len(seqs) > 0; {
		first, mask, n := seqs[0], int64(0), 0
		for n < len(seqs) && seqs[n] < first+63 {
			mask |= 1 << (seqs[n] - first)
			n++
		}
		done, err := tx.Exec(markSent, int64(now), c.no, first, seqs[n-1], mask)
		if err == nil && done < int64(n) {
			var again int64
			again, err = tx.Exec(markSentDeferred, int64(now), c.no, first, seqs[n-1], mask)
			done, c.deferred = done+again, c.deferred-again
		}
		if err != nil {
			return err
		}
		c.sent += done
		seqs = seqs[n:]
	}
	return nil
}

const (
	markSentAny = `UPDATE recipient SET state = ` + SqlRecipientSent + `, tries = tries + 1, due_at = 0, finished_at =
		?1, reason = ''
		WHERE job_no = ?2 AND seq BETWEEN ?3 AND ?4 AND (?5 >> (seq - ?3)) & 1 AND +state = `
	markSent         = markSentAny + sqlRecipientQueued
	markSentDeferred = markSentAny + sqlRecipientDeferred // for recipients that were deferred before
)
