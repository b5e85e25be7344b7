package campaigns

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

const (
	disabledColumns = "SELECT email_key AS email, 'disabled' AS kind, tenant_id, '' AS list_id, reason, " +
		"disabled_by, occurred_at FROM disabled "
	suppressionColumns = "SELECT email_key AS email, kind, tenant_id, '' AS list_id, reason, '' AS disabled_by, " +
		"created_at AS occurred_at FROM suppression "
	erasedColumns = "SELECT '' AS email, kind, tenant_id, '' AS list_id, 'erased' AS reason, '' AS " +
		"disabled_by, created_at AS occurred_at FROM erased "
	blockColumns = `SELECT s.email_key AS email, s.block AS kind, l.tenant_id, s.list_id, '' AS reason, '' AS
		disabled_by, s.block_at AS occurred_at
		FROM json_each(?) AS j CROSS JOIN subscriber AS s ON s.list_id = j.value->>0 AND s.id = j.value->>1
		CROSS JOIN list AS l ON l.id = s.list_id `
)

// DisabledAddresses returns a page of the addresses that the member service blocks. The page starts after the row in
// after. An empty tenantID means all tenants. Its only error is core.ErrStorage.
func (s *Store) DisabledAddresses(ctx context.Context, tenantID string, after core.Suppressed,
	limit int) ([]core.Suppressed,
	error,
) {
	var d []core.Suppressed
	if tenantID == "" {
		err := s.All(ctx, &d, disabledColumns+`WHERE (email_key, tenant_id) > (?1, ?2)
			ORDER BY email_key, tenant_id LIMIT +?3`, after.Email, after.TenantID, limit)
		return d, err
	}
	err := s.All(ctx, &d, disabledColumns+`INDEXED BY disabled_tenant WHERE tenant_id = ?1 AND tenant_id > ''
		AND email_key > ?2 ORDER BY email_key LIMIT +?3`, tenantID, after.Email, limit)
	return d, err
}

// SuppressedAddresses returns a page of the addresses that the send side blocks for all lists of a tenant. The page
// starts after the row in after. An empty tenantID means all tenants. Its only error is core.ErrStorage.
func (s *Store) SuppressedAddresses(ctx context.Context, tenantID string, after core.Suppressed,
	limit int) ([]core.Suppressed,
	error,
) {
	var d []core.Suppressed
	if tenantID == "" {
		err := s.All(ctx, &d, suppressionColumns+`WHERE (tenant_id, email_key) > (?1, ?2)
			ORDER BY tenant_id, email_key LIMIT +?3`, after.TenantID, after.Email, limit)
		return d, err
	}
	err := s.All(ctx, &d, suppressionColumns+`WHERE tenant_id = ?1 AND email_key > ?2
		ORDER BY email_key LIMIT +?3`, tenantID, after.Email, limit)
	return d, err
}

// BlockedSubscribers returns a page of a list's subscribers with a block, sorted by id. last is the id after which the
// next page starts. Its only error is core.ErrStorage.
func (s *Store) BlockedSubscribers(ctx context.Context, listID, afterID string, limit int) (d []core.Suppressed,
	last string,
	err error,
) {
	var rows []struct {
		ID string `db:"id"`
		core.Suppressed
	}
	err = s.All(ctx, &rows,
		`SELECT s.id, s.email_key AS email, s.block AS kind, l.tenant_id, s.list_id, '' AS reason, '' AS disabled_by,
		s.block_at AS occurred_at FROM subscriber AS s CROSS JOIN list AS l ON l.id = s.list_id
		WHERE s.list_id = ? AND s.id > ? AND s.block <> '' ORDER BY s.id LIMIT +?`, listID, afterID, limit)
	for _, r := range rows {
		d, last = append(d, r.Suppressed), r.ID
	}
	return d, last, err
}

