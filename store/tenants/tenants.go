package tenants

import (
	"context"
	"slices"

	"newsletterd/core"
	"newsletterd/store/db"
)

// tenantTable describes the table tenant without the columns for relays and limits, which saveRelays writes.
var tenantTable = db.TableOf[core.Tenant]("tenant", []string{"relays", "send_limits"}, []string{"created_at"})

var (
	selectTenants = "SELECT " + tenantTable.Columns + ", relays, send_limits FROM tenant WHERE "
	selectTenant  = selectTenants + "id = ? AND deleted_at = 0"
	allTenants    = selectTenants + "id > ? AND deleted_at = 0 ORDER BY id LIMIT +?"
	tenantsAmong  = selectTenants + "id IN (SELECT value FROM json_each(?)) AND id > ? AND deleted_at = 0 ORDER BY " +
		"id LIMIT +?"
	tenantsAt = selectTenants + "public_url IN (?, ?) AND deleted_at = 0 AND status = ? ORDER BY id"
)

// Tenant returns a tenant. If it doesn't exist or was deleted, Tenant returns core.ErrNotFound.
func (s *Store) Tenant(ctx context.Context, id string) (t core.Tenant, err error) {
	err = s.Get(ctx, &t, selectTenant, id)
	return t, err
}

// Tenants returns a page of tenants, sorted by id. It covers the given ids or, if all is set, every tenant. The only
// error is core.ErrStorage.
func (s *Store) Tenants(ctx context.Context, ids []string, all bool, page core.Page) (ts []core.Tenant, err error) {
	if all {
		err = s.All(ctx, &ts, allTenants, page.After, page.Limit)
		return ts, err
	}
	err = s.All(ctx, &ts, tenantsAmong, db.JsonOf(ids), page.After, page.Limit)
	return ts, err
}

// ErrHostTaken is returned when another tenant uses the host of a public_url.
var ErrHostTaken = core.Invalidf("public_url",
	"Another tenant uses this host in its public_url. Choose another host.")

// ownHost returns ErrHostTaken if another tenant uses the host of t's public_url.
func ownHost(tx *db.Tx, t *core.Tenant) error {
	if t.PublicURL == "" {
		return nil
	}
	var others []string
	if err := tx.All(&others, "SELECT public_url FROM tenant WHERE public_url <> '' AND deleted_at = 0 AND id <> ?",
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

// AddTenant adds a tenant. It also clears the passwords in the slice t.Relays, which the caller shares. If the id is
// taken, it returns core.ErrConflict. It also returns ErrHostTaken and core.ErrDomainTaken.
func (s *Store) AddTenant(ctx context.Context, t core.Tenant, actor string) error {
	told := t.Relays
	err := s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("tenant", t.ID); err != nil {
			return err
		}
		t.Relays = slices.Clone(told) // saveRelays removes the passwords from this copy
		err := ownHost(tx, &t)
		if err == nil {
			_, err = db.InsertRow(tx, &tenantTable, &t)
		}
		if err == nil {
			err = saveRelays(tx, &t, nil, core.SendLimits{})
		}
		if err == nil {
			err = keepDomains(tx, &t, nil, actor, t.CreatedAt)
		}
		if err != nil {
			return err
		}
		tx.Kick(db.TopicRecords)
		return tx.Audit(t.CreatedAt, actor, "tenant.create", t.ID, t.ID)
	})
	for i := range told {
		told[i].Password = ""
	}
	return err
}

// ReadTenant returns a tenant inside an operation.
func ReadTenant(tx *db.Tx, id string) (t core.Tenant, err error) {
	err = tx.Get(&t, selectTenant, id)
	return t, err
}

// UpdateTenant changes a tenant with rule, which runs inside the transaction, and returns the changed tenant. If no
// such tenant exists, it returns core.ErrNotFound. If the relays' passwords can't be decrypted, it returns
// ErrMasterKey. It also returns ErrHostTaken, core.ErrDomainTaken and the errors of rule.
func (s *Store) UpdateTenant(ctx context.Context, id, actor string, rule func(*core.Tenant) error) (t core.Tenant,
	err error,
) {
	var at core.Instant
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("tenant", id); err != nil {
			return err
		}
		if t, err = ReadTenant(tx, id); err != nil {
			return err
		}
		at = t.UpdatedAt
		was, relays, limits, origin := t.Status, t.Relays, t.SendLimits, t.PublicURL
		domains := slices.Clone(t.Domains)
		if err := rule(&t); err != nil {
			return err
		}
		if t.PublicURL != origin {
			if err := ownHost(tx, &t); err != nil {
				return err
			}
			if err := ownSlugs(tx, &t); err != nil {
				return err
			}
		}
		err := db.UpdateRow(tx, &tenantTable, &t, id)
		if err == nil {
			err = saveRelays(tx, &t, relays, limits)
		}
		if err == nil {
			err = keepDomains(tx, &t, domains, actor, t.UpdatedAt)
		}
		if err != nil {
			return err
		}
		tx.Kick(db.TopicRecords)
		if t.Status != was {
			tx.Departs(id)
			tx.Kick(db.TopicJobs)
			tx.Kick(db.TopicIdentity)
		}
		return tx.AuditUpdate(t.UpdatedAt, actor, "tenant.update", id, id)
	})
	return t, db.AsItStood(err, &t.UpdatedAt, at)
}
