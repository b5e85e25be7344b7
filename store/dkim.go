package store

import (
	"context"
	"slices"

	"newsletterd/core"
)

const dkimColumns = "id, tenant_id, domain, selector, algorithm, status, public, created_at, updated_at"

var (
	insertDKIMKey = insertInto("dkim_key", dkimColumns+", private")
	dkimKeys      = listByTenant(dkimColumns, "dkim_key", "dkim_key_tenant", "true", false)
)

// DKIMKeys reads a page of keys, by id: all, or those of tenants. Its only error is core.ErrStorage.
func (s *Store) DKIMKeys(ctx context.Context, tenants []string, all bool, page core.Page) (ks []core.DKIMKey,
	err error,
) {
	err = s.allOf(ctx, &ks, &dkimKeys, tenants, all, page.After, page.Limit)
	return ks, err
}

// DKIMKey reads one key without its private half. It returns core.ErrNotFound where there is none.
func (s *Store) DKIMKey(ctx context.Context, id string) (k core.DKIMKey, err error) {
	err = s.get(ctx, &k, "SELECT "+dkimColumns+" FROM dkim_key WHERE id = ?", id)
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
	err := s.all(ctx, &keys, "SELECT "+dkimColumns+" FROM dkim_key WHERE tenant_id IN (?, '') AND status = 'active'",
		tenantID)
	if err != nil {
		return nil, err
	}
	chosen := core.ChooseDKIM(keys, fromDomain)
	out := make([]DKIMSigningKey, len(chosen))
	for i := range chosen {
		var sealed []byte
		if err := s.get(ctx, &sealed, "SELECT private FROM dkim_key WHERE id = ?", chosen[i].ID); err != nil {
			return nil, err
		}
		out[i].DKIMKey = chosen[i]
		if out[i].Private, err = s.openSecret(sealed); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// AddDKIMKey keeps a new key. core.ErrNotFound: there is no such tenant; Conflict: the domain has a key of that
// selector; Invalid: the domain is none of the tenant's, or an Ed25519 key would stand alone.
func (s *Store) AddDKIMKey(ctx context.Context, k core.DKIMKey, private []byte, actor string) error {
	sealed := s.seal(private)
	return s.update(ctx, func(tx *Tx) error {
		if err := tx.watch("dkim_key", k.ID); err != nil {
			return err
		}
		if k.TenantID != "" {
			t, err := tx.tenant(k.TenantID)
			if err != nil {
				return err
			}
			if !slices.Contains(t.Domains, k.Domain) {
				return core.Invalidf("domain", "%s is none of the tenant's domains.", k.Domain)
			}
		}
		if k.Algorithm == core.DKIMEd25519 {
			var n int
			err := tx.get(&n, "SELECT count(*) FROM dkim_key WHERE tenant_id = ? AND domain = ? AND algorithm = 'rsa'",
				k.TenantID, k.Domain)
			if err != nil {
				return err
			}
			if n == 0 {
				return core.Invalidf("algorithm", "Make an RSA key for %s first: large receivers do not verify "+
					"Ed25519, so it never signs alone.", k.Domain)
			}
		}
		tx.kick(TopicRecords)
		_, err := tx.exec(insertDKIMKey,
			k.ID, k.TenantID, k.Domain, k.Selector, k.Algorithm, k.Status, k.Public, int64(k.CreatedAt),
			int64(k.UpdatedAt), sealed)
		if err != nil {
			return err
		}
		return tx.audit(k.CreatedAt, actor, "dkim.create", k.TenantID, k.ID)
	})
}

// SetDKIMStatus makes a key sign or rest, and returns it as it is then. It returns core.ErrNotFound where there is
// none.
func (s *Store) SetDKIMStatus(ctx context.Context, id, status, actor string, now core.Instant) (k core.DKIMKey,
	err error,
) {
	var at core.Instant
	err = s.update(ctx, func(tx *Tx) error {
		if err := tx.watch("dkim_key", id); err != nil {
			return err
		}
		if err := tx.get(&k, "SELECT "+dkimColumns+" FROM dkim_key WHERE id = ?", id); err != nil {
			return err
		}
		at = k.UpdatedAt
		k.Status, k.UpdatedAt = status, now
		if err := k.Validate(); err != nil {
			return err
		}
		tx.kick(TopicRecords)
		if err := tx.one("UPDATE dkim_key SET status = ?, updated_at = ? WHERE id = ?", k.Status, int64(now),
			id); err != nil {
			return err
		}
		return tx.auditUpdate(now, actor, "dkim.update", k.TenantID, id)
	})
	return k, asItStood(err, &k.UpdatedAt, at)
}

// DeleteDKIMKey removes a key. It returns core.ErrNotFound where there is none.
func (s *Store) DeleteDKIMKey(ctx context.Context, id, actor string, now core.Instant) error {
	return s.removeRecord(ctx, "dkim_key", id, "dkim.delete", actor, now)
}
