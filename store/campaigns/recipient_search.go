package campaigns

import (
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// guessPeriod and guessJobs limit the age and number of the jobs that are searched for an email by address only.
const (
	guessPeriod = 30 * 24 * time.Hour
	guessJobs   = 20
)

// GuessRecipient finds the newest email to the address of a report that doesn't identify an email of this server. If
// the report names a tenant, only that tenant's emails count. If no email is found and only one tenant has the address
// on a list, the report is assigned to that tenant.
func GuessRecipient(tx *db.Tx, r *core.ProviderReport, to *SentTo, now core.Instant) error {
	if r.Event.Email == "" || !r.Guess {
		return nil
	}
	key := r.Event.Email.Key()
	pairs, err := tenants.IDsOf(tx, key, r.Event.TenantID)
	if err != nil {
		return err
	}
	var jobs []struct {
		No           int64  `db:"no"`
		Low          int64  `db:"low"`
		High         int64  `db:"high"`
		SubscriberID string `db:"subscriber_id"`
		SentTo
	}
	err = tx.All(&jobs,
		`SELECT j.no, 1 AS low, `+FirstListEnds+` AS high, j.tenant_id, s.list_id, s.email_key, s.id AS subscriber_id
		FROM json_each(?1) AS p CROSS JOIN subscriber AS s ON s.list_id = p.value->>0 AND s.id = p.value->>1
		CROSS JOIN send_job AS j INDEXED BY send_job_list ON j.list_id = s.list_id AND j.started_at > ?2
		UNION ALL SELECT j.no, f.after_seq + 1, `+FurtherListEnds+`, j.tenant_id, s.list_id, s.email_key, s.id
		FROM json_each(?1) AS p CROSS JOIN subscriber AS s ON s.list_id = p.value->>0 AND s.id = p.value->>1
		CROSS JOIN further_list AS f INDEXED BY further_list_list ON f.list_id = s.list_id AND f.after_seq >= 0
		CROSS JOIN send_job AS j ON j.no = f.job_no AND j.started_at > ?2
		ORDER BY 1 DESC LIMIT +?3`, pairs, int64(now.Add(-guessPeriod)), guessJobs)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		seq, err := SeqOf(tx, j.No, j.Low, j.High, j.SubscriberID)
		if err != nil {
			return err
		}
		if seq > 0 {
			r.JobNo, r.Seq, r.Event.TenantID, *to = j.No, seq, j.TenantID, j.SentTo
			return nil
		}
	}
	if r.Event.TenantID != "" {
		return nil
	}
	var tenants []string
	err = tx.All(&tenants, `SELECT DISTINCT l.tenant_id FROM json_each(?) AS p
		CROSS JOIN subscriber AS s ON s.list_id = p.value->>0 AND s.id = p.value->>1
		CROSS JOIN list AS l ON l.id = s.list_id LIMIT 2`, pairs)
	if err == nil && len(tenants) == 1 {
		r.Event.TenantID = tenants[0]
	}
	return err
}

// IsRecipient joins the row "r" of a subscriber among a job's recipients. j has the job's no, the subscriber_id, and
// the range of seqs (low to high) reached through the subscriber's list. IsRecipient needs no index. Rows are in the
// order of subscriber ids, so the table half does a binary search. Housekeeping removes the first rows first, so a
// missing row counts as less than the subscriber.
const IsRecipient = `r.job_no = j.no AND r.subscriber_id = j.subscriber_id AND r.seq =
	(WITH RECURSIVE half (low, high, above) AS (
		SELECT j.low, j.high, (SELECT subscriber_id >= j.subscriber_id FROM recipient WHERE job_no = j.no AND
			seq = (j.low + j.high) / 2)
		UNION ALL
		SELECT iif(above, low, (low + high) / 2 + 1), iif(above, (low + high) / 2, high),
			(SELECT subscriber_id >= j.subscriber_id FROM recipient WHERE job_no = j.no AND
			seq = (iif(above, low, (low + high) / 2 + 1) + iif(above, (low + high) / 2, high)) / 2)
		FROM half WHERE low < high)
	SELECT low FROM half WHERE low = high)`

const selectSeq = "SELECT r.seq FROM (SELECT ?1 AS no, ?2 AS low, ?3 AS high, ?4 AS subscriber_id) AS j CROSS JOIN " +
	"recipient AS r ON " + IsRecipient

// SeqOf returns the seq of a subscriber among a job's recipients. low and high are the first and last seq reached
// through the subscriber's list. If the subscriber is not a recipient, it returns 0.
func SeqOf(r db.Querier, jobNo, low, high int64, subscriberID string) (seq int64, err error) {
	err = r.Get(&seq, selectSeq, jobNo, low, high, subscriberID)
	if errors.Is(err, core.ErrNotFound) {
		return 0, nil
	}
	return seq, err
}

// SentTo identifies the recipient whom a report is about.
type SentTo struct {
	TenantID string `db:"tenant_id"`
	ListID   string `db:"list_id"`
	EmailKey string `db:"email_key"`
}
