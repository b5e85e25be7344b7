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

// DKIMKeys reads a page of keys, by id: all, or those of tenants. Its only error is core.ErrStorage.
func (s *Store) DKIMKeys(ctx context.Context, tenants []string, all bool, page core.Page) (ks []core.DKIMKey,
	err error,
) {
	err = s.AllOf(ctx, &ks, &dkimKeys, tenants, all, page.After, page.Limit)
	return ks, err
}

// DKIMKey reads one key without its private half. It returns core.ErrNotFound where there is none.
func (s *Store) DKIMKey(ctx context.Context, id string) (k core.DKIMKey, err error) {
	err = s.Get(ctx, &k, "SELECT "+dkimColumns+" FROM dkim_key WHERE id = ?", id)
	return k, err
}

// DKIMSigningKey is a key with its private half, PKCS #8 in the clear.
type DKIMSigningKey struct {
	core.DKIMKey
	Private []byte
}

// DKIMSigningKeys reads the keys that sign what a tenant mails from a domain; none: its mails go out unsigned. It
// returns ErrMasterKey where a private key can't be opened.
func (s *Store) DKIMSigningKeys(ctx context.Context, tenantID, fromDomain string) ([]DKIMSigningKey, error) {
	var keys []core.DKIMKey
	err := s.All(ctx, &keys, "SELECT "+dkimColumns+" FROM dkim_key WHERE tenant_id IN (?, '') AND status = 'active'",
		tenantID)
	if err != nil {
		return nil, err
	}
	var domains core.Strings
	err = s.Get(ctx, &domains, "SELECT domains FROM tenant WHERE id = ?", tenantID)
	if err != nil && core.KindOf(err) != core.NotFound { // the daemon's own mails have no tenant
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

// SenderDomainViews returns sender domains as they are shown, with whether a key signs what their tenants mail from
// them. Its only error is core.ErrStorage.
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

// dkimKeysMade is how many keys the administrators of a tenant may make in an hour: an RSA key takes a good part of a
// second of a core, whether or not it is kept.
const dkimKeysMade = 10

// AdmitDKIMKey returns the error with which AddDKIMKey would refuse a key, so that none is made in vain. Where counted,
// it counts the key that is made next, and returns core.ErrTooMany where the tenant has made too many in this hour.
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

// admitKey refuses a key that may not be kept.
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
			"Create an RSA key for %s first. Many receiving servers do not verify Ed25519 alone.", k.Domain)
	}
	return err
}

// mayHaveKey refuses a key whose domain is none of its tenant's, but for one that rests until the domain is proved.
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

// DomainProposed reports whether a tenant has proposed a sender domain that is not proved to be its own yet. Its only
// error is core.ErrStorage.
func (s *Store) DomainProposed(ctx context.Context, tenantID, domain string) (yes bool, err error) {
	err = s.Get(ctx, &yes, "SELECT EXISTS (SELECT 1 FROM sender_domain "+
		"WHERE tenant_id = ? AND domain = ? AND verified_at = 0)",
		tenantID, domain)
	return yes, err
}

// ownsDomain refuses a key whose domain is none of its tenant's.
func ownsDomain(tx *db.Tx, k *core.DKIMKey) error {
	t, err := ReadTenant(tx, k.TenantID)
	if err == nil && !k.Signs(t.Domains) {
		err = core.Invalidf("domain", "%s is not one of the tenant's domains. Add it as a sender domain first.",
			k.Domain)
	}
	return err
}

// AddDKIMKey keeps a new key. core.ErrNotFound: there is no such tenant; Conflict: the domain has a key of that
// selector, or the tenant as many as it may have; Invalid: the domain is none of the tenant's, or an Ed25519 key would
// stand alone.
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

// SetDKIMStatus makes a key sign or rest, and returns it as it is then. core.ErrNotFound: there is none; Invalid: it
// should sign, and its domain is no longer the tenant's.
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

// DeleteDKIMKey removes a key. It returns core.ErrNotFound where there is none.
func (s *Store) DeleteDKIMKey(ctx context.Context, id, actor string, now core.Instant) error {
	return s.RemoveRecord(ctx, "dkim_key", id, "dkim.delete", actor, now)
}

// endKeys deletes the keys of a domain that other tenants have left behind: none of them signs any more, and their
// selectors are for the tenant to use whose domain it is now.
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
