package tenants

import (
	"context"
	"slices"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

const dkimColumns = "id, tenant_id, domain, selector, algorithm, status, public, created_at, updated_at"

var (
	insertDKIMKey = db.InsertInto("dkim_key", dkimColumns+", private")
	dkimKeys      = ListByTenant(dkimColumns, "dkim_key", "dkim_key_tenant", "true", false)
)

// DKIMKeys returns a page of DKIM keys, sorted by id. It covers the given tenants or, if all is set, every tenant. The
// only error is core.ErrStorage.
func (s *Store) DKIMKeys(ctx context.Context, tenants []string, all bool, page core.Page) (ks []core.DKIMKey,
	err error,
) {
	err = s.AllOf(ctx, &ks, &dkimKeys, tenants, all, page.After, page.Limit)
	return ks, err
}

// DKIMKey returns a DKIM key without its private half. If it doesn't exist, DKIMKey returns core.ErrNotFound.
func (s *Store) DKIMKey(ctx context.Context, id string) (k core.DKIMKey, err error) {
	err = s.Get(ctx, &k, "SELECT "+dkimColumns+" FROM dkim_key WHERE id = ?", id)
	return k, err
}

// DKIMSigningKey is a DKIM key with its private half, as unencrypted PKCS #8.
type DKIMSigningKey struct {
	core.DKIMKey
	Private []byte
}

// DKIMSigningKeys returns the keys that sign a tenant's emails from a domain. If there are none, the tenant's emails
// are sent unsigned. If a private key can't be decrypted, DKIMSigningKeys returns ErrMasterKey.
func (s *Store) DKIMSigningKeys(ctx context.Context, tenantID, fromDomain string) ([]DKIMSigningKey, error) {
	var keys []core.DKIMKey
	err := s.All(ctx, &keys, "SELECT "+dkimColumns+" FROM dkim_key WHERE tenant_id IN (?, '') AND status = 'active'",
		tenantID)
	if err != nil {
		return nil, err
	}
	var domains core.Strings
	err = s.Get(ctx, &domains, "SELECT domains FROM tenant WHERE id = ?", tenantID)
	if err != nil && core.KindOf(err) != core.NotFound { // not an error: the daemon's own emails have no tenant
		return nil, err
	}
	keys = slices.DeleteFunc(keys, func(k core.DKIMKey) bool { return !k.Signs(domains) })
	chosen := core.ChooseDKIM(keys, fromDomain)
	out := make([]DKIMSigningKey, len(chosen))
	for i := range chosen {
		var sealed []byte
		if err := s.Get(ctx, &sealed, "SELECT private FROM dkim_key WHERE id = ?", chosen[i].ID); err != nil {
			return nil, err
		}
		out[i].DKIMKey = chosen[i]
		if out[i].Private, err = s.OpenSecret(sealed); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SenderDomainViews returns the views of the sender domains ds. Each view shows whether a DKIM key signs the tenant's
// emails from the domain. The only error is core.ErrStorage.
func (s *Store) SenderDomainViews(ctx context.Context, ds ...core.SenderDomain) ([]core.SenderDomainView, error) {
	tenants, views := make([]string, len(ds)), make([]core.SenderDomainView, len(ds))
	for i := range ds {
		tenants[i] = ds[i].TenantID
	}
	var keys []core.DKIMKey
	err := s.All(ctx, &keys, "SELECT "+dkimColumns+` FROM dkim_key WHERE status = 'active'
		AND (tenant_id = '' OR tenant_id IN (SELECT value FROM json_each(?)))`, db.JsonOf(tenants))
	for i := range ds {
		d := &ds[i]
		views[i] = d.View()
		views[i].Signed = d.Verified() && len(core.ChooseDKIM(slices.DeleteFunc(slices.Clone(keys),
			func(k core.DKIMKey) bool { return k.TenantID != "" && k.TenantID != d.TenantID }), d.Domain)) > 0
	}
	return views, err
}

// dkimKeysMade is the maximum number of keys that a tenant's administrators can create per hour. Creating an RSA key
// takes a large fraction of a second of CPU time, even if the key is not kept.
const dkimKeysMade = 10

// AdmitDKIMKey returns the error that AddDKIMKey would return for k. Callers use it before they generate the key. If
// counted is true, it also counts k as a created key. If the tenant has created too many keys in this hour, it returns
// core.ErrTooMany.
func (s *Store) AdmitDKIMKey(ctx context.Context, k core.DKIMKey, counted bool) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := admitKey(tx, &k); err != nil || !counted {
			return err
		}
		wait, err := tx.Throttle("dkim keys "+k.TenantID, dkimKeysMade, time.Hour, k.CreatedAt)
		if err == nil && wait > 0 {
			err = (&core.Error{Kind: core.TooMany, Code: "rate_limited", RetryAfter: int(wait/time.Second) + 1}).
				Sayf("A tenant can create at most %d keys an hour. Try again later.", dkimKeysMade)
		}
		return err
	})
}

// admitKey returns an error if the key k can't be added.
func admitKey(tx *db.Tx, k *core.DKIMKey) error {
	if k.TenantID != "" {
		if err := mayHaveKey(tx, k); err != nil {
			return err
		}
		n, err := tx.Number("SELECT count(*) FROM dkim_key WHERE tenant_id = ?", k.TenantID)
		if err != nil {
			return err
		}
		if n >= core.MaxDKIMKeys {
			return core.Conflictf("conflict",
				"A tenant can have at most %d keys. Delete keys that are no longer in use.", core.MaxDKIMKeys)
		}
	}
	n, err := tx.Number("SELECT count(*) FROM dkim_key WHERE domain = ? AND selector = ?", k.Domain, k.Selector)
	if err != nil {
		return err
	}
	if n > 0 {
		return core.Conflictf("already_exists", "%s already has a key with the selector %s. Choose another selector.",
			k.Domain, k.Selector)
	}
	if k.Algorithm != core.DKIMEd25519 {
		return nil
	}
	n, err = tx.Number("SELECT count(*) FROM dkim_key WHERE tenant_id = ? AND domain = ? AND algorithm = 'rsa'",
		k.TenantID, k.Domain)
	if err == nil && n == 0 {
		err = core.Invalidf("algorithm",
			"Many receiving servers can't verify Ed25519 signatures. Create an RSA key for %s first.", k.Domain)
	}
	return err
}

