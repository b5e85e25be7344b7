package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"newsletterd/core"
)

// Retention says how long rows are kept that nothing needs any more.
type Retention struct {
	Pending    time.Duration // subscriptions that were never confirmed
	Recipients time.Duration // rows of jobs that have ended
	Tracking   time.Duration // when which mail of such a job was opened, which link followed; 0: as long as Recipients
	Deleted    time.Duration // tenants, lists, clients and devices after their deletion
	Mail       time.Duration // sent transactional mail
	Events     time.Duration // dead letters, finished syncs
}

// sweep deletes what has expired from one table, at most a batch at a time. Its statement takes (now, limit), or
// (before, limit) where keep tells how long the rows stay.
type sweep struct {
	query string
	keep  func(Retention) time.Duration
	// to is what the pending subscriptions that the statement returns by their lists count as from now on; only where
	// counted is set.
	counted bool
	to      core.CountedState
}

// attemptsKept is how long the log of deliveries to endpoints goes back.
const attemptsKept = 14 * 24 * time.Hour

const sweepBatch = 500

// queueIDKept is how long a provider may tell of a mail by its own name for it.
const queueIDKept = 60 * 24 * time.Hour

// knownDeviceKept is how long a device or address that signed in keeps a counter of guesses of its own.
const knownDeviceKept = 90 * 24 * time.Hour

// originKept is how long the audit trail knows where a request came from.
const originKept = 90 * 24 * time.Hour

