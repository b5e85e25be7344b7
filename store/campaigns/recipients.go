package campaigns

import (
	"context"
	"errors"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/mailed"
)

// The recipient states as SQL literals, because query plans depend on literal states.
const (
	sqlRecipientQueued   = "0"
	sqlRecipientDeferred = "1"
	SqlRecipientSent     = "2"
	sqlRecipientFailed   = "3"
	sqlRecipientSkipped  = "4"
)

// expandStep is the number of subscribers that one operation of ExpandJob checks. A step takes little more than 1 ms,
// so outcomes of emails don't wait long. With half as many subscribers, the fixed cost of a step would raise the CPU
// time per row from 2.7 to 3.9 µs.
const expandStep = 500

// ExpandJob goes one step through the subscribers of a running job's lists and adds those who may be emailed as
// recipients. The position is stored with the rows, so that a restart continues there. more reports whether there are
// more steps. If the job's segments can't be evaluated, it pauses the job before the step. If there is no such job, it
// returns core.ErrJobNotFound.
func (s *Store) ExpandJob(ctx context.Context, no int64, now core.Instant) (more bool, err error) {
	ahead, unjudged := judgeAhead(ctx, s.DB, no)
	if unjudged != nil && !core.IsUndecided(unjudged) {
		return false, unjudged
	}
	err = s.Bulk(ctx, func(tx *db.Tx) error {
		j, err := sendJobNo(tx, no)
		if err != nil || j.Status != core.JobRunning || j.Expanded {
			return err
		}
		changed(tx, no)
		switch {
		case unjudged != nil:
			err = unjudged
		case j.RetryOf != "":
			more, err = expandRetry(tx, &j, ahead)
		default:
			more, err = expand(tx, &j, ahead)
		}
		if core.IsUndecided(err) {
			return pauseUndecided(tx, &j, err, now)
		}
		if err != nil || more {
			return err
		}
		return finishJob(tx, no, now)
	})
	return more && err == nil, err
}

// pauseUndecided pauses a job whose segments can't be evaluated, unless it is paused already.
func pauseUndecided(tx *db.Tx, j *core.SendJob, err error, now core.Instant) error {
	e, _ := errors.AsType[*core.Error](err)
	if !j.Pause(core.PausedFor(e), now) {
		return nil
	}
	return savePause(tx, j)
}

func expand(tx *db.Tx, j *core.SendJob, ahead lookahead) (more bool, err error) {
	upper, mark, step := db.LastID, "", int64(expandStep)
	if j.FirstFew > 0 && j.FirstUntil == 0 {
		if step = min(step, j.FirstFew-j.Recipients); step <= 0 {
			return false, nil // the remaining recipients follow after the hold
		}
	}
	after, rest := strings.CutPrefix(j.ExpandedTo, restOfList)
	if rest {
		mark = restOfList
	}
	if j.Lists > 1 || j.Narrowing != "" {
		return expandLists(tx, j, after, mark, step, ahead)
	}
	err = tx.Get(&upper, nextStep,
		j.ListID, after, step-1)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return false, err
	}
	more = err == nil
	var n int64
	err = db.Numbered(j.Recipients, func(counter int64) error {
		n, err = tx.Exec("INSERT INTO recipient (job_no, seq, subscriber_id, email_key) "+recipientsOfList,
			j.No, counter, j.ListID, after, upper, j.TenantID)
		return err
	})
	if err != nil {
		return false, err
	}
	return more, tx.One("UPDATE send_job SET recipients = recipients + ?, expanded_to = ?, expanded = ? WHERE no = ?",
		n, mark+upper, !more, j.No)
}

// recipientsOfList selects new recipient rows, numbered by next_number, for a list's subscribers who may be emailed.
// The rows are ordered by id.
const recipientsOfList = `SELECT ?1, next_number(?2), s.id, s.email_key FROM subscriber AS s ` + Barred + `
	WHERE s.list_id = ?3 AND s.id > ?4 AND s.id <= ?5 AND ` + MayBeEmailed + " ORDER BY s.id"

// MayBeEmailed is the SQL condition for a subscriber "s" who may be emailed. It needs the tables of Barred.
const MayBeEmailed = "s.word = 'active' AND s.block = '' AND p.kind IS NULL AND d.reason IS NULL"

// Barred joins the records that block an address. Subqueries instead of joins would reopen their tables for each row.
// Without the plus signs, SQLite would search the second table twice.
const Barred = `LEFT JOIN suppression AS p ON p.tenant_id = ?6 AND p.email_key = s.email_key
	LEFT JOIN disabled AS d ON d.email_key = s.email_key AND (+d.tenant_id = '' OR +d.tenant_id = ?6)`

const nextDeferred = `SELECT coalesce((SELECT due_at FROM recipient INDEXED BY recipient_deferred
	WHERE job_no = ? AND state = ` +
	sqlRecipientDeferred + ` AND (due_at, seq) > (?, ?)
	ORDER BY due_at, seq LIMIT 1), 0)`

// NextDeferred returns when the first deferred recipient of a job after (afterDue, afterSeq) is due, in the order of
// ClaimDeferred. If there is none, it returns 0. Its only error is core.ErrStorage.
func (s *Store) NextDeferred(ctx context.Context, jobNo int64, afterDue core.Instant, afterSeq int64) (at core.Instant,
	err error,
) {
	err = s.Get(ctx, &at, nextDeferred, jobNo, int64(afterDue), afterSeq)
	return at, err
}