// Suppressions returns all blocks of an address. If tenantID is not empty, it returns only the blocks that affect this
// tenant, including those for all tenants. Its only error is core.ErrStorage.
func (s *Store) Suppressions(ctx context.Context, email core.Email, tenantID string) (d []core.Suppressed, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		d, err = Suppressions(tx, email.Key(), tenantID)
		return err
	})
	return d, err
}

// Suppressions returns the blocks of a folded address, for one tenant or, if tenantID is empty, for all tenants.
func Suppressions(tx *db.Tx, emailKey, tenantID string) (all []core.Suppressed, err error) {
	var part []core.Suppressed
	err = tx.All(&part, disabledColumns+"WHERE email_key = ?1 AND (?2 = '' OR tenant_id IN ('', ?2)) ORDER BY "+
		"tenant_id", emailKey, tenantID)
	if err != nil {
		return nil, err
	}
	all = append(all, part...)
	part = nil
	err = tx.All(&part,
		suppressionColumns+`INDEXED BY suppression_email WHERE email_key = ?1 AND email_key > ''
		AND (?2 = '' OR tenant_id = ?2) ORDER BY tenant_id`, emailKey, tenantID)
	if err != nil {
		return nil, err
	}
	all = append(all, part...)
	part = nil
	err = tx.All(&part, erasedColumns+"WHERE hash = ?1 AND (?2 = '' OR tenant_id IN ('', ?2)) ORDER BY tenant_id, kind",
		tenants.ErasedHash(tx.DB(), emailKey), tenantID)
	if err != nil {
		return nil, err
	}
	for i := range part {
		part[i].Email = emailKey
	}
	all = append(all, part...)
	pairs, err := tenants.IDsOf(tx, emailKey, tenantID)
	if err != nil {
		return nil, err
	}
	part = nil
	err = tx.All(&part, blockColumns+`WHERE s.block <> '' ORDER BY s.list_id`, pairs)
	return append(all, part...), err
}

// Blocks returns the kinds of blocks that an address has, as the audit log names them.
func Blocks(tx *db.Tx, emailKey, tenantID string) (kinds []string, err error) {
	all, err := Suppressions(tx, emailKey, tenantID)
	for _, s := range all {
		kinds = append(kinds, s.Kind)
	}
	return kinds, err
}

// AuditBlocks adds an audit entry about an address whose blocks have changed. before holds the kinds of the earlier
// blocks.
func AuditBlocks(tx *db.Tx, now core.Instant, actor, action, tenantID string, email core.Email, before []string) error {
	after, err := Blocks(tx, email.Key(), tenantID)
	if err != nil {
		return err
	}
	tx.Tell("blocks", before, after)
	return tx.Audit(now, actor, action, tenantID, email.Mask())
}

// SetSuppressionReason changes the reason of an address's blocks and returns the changed entries. It changes the blocks
// of one tenant or, if tenantID is empty, of all tenants. Blocks that apply to a single list have no reason, and the
// consent history stays unchanged. If there is no entry, it returns core.ErrNotFound.
func (s *Store) SetSuppressionReason(ctx context.Context, email core.Email, tenantID, reason, actor string,
	now core.Instant,
) (changed []core.Suppressed, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		changed = nil
		found := int64(0)
		for _, query := range []string{
			"UPDATE disabled SET reason = ?3 WHERE email_key = ?1 AND (?2 = '' OR tenant_id = ?2)",
			"UPDATE suppression SET reason = ?3 WHERE tenant_id IN (SELECT id FROM tenant WHERE ?2 = '' OR id = ?2) " +
				"AND email_key = ?1",
		} {
			n, err := tx.Exec(query, email.Key(), tenantID, reason)
			if err != nil {
				return err
			}
			found += n
		}
		if found == 0 {
			return core.ErrNotFound
		}
		rows, err := Suppressions(tx, email.Key(), tenantID)
		if err != nil {
			return err
		}
		for _, r := range rows { // a tenant can't change entries for all tenants
			if r.Reason == reason && r.ListID == "" && (tenantID == "" || r.TenantID == tenantID) {
				changed = append(changed, r)
			}
		}
		tx.Touched("reason")
		return tx.Audit(now, actor, "suppression.update", tenantID, email.Mask())
	})
	return changed, err
}