var sweeps = []sweep{
	{
		query: "UPDATE audit SET origin = '' WHERE id IN (SELECT id FROM audit WHERE origin <> '' AND at < ? LIMIT +?)",
		keep:  func(Retention) time.Duration { return originKept },
	},
	{query: "DELETE FROM refresh WHERE hash IN (SELECT hash FROM refresh WHERE expires_at < ? LIMIT +?)"},
	{query: "DELETE FROM family WHERE id IN (SELECT id FROM family WHERE expires_at < ? LIMIT +?)"},
	{query: "DELETE FROM browser WHERE id IN (SELECT id FROM browser WHERE expires_at < ? LIMIT +?)"},
	{
		// A code that comes again must be known, or what was issued for it would not end.
		query: "DELETE FROM code WHERE hash IN (SELECT hash FROM code WHERE expires_at < ? LIMIT +?)",
		keep:  func(Retention) time.Duration { return codeKept },
	},
	{query: "DELETE FROM user_token WHERE id IN (SELECT id FROM user_token WHERE expires_at < ? LIMIT +?)"},
	{query: "DELETE FROM email_change WHERE user_id IN (SELECT user_id FROM email_change WHERE expires_at < ? LIMIT " +
		"+?)"},
	{query: "DELETE FROM answered_challenge WHERE hash IN (SELECT hash FROM answered_challenge WHERE expires_at < ? " +
		"LIMIT +?)"},
	{query: "DELETE FROM invitation WHERE id IN (SELECT id FROM invitation WHERE expires_at < ? LIMIT +?)"},
	{query: "DELETE FROM throttle WHERE key IN (SELECT key FROM throttle WHERE expires_at < ? LIMIT +?)"},
	{query: "DELETE FROM sessions WHERE rowid IN (SELECT rowid FROM sessions WHERE expiry < ? / 86400000.0 + " +
		"2440587.5 LIMIT +?)"},
	{query: "DELETE FROM idempotency WHERE (tenant_id, key) IN (SELECT tenant_id, key FROM idempotency WHERE " +
		"expires_at < ? LIMIT +?)"},
	// Rows stand in order of time: the oldest are the first, and the first that is still good ends the sweep.
	{query: "DELETE FROM seen_nonce WHERE id IN (SELECT id FROM (SELECT id, expires_at FROM seen_nonce ORDER BY id " +
		"LIMIT +?2) WHERE expires_at < ?1)"},
	{query: "DELETE FROM seen_event WHERE id IN (SELECT id FROM (SELECT id, expires_at FROM seen_event ORDER BY id " +
		"LIMIT +?2) WHERE expires_at < ?1)"},
	{query: "DELETE FROM seen_batch WHERE id IN (SELECT id FROM (SELECT id, expires_at FROM seen_batch ORDER BY id " +
		"LIMIT +?2) WHERE expires_at < ?1)"},
	{
		query: "DELETE FROM confirm_token WHERE id IN (SELECT id FROM (SELECT id, created_at FROM confirm_token " +
			"ORDER BY id LIMIT +?2) WHERE created_at < ?1)",
		keep: func(Retention) time.Duration { return ConfirmTTL },
	},
	{
		query: "DELETE FROM mail WHERE id IN (SELECT id FROM (SELECT id, created_at, state FROM mail ORDER BY id " +
			"LIMIT +?2) WHERE created_at < ?1 AND state <> " + sqlMailQueued + ")",
		keep: func(r Retention) time.Duration { return r.Mail },
	},
	{
		query: "DELETE FROM subscription WHERE (list_id, id) IN (SELECT list_id, id FROM subscription WHERE status " +
			"= 'pending' AND generation = 1 AND changed_at < ? LIMIT +?) RETURNING list_id",
		keep: func(r Retention) time.Duration { return r.Pending }, counted: true, to: core.NotCounted,
	},
	{
		// Who had left before stays on record as having left: no import may bring them back.
		query: `UPDATE subscription SET status = 'unsubscribed' WHERE (list_id, id) IN
			(SELECT list_id, id FROM subscription WHERE status = 'pending' AND generation > 1 AND changed_at < ? LIMIT
			+?) RETURNING list_id`,
		keep: func(r Retention) time.Duration { return r.Pending }, counted: true, to: core.CountUnsubscribed,
	},
	{
		query: "DELETE FROM device WHERE id IN (SELECT id FROM device WHERE unpaired_at > 0 AND unpaired_at < ? " +
			"LIMIT +?)",
		keep: func(r Retention) time.Duration { return r.Deleted },
	},
	{
		query: "DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE dead_at > 0 AND dead_at < ? LIMIT +?)",
		keep:  func(r Retention) time.Duration { return r.Events },
	},
	{
		query: "DELETE FROM endpoint_attempt WHERE id IN (SELECT id FROM (SELECT id, at FROM endpoint_attempt ORDER " +
			"BY id LIMIT +?2) WHERE at < ?1)",
		keep: func(Retention) time.Duration { return attemptsKept },
	},
	{query: `DELETE FROM outbox WHERE id IN (SELECT id FROM outbox WHERE dead_at = 0 AND endpoint_id > '' AND due_at < ?
		AND NOT EXISTS (SELECT 1 FROM webhook_endpoint WHERE id = endpoint_id) LIMIT +?)`},
	// batches first, so that no operation takes more rows than others; the last sync of a list stays, for the stamps of
	// changes
	{
		query: `DELETE FROM sync_batch WHERE (sync_id, batch_no) IN (SELECT b.sync_id, b.batch_no FROM sync AS y JOIN
			sync_batch AS b ON b.sync_id = y.id
			WHERE y.finished_at + y.failed_at > 0 AND y.started_at < ? LIMIT +?)`,
		keep: func(r Retention) time.Duration { return r.Events },
	},
	{
		query: `DELETE FROM sync WHERE id IN (SELECT y.id FROM sync AS y WHERE y.finished_at + y.failed_at > 0 AND
			y.started_at < ?
			AND EXISTS (SELECT 1 FROM sync WHERE list_id = y.list_id AND started_at > y.started_at)
			AND NOT EXISTS (SELECT 1 FROM sync_batch WHERE sync_id = y.id) LIMIT +?)`,
		keep: func(r Retention) time.Duration { return r.Events },
	},
	{
		query: `DELETE FROM recipient WHERE (job_no, seq) IN (SELECT r.job_no, r.seq FROM send_job j JOIN recipient r
			ON r.job_no = j.no
			WHERE j.finished_at > 0 AND j.finished_at < ? LIMIT +?)`,
		keep: func(r Retention) time.Duration { return r.Recipients },
	},
	{
		query: `DELETE FROM engagement WHERE (job_no, seq, link_no) IN (SELECT e.job_no, e.seq, e.link_no FROM send_job
			j JOIN engagement e ON e.job_no = j.no
			WHERE j.finished_at > 0 AND j.finished_at < ? LIMIT +?)`,
		keep: func(r Retention) time.Duration { return cmp.Or(r.Tracking, r.Recipients) },
	},
	{
		query: `DELETE FROM recipient_word WHERE (job_no, word, seq) IN (SELECT w.job_no, w.word, w.seq FROM send_job j
			JOIN recipient_word w ON w.job_no = j.no WHERE j.finished_at > 0 AND j.finished_at < ? LIMIT +?)`,
		keep: func(r Retention) time.Duration { return r.Recipients },
	},
	{
		query: `DELETE FROM attempt WHERE (job_no, seq, at) IN (SELECT a.job_no, a.seq, a.at FROM send_job j JOIN
			attempt a ON a.job_no = j.no
			WHERE j.finished_at > 0 AND j.finished_at < ? LIMIT +?)`,
		keep: func(r Retention) time.Duration { return r.Recipients },
	},
	{
		query: "DELETE FROM provider_event WHERE id IN (SELECT id FROM (SELECT id, received_at FROM provider_event " +
			"ORDER BY id LIMIT +?2) WHERE received_at < ?1)",
		keep: func(r Retention) time.Duration { return r.Recipients },
	},
	{
		query: "DELETE FROM queue_id WHERE id IN (SELECT id FROM queue_id WHERE sent_at < ? LIMIT +?)",
		keep:  func(Retention) time.Duration { return queueIDKept },
	},
	{
		query: "DELETE FROM known_device WHERE (user_id, key) IN (SELECT user_id, key FROM known_device WHERE " +
			"used_at < ? LIMIT +?)",
		keep: func(Retention) time.Duration { return knownDeviceKept },
	},
}

