package imports

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// NewSuppressionImport starts an import of addresses into a tenant's suppression list. Each row must have a Block, and
// no one is added to a list. If there is no such tenant, it returns core.ErrNotFound.
func (s *Store) NewSuppressionImport(ctx context.Context, tenantID, source, actor string) (*Import, error) {
	if _, err := s.Tenant(ctx, tenantID); err != nil {
		return nil, err
	}
	return &Import{
		store: s, list: &core.ListWithTenant{List: core.List{TenantID: tenantID}}, status: core.SubscriptionActive,
		proof: core.ProofImport, source: core.Origin{Source: source}.Trim().Source, ids: s.SubscriptionIDs(""),
		spool: spool{dir: s.spoolDir()}, MaySuppress: true, actor: actor,
	}, nil
}

// there returns an error if the list or the tenant of the import no longer exists.
func (im *importing) there(tx *db.Tx) (err error) {
	if im.list.ID == "" {
		_, err = tenants.ReadTenant(tx, im.list.TenantID)
		return err
	}
	_, err = tenants.ReadList(tx, im.list.ID)
	return err
}

// auditSuppressed records how many addresses the import added to the suppression list.
func (im *Import) auditSuppressed(ctx context.Context, now core.Instant) error {
	return im.store.Update(ctx, func(tx *db.Tx) error {
		tx.Tell("bounced", nil, im.Counts.Bounced)
		tx.Tell("complained", nil, im.Counts.Complained)
		tx.Tell("suppressed", nil, im.Counts.Suppressed)
		return tx.Audit(now, im.actor, "suppression.import", im.list.TenantID, im.source)
	})
}
