package people

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/identity"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// attemptsKept is how long attempts to deliver to endpoints stay in the log.
const attemptsKept = 14 * 24 * time.Hour

// queueIDKept is how long a provider can refer to an email by its queue ID.
const queueIDKept = 60 * 24 * time.Hour

// knownDeviceKept is how long a known device or address keeps its own counter of failed logins.
const knownDeviceKept = 90 * 24 * time.Hour

// oldServerKept is how long the settings of a replaced mail server are stored.
const oldServerKept = 12 * time.Hour

// OriginKept is how long the audit log keeps the origin of a request.
const OriginKept = 90 * 24 * time.Hour

// sweep deletes expired rows from one table, at most one batch at a time. It selects the keys of the rows and then
// deletes each by key. If one statement used IN instead, SQLite might scan the whole table.
type sweep struct {
	table, key string // key names the columns that find selects
	// find is the query for the keys. Its parameters are now and limit or, if keep is set, before and limit.
	find string
	keep func(Retention) time.Duration
	set  string // assignment that changes the rows instead of deleting them
	// counted is set if the rows are pending subscriptions, with the list first in the key. The counts then move them
	// to the state in to.
	counted bool
	to      core.CountedState
	// queued is set if the rows are queued events, with the endpoint first in the key. Their number and size in the
	// endpoint's row are then reduced.
	queued bool
	// engaged is set if the rows are opens and clicks, with the job first in the key. The job then records that some
	// are missing.
	engaged bool
}

// do returns the statement that deletes or changes the row with one key.
func (sw *sweep) do() string {
	what := "DELETE FROM " + sw.table
	if sw.set != "" {
		what = "UPDATE " + sw.table + " SET " + sw.set
	}
	return what + " WHERE " + strings.ReplaceAll(sw.key, ", ", " = ? AND ") + " = ?"
}

func keptFor(d time.Duration) func(Retention) time.Duration {
	return func(Retention) time.Duration { return d }
}

func keptMails(r Retention) time.Duration      { return r.Mail }
func keptPending(r Retention) time.Duration    { return r.Pending }
func keptDeleted(r Retention) time.Duration    { return r.Deleted }
func keptEvents(r Retention) time.Duration     { return r.Events }
func keptRecipients(r Retention) time.Duration { return r.Recipients }
func keptTracking(r Retention) time.Duration   { return cmp.Or(r.Tracking, r.Recipients) }

var sweeps = slices.Concat(expired, remainsOfJobs, remainsOfDeleted)

