package people

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// ImportedSuppressions returns a page of the addresses that an import added to a tenant's suppression list. The page
// starts after the row in after. An empty tenantID means all tenants, and an empty kind all kinds. Its only error is
// core.ErrStorage.
func (s *Store) ImportedSuppressions(ctx context.Context, importID, kind, tenantID string, after core.Suppressed,
	limit int) ([]core.Suppressed,
	error,
) {
	var d []core.Suppressed
	err := s.All(ctx, &d, `SELECT email_key AS email, kind, tenant_id, '' AS list_id, reason, '' AS disabled_by,
		created_at AS occurred_at FROM suppression INDEXED BY suppression_import
		WHERE import_id = ?4 AND import_id <> ''
		AND (tenant_id, email_key) > (?1, ?2) AND (?3 = '' OR tenant_id = ?3) AND ?5 IN ('', kind)
		ORDER BY tenant_id, email_key LIMIT +?6`,
		after.TenantID, after.Email, tenantID, importID, kind, limit)
	return d, err
}

// SuppressedOnce returns a page of the addresses on a tenant's suppression list, sorted by address, without duplicates.
// If an address has two entries, it returns the bounce or complaint instead of the member service's entry. An empty
// kind means all kinds; otherwise it returns the entry of this kind. The page starts after the address in after. Its
// only error is core.ErrStorage.
func (s *Store) SuppressedOnce(ctx context.Context, tenantID, kind, after string, limit int) ([]core.Suppressed,
	error,
) {
	var d []core.Suppressed
	err := s.All(ctx, &d, `WITH k (email) AS (SELECT email_key FROM disabled INDEXED BY disabled_tenant
			WHERE tenant_id = ?1 AND tenant_id > '' AND email_key > ?3 AND ?2 IN ('', 'disabled')
			UNION SELECT email_key FROM suppression
			WHERE tenant_id = ?1 AND email_key > ?3 AND ?2 <> 'disabled' AND ?2 IN ('', kind)
			ORDER BY 1 LIMIT +?4)
		SELECT k.email, iif(p.kind IS NULL, 'disabled', p.kind) AS kind, ?1 AS tenant_id, '' AS list_id,
			iif(p.kind IS NULL, d.reason, p.reason) AS reason, iif(p.kind IS NULL, d.disabled_by, '') AS disabled_by,
			iif(p.kind IS NULL, d.occurred_at, p.created_at) AS occurred_at
		FROM k LEFT JOIN disabled AS d ON d.email_key = k.email AND d.tenant_id = ?1
			LEFT JOIN suppression AS p ON p.tenant_id = ?1 AND p.email_key = k.email AND ?2 <> 'disabled'
				AND (?2 <> '' OR p.kind <> 'suppressed' OR d.email_key IS NULL)
		ORDER BY k.email`, tenantID, kind, after, limit)
	return d, err
}

// CountSuppressed counts the addresses on a tenant's suppression list. If kind or importID is not empty, it counts only
// addresses of this kind, or that this import added. The parameter most is the maximum number of addresses, of any
// kind, that it reads. If there are others, more is true and n is a lower limit. Its only error is core.ErrStorage.
func (s *Store) CountSuppressed(ctx context.Context, tenantID, kind, importID string, most int) (n int64, more bool,
	err error,
) {
	var found struct {
		Read    int64 `db:"read"`
		Counted int64 `db:"counted"`
	}
	if importID != "" {
		err = s.Get(ctx, &found, `SELECT count(*) AS read, count(*) FILTER (WHERE ?3 IN ('', kind)) AS counted FROM (
			SELECT kind FROM suppression INDEXED BY suppression_import
			WHERE import_id = ?1 AND import_id <> '' AND tenant_id = ?2 LIMIT +?4)`, importID, tenantID, kind, most+1)
	} else {
		err = s.Get(ctx, &found, `SELECT count(*) AS read, count(*) FILTER (WHERE ?2 IN ('', kind)) AS counted FROM (
			SELECT 'disabled' AS kind FROM disabled INDEXED BY disabled_tenant WHERE tenant_id = ?1 AND tenant_id > ''
				AND ?2 IN ('', 'disabled')
			UNION ALL SELECT s.kind FROM suppression AS s WHERE s.tenant_id = ?1 AND ?2 <> 'disabled' AND (?2 <> '' OR
				NOT EXISTS (SELECT 1 FROM disabled AS d WHERE d.email_key = s.email_key AND d.tenant_id = s.tenant_id))
			LIMIT +?3)`, tenantID, kind, most+1)
	}
	return min(found.Counted, int64(most)), found.Read > int64(most), err
}

// Suppress manually blocks an address, for one tenant or, if TenantID is empty, for all. One transaction disables the
// address on the member side, with events, and blocks it on the send side. Suppress returns the number of subscriptions
// that ended. If the tenant doesn't exist, it returns core.ErrNotFound.
func (s *Store) Suppress(
	ctx context.Context,
	d members.DisableRequest,
	actor string,
	now core.Instant,
) (n int, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if d.TenantID != "" {
			if _, err := tenants.ReadTenant(tx, d.TenantID); err != nil {
				return err
			}
		}
		before, err := campaigns.Blocks(tx, d.Email.Key(), d.TenantID)
		if err != nil {
			return err
		}
		ended, err := members.Disable(tx, d, now)
		if err != nil {
			return err
		}
		n = d.Total(ended)
		_, err = campaigns.ApplyEffect(tx, d.TenantID, d.Email.Key(), core.Suppression, d.OccurredAt, now)
		if err != nil {
			return err
		}
		if d.TenantID != "" { // a block for all tenants is in the table disabled, which every claim checks
			if err := suppress(tx, d.TenantID, d.Email.Key(), core.StatusSuppressed, d.Reason, now); err != nil {
				return err
			}
		}
		if err := campaigns.AuditBlocks(tx, now, actor, "suppression.create", d.TenantID, d.Email, before); err != nil {
			return err
		}
		return members.AuditEnded(tx, now, actor, "suppression.create", d, ended)
	})
	return n, err
}

// Disable blocks an address and ends all its subscriptions, each with an event. It returns the number of subscriptions
// that it ended for the tenants in d.Counted. A repeated call returns 0. Its only error is core.ErrStorage.
func (s *Store) Disable(ctx context.Context, d members.DisableRequest, now core.Instant) (n int, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if d.Actor == "" {
			ended, err := members.Disable(tx, d, now)
			n = d.Total(ended)
			return err
		}
		before, err := campaigns.Blocks(tx, d.Email.Key(), d.TenantID)
		if err != nil {
			return err
		}
		ended, err := members.Disable(tx, d, now)
		if err != nil {
			return err
		}
		n = d.Total(ended)
		if err := campaigns.AuditBlocks(tx, now, d.Actor, "address.disable", d.TenantID, d.Email, before); err != nil {
			return err
		}
		return members.AuditEnded(tx, now, d.Actor, "address.disable", d, ended)
	})
	return n, err
}
