package people

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// DeleteList hides a list and cancels its jobs. RestoreList restores it; housekeeping removes its rows after
// core.RestorableFor. If there is no such list, it returns core.ErrListNotFound.
func (s *Store) DeleteList(ctx context.Context, id, actor string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("list", id); err != nil {
			return err
		}
		l, err := tenants.ReadList(tx, id)
		if err != nil {
			return err
		}
		if err := tx.One("UPDATE list SET deleted_at = ?, updated_at = ? WHERE id = ?", now, now, id); err != nil {
			return err
		}
		if err := campaigns.CancelJobsOf(tx, id, "", now); err != nil {
			return err
		}
		tx.Departs(l.TenantID)
		tx.Kick(db.TopicRecords)
		tx.Kick(db.TopicJobs)
		return tx.Audit(now, actor, "list.delete", l.TenantID, id)
	})
}

// DeleteTenant hides a tenant with its lists and clients and cancels its jobs. RestoreTenant restores them;
// housekeeping deletes the rows later. If there is no such tenant, it returns core.ErrNotFound.
func (s *Store) DeleteTenant(ctx context.Context, id, actor string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Watch("tenant", id); err != nil {
			return err
		}
		err := tx.One("UPDATE tenant SET deleted_at = ?, updated_at = ? WHERE id = ? AND deleted_at = 0", now, now, id)
		if err != nil {
			return err
		}
		for _, query := range []string{
			"UPDATE list SET deleted_at = ?, updated_at = ? WHERE tenant_id = ? AND deleted_at = 0",
			"UPDATE client SET deleted_at = ?, updated_at = ? WHERE tenant_id = ? AND deleted_at = 0",
		} {
			if _, err := tx.Exec(query, now, now, id); err != nil {
				return err
			}
		}
		if err := tenants.PutAside(tx, id); err != nil { // its domains and endpoints are no longer used
			return err
		}
		if err := campaigns.CancelJobsOf(tx, "", id, now); err != nil {
			return err
		}
		tx.Departs(id)
		tx.Kick(db.TopicRecords)
		tx.Kick(db.TopicIdentity)
		tx.Kick(db.TopicEndpoints)
		tx.Kick(db.TopicJobs)
		return tx.Audit(now, actor, "tenant.delete", id, id)
	})
}
