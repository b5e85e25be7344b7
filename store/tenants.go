package store

import (
	"context"
	"slices"

	"newsletterd/core"
)

// tenantTable does not write the relays and limits of a tenant: saveRelays does.
var tenantTable = tableOf[core.Tenant]("tenant", []string{"relays", "send_limits"}, []string{"created_at"})

var (
	selectTenants = "SELECT " + tenantTable.columns + ", relays, send_limits FROM tenant WHERE "
	selectTenant  = selectTenants + "id = ? AND deleted_at = 0"
	allTenants    = selectTenants + "id > ? AND deleted_at = 0 ORDER BY id LIMIT +?"
	tenantsAmong  = selectTenants + "id IN (SELECT value FROM json_each(?)) AND id > ? AND deleted_at = 0 ORDER BY " +
		"id LIMIT +?"
	tenantsAt = selectTenants + "public_url IN (?, ?) AND deleted_at = 0 AND status = ? ORDER BY id"
)

// Tenant reads one tenant. One that was deleted is core.ErrNotFound.
func (s *Store) Tenant(ctx context.Context, id string) (t core.Tenant, err error) {
	err = s.get(ctx, &t, selectTenant, id)
	return t, err
}

// Tenants reads a page of tenants, by id: all, or those among ids. Its only error is core.ErrStorage.
func (s *Store) Tenants(ctx context.Context, ids []string, all bool, page core.Page) (ts []core.Tenant, err error) {
	if all {
		err = s.all(ctx, &ts, allTenants, page.After, page.Limit)
		return ts, err
	}
	err = s.all(ctx, &ts, tenantsAmong, jsonOf(ids), page.After, page.Limit)
	return ts, err
}

// ErrHostTaken is returned when the host of a public_url is another tenant's.
var ErrHostTaken = core.Invalidf("public_url", "Another tenant has a public_url of this host.")

// ownHost returns ErrHostTaken where another tenant has the host of the public_url.
func (tx *Tx) ownHost(t *core.Tenant) error {
	if t.PublicURL == "" {
		return nil
	}
	var others []string
	if err := tx.all(&others, "SELECT public_url FROM tenant WHERE public_url <> '' AND deleted_at = 0 AND id <> ?",
		t.ID); err != nil {
		return err
	}
	host := core.OriginHost(t.PublicURL)
	for _, other := range others {
		if core.OriginHost(other) == host {
			return ErrHostTaken
		}
	}
	return nil
}

// AddTenant keeps a new tenant. Passwords of relays are blanked in t, too. It returns a conflict where the id is taken
// (core.ErrConflict), ErrHostTaken, and core.ErrDomainTaken.
func (s *Store) AddTenant(ctx context.Context, t core.Tenant, actor string) error {
	told := t.Relays
	err := s.update(ctx, func(tx *Tx) error {
		if err := tx.watch("tenant", t.ID); err != nil {
			return err
		}
		t.Relays = slices.Clone(told) // the passwords are taken out
		err := tx.ownHost(&t)
		if err == nil {
			_, err = insertRow(tx, &tenantTable, &t)
		}
		if err == nil {
			err = tx.saveRelays(&t, nil, core.SendLimits{})
		}
		if err == nil {
			err = tx.keepDomains(&t, nil, actor, t.CreatedAt)
		}
		if err != nil {
			return err
		}
		tx.kick(TopicRecords)
		return tx.audit(t.CreatedAt, actor, "tenant.create", t.ID, t.ID)
	})
	for i := range told {
		told[i].Password = ""
	}
	return err
}

// tenant reads one tenant inside an operation.
func (tx *Tx) tenant(id string) (t core.Tenant, err error) {
	err = tx.get(&t, selectTenant, id)
	return t, err
}

// UpdateTenant changes a tenant by a rule and returns it as it is then. The rule runs inside the transaction. It
// returns core.ErrNotFound where there is no such tenant, ErrHostTaken, core.ErrDomainTaken, ErrMasterKey where the
// relays' passwords can't be opened, or an error of the rule.
func (s *Store) UpdateTenant(ctx context.Context, id, actor string, rule func(*core.Tenant) error) (t core.Tenant,
	err error,
) {
	var at core.Instant
	err = s.update(ctx, func(tx *Tx) error {
		if err := tx.watch("tenant", id); err != nil {
			return err
		}
		if t, err = tx.tenant(id); err != nil {
			return err
		}
		at = t.UpdatedAt
		was, relays, limits, origin := t.Status, t.Relays, t.SendLimits, t.PublicURL
		domains := slices.Clone(t.Domains)
		if err := rule(&t); err != nil {
			return err
		}
		if t.PublicURL != origin {
			if err := tx.ownHost(&t); err != nil {
				return err
			}
			if err := tx.ownSlugs(&t); err != nil {
				return err
			}
		}
		err := updateRow(tx, &tenantTable, &t, id)
		if err == nil {
			err = tx.saveRelays(&t, relays, limits)
		}
		if err == nil {
			err = tx.keepDomains(&t, domains, actor, t.UpdatedAt)
		}
		if err != nil {
			return err
		}
		tx.kick(TopicRecords)
		if t.Status != was {
			tx.departs()
			tx.kick(TopicJobs)
			tx.kick(TopicIdentity)
		}
		return tx.auditUpdate(t.UpdatedAt, actor, "tenant.update", id, id)
	})
	return t, asItStood(err, &t.UpdatedAt, at)
}