// mayHaveKey returns an error if a key's domain does not belong to its tenant. An inactive key may be added before the
// domain is verified.
func mayHaveKey(tx *db.Tx, k *core.DKIMKey) error {
	err := ownsDomain(tx, k)
	if k.Status == core.DKIMActive || core.KindOf(err) != core.Invalid {
		return err
	}
	proposed, fault := tx.Number("SELECT count(*) FROM sender_domain WHERE tenant_id = ? AND domain = ?",
		k.TenantID, k.Domain)
	if proposed > 0 || fault != nil {
		return fault
	}
	return err
}

// DomainProposed reports whether a tenant has a sender domain that is not verified yet. The only error is
// core.ErrStorage.
func (s *Store) DomainProposed(ctx context.Context, tenantID, domain string) (yes bool, err error) {
	err = s.Get(ctx, &yes, "SELECT EXISTS (SELECT 1 FROM sender_domain "+
		"WHERE tenant_id = ? AND domain = ? AND verified_at = 0)",
		tenantID, domain)
	return yes, err
}

// ownsDomain returns an error if a key's domain does not belong to its tenant.
func ownsDomain(tx *db.Tx, k *core.DKIMKey) error {
	t, err := ReadTenant(tx, k.TenantID)
	if err == nil && !k.Signs(t.Domains) {
		err = core.Invalidf("domain", "%s is not one of the tenant's domains. Add it as a sender domain first.",
			k.Domain)
	}
	return err
}

// AddDKIMKey adds a key. If the tenant doesn't exist, it returns core.ErrNotFound. If the domain already has a key with
// that selector, or the tenant has the maximum number of keys, it returns a Conflict. If the domain does not belong to
// the tenant, or an Ed25519 key would be the only key, it returns an Invalid error.
func (s *Store) AddDKIMKey(ctx context.Context, k core.DKIMKey, private []byte, actor string) error {
	sealed := s.Seal(private)
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("dkim_key", k.ID); err != nil {
			return err
		}
		if err := admitKey(tx, &k); err != nil {
			return err
		}
		tx.Kick(db.TopicRecords)
		_, err := tx.Exec(insertDKIMKey,
			k.ID, k.TenantID, k.Domain, k.Selector, k.Algorithm, k.Status, k.Public, int64(k.CreatedAt),
			int64(k.UpdatedAt), sealed)
		if err != nil {
			return err
		}
		return tx.Audit(k.CreatedAt, actor, "dkim.create", k.TenantID, k.ID)
	})
}

// SetDKIMStatus activates or deactivates a key and returns it. If the key doesn't exist, it returns core.ErrNotFound.
// If an activated key's domain no longer belongs to the tenant, it returns an Invalid error.
func (s *Store) SetDKIMStatus(ctx context.Context, id, status, actor string, now core.Instant) (k core.DKIMKey,
	err error,
) {
	var at core.Instant
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("dkim_key", id); err != nil {
			return err
		}
		if err := tx.Get(&k, "SELECT "+dkimColumns+" FROM dkim_key WHERE id = ?", id); err != nil {
			return err
		}
		at = k.UpdatedAt
		if begins := k.Status != status && status == core.DKIMActive; begins && k.TenantID != "" {
			if err := ownsDomain(tx, &k); err != nil {
				return err
			}
		}
		k.Status, k.UpdatedAt = status, now
		if err := k.Validate(); err != nil {
			return err
		}
		tx.Kick(db.TopicRecords)
		if err := tx.One("UPDATE dkim_key SET status = ?, updated_at = ? WHERE id = ?", k.Status, int64(now),
			id); err != nil {
			return err
		}
		return tx.AuditUpdate(now, actor, "dkim.update", k.TenantID, id)
	})
	return k, db.AsItStood(err, &k.UpdatedAt, at)
}

// DeleteDKIMKey removes a key. If it doesn't exist, DeleteDKIMKey returns core.ErrNotFound.
func (s *Store) DeleteDKIMKey(ctx context.Context, id, actor string, now core.Instant) error {
	return s.RemoveRecord(ctx, "dkim_key", id, "dkim.delete", actor, now)
}

// endKeys deletes the keys that other tenants have for a domain. These keys no longer sign emails, and the tenant that
// now owns the domain can use their selectors.
func endKeys(tx *db.Tx, tenantID, domain, actor string, now core.Instant) error {
	var left []core.DKIMKey
	if err := tx.All(&left, "SELECT "+dkimColumns+" FROM dkim_key WHERE domain = ? AND tenant_id NOT IN (?, '')", domain,
		tenantID); err != nil {
		return err
	}
	return tx.Aside(func() error {
		for i := range left {
			if err := tx.Watch("dkim_key", left[i].ID); err != nil {
				return err
			}
			if err := tx.One("DELETE FROM dkim_key WHERE id = ?", left[i].ID); err != nil {
				return err
			}
			if err := tx.Audit(now, actor, "dkim.delete", left[i].TenantID, left[i].ID); err != nil {
				return err
			}
		}
		return nil
	})
}
