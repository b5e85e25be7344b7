package people

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

// Affected holds the numbers of records that the deletion of a record affects.
type Affected struct {
	Lists       int64 `db:"lists"`
	Subscribers int64 `db:"subscribers"` // subscriptions, whatever their status
	Jobs        int64 `db:"jobs"`        // send jobs that have not ended and are canceled
	Clients     int64 `db:"clients"`
	Endpoints   int64 `db:"endpoints"`
	Roles       int64 `db:"roles"`
	Devices     int64 `db:"devices"`
	Models      int64 `db:"models"`
	SignIns     int64 `db:"sign_ins"` // token families that are still valid
}

const countedSubscribers = `coalesce((SELECT sum(c.active + c.pending + c.unsubscribed) FROM list AS l INDEXED BY list_tenant
	CROSS JOIN list_count AS c ON c.list_id = l.id AND c.day = (SELECT max(day) FROM list_count WHERE list_id = l.id)
	WHERE l.tenant_id = ?1 AND l.deleted_at = 0), 0) AS subscribers`

// affected maps each noun to the query that counts the affected records. ?1 is the record's id, ?2 the current time.
var affected = map[Noun]string{
	NounTenant: `SELECT (SELECT count(*) FROM list WHERE tenant_id = ?1 AND deleted_at = 0) AS lists, ` + countedSubscribers + `,
		(SELECT count(*) FROM send_job INDEXED BY send_job_tenant WHERE tenant_id = ?1 AND status IN ('pending', 'running'))
		AS jobs, (SELECT count(*) FROM client WHERE tenant_id = ?1 AND deleted_at = 0) AS clients,
		(SELECT count(*) FROM webhook_endpoint WHERE tenant_id = ?1) AS endpoints WHERE ?2 > 0`,
	NounList: `SELECT coalesce((SELECT active + pending + unsubscribed FROM list_count WHERE list_id = ?1 ORDER BY day DESC
		LIMIT 1), 0) AS subscribers, (SELECT count(*) FROM send_job INDEXED BY send_job_list WHERE list_id = ?1 AND
		status IN ('pending', 'running')) + (SELECT count(*) FROM further_list AS f INDEXED BY further_list_list CROSS JOIN
		send_job AS j ON j.no = f.job_no AND j.status IN ('pending', 'running') WHERE f.list_id = ?1) AS jobs WHERE ?2 > 0`,
	NounUser: `SELECT (SELECT count(*) FROM role WHERE user_id = ?1) AS roles, (SELECT count(*) FROM device
		WHERE owner_id = ?1 AND unpaired_at = 0) AS devices, (SELECT count(*) FROM model WHERE owner_id = ?1) AS models,
		(SELECT count(*) FROM family WHERE user_id = ?1 AND user_id <> '' AND revoked_at = 0 AND expires_at > ?2) AS sign_ins`,
	NounClient: `SELECT count(*) AS sign_ins FROM family INDEXED BY family_client WHERE client_id = ?1 AND revoked_at = 0
		AND expires_at > ?2`,
}

// Affected counts the records that would be deleted or canceled with a tenant, list, user or client. Its only error is
// core.ErrStorage.
func (s *Store) Affected(ctx context.Context, noun Noun, id string, now core.Instant) (a Affected, err error) {
	err = s.SnapshotRead(ctx, func(r *db.Reader) error { return r.Get(&a, affected[noun], id, int64(now)) })
	return a, err
}
