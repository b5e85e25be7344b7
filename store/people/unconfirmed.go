package people

import (
	"context"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// mayRemovePending selects unconfirmed people whose confirmation links have all expired. It excludes people who
// unsubscribed before, here or through a file.
const mayRemovePending = ` FROM subscription AS s INDEXED BY subscription_waiting WHERE s.list_id = ?1 AND
	s.status = 'pending' AND s.generation = 1 AND s.means <> 'left' AND s.changed_at <= ?2 AND s.asked_at <= ?2 AND NOT EXISTS (
	SELECT 1 FROM mail AS m WHERE m.email_key = s.email_key AND m.kind = '` + core.MailConfirm + `' AND m.created_at > ?2 AND
	m.list_id = s.list_id AND m.state != ` + tenants.SQLMailLeftOut + `)`

// RemoveUnconfirmed removes a list's pending subscriptions whose confirmation links have expired, at most 5,000 per
// call. These people can subscribe again. It returns the number removed and whether there are more. If there is no such
// list, it returns core.ErrListNotFound.
func (s *Store) RemoveUnconfirmed(ctx context.Context, listID, actor string, budget time.Duration, now core.Instant) (
	removed int64, more bool, err error,
) {
	list, err := s.List(ctx, listID)
	if err != nil {
		return 0, false, err
	}
	for begun := time.Now(); ; {
		n := int64(0)
		err = s.Bulk(ctx, func(tx *db.Tx) error {
			n, err = removeUnconfirmed(tx, &list, actor, now)
			return err
		})
		if err != nil {
			return removed, false, err
		}
		if removed += n; n < sweepBatch {
			return removed, false, nil
		}
		if removed >= asksAtOnce || budget > 0 && time.Since(begun) > budget {
			return removed, true, nil
		}
	}
}

func removeUnconfirmed(tx *db.Tx, list *core.List, actor string, now core.Instant) (removed int64, err error) {
	removed, err = tx.Exec("DELETE FROM subscription WHERE list_id = ?1 AND id IN (SELECT s.id"+mayRemovePending+
		" LIMIT +?3)", list.ID, int64(now.Add(-members.ConfirmTTL)), sweepBatch)
	if err != nil || removed == 0 {
		return removed, err
	}
	tenants.MovedMany(tx, list.ID, core.CountPending, core.NotCounted, removed)
	tx.Tell("removed", nil, removed)
	return removed, tx.Audit(now, actor, "list.remove_unconfirmed", list.TenantID, list.ID)
}
