package store

import (
	"context"
	"strings"

	"newsletterd/core"
)

// Outcome is what became of one try at one recipient.
type Outcome struct {
	JobNo      int64
	TenantID   string
	Seq        int64
	EmailKey   string
	State      int          // RecipientQueued (with Ambiguous), RecipientDeferred, …
	Tried      bool         // a try was made: it counts
	DueAt      core.Instant // of RecipientDeferred
	Reason     string       // why not sent, or the relay's words; kept with the recipient
	Ambiguous  bool         // the reply to this message was lost: it is sent once more
	HardBounce bool         // the address itself is at fault
	SoftBounce bool         // its mailbox was full to the last
}

// jobCount sums up what a batch of outcomes adds to one job.
type jobCount struct {
	no                                       int64
	sent, failed, skipped, ambiguous, bounce int64
	sentSeqs                                 []any // reused: job_no, finished_at, then seqs
}

// FinishRecipients records a batch of outcomes in one operation: one row change a recipient, one a job. A job of which
// every recipient now has an outcome is completed. An outcome that was recorded before changes nothing.
func (s *Store) FinishRecipients(ctx context.Context, batch []Outcome, now core.Instant) error {
	return s.update(ctx, func(tx *Tx) error {
		var counts []*jobCount
		for i := range batch {
			o := &batch[i]
			c := countOf(&counts, o.JobNo, now)
			if o.State == RecipientSent {
				c.sentSeqs = append(c.sentSeqs, o.Seq)
				continue
			}
			if err := tx.finishUnsent(o, c, now); err != nil {
				return err
			}
		}
		for _, c := range counts {
			if err := tx.countOutcomes(c, now); err != nil {
				return err
			}
		}
		return nil
	})
}

func countOf(counts *[]*jobCount, no int64, now core.Instant) *jobCount {
	for _, c := range *counts {
		if c.no == no {
			return c
		}
	}
	c := &jobCount{no: no, sentSeqs: make([]any, 2, 66)}
	c.sentSeqs[0], c.sentSeqs[1] = int64(now), no
	*counts = append(*counts, c)
	return c
}

// finishUnsent records everything but "sent", with what it means for the address.
func (tx *Tx) finishUnsent(o *Outcome, c *jobCount, now core.Instant) error {
	finished := core.Instant(0)
	if o.State > RecipientDeferred {
		finished = now
	}
	n, err := tx.exec(`UPDATE recipient SET state = ?, tries = tries + ?, due_at = ?, finished_at = ?, ambiguous = ambiguous + ?, reason = ?
		WHERE job_no = ? AND seq = ? AND state < 2`,
		o.State, o.Tried, int64(o.DueAt), int64(finished), o.Ambiguous, o.Reason, o.JobNo, o.Seq)
	if err != nil || n == 0 {
		return err
	}
	switch {
	case o.State == RecipientFailed:
		c.failed++
	case o.State == RecipientSkipped:
		c.skipped++
	}
	if o.Ambiguous {
		c.ambiguous++
	}
	if o.Tried || o.Ambiguous {
		if err := tx.addAttempt(o, now); err != nil {
			return err
		}
	}
	effect := ""
	switch {
	case o.HardBounce:
		effect = core.HardBounce
	case o.SoftBounce:
		effect = core.SoftBounce
	default:
		return nil
	}
	c.bounce++
	_, err = tx.report(o.TenantID, o.EmailKey, effect, now, now)
	return err
}

// addAttempt keeps the relay's words about a try that did not end in "sent at once".
func (tx *Tx) addAttempt(o *Outcome, now core.Instant) error {
	outcome := [...]string{"ambiguous", "deferred", "sent", "failed", "skipped"}[o.State]
	_, err := tx.exec("INSERT INTO attempt (job_no, seq, at, outcome, reply) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
		o.JobNo, o.Seq, int64(now), outcome, o.Reason)
	return err
}

// countOutcomes marks the sent ones, adds the sums to the job and completes it when it was the last batch.
func (tx *Tx) countOutcomes(c *jobCount, now core.Instant) error {
	for seqs := c.sentSeqs[2:]; len(seqs) > 0; {
		n := min(len(seqs), 1<<(len(markSent)-1))
		done, err := tx.markSent(c, seqs[:n])
		if err != nil {
			return err
		}
		c.sent += done
		seqs = seqs[n:]
	}
	var complete bool
	err := tx.get(&complete, `UPDATE send_job SET sent = sent + ?, failed = failed + ?, skipped = skipped + ?, ambiguous = ambiguous + ?,
		bounced = bounced + ? WHERE no = ?
		RETURNING expanded = 1 AND status = 'running' AND recipients = sent + failed + skipped`,
		c.sent, c.failed, c.skipped, c.ambiguous, c.bounce, c.no)
	if err != nil || !complete {
		return err
	}
	return tx.finishJob(c.no, now)
}

// markSent marks up to 64 recipients in one statement: a statement costs more than a row. The places that are left over
// repeat the last one.
func (tx *Tx) markSent(c *jobCount, seqs []any) (int64, error) {
	i := 0
	for 1<<i < len(seqs) {
		i++
	}
	var args [66]any
	n := 2 + copy(args[copy(args[:], c.sentSeqs[:2]):], seqs)
	for ; n < 2+1<<i; n++ {
		args[n] = seqs[len(seqs)-1]
	}
	return tx.exec(markSent[i], args[:n]...)
}

// markSent[i] marks 2^i recipients.
var markSent = func() (q [7]string) {
	for i := range q {
		q[i] = "UPDATE recipient SET state = 2, tries = tries + 1, due_at = 0, finished_at = ?, reason = '' WHERE job_no = ? AND state < 2 AND seq IN (?" +
			strings.Repeat(", ?", 1<<i-1) + ")"
	}
	return q
}()
