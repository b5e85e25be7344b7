package store

import (
	"errors"
	"time"

	"newsletterd/core"
)

// How far back a mail is looked for by its address alone, and in how many jobs.
const (
	guessPeriod = 30 * 24 * time.Hour
	guessJobs   = 20
)

// guessRecipient finds the newest mail to the address of a report that names no mail of ours, as far as the report's
// tenant, if it names one, has sent it. Where there is none, an address that only one tenant knows is that tenant's.
func (tx *Tx) guessRecipient(r *core.ProviderReport, to *sentTo, now core.Instant) error {
	if r.Event.Email == "" || !r.Guess {
		return nil
	}
	key := r.Event.Email.Key()
	pairs, err := tx.idsOf(key, r.Event.TenantID)
	if err != nil {
		return err
	}
	var jobs []struct {
		No           int64  `db:"no"`
		Recipients   int64  `db:"recipients"`
		SubscriberID string `db:"subscriber_id"`
		sentTo
	}
	err = tx.all(&jobs,
		`SELECT j.no, j.recipients, j.tenant_id, j.list_id, s.email_key, s.id AS subscriber_id FROM json_each(?1) AS p
		CROSS JOIN subscriber AS s ON s.list_id = p.value->>0 AND s.id = p.value->>1
		CROSS JOIN send_job AS j ON j.list_id = s.list_id AND j.started_at > ?2
		ORDER BY j.no DESC LIMIT ?3`, pairs, int64(now.Add(-guessPeriod)), guessJobs)
	if err != nil {
		return err
	}
	for _, j := range jobs {
		seq, err := seqOf(tx, j.No, j.Recipients, j.SubscriberID)
		if err != nil {
			return err
		}
		if seq > 0 {
			r.JobNo, r.Seq, r.Event.TenantID, *to = j.No, seq, j.TenantID, j.sentTo
			return nil
		}
	}
	if r.Event.TenantID != "" {
		return nil
	}
	var tenants []string
	err = tx.all(&tenants, `SELECT DISTINCT l.tenant_id FROM json_each(?) AS p
		CROSS JOIN subscriber AS s ON s.list_id = p.value->>0 AND s.id = p.value->>1
		CROSS JOIN list AS l ON l.id = s.list_id LIMIT 2`, pairs)
	if err == nil && len(tenants) == 1 {
		r.Event.TenantID = tenants[0]
	}
	return err
}

// seqOf finds a subscriber among the recipients of a job without an index on it: they stand in the order of
// subscribers' ids, so halving finds one in some twenty reads. 0: it is none of them.
func seqOf(r querier, jobNo, recipients int64, subscriberID string) (int64, error) {
	low, high := int64(1), recipients
	for low <= high {
		middle := (low + high) / 2
		var at string
		err := r.get(&at, "SELECT subscriber_id FROM recipient WHERE job_no = ? AND seq = ?", jobNo, middle)
		switch {
		case errors.Is(err, core.ErrNotFound): // housekeeping is at it, and begins at the front
			low = middle + 1
		case err != nil:
			return 0, err
		case at == subscriberID:
			return middle, nil
		case at < subscriberID:
			low = middle + 1
		default:
			high = middle - 1
		}
	}
	return 0, nil
}