// Mailable checks a claimed recipient again and returns the reason to skip the recipient, or an empty string if the
// email may be sent. If the job has no such recipient, it returns core.ErrNotFound.
func (s *Store) Mailable(ctx context.Context, k *ClaimKey, seq int64) (skip string, err error) {
	var why int
	err = s.Get(ctx, &why,
		"SELECT CASE WHEN (SELECT status FROM send_job WHERE no = ?1) != 'running' THEN 6 ELSE "+skipReasonIndex+" END"+
			claimFrom+"AND r.seq = ?5", k.JobNo, k.TenantID, k.ListID, k.MailedProof, seq)
	if err != nil {
		return "", err
	}
	return skipReasons[why], nil
}

// settleStep is the number of recipients that one operation of SettleJob checks.
const settleStep = 500

// SettleJob records recipients of a canceled or failed job who have no outcome as skipped or failed. It goes one step,
// through recipients with seqs greater than after. No claim of the job may be open. next is the value of after for the
// next step. If there is no such job, it returns core.ErrJobNotFound.
func (s *Store) SettleJob(ctx context.Context, no, after int64, now core.Instant) (next int64, more bool, err error) {
	next = after + settleStep
	err = s.Bulk(ctx, func(tx *db.Tx) error {
		j, err := sendJobNo(tx, no)
		if err != nil || j.Status != core.JobCancelled && j.Status != core.JobFailed {
			return err
		}
		state, reason, column := core.RecipientSkipped, core.ReasonCancelled,
			"UPDATE send_job SET skipped = skipped + ?, deferred = 0 WHERE no = ?"
		if j.Status == core.JobFailed {
			state, reason, column = core.RecipientFailed, j.FailureReason, "UPDATE send_job SET failed = failed + ?, "+
				"deferred = 0 WHERE no = ?"
		}
		_, err = tx.Exec(`INSERT INTO recipient_word (job_no, word, seq) SELECT job_no, ?, seq FROM recipient
			WHERE job_no = ? AND seq > ? AND seq <= ? AND state < `+SqlRecipientSent+` ON CONFLICT DO NOTHING`,
			core.RecipientStates[state], no, after, next)
		if err != nil {
			return err
		}
		n, err := tx.Exec(`UPDATE recipient SET state = ?, reason = ?, finished_at = ? WHERE job_no = ? AND seq > ? AND
			seq <= ? AND state < `+SqlRecipientSent,
			state, reason, int64(now), no, after, next)
		if err == nil && n > 0 {
			_, err = tx.Exec(column, n, no)
		}
		more = next < j.Recipients
		return err
	})
	return next, more && err == nil, err
}

// UnsettledJobs returns the numbers of ended jobs that have recipients without an outcome. The daemon settles them at
// its start, in case it was killed while settling. Its only error is core.ErrStorage.
func (s *Store) UnsettledJobs(ctx context.Context) (nos []int64, err error) {
	err = s.All(ctx, &nos,
		`SELECT no FROM send_job WHERE status IN ('cancelled', 'failed') AND recipients > sent + failed + skipped`)
	return nos, err
}

// unpagedJob selects the newest ended job that has enough recipients for pages but doesn't store them in pages yet.
const unpagedJob = `SELECT no FROM send_job INDEXED BY send_job_unpaged WHERE finished_at > 0 AND paged = 0 AND
		recipients >= 4096 AND sent + failed + skipped >= recipients ORDER BY no DESC LIMIT 1`

// UnpagedJob returns the newest ended job whose recipients aren't stored in pages yet. If there is none, it returns
// core.ErrNotFound.
func UnpagedJob(ctx context.Context, s *db.DB) (no int64, err error) {
	err = s.Get(ctx, &no, unpagedJob)
	return no, err
}

// AddPage stores the next recipients of an ended job as a page; see package mailed. more reports whether some are left.
// If there is no such job, it returns core.ErrJobNotFound.
func AddPage(ctx context.Context, s *db.DB, no int64) (more bool, err error) {
	err = s.Bulk(ctx, func(tx *db.Tx) error {
		more = false
		j, err := sendJobNo(tx, no)
		if err != nil || !j.Status.Final() || j.Sent+j.Failed+j.Skipped < j.Recipients {
			return err
		}
		first, err := mailed.Next(tx, no)
		if err != nil {
			return err
		}
		parts, err := jobParts(tx, &j)
		if err != nil {
			return err
		}
		next := min(first+mailed.Size, parts[partOf(parts, first)].To+1)
		if next > first {
			if more, err = addPage(tx, no, first, next); err != nil {
				return err
			}
		}
		if more = more && next <= j.Recipients; more {
			return nil
		}
		return tx.One("UPDATE send_job SET paged = 1 WHERE no = ?", no)
	})
	return more && err == nil, err
}

// addPage stores a job's recipients from first up to, but not including, next as a page. If that isn't possible, for
// example because they were removed, it returns false.
func addPage(tx *db.Tx, no, first, next int64) (added bool, err error) {
	var text string
	if err := tx.Get(&text, mailedBetween, no, first, next); err != nil {
		return false, err
	}
	rows := parseMailed(make([]Mailed, 0, mailed.Size), text)
	if len(rows) == 0 || int64(len(rows)) < next-first {
		return false, nil
	}
	recipients := make([]mailed.Recipient, len(rows))
	for i, r := range rows {
		recipients[i] = mailed.Recipient{ID: r.ID, State: byte(count(r.Got) + count(r.Sent))}
	}
	return mailed.Add(tx, no, first, recipients)
}
