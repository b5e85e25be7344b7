package tenants

import (
	"slices"

	"newsletterd/core"
	"newsletterd/store/db"
)

// TenantOfList returns the tenant of a list, even if the list is deleted. People can still unsubscribe from a deleted
// list, and it may be restored. If no such list exists, TenantOfList returns core.ErrListNotFound.
func TenantOfList(tx *db.Tx, listID string) (tenantID string, err error) {
	list, err := ListWithTenant(tx, listID)
	if err == nil {
		return list.TenantID, nil
	}
	if core.KindOf(err) != core.NotFound {
		return "", err
	}
	err = tx.Get(&tenantID, "SELECT tenant_id FROM list WHERE id = ?", listID)
	return tenantID, NoList(err)
}

// putAside holds the statements that move a deleted tenant's domains and endpoints to separate tables, from which
// TakeBack restores them.
var putAside = []string{
	"INSERT INTO deleted_domain (id, tenant_id, domain, token, verified_by, verified_at, created_at) " +
		"SELECT id, tenant_id, domain, token, verified_by, verified_at, created_at FROM sender_domain WHERE tenant_id = ?",
	"DELETE FROM sender_domain WHERE tenant_id = ?",
	"INSERT INTO deleted_endpoint (id, tenant_id, list_id, name, url, events, secret, created_by, created_at, " +
		"disabled_reason) SELECT id, tenant_id, list_id, name, url, events, secret, created_by, created_at, disabled_reason " +
		"FROM webhook_endpoint WHERE tenant_id = ?",
	"DELETE FROM webhook_endpoint WHERE tenant_id = ?",
}

// PutAside takes the domains and webhook endpoints of a deleted tenant out of use until TakeBack restores them.
func PutAside(tx *db.Tx, tenantID string) error {
	for _, query := range putAside {
		if _, err := tx.Exec(query, tenantID); err != nil {
			return err
		}
	}
	return nil
}

// restoreEndpoints restores endpoints and counts their waiting events again. In the meantime, housekeeping has removed
// only events that were due.
const restoreEndpoints = "INSERT INTO webhook_endpoint (id, tenant_id, list_id, name, url, events, secret, created_by, " +
	"created_at, updated_at, disabled_at, disabled_reason, waiting, waiting_bytes) SELECT id, tenant_id, list_id, name, " +
	"url, events, secret, created_by, created_at, ?1, ?1, coalesce(nullif(disabled_reason, ''), ?2), " +
	"(SELECT count(*) FROM outbox INDEXED BY outbox_due WHERE dead_at = 0 AND endpoint_id = deleted_endpoint.id), " +
	"(SELECT coalesce(sum(octet_length(body)), 0) FROM outbox INDEXED BY outbox_due WHERE dead_at = 0 AND " +
	"endpoint_id = deleted_endpoint.id) FROM deleted_endpoint WHERE tenant_id = ?3"

// TakeBack restores the domains and endpoints that PutAside took from a tenant. Endpoints are restored as disabled. A
// domain that another tenant has verified in the meantime is not restored, and is removed from the tenant's row.
// deletedAt is when the tenant was deleted. left lists everything that was not restored.
func TakeBack(tx *db.Tx, id string, deletedAt, now core.Instant) (endpoints int, left []core.LeftOut, err error) {
	n, err := tx.Exec(restoreEndpoints, int64(now), core.DisabledByPerson, id)
	if err == nil {
		_, err = tx.Exec("DELETE FROM deleted_endpoint WHERE tenant_id = ?", id)
	}
	if err != nil {
		return 0, nil, err
	}
	t, err := ReadTenant(tx, id)
	if err != nil {
		return 0, nil, err
	}
	if left, err = takeBackDomains(tx, &t, deletedAt, now); err != nil {
		return 0, nil, err
	}
	switch err := ownHost(tx, &t); {
	case err == ErrHostTaken:
		left = append(left, core.LeftOut{Kind: core.LeftOutPublicURL, Name: t.PublicURL})
		t.PublicURL = ""
	case err != nil:
		return 0, nil, err
	}
	t.UpdatedAt = now
	return int(n), left, db.UpdateRow(tx, &tenantTable, &t, id)
}

// takeBackDomains restores a tenant's domains. It removes from t the domains that another tenant now has.
func takeBackDomains(tx *db.Tx, t *core.Tenant, deletedAt, now core.Instant) (left []core.LeftOut, err error) {
	var domains []core.SenderDomain
	err = tx.All(&domains, "SELECT id, tenant_id, domain, token, verified_by, verified_at, created_at FROM deleted_domain "+
		"WHERE tenant_id = ? ORDER BY domain", t.ID)
	if err != nil {
		return nil, err
	}
	names := slices.Clone(t.Domains)
	for i := range domains {
		names = append(names, domains[i].Domain)
	}
	taken, err := takenDomains(tx, t.ID, names...)
	if err != nil {
		return nil, err
	}
	for i := range domains {
		d := &domains[i]
		if d.Verified() && slices.Contains(taken, d.Domain) {
			continue // the tenant can propose it again and verify it after the other tenant has deleted it
		}
		d.UpdatedAt = now
		if _, err := db.InsertRow(tx, &senderDomainTable, d); err != nil {
			return nil, err
		}
	}
	if _, err := tx.Exec("DELETE FROM deleted_domain WHERE tenant_id = ?", t.ID); err != nil {
		return nil, err
	}
	t.Domains = slices.DeleteFunc(t.Domains, func(domain string) bool {
		if !slices.Contains(taken, domain) {
			return false
		}
		left = append(left, core.LeftOut{Kind: core.LeftOutDomain, Name: domain})
		return true
	})
	if from := core.Email(t.MailFrom); from != "" && slices.Contains(taken, from.Domain()) {
		left = append(left, core.LeftOut{Kind: core.LeftOutMailFrom, Name: t.MailFrom})
		t.MailFrom = ""
	}
	keys, err := keysLost(tx, t.ID, deletedAt)
	return append(left, keys...), err
}

// keysLost returns the DKIM keys that were deleted while the tenant was deleted, because another tenant verified
// their domain. It finds them in the audit log.
func keysLost(tx *db.Tx, tenantID string, since core.Instant) (left []core.LeftOut, err error) {
	err = tx.All(&left, `SELECT 'dkim_key' AS kind, (detail ->> '$.selector.before') || '._domainkey.' ||
		(detail ->> '$.domain.before') AS name FROM audit INDEXED BY audit_tenant WHERE tenant_id = ? AND at >= ? AND
		action = 'dkim.delete' AND detail <> ''`, tenantID, int64(since))
	return left, err
}

// FreeSlug removes the slug of a restored list if another list on the same host now has that slug. taken reports
// whether FreeSlug removed the slug.
func FreeSlug(tx *db.Tx, listID string) (slug string, taken bool, err error) {
	l, err := ReadList(tx, listID)
	if err != nil {
		return "", false, err
	}
	t, err := ReadTenant(tx, l.TenantID)
	if err != nil {
		return "", false, err
	}
	if err = ownSlug(tx, &l, &t); err != ErrSlugTaken {
		return "", false, err
	}
	return l.Slug, true, tx.One("UPDATE list SET slug = '' WHERE id = ?", listID)
}