// remains of a deleted list or tenant go in batches too; the record itself goes when nothing refers to it any more.
func init() {
	deleted := func(r Retention) time.Duration { return r.Deleted }
	for _, query := range []string{
		remains("subscription", "list_id, id", "list", "list_id"),
		remains("subscriber", "list_id, id", "list", "list_id"),
		remains("consent", "list_id, subscription_id, at, what", "list", "list_id"),
		remains("consent_text", "list_id, version", "list", "list_id"),
		remains("fed_list", "list_id", "list", "list_id"),
		remains("import_chunk", "import_id, kind, no", "(SELECT j.id, l.deleted_at FROM import_job AS j JOIN list AS l "+
			"ON l.id = j.list_id)", "import_id"),
		remains("import_before", "import_id, subscription_id", "(SELECT j.id, l.deleted_at FROM import_job AS j JOIN list "+
			"AS l ON l.id = j.list_id)", "import_id"),
		remains("import_job", "id", "list", "list_id"),
		remains("list_count", "list_id, day", "list", "list_id"),
		remains("issue", "no", "list", "list_id"),
		jobRemains("recipient", "job_no, seq"),
		jobRemains("recipient_word", "job_no, word, seq"),
		jobRemains("attempt", "job_no, seq, at"),
		jobRemains("engagement", "job_no, seq, link_no"),
		jobRemains("provider_event", "id"),
		furtherRemains("recipient", "job_no, seq"),
		furtherRemains("recipient_word", "job_no, word, seq"),
		furtherRemains("attempt", "job_no, seq, at"),
		furtherRemains("engagement", "job_no, seq, link_no"),
		furtherRemains("provider_event", "id"),
		remains("disabled", "email_key, tenant_id", "tenant", "tenant_id"),
		remains("suppression", "tenant_id, email_key", "tenant", "tenant_id"),
		remains("erased", "hash, tenant_id, kind", "tenant", "tenant_id"),
		remains("template", "tenant_id, name", "tenant", "tenant_id"),
		remains("media", "id", "tenant", "tenant_id"),
		remains("theme", "id", "tenant", "tenant_id"),
		remains("role", "user_id, role, tenant_id", "tenant", "tenant_id"),
		remains("invitation", "id", "tenant", "tenant_id"),
		remains("webhook_client", "id", "tenant", "tenant_id"),
		remains("webhook_endpoint", "id", "tenant", "tenant_id"),
		remains("provider", "name", "tenant", "tenant_id"),
		remains("dkim_key", "id", "tenant", "tenant_id"),
		`DELETE FROM list WHERE id IN (SELECT l.id FROM list l WHERE l.deleted_at > 0 AND l.deleted_at < ?
			AND NOT EXISTS (SELECT 1 FROM subscription WHERE list_id = l.id) AND NOT EXISTS (SELECT 1 FROM subscriber
			WHERE list_id = l.id)
			AND NOT EXISTS (SELECT 1 FROM consent WHERE list_id = l.id)
			AND NOT EXISTS (SELECT 1 FROM send_job j CROSS JOIN recipient r ON r.job_no = j.no WHERE j.list_id = l.id)
			AND NOT EXISTS (SELECT 1 FROM send_job j CROSS JOIN attempt a ON a.job_no = j.no WHERE j.list_id = l.id)
			AND NOT EXISTS (SELECT 1 FROM send_job j CROSS JOIN recipient_word w ON w.job_no = j.no WHERE j.list_id =
			l.id)
			AND NOT EXISTS (SELECT 1 FROM send_job j CROSS JOIN engagement e ON e.job_no = j.no WHERE j.list_id = l.id)
			AND NOT EXISTS (SELECT 1 FROM send_job j CROSS JOIN provider_event v ON v.job_no = j.no AND v.job_no > 0
			WHERE j.list_id = l.id)
			AND NOT EXISTS (SELECT 1 FROM further_list f CROSS JOIN recipient r ON r.job_no = f.job_no WHERE f.list_id =
			l.id) LIMIT +?)`,
		"DELETE FROM client WHERE id IN (SELECT id FROM client WHERE deleted_at > 0 AND deleted_at < ? LIMIT +?)",
		`DELETE FROM tenant WHERE id IN (SELECT t.id FROM tenant t WHERE t.deleted_at > 0 AND t.deleted_at < ?
			AND NOT EXISTS (SELECT 1 FROM list WHERE tenant_id = t.id) AND NOT EXISTS (SELECT 1 FROM suppression WHERE
			tenant_id = t.id)
			AND NOT EXISTS (SELECT 1 FROM disabled WHERE tenant_id = t.id) AND NOT EXISTS (SELECT 1 FROM erased WHERE
			tenant_id = t.id)
			AND NOT EXISTS (SELECT 1 FROM template WHERE tenant_id = t.id) AND NOT EXISTS (SELECT 1 FROM media WHERE
			tenant_id = t.id) AND NOT EXISTS (SELECT 1 FROM role WHERE
			tenant_id = t.id) LIMIT +?)`,
	} {
		sweeps = append(sweeps, sweep{query: query, keep: deleted})
	}
}

