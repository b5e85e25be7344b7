package people

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// Suppress is an operator's word that an address is not to be mailed, by lists of one tenant or (TenantID empty) by
// any: the member's side is disabled with its events, and the send side blocks at once what it knows of the address. It
// returns how many subscriptions ended. core.ErrNotFound: there is no such tenant.
func (s *Store) Suppress(
	ctx context.Context,
	d members.DisableRequest,
	actor string,
	now core.Instant,
) (n int, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if d.TenantID != "" {
			if _, err := tenants.ReadTenant(tx, d.TenantID); err != nil {
				return err
			}
		}
		before, err := campaigns.Blocks(tx, d.Email.Key(), d.TenantID)
		if err != nil {
			return err
		}
		ended, err := members.Disable(tx, d, now)
		if err != nil {
			return err
		}
		n = d.Total(ended)
		if _, err := campaigns.Report(tx, d.TenantID, d.Email.Key(), core.Suppression, d.OccurredAt, now); err != nil {
			return err
		}
		if d.TenantID != "" { // what stands everywhere is in disabled, which every claim looks at
			if err := suppress(tx, d.TenantID, d.Email.Key(), core.StatusSuppressed, d.Reason, now); err != nil {
				return err
			}
		}
		if err := campaigns.AuditBlocks(tx, now, actor, "suppression.create", d.TenantID, d.Email, before); err != nil {
			return err
		}
		return members.AuditEnded(tx, now, actor, "suppression.create", d, ended)
	})
	return n, err
}

// Disable switches an address off and ends every subscription of it, each with its event. It returns how many of the
// counted tenants' subscriptions this call changed: 0 on repetition. Its only error is core.ErrStorage.
func (s *Store) Disable(ctx context.Context, d members.DisableRequest, now core.Instant) (n int, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if d.Actor == "" {
			ended, err := members.Disable(tx, d, now)
			n = d.Total(ended)
			return err
		}
		before, err := campaigns.Blocks(tx, d.Email.Key(), d.TenantID)
		if err != nil {
			return err
		}
		ended, err := members.Disable(tx, d, now)
		if err != nil {
			return err
		}
		n = d.Total(ended)
		if err := campaigns.AuditBlocks(tx, now, d.Actor, "address.disable", d.TenantID, d.Email, before); err != nil {
			return err
		}
		return members.AuditEnded(tx, now, d.Actor, "address.disable", d, ended)
	})
	return n, err
}