// Lift removes all blocks of an address on both sides, for one tenant or, if tenantID is empty, everywhere. It also
// removes queued complaints to the member service. It does not resubscribe anyone. It returns the removed blocks, or
// core.ErrNotFound if there are none.
func (s *Store) Lift(ctx context.Context, email core.Email, tenantID, actor string,
	now core.Instant,
) (lifted []core.Suppressed, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		before, err := Blocks(tx, email.Key(), tenantID)
		if err != nil {
			return err
		}
		lifted, err = lift(tx, email.Key(), tenantID, now)
		if err != nil {
			return err
		}
		if len(lifted) == 0 {
			return core.ErrNotFound
		}
		return AuditBlocks(tx, now, actor, "suppression.delete", tenantID, email, before)
	})
	return lifted, err
}

func lift(tx *db.Tx, emailKey, tenantID string, now core.Instant) (lifted []core.Suppressed, err error) {
	found, err := Suppressions(tx, emailKey, tenantID)
	if err != nil {
		return nil, err
	}
	for _, f := range found { // a tenant can't lift entries for all tenants
		if tenantID == "" || f.TenantID == tenantID {
			lifted = append(lifted, f)
		}
	}
	pairs, err := tenants.IDsOf(tx, emailKey, tenantID)
	if err != nil {
		return nil, err
	}
	for _, step := range []struct {
		query string
		args  []any
	}{
		{"DELETE FROM disabled WHERE email_key = ?1 AND (?2 = '' OR tenant_id = ?2)", []any{emailKey, tenantID}},
		{
			"DELETE FROM suppression INDEXED BY suppression_email WHERE email_key = ?1 AND email_key > '' AND " +
				"(?2 = '' OR tenant_id = ?2)",
			[]any{emailKey, tenantID},
		},
		{
			"DELETE FROM erased WHERE hash = ?1 AND (?2 = '' OR tenant_id = ?2)",
			[]any{tenants.ErasedHash(tx.DB(), emailKey), tenantID},
		},
		// SQLite's lower folds only ASCII letters, like the folding of addresses.
		{
			"DELETE FROM disable_request WHERE lower(email) = ?1 AND list_id = '' AND (?2 = '' OR tenant_id = ?2)",
			[]any{emailKey, tenantID},
		},
	} {
		if _, err := tx.Exec(step.query, step.args...); err != nil {
			return nil, err
		}
	}
	return lifted, unblock(tx, pairs, now)
}

// SubscribersByPairs selects the subscribers given as pairs of list and id.
const SubscribersByPairs = "SELECT s.list_id, s.email_key, s.word, s.block" + PersonPairs + `subscriber AS s ON
	s.list_id =
	p.value->>0 AND s.id = p.value->>1`

// unblock removes the blocks of subscribers, given as pairs of list and id.
func unblock(tx *db.Tx, pairs string, now core.Instant) error {
	var blocked []core.Subscriber
	err := tx.All(&blocked, SubscribersByPairs+" WHERE s.block <> ''", pairs)
	if err != nil {
		return err
	}
	for i := range blocked {
		was := blocked[i].Counted()
		blocked[i].Block = core.NotBlocked
		tenants.Moved(tx, blocked[i].ListID, was, blocked[i].Counted())
	}
	_, err = tx.ExecPairs(pairs, db.PairsOf("subscriber", "id", " WHERE x.block <> '' OR x.soft_bounces > 0"),
		`UPDATE subscriber SET block = '', block_at = 0, soft_bounces = 0, soft_at = 0, doubted_at = 0, changed_at = ? WHERE
			list_id = ? AND
		id = ?`, int64(now))
	return err
}

// PersonPairs is the start of a FROM clause that expands ?1, a JSON array of pairs of list and id.
const PersonPairs = " FROM json_each(?1) AS p CROSS JOIN "