// remains deletes rows of a table that belong to a deleted list or tenant.
func remains(table, key, of, column string) string {
	qualified := "x." + strings.ReplaceAll(key, ", ", ", x.")
	return "DELETE FROM " + table + " WHERE (" + key + ") IN (SELECT " + qualified + " FROM " + of + " p JOIN " + table +
		" x ON x." + column + " = p.id WHERE p.deleted_at > 0 AND p.deleted_at < ? LIMIT +?)"
}

// jobRemains deletes rows about recipients whom a deleted list has reached, of jobs of which it is the first. The jobs
// themselves stay: they name no one.
func jobRemains(table, key string) string {
	qualified := "x." + strings.ReplaceAll(key, ", ", ", x.")
	return "DELETE FROM " + table + " WHERE (" + key + ") IN (SELECT " + qualified + " FROM list p CROSS JOIN " +
		"send_job j ON j.list_id = p.id CROSS JOIN " + table +
		" x ON x.job_no = j.no AND x.job_no > 0 AND (j.lists = 1 OR x.seq <= " + firstListEnds + ") WHERE p.deleted_at > 0 " +
		"AND p.deleted_at < ? LIMIT +?)"
}

// furtherRemains is jobRemains for jobs of which the list is a further one.
func furtherRemains(table, key string) string {
	qualified := "x." + strings.ReplaceAll(key, ", ", ", x.")
	return "DELETE FROM " + table + " WHERE (" + key + ") IN (SELECT " + qualified + " FROM list p CROSS JOIN " +
		"further_list f ON f.list_id = p.id AND f.after_seq >= 0 CROSS JOIN send_job j ON j.no = f.job_no CROSS JOIN " +
		table + " x ON x.job_no = j.no AND x.job_no > 0 AND x.seq > f.after_seq AND x.seq <= " + furtherListEnds +
		" WHERE p.deleted_at > 0 AND p.deleted_at < ? LIMIT +?)"
}

