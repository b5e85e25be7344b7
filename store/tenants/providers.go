package tenants

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

const providerColumns = "name, kind, tenant_id, topics, disabled_at, created_at, updated_at"

// ProviderSecrets returns a provider with its secrets, even if it is disabled. If there is none, it returns
// core.ErrNotFound.
func (s *Store) ProviderSecrets(ctx context.Context, name string) (*core.ProviderSecrets, error) {
	p, age := s.providers.Get(name)
	if p != nil {
		return p, nil
	}
	var row struct {
		core.Provider
		Secret    []byte `db:"secret"`
		OldSecret []byte `db:"old_secret"`
	}
	err := s.Get(ctx, &row, "SELECT "+providerColumns+", secret, old_secret FROM provider WHERE name = ?", name)
	if err != nil {
		return nil, err
	}
	p = &core.ProviderSecrets{Provider: row.Provider}
	for _, sealed := range [][]byte{row.Secret, row.OldSecret} {
		if len(sealed) == 0 {
			continue
		}
		secret, err := s.OpenSecret(sealed)
		if err != nil {
			return nil, err
		}
		p.Secrets = append(p.Secrets, string(secret))
	}
	s.providers.Put(name, p, age)
	return p, nil
}

// Providers returns a page of providers, sorted by name. Its only error is core.ErrStorage.
func (s *Store) Providers(ctx context.Context, page core.Page) ([]core.Provider, error) {
	var p []core.Provider
	err := s.All(ctx, &p, "SELECT "+providerColumns+" FROM provider WHERE name > ? ORDER BY name LIMIT +?", page.After,
		page.Limit)
	return p, err
}

// AddProvider stores a new provider with its first secret. The secret is empty for kinds of providers that have none.
// If there is no such tenant, it returns core.ErrNotFound. If the name is taken, it returns a Conflict.
func (s *Store) AddProvider(ctx context.Context, p core.Provider, secret, actor string, now core.Instant) error {
	if err := core.CheckProviderName(p.Name); err != nil {
		return err
	}
	p.CreatedAt, p.UpdatedAt = now, now
	sealed := s.sealText(secret)
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("provider", p.Name); err != nil {
			return err
		}
		if p.TenantID != "" {
			if _, err := ReadTenant(tx, p.TenantID); err != nil {
				return err
			}
		}
		if err := addProvider(tx, p, sealed); err != nil {
			return err
		}
		return tx.Audit(now, actor, "provider.create", p.TenantID, p.Name)
	})
}

// sealText encrypts a secret. An empty secret stays empty.
func (s *Store) sealText(secret string) []byte {
	if secret == "" {
		return []byte{}
	}
	return s.Seal([]byte(secret))
}

func addProvider(tx *db.Tx, p core.Provider, sealed []byte) error {
	tx.Kick(db.TopicRecords)
	_, err := tx.Exec(`INSERT INTO provider (name, kind, tenant_id, secret, topics, disabled_at, created_at, updated_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		p.Name, p.Kind, p.TenantID, sealed, p.Topics.Column(), int64(p.DisabledAt), int64(p.CreatedAt),
		int64(p.UpdatedAt))
	return err
}

// EnsureDefaultProvider creates the default provider with the given secret, unless the provider exists. Its only error
// is core.ErrStorage.
func (s *Store) EnsureDefaultProvider(ctx context.Context, kind, secret string, now core.Instant) error {
	sealed := s.sealText(secret)
	return s.Update(ctx, func(tx *db.Tx) error {
		var n int
		if err := tx.Get(&n, "SELECT count(*) FROM provider WHERE name = ?",
			core.DefaultProvider); err != nil || n > 0 {
			return err
		}
		return addProvider(tx, core.Provider{Name: core.DefaultProvider, Kind: kind, CreatedAt: now, UpdatedAt: now}, sealed)
	})
}

// ProviderChange is the change that UpdateProvider makes. A nil field stays unchanged.
type ProviderChange struct {
	TenantID     *string
	Topics       *[]string
	Disabled     *bool
	NewSecret    *string // the previous secret stays valid too
	EndOldSecret bool
}

// UpdateProvider changes a provider and returns the result. If there is none, it returns core.ErrNotFound. If c has a
// new secret while an earlier one is still valid, it returns core.ErrSecretStands.
func (s *Store) UpdateProvider(ctx context.Context, name string, c ProviderChange, actor string,
	now core.Instant,
) (p core.Provider, err error) {
	var sealed []byte
	if c.NewSecret != nil {
		sealed = s.sealText(*c.NewSecret)
	}
	var at core.Instant
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("provider", name); err != nil {
			return err
		}
		if err := tx.Get(&p, "SELECT "+providerColumns+" FROM provider WHERE name = ?", name); err != nil {
			return err
		}
		at = p.UpdatedAt
		if c.TenantID != nil {
			if _, err := ReadTenant(tx, *c.TenantID); err != nil && *c.TenantID != "" {
				return core.Invalidf("tenant", "Tenant %s not found. Check the ID.", *c.TenantID)
			}
			p.TenantID = *c.TenantID
		}
		if c.Topics != nil {
			p.Topics = *c.Topics
		}
		if c.Disabled != nil && *c.Disabled != (p.DisabledAt != 0) {
			p.DisabledAt = 0
			if *c.Disabled {
				p.DisabledAt = now
			}
		}
		p.UpdatedAt = now
		return saveProvider(tx, p, c, sealed, actor)
	})
	return p, db.AsItStood(err, &p.UpdatedAt, at)
}

func saveProvider(tx *db.Tx, p core.Provider, c ProviderChange, sealed []byte, actor string) error {
	if sealed != nil && !c.EndOldSecret {
		if err := NoOldSecret(tx, "provider", "name", p.Name); err != nil {
			return err
		}
	}
	tx.Kick(db.TopicRecords)
	err := tx.One("UPDATE provider SET tenant_id = ?, topics = ?, disabled_at = ?, updated_at = ? WHERE name = ?",
		p.TenantID, p.Topics.Column(), int64(p.DisabledAt), int64(p.UpdatedAt), p.Name)
	if err == nil && sealed != nil {
		err = tx.One("UPDATE provider SET old_secret = secret, secret = ? WHERE name = ?", sealed, p.Name)
	}
	if err == nil && c.EndOldSecret {
		err = tx.One("UPDATE provider SET old_secret = x'' WHERE name = ?", p.Name)
	}
	if err != nil {
		return err
	}
	return tx.AuditUpdate(p.UpdatedAt, actor, "provider.update", p.TenantID, p.Name)
}

// DeleteProvider deletes a provider but not the events that it reported. If there is none, it returns
// core.ErrNotFound. The default provider can't be deleted; the error is a Conflict.
func (s *Store) DeleteProvider(ctx context.Context, name, actor string, now core.Instant) error {
	if name == core.DefaultProvider {
		return core.Conflictf("conflict", "newsletterd creates %s at every start. Disable it instead of deleting it.",
			name)
	}
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("provider", name); err != nil {
			return err
		}
		tx.Kick(db.TopicRecords)
		if err := tx.One("DELETE FROM provider WHERE name = ?", name); err != nil {
			return err
		}
		return tx.Audit(now, actor, "provider.delete", "", name)
	})
}
