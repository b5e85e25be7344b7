package store

import (
	"context"

	"newsletterd/core"
)

// DeleteList takes a list out of sight. Its rows go later, by housekeeping. It returns core.ErrListNotFound where there
// is no such list.
func (s *Store) DeleteList(ctx context.Context, id, actor string, now core.Instant) error {
	return s.update(ctx, func(tx *Tx) error {
		if err := tx.watch("list", id); err != nil {
			return err
		}
		l, err := tx.list(id)
		if err != nil {
			return err
		}
		if err := tx.one("UPDATE list SET deleted_at = ?, updated_at = ? WHERE id = ?", now, now, id); err != nil {
			return err
		}
		if err := tx.cancelJobsOf(id, "", now); err != nil {
			return err
		}
		tx.departs()
		tx.kick(TopicRecords)
		tx.kick(TopicJobs)
		return tx.audit(now, actor, "list.delete", l.TenantID, id)
	})
}

// DeleteTenant takes a tenant and its lists and clients out of sight. Its rows go later, by housekeeping. It returns
// core.ErrNotFound where there is no such tenant.
func (s *Store) DeleteTenant(ctx context.Context, id, actor string, now core.Instant) error {
	return s.update(ctx, func(tx *Tx) error {
		if err := tx.watch("tenant", id); err != nil {
			return err
		}
		err := tx.one("UPDATE tenant SET deleted_at = ?, updated_at = ? WHERE id = ? AND deleted_at = 0", now, now, id)
		if err != nil {
			return err
		}
		for _, query := range []string{
			"UPDATE list SET deleted_at = ?, updated_at = ? WHERE tenant_id = ? AND deleted_at = 0",
			"UPDATE client SET deleted_at = ?, updated_at = ? WHERE tenant_id = ? AND deleted_at = 0",
		} {
			if _, err := tx.exec(query, now, now, id); err != nil {
				return err
			}
		}
		if _, err := tx.exec("DELETE FROM sender_domain WHERE tenant_id = ?", id); err != nil {
			return err
		}
		if err := tx.cancelJobsOf("", id, now); err != nil {
			return err
		}
		tx.departs()
		tx.kick(TopicRecords)
		tx.kick(TopicIdentity)
		tx.kick(TopicJobs)
		return tx.audit(now, actor, "tenant.delete", id, id)
	})
}