// Housekeeping deletes a batch of what has expired from each table, in operations of their own, and reports whether
// there is more to delete. Its only error is core.ErrStorage.
func (s *Store) Housekeeping(ctx context.Context, keep Retention, now core.Instant) (more bool, err error) {
	for _, sw := range sweeps {
		before := now
		if sw.keep != nil {
			d := sw.keep(keep)
			if d <= 0 {
				continue
			}
			before = now.Add(-d)
		}
		var n int64
		err := s.bulk(ctx, func(tx *Tx) (err error) {
			if sw.counted {
				n, err = tx.sweepPending(sw, before)
				return err
			}
			n, err = tx.exec(sw.query, before, sweepBatch)
			return err
		})
		if err != nil {
			return more, err
		}
		more = more || n == sweepBatch
	}
	files, err := s.removeFiles(ctx, now)
	if err != nil {
		return more, err
	}
	pictures, err := s.removeMedia(ctx, now)
	if more || files || pictures || err != nil {
		return more || files || pictures, err
	}
	return s.shrink(ctx)
}

// sweepPending runs a sweep of pending subscriptions and counts what it returns.
func (tx *Tx) sweepPending(sw sweep, before core.Instant) (int64, error) {
	var lists []string
	err := tx.all(&lists, sw.query, before, sweepBatch)
	for _, id := range lists {
		tx.moved(id, core.CountPending, sw.to)
	}
	return int64(len(lists)), err
}

// Pages that nothing needs any more are used again. They are given back to the file system, in steps, where they are
// more than sparePages and a quarter of the file: less would soon be needed again.
const (
	keptPages  = 4096 // of 4 KiB
	shrinkStep = 256  // pages, a few milliseconds
)

// shrink gives a step of unused pages back, and reports whether there is more to give.
func (s *Store) shrink(ctx context.Context) (more bool, err error) {
	var all, unused int64
	if err := s.get(ctx, &all, "PRAGMA page_count"); err != nil {
		return false, err
	}
	if err := s.get(ctx, &unused, "PRAGMA freelist_count"); err != nil {
		return false, err
	}
	if unused <= max(keptPages, all/4) {
		return false, nil
	}
	err = s.bulk(ctx, func(tx *Tx) error {
		// What was begun is never cut: an interrupted statement would take the whole transaction along.
		rows, err := tx.conn.QueryContext(context.WithoutCancel(ctx),
			fmt.Sprintf("PRAGMA incremental_vacuum(%d)", shrinkStep))
		if err != nil {
			return tx.translate(err)
		}
		for rows.Next() { // a page each
		}
		return tx.translate(errors.Join(rows.Err(), rows.Close()))
	})
	return err == nil, err
}
