package people

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// Suppress blocks an address at the request of an operator, for one tenant or, if TenantID is empty, for all. One
// transaction disables the address on the member side, with events, and blocks it on the send side. Suppress returns
// the number of subscriptions that ended. If the tenant doesn't exist, it returns core.ErrNotFound.
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
		_, err = campaigns.ApplyEffect(tx, d.TenantID, d.Email.Key(), core.Suppression, d.OccurredAt, now)
		if err != nil {
			return err
		}
		if d.TenantID != "" { // a block for all tenants is in the table disabled, which every claim checks
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

// Disable blocks an address and ends all its subscriptions, each with an event. It returns the number of subscriptions
// that it ended for the tenants in d.Counted. A repeated call returns 0. Its only error is core.ErrStorage.
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
