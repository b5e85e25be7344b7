package people

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/identity"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// deletedTenants and deletedLists select deleted records. Records that were deleted more than core.RestorableFor ago
// can't be restored.
const (
	deletedTenants = "SELECT id, id AS tenant_id, name, deleted_at FROM tenant INDEXED BY tenant_deleted WHERE deleted_at > 0"
	deletedLists   = "SELECT l.id, l.tenant_id, l.name, l.deleted_at FROM list AS l INDEXED BY list_deleted CROSS JOIN tenant AS t " +
		"ON t.id = l.tenant_id AND t.deleted_at = 0 WHERE l.deleted_at > 0"
)

func restorableSince(now core.Instant) core.Instant { return now.Add(-core.RestorableFor) }

// DeletedTenants returns a page of the tenants that can be restored, sorted by id. Its only error is core.ErrStorage.
func (s *Store) DeletedTenants(ctx context.Context, now core.Instant, page core.Page) (ds []core.Deleted, err error) {
	err = s.All(ctx, &ds, deletedTenants+" AND deleted_at >= ? AND id > ? ORDER BY id LIMIT +?",
		int64(restorableSince(now)), page.After, page.Limit)
	return restorable(ds), err
}

// DeletedLists returns a page of the lists that can be restored, sorted by id. It covers the tenants in among or, if
// all is true, every tenant. It leaves out lists that were deleted with their tenant, because they are restored with
// it. Its only error is core.ErrStorage.
func (s *Store) DeletedLists(ctx context.Context, among []string, all bool, now core.Instant, page core.Page) (
	ds []core.Deleted, err error,
) {
	err = s.All(ctx, &ds, deletedLists+" AND l.deleted_at >= ?1 AND l.id > ?2 AND (?3 OR l.tenant_id IN (SELECT value FROM "+
		"json_each(?4))) ORDER BY l.id LIMIT +?5", int64(restorableSince(now)), page.After, all, db.JsonOf(among), page.Limit)
	return restorable(ds), err
}

func restorable(ds []core.Deleted) []core.Deleted {
	for i := range ds {
		ds[i] = ds[i].Restorable()
	}
	return ds
}

// DeletedTenant returns a tenant that can be restored. If there is no such tenant, it returns core.ErrNotFound.
func (s *Store) DeletedTenant(ctx context.Context, id string, now core.Instant) (d core.Deleted, err error) {
	d, err = deletedRecord(s.Reads(ctx), "SELECT id, id AS tenant_id, name, deleted_at FROM tenant WHERE id = ? AND "+
		"deleted_at > 0 AND deleted_at >= ?", id, now)
	return d.Restorable(), err
}

// DeletedList returns a list that can be restored. If there is no such list, or its tenant is deleted, it returns
// core.ErrListNotFound.
func (s *Store) DeletedList(ctx context.Context, id string, now core.Instant) (d core.Deleted, err error) {
	d, err = deletedList(s.Reads(ctx), id, now)
	return d.Restorable(), err
}

func deletedRecord(q db.Querier, query, id string, now core.Instant) (d core.Deleted, err error) {
	err = q.Get(&d, query, id, int64(restorableSince(now)))
	return d, err
}

func deletedList(q db.Querier, id string, now core.Instant) (core.Deleted, error) {
	d, err := deletedRecord(q, "SELECT l.id, l.tenant_id, l.name, l.deleted_at FROM list AS l JOIN tenant AS t ON "+
		"t.id = l.tenant_id AND t.deleted_at = 0 WHERE l.id = ? AND l.deleted_at > 0 AND l.deleted_at >= ?", id, now)
	return d, tenants.NoList(err)
}

// RestoreList restores a deleted list with its subscriptions. Canceled jobs stay canceled, and people who unsubscribed
// or were erased in the meantime stay off the list. A slug that another list now uses is not restored. If there is no
// such list, or its tenant is deleted too, it returns core.ErrListNotFound.
func (s *Store) RestoreList(ctx context.Context, id, actor string, now core.Instant) (r core.Restored, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("list", id); err != nil {
			return err
		}
		d, err := deletedList(tx, id, now)
		if err != nil {
			return err
		}
		r = core.Restored{ID: id, Name: d.Name, Lists: 1}
		if r.LeftOut, err = restoreList(tx, id, d.TenantID, now); err != nil {
			return err
		}
		tx.Kick(db.TopicRecords)
		return tx.Audit(now, actor, "list.restore", d.TenantID, id)
	})
	return r, err
}

// restoreList restores a list of a tenant that is not deleted.
func restoreList(tx *db.Tx, id, tenantID string, now core.Instant) (left []core.LeftOut, err error) {
	left = []core.LeftOut{}
	if err := tx.One("UPDATE list SET deleted_at = 0, updated_at = ? WHERE id = ?", int64(now), id); err != nil {
		return nil, err
	}
	slug, taken, err := tenants.FreeSlug(tx, id)
	if taken {
		left = append(left, core.LeftOut{Kind: core.LeftOutSlug, Name: slug})
	}
	if err != nil || tx.DB().Options().MemberElsewhere {
		return left, err
	}
	if fedBy, err := tenants.FedBy(tx, id); err != nil || fedBy != "" { // its own member service has to send the full sync
		return left, err
	}
	// The send side accepts no events of a deleted list, so it has missed the latest changes.
	_, err = members.RequestSync(tx, tenantID, id, now, now)
	return left, err
}

// RestoreTenant restores a deleted tenant with the lists and clients that were deleted with it. Canceled jobs stay
// canceled; clients and webhook endpoints are disabled. Domains, DKIM keys, slugs and a public_url that another tenant
// now uses are not restored. If there is no such tenant, it returns core.ErrNotFound.
func (s *Store) RestoreTenant(ctx context.Context, id, actor string, now core.Instant) (r core.Restored, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("tenant", id); err != nil {
			return err
		}
		d, err := deletedRecord(tx, "SELECT id, name, deleted_at FROM tenant WHERE id = ? AND deleted_at > 0 AND "+
			"deleted_at >= ?", id, now)
		if err != nil {
			return err
		}
		r = core.Restored{ID: id, Name: d.Name, LeftOut: []core.LeftOut{}}
		if err := tx.One("UPDATE tenant SET deleted_at = 0 WHERE id = ?", id); err != nil {
			return err
		}
		if r.Clients, err = identity.RestoreClients(tx, id, d.DeletedAt, now); err != nil {
			return err
		}
		var left []core.LeftOut
		if r.Endpoints, left, err = tenants.TakeBack(tx, id, d.DeletedAt, now); err != nil {
			return err
		}
		r.LeftOut = append(r.LeftOut, left...)
		var lists []string
		err = tx.All(&lists, "SELECT id FROM list INDEXED BY list_deleted WHERE deleted_at = ? AND deleted_at > 0 AND "+
			"tenant_id = ? ORDER BY id", int64(d.DeletedAt), id)
		r.Lists = len(lists)
		if err != nil {
			return err
		}
		for _, list := range lists {
			if left, err = restoreList(tx, list, id, now); err != nil {
				return err
			}
			r.LeftOut = append(r.LeftOut, left...)
		}
		tx.Kick(db.TopicRecords)
		tx.Kick(db.TopicIdentity)
		tx.Kick(db.TopicEndpoints)
		return tx.Audit(now, actor, "tenant.restore", id, id)
	})
	return r, err
}