// expired holds the sweeps that find expired rows by a time in the row itself. If a table is sorted by time, a sweep
// stops at the first row that has not expired.
var expired = []sweep{
	{
		table: "audit", key: "id", find: "SELECT id FROM audit INDEXED BY audit_origin WHERE origin <> '' AND at " +
			"< ? LIMIT +?",
		keep: keptFor(OriginKept), set: "origin = ''",
	},
	expiredBy("refresh", "hash", "refresh_expires", "expires_at < ?"),
	expiredBy("family", "id", "family_expires", "expires_at < ?"),
	expiredBy("browser", "id", "browser_expires", "expires_at < ?"),
	// Used codes are kept, so that tokens can be revoked if someone uses their code again.
	expiredBy("code", "hash", "code_expires", "expires_at < ?").after(keptFor(identity.CodeKept)),
	expiredBy("user_token", "id", "user_token_expires", "expires_at < ?"),
	expiredBy("email_change", "user_id", "email_change_expires", "expires_at < ?"),
	expiredBy("answered_challenge", "hash", "answered_challenge_expires", "expires_at < ?"),
	expiredBy("invitation", "id", "invitation_expires", "expires_at < ?"),
	expiredBy("throttle", "key", "throttle_expires", "expires_at < ?"),
	expiredBy("sessions", "rowid", "sessions_expiry", "expiry < ? / 86400000.0 + 2440587.5"),
	expiredBy("idempotency", "tenant_id, key", "idempotency_expires", "expires_at < ?"),
	{
		table: "mail_server", key: "id", find: "SELECT id FROM mail_server WHERE id = 2 AND changed_at < ? LIMIT +?",
		keep: keptFor(oldServerKept),
	},
	oldest("seen_nonce", "expires_at"),
	oldest("seen_event", "expires_at"),
	oldest("seen_batch", "expires_at"),
	oldest("confirm_token", "created_at").after(keptFor(members.ConfirmTTL)),
	{
		table: "mail", key: "id", find: "SELECT id FROM (SELECT id, created_at, state FROM mail ORDER BY id " +
			"LIMIT +?2) " +
			"WHERE created_at < ?1 AND state <> " + tenants.SQLMailQueued,
		keep: keptMails,
	},
	{
		table: "subscription", key: "list_id, id", find: "SELECT list_id, id FROM subscription INDEXED BY " +
			"subscription_pending WHERE status = 'pending' AND generation = 1 AND means <> 'left' AND " +
			"changed_at < ? LIMIT +?",
		keep: keptPending, counted: true, to: core.NotCounted,
	},
	{
		// A person who had unsubscribed before stays unsubscribed, so that imports can't subscribe them again.
		table: "subscription", key: "list_id, id", find: "SELECT list_id, id FROM subscription INDEXED BY " +
			"subscription_pending WHERE status = 'pending' AND (generation > 1 OR means = 'left') AND " +
			"changed_at < ? LIMIT +?",
		keep: keptPending, set: "status = 'unsubscribed'", counted: true, to: core.CountUnsubscribed,
	},
	expiredBy("device", "id", "device_unpaired", "unpaired_at > 0 AND unpaired_at < ?").after(keptDeleted),
	expiredBy("outbox", "id", "outbox_dead", "dead_at > 0 AND dead_at < ?").after(keptEvents),
	expiredBy(
		"import_word",
		"email_key, tenant_id, list_id, import_id",
		"import_word_said",
		"said_at < ?",
	).after(keptFor(imports.WordsKept)),
	oldest("endpoint_attempt", "at").after(keptFor(attemptsKept)),
	{
		table: "bulk_person", key: "action_id, subscriber_id", keep: keptFor(core.BulkKept),
		find: `SELECT x.action_id, x.subscriber_id FROM bulk_action b INDEXED BY bulk_action_finished CROSS JOIN
			bulk_person x ON x.action_id = b.id WHERE b.finished_at > 0 AND b.finished_at < ? LIMIT +?`,
	},
	{
		// Events for deleted endpoints. The query first finds the ids of all endpoints with queued events.
		table: "outbox", key: "id", find: `WITH RECURSIVE e (id) AS (SELECT min(endpoint_id) FROM outbox INDEXED
			BY outbox_due
			WHERE dead_at = 0 AND endpoint_id > '' UNION ALL SELECT (SELECT min(endpoint_id) FROM outbox INDEXED
			BY outbox_due
			WHERE dead_at = 0 AND endpoint_id > e.id) FROM e WHERE e.id IS NOT NULL)
			SELECT o.id FROM e CROSS JOIN outbox AS o INDEXED BY outbox_due ON o.dead_at = 0 AND o.endpoint_id = e.id
			WHERE NOT EXISTS (SELECT 1 FROM webhook_endpoint INDEXED BY sqlite_autoindex_webhook_endpoint_1
			WHERE id = e.id)
			AND o.due_at < ? LIMIT +?`,
	},
	{
		// Events for endpoints about deleted lists. A disabled endpoint would never get them.
		table: "outbox", key: "endpoint_id, id", find: `SELECT o.endpoint_id, o.id FROM list p INDEXED BY list_deleted CROSS JOIN
			outbox AS o INDEXED BY outbox_subscription ON o.list_id = p.id AND o.dead_at = 0 AND o.endpoint_id > ''
			WHERE p.deleted_at > 0 AND p.deleted_at < ? LIMIT +?`,
		keep: keptFor(core.EventLife), queued: true,
	},
	// Batches are deleted first, so that no operation deletes too many rows. The last sync of a list stays, because
	// stamps of changes need it.
	{
		table: "sync_batch", key: "sync_id, batch_no", find: `SELECT b.sync_id, b.batch_no FROM sync AS y CROSS JOIN
			sync_batch AS b ON b.sync_id = y.id
			WHERE y.finished_at + y.failed_at > 0 AND +y.started_at < ? LIMIT +?`,
		keep: keptEvents,
	},
	{
		table: "sync", key: "id", find: `SELECT y.id FROM sync AS y WHERE y.finished_at + y.failed_at > 0 AND
			+y.started_at < ?
			AND EXISTS (SELECT 1 FROM sync INDEXED BY sync_list WHERE list_id = y.list_id AND started_at > y.started_at)
			AND NOT EXISTS (SELECT 1 FROM sync_batch WHERE sync_id = y.id) LIMIT +?`,
		keep: keptEvents,
	},
	oldest("provider_event", "received_at").after(keptRecipients),
	{
		// Rows that assign deleted tags to people. The query first finds the numbers of all tags in these rows.
		table: "tagged", key: "list_id, id, tag_no", find: `WITH RECURSIVE g (no) AS (SELECT min(tag_no) FROM tagged
			INDEXED BY tagged_tag UNION ALL
			SELECT (SELECT min(tag_no) FROM tagged INDEXED BY tagged_tag WHERE tag_no > g.no)
			FROM g WHERE g.no IS NOT NULL)
			SELECT t.list_id, t.id, t.tag_no FROM g CROSS JOIN tagged AS t INDEXED BY tagged_tag ON t.tag_no = g.no
			WHERE g.no IS NOT NULL AND NOT EXISTS (SELECT 1 FROM tag WHERE no = g.no) AND ?1 > 0 LIMIT +?2`,
	},
	expiredBy("queue_id", "id", "queue_id_sent", "sent_at < ?").after(keptFor(queueIDKept)),
	expiredBy("known_device", "user_id, key", "known_device_used", "used_at < ?").after(keptFor(knownDeviceKept)),
}

