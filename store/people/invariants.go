package people

import (
	"context"

	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/files"
)

// Check looks for damage, broken references and contradictory rows, and returns one line per finding, or none if the
// database is intact. It changes nothing. Its only error is core.ErrStorage.
func (s *Store) Check(ctx context.Context) ([]string, error) {
	found, err := s.CheckFile(ctx, invariants)
	if err != nil {
		return found, err
	}
	wrong, err := s.WrongCounts(ctx)
	return append(found, wrong...), err
}

// invariants are counts that must be 0. Operations maintain them, because SQLite constraints can't express them.
var invariants = []db.Contradiction{
	// A canceled or failed job is settled in steps, and each step counts the outcomes that it records. The counters
	// therefore show how many recipients have none.
	{What: "ended jobs with recipients that have no outcome", Count: `
		SELECT count(*) FROM send_job j WHERE j.status IN ('completed', 'cancelled', 'failed')
		AND (SELECT count(*) FROM recipient r WHERE r.job_no = j.no AND r.state < ` + campaigns.SqlRecipientSent + `) <>
		j.recipients - j.sent - j.failed - j.skipped`},
	{What: "jobs whose counters don't add up to their recipients", Count: `
		SELECT count(*) FROM send_job WHERE status = 'completed' AND sent + failed + skipped <> recipients`},
	{What: "subscriptions to a list that doesn't exist", Count: `
		SELECT count(*) FROM subscription s WHERE NOT EXISTS (SELECT 1 FROM list l WHERE l.id = s.list_id)`},
	{What: "active subscriptions of a disabled address", Count: `
		SELECT count(*) FROM subscription s JOIN disabled d ON d.email_key = s.email_key AND d.tenant_id = ''
		WHERE s.status = 'active'`},
	{What: "model owners whose stored size differs from the size of their files", Count: `
		SELECT count(*) FROM model_usage u LEFT JOIN (SELECT owner_id, sum(size) AS bytes FROM model_file WHERE state <>
		` + files.SQLFileDropped + ` GROUP BY owner_id) f
		ON f.owner_id = u.owner_id WHERE u.bytes <> coalesce(f.bytes, 0)`},
	{What: "totals of model files that don't add up", Count: `
		SELECT count(*) FROM model_total WHERE bytes <> (SELECT coalesce(sum(size), 0) FROM model_file)`},
	{What: "models with an incomplete file", Count: `
		SELECT count(*) FROM model m JOIN model_file f ON f.no = m.file_no WHERE f.state <> ` + files.SQLFileWhole + ` OR
		f.size <> m.size`},
	{What: "model files whose parts differ from their stored count or size", Count: `
		SELECT count(*) FROM model_file AS f WHERE state <> ` + files.SQLFileDropped + ` AND (chunks, size) <> (SELECT count(*),
		coalesce(sum(octet_length(data)), 0) FROM model_chunk INDEXED BY sqlite_autoindex_model_chunk_1
		WHERE file_no = f.no)`},
	{What: "imports whose stored size differs from the size of their file", Count: `
		SELECT count(*) FROM import_job AS j WHERE status IN ('uploading', 'uploaded', 'waiting', 'running', 'checked') AND
		bytes <> (SELECT coalesce(sum(octet_length(data)), 0) FROM import_chunk
		INDEXED BY sqlite_autoindex_import_chunk_1 WHERE import_id = j.id AND kind = 0)`},
	{What: "imports whose stored size differs from that of their posts and images", Count: `
		SELECT count(*) FROM import_job AS j WHERE post_bytes <> (SELECT coalesce(sum(octet_length(body)), 0)
		FROM import_post INDEXED BY sqlite_autoindex_import_post_1 WHERE import_id = j.id) +
		(SELECT coalesce(sum(octet_length(data)), 0) FROM import_chunk INDEXED BY sqlite_autoindex_import_chunk_1
		WHERE import_id = j.id AND kind = 8)`},
	{What: "sender domains whose verification differs from the tenant's domains", Count: `
		SELECT (SELECT count(*) FROM sender_domain d JOIN tenant t ON t.id = d.tenant_id WHERE t.deleted_at = 0 AND
		(d.verified_at > 0) <> EXISTS (SELECT 1 FROM json_each(t.domains) WHERE value = d.domain)) +
		(SELECT count(*) FROM tenant t, json_each(t.domains) AS e WHERE t.deleted_at = 0 AND NOT EXISTS
		(SELECT 1 FROM sender_domain WHERE tenant_id = t.id AND domain = e.value))`},
	{What: "webhook endpoints whose stored count differs from their waiting events", Count: `
		SELECT count(*) FROM webhook_endpoint AS e WHERE waiting <> (SELECT count(*) FROM outbox WHERE dead_at = 0 AND
		endpoint_id = e.id)`},
	{What: "webhook endpoints whose stored size differs from their waiting events", Count: `
		SELECT count(*) FROM webhook_endpoint AS e WHERE waiting_bytes <> (SELECT coalesce(sum(octet_length(body)), 0) FROM outbox
		INDEXED BY outbox_due WHERE dead_at = 0 AND endpoint_id = e.id)`},
	{What: "options of polls whose stored count differs from their answers", Count: `
		SELECT count(*) FROM poll_option AS o LEFT JOIN (SELECT poll_no, option, count(*) AS answers FROM poll_answer
		GROUP BY poll_no, option) AS a ON a.poll_no = o.poll_no AND a.option = o.number
		WHERE o.answers <> coalesce(a.answers, 0)`},
	{What: "lists of a tenant that doesn't exist", Count: `
		SELECT count(*) FROM list l WHERE NOT EXISTS (SELECT 1 FROM tenant t WHERE t.id = l.tenant_id)`},
}