// remainsOfJobs holds the sweeps that delete recipient data of ended jobs.
var remainsOfJobs = []sweep{
	pages(ofEndedJobs("recipient_page", "job_no, first_seq", keptRecipients)),
	ofEndedJobs("recipient", "job_no, seq", keptRecipients),
	ofEndedJobs("engagement", "job_no, seq, link_no", keptTracking).ofEngagement(),
	ofEndedJobs("recipient_word", "job_no, word, seq", keptRecipients),
	ofEndedJobs("attempt", "job_no, seq, at", keptRecipients),
}

// remainsOfDeleted holds the sweeps that delete the data of deleted lists and tenants, also in batches. The list or
// tenant itself is deleted when nothing refers to it anymore.
var remainsOfDeleted = []sweep{
	ofDeleted("list", "subscription", "list_id, id", ""),
	ofDeleted("list", "subscriber", "list_id, id", ""),
	ofDeleted("list", "consent", "list_id, subscription_id, at, what", ""),
	ofDeleted("list", "consent_text", "list_id, version", ""),
	ofDeleted("list", "fed_list", "list_id", ""),
	ofImports("import_chunk", "import_id, kind, no"),
	ofImports("import_before", "import_id, subscription_id"),
	ofImports("import_post", "import_id, no"),
	ofImports("import_picture", "import_id, no"),
	ofDeleted("list", "import_job", "id", "import_job_list"),
	{
		table: "bulk_person", key: "action_id, subscriber_id", keep: keptDeleted,
		find: `SELECT x.action_id, x.subscriber_id FROM list p INDEXED BY list_deleted
			CROSS JOIN bulk_action b INDEXED BY bulk_action_list ON b.list_id = p.id
			CROSS JOIN bulk_person x ON x.action_id = b.id WHERE p.deleted_at > 0 AND p.deleted_at < ? LIMIT +?`,
	},
	ofDeleted("list", "bulk_action", "id", "bulk_action_list"),
	ofDeleted("list", "list_count", "list_id, day", ""),
	ofDeleted("list", "issue", "no", "issue_sent"),
	pages(ofFirstList("recipient_page", "job_no, first_seq")),
	ofFirstList("recipient", "job_no, seq"),
	ofFirstList("recipient_word", "job_no, word, seq"),
	ofFirstList("attempt", "job_no, seq, at"),
	ofFirstList("engagement", "job_no, seq, link_no").ofEngagement(),
	ofFirstList("provider_event", "id"),
	pages(ofFurtherList("recipient_page", "job_no, first_seq")),
	ofFurtherList("recipient", "job_no, seq"),
	ofFurtherList("recipient_word", "job_no, word, seq"),
	ofFurtherList("attempt", "job_no, seq, at"),
	ofFurtherList("engagement", "job_no, seq, link_no").ofEngagement(),
	ofFurtherList("provider_event", "id"),
	ofDeleted("tenant", "disabled", "email_key, tenant_id", "disabled_tenant"),
	ofDeleted("tenant", "suppression", "tenant_id, email_key", ""),
	ofDeleted("tenant", "erased", "hash, tenant_id, kind", "erased_tenant"),
	ofDeleted("tenant", "template", "tenant_id, name", ""),
	ofDeleted("tenant", "media", "id", "media_tenant"),
	ofDeleted("tenant", "theme", "id", "theme_tenant"),
	ofDeleted("tenant", "segment", "id", "segment_name"),
	ofDeleted("tenant", "tag", "no", "tag_name"),
	ofDeleted("tenant", "role", "user_id, role, tenant_id", "role_tenant"),
	ofDeleted("tenant", "invitation", "id", "invitation_tenant"),
	ofDeleted("tenant", "webhook_client", "id", "webhook_client_tenant"),
	ofDeleted("tenant", "webhook_endpoint", "id", "webhook_endpoint_tenant"),
	ofDeleted("tenant", "deleted_endpoint", "id", "deleted_endpoint_tenant"),
	ofDeleted("tenant", "deleted_domain", "id", "deleted_domain_tenant"),
	ofDeleted("tenant", "provider", "name", ""),
	ofDeleted("tenant", "dkim_key", "id", "dkim_key_tenant"),
	{
		table: "list", key: "id", find: `SELECT l.id FROM list l INDEXED BY list_deleted WHERE l.deleted_at > 0 AND
			l.deleted_at < ? AND NOT EXISTS (SELECT 1 FROM subscription WHERE list_id = l.id) AND NOT EXISTS
			(SELECT 1 FROM
			subscriber WHERE list_id = l.id)
			AND NOT EXISTS (SELECT 1 FROM consent WHERE list_id = l.id)
			AND NOT EXISTS (` + inJobsOf("recipient r ON r.job_no = j.no") + `)
			AND NOT EXISTS (` + inJobsOf("attempt a ON a.job_no = j.no") + `)
			AND NOT EXISTS (` + inJobsOf("recipient_word w ON w.job_no = j.no") + `)
			AND NOT EXISTS (` + inJobsOf("engagement e ON e.job_no = j.no") + `)
			AND NOT EXISTS (` + inJobsOf("provider_event v INDEXED BY provider_event_recipient ON v.job_no = "+
			"j.no AND v.job_no > 0") + `)
			AND NOT EXISTS (SELECT 1 FROM further_list f INDEXED BY further_list_list CROSS JOIN recipient r ON
			r.job_no =
			f.job_no WHERE f.list_id = l.id) LIMIT +?`,
		keep: keptDeleted,
	},
	{
		table: "client", key: "id", find: "SELECT id FROM client WHERE deleted_at > 0 AND deleted_at < ? LIMIT +?",
		keep: keptDeleted,
	},
	{
		table: "tenant", key: "id", find: `SELECT t.id FROM tenant t INDEXED BY tenant_deleted WHERE
			t.deleted_at > 0 AND
			t.deleted_at < ?
			AND NOT EXISTS (SELECT 1 FROM list INDEXED BY list_tenant WHERE tenant_id = t.id)
			AND NOT EXISTS (SELECT 1 FROM suppression WHERE tenant_id = t.id)
			AND NOT EXISTS (SELECT 1 FROM disabled INDEXED BY disabled_tenant WHERE tenant_id = t.id AND tenant_id > '')
			AND NOT EXISTS (SELECT 1 FROM erased INDEXED BY erased_tenant WHERE tenant_id = t.id AND tenant_id > '')
			AND NOT EXISTS (SELECT 1 FROM template WHERE tenant_id = t.id)
			AND NOT EXISTS (SELECT 1 FROM media INDEXED BY media_tenant WHERE tenant_id = t.id)
			AND NOT EXISTS (SELECT 1 FROM role INDEXED BY role_tenant WHERE tenant_id = t.id) LIMIT +?`,
		keep: keptDeleted,
	},
}

// inJobsOf returns a query for a table's rows about recipients of the jobs to the list l.
func inJobsOf(table string) string {
	return "SELECT 1 FROM send_job j INDEXED BY send_job_list CROSS JOIN " + table + " WHERE j.list_id = l.id"
}

// expiredBy returns a sweep of the rows that match where, which an index finds.
func expiredBy(table, key, index, where string) sweep {
	return sweep{
		table: table, key: key,
		find: "SELECT " + key + " FROM " + table + " INDEXED BY " + index + " WHERE " + where + " LIMIT +?",
	}
}

// oldest returns a sweep of a table that is sorted by a column.
func oldest(table, column string) sweep {
	return sweep{
		table: table, key: "id",
		find: "SELECT id FROM (SELECT id, " + column + " FROM " + table + " ORDER BY id LIMIT +?2) WHERE " +
			column + " < ?1",
	}
}

func (sw sweep) after(keep func(Retention) time.Duration) sweep {
	sw.keep = keep
	return sw
}

func (sw sweep) ofEngagement() sweep {
	sw.engaged = true
	return sw
}

// keyOf qualifies the columns of a key with the table alias x.
func keyOf(key string) string { return "x." + strings.ReplaceAll(key, ", ", ", x.") }

// ofEndedJobs returns a sweep of rows about recipients of ended jobs.
func ofEndedJobs(table, key string, keep func(Retention) time.Duration) sweep {
	return sweep{table: table, key: key, keep: keep, find: "SELECT " + keyOf(key) + " FROM send_job j CROSS JOIN " +
		"" + table +
		" x ON x.job_no = j.no WHERE j.finished_at > 0 AND j.finished_at < ? LIMIT +?"}
}

// ofDeleted returns a sweep of the rows of a deleted list or tenant. index is the name of the index that finds them.
// Empty means the index of the key.
func ofDeleted(of, table, key, index string) sweep {
	if index != "" {
		index = " INDEXED BY " + index
	}
	return sweep{table: table, key: key, keep: keptDeleted, find: "SELECT " + keyOf(key) + " FROM " + of + " p " +
		"INDEXED BY " +
		of + "_deleted CROSS JOIN " + table + " x" + index + " ON x." + of + "_id = p.id AND x." + of + "_id > " +
		"'' WHERE p.deleted_at > 0 AND " +
		"p.deleted_at < ? LIMIT +?"}
}

// ofImports returns a sweep of the data of imports into deleted lists.
func ofImports(table, key string) sweep {
	return sweep{table: table, key: key, keep: keptDeleted, find: "SELECT " + keyOf(key) + " FROM list p INDEXED BY " +
		"list_deleted CROSS JOIN import_job j INDEXED BY import_job_list ON j.list_id = p.id CROSS JOIN " + table +
		" x ON x.import_id = j.id WHERE p.deleted_at > 0 AND p.deleted_at < ? LIMIT +?"}
}

// pages reduces the batch size of a sweep of pages, each of which holds thousands of recipients. This sweep runs before
// the sweep of the recipients, so no page outlives its recipients for long.
func pages(sw sweep) sweep {
	sw.find = strings.ReplaceAll(strings.TrimSuffix(sw.find, "+?")+"(+?) / 25", "x.seq", "x.first_seq")
	return sw
}

// ofRecipients returns the name of a table of recipient data, with the index that finds the rows of a job.
func ofRecipients(table string) string {
	if table == "provider_event" {
		return "provider_event x INDEXED BY provider_event_recipient"
	}
	return table + " x"
}

// ofFirstList returns a sweep of rows about recipients whom a job reached through a deleted list, for jobs that have
// the list as their first. The jobs stay, because they contain no personal data.
func ofFirstList(table, key string) sweep {
	return sweep{table: table, key: key, keep: keptDeleted, find: "SELECT " + keyOf(key) + " FROM list p INDEXED BY " +
		"list_deleted CROSS JOIN send_job j INDEXED BY send_job_list ON j.list_id = p.id CROSS JOIN " +
		ofRecipients(table) +
		" ON x.job_no = j.no AND x.job_no > 0 AND (j.lists = 1 OR x.seq <= " + campaigns.FirstListEnds + ") WHERE " +
		"p.deleted_at > 0 " +
		"AND p.deleted_at < ? LIMIT +?"}
}

// ofFurtherList is like ofFirstList, for jobs that have the list as a further one.
func ofFurtherList(table, key string) sweep {
	seq := "x.seq"
	if table == "recipient_word" { // the key of this table has the word before seq
		seq = "+x.seq"
	}
	return sweep{table: table, key: key, keep: keptDeleted, find: "SELECT " + keyOf(key) + " FROM list p INDEXED BY " +
		"list_deleted CROSS JOIN further_list f INDEXED BY further_list_list ON f.list_id = p.id AND f.after_seq " +
		">= 0 " +
		"CROSS JOIN send_job j ON j.no = +f.job_no CROSS JOIN " + ofRecipients(table) + " ON x.job_no = j.no AND " +
		"x.job_no > 0 " +
		"AND " + seq + " > f.after_seq AND " + seq + " <= " + campaigns.FurtherListEnds + " WHERE p.deleted_at > 0 AND " +
		"p.deleted_at < ? LIMIT +?"}
}
