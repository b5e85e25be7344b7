package members

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// NamedSubscription is a subscription of an address, with any status, and the name of its list.
type NamedSubscription struct {
	core.Subscription
	ListName string `db:"list_name"`
}

// SubscriptionsAt returns the subscriptions of an address on a tenant's lists, with any status, ordered by list name.
// Its only error is core.ErrStorage.
func (s *Store) SubscriptionsAt(ctx context.Context, tenantID string, email core.Email) (held []NamedSubscription,
	err error,
) {
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		pairs, err := tenants.IDsAmong(s.DB, r, email.Key(), tenantID)
		if err != nil {
			return err
		}
		return r.All(&held, "SELECT "+SubscriptionColumns+`, l.name AS list_name FROM json_each(?) AS j
			CROSS JOIN subscription AS s ON s.list_id = j.value->>0 AND s.id = j.value->>1
			CROSS JOIN list AS l ON l.id = s.list_id AND l.deleted_at = 0 ORDER BY l.name, l.id`, pairs)
	})
	return held, err
}

// UnsubscribeAll ends all subscriptions of an address on a tenant's lists, and returns those that it ended. It ignores
// l.ListID and l.SubscriptionID. Its only error is core.ErrStorage.
func (s *Store) UnsubscribeAll(ctx context.Context, tenantID string, l UnsubscribeRequest,
	now core.Instant,
) (left []core.Subscription, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		left = nil
		subs, err := subscriptionsOf(tx, l.Email.Key(), tenantID)
		if err != nil {
			return err
		}
		if l.Proof == core.ProofMailed {
			if err := spokeAll(tx, tenantID, l.Email); err != nil {
				return err
			}
		}
		for _, sub := range subs {
			was := sub.Status
			l.ListID, l.SubscriptionID = sub.ListID, sub.ID
			_, gone, err := Unsubscribe(tx, l, now)
			if err != nil {
				return err
			}
			if was != core.SubscriptionUnsubscribed {
				left = append(left, gone)
			}
		}
		return nil
	})
	return left, err
}

// linksPerListEmail is the maximum number of emails with a preference page link that can be requested for one address
// on a list's page per tenants.MailPeriod.
const linksPerListEmail = 3

// RequestPreferencesLink queues an email with a link to the data that a tenant has about an address. It sends nothing
// if there is no data or the address is blocked. The number of statements is always the same, so that response times
// don't reveal whether there is data. If there is no such list, it returns core.ErrListNotFound.
func (s *Store) RequestPreferencesLink(ctx context.Context, listID string, email core.Email, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		list, err := tenants.ListWithTenant(tx, listID)
		if err != nil {
			return err
		}
		pairs, err := tenants.IDsOf(tx, email.Key(), list.TenantID)
		if err != nil {
			return err
		}
		var due bool
		err = tx.Get(&due, `SELECT EXISTS (SELECT 1 FROM json_each(?1) AS j
				CROSS JOIN subscription AS s ON s.list_id = j.value->>0 AND s.id = j.value->>1)
			AND NOT EXISTS (SELECT 1 FROM disabled WHERE email_key = ?2 AND tenant_id IN ('', ?3))
			AND NOT EXISTS (SELECT 1 FROM erased WHERE hash = ?7 AND tenant_id IN ('', ?3) AND kind = 'disabled')
			AND (SELECT count(*) FROM mail WHERE email_key = ?2 AND kind = 'preferences' AND list_id = ?4 AND created_at
			> ?5 AND state != `+tenants.SQLMailLeftOut+`) < ?6`,
			pairs, email.Key(), list.TenantID, list.ID, int64(now.Add(-tenants.MailPeriod)), linksPerListEmail,
			tenants.ErasedHash(s.DB, email.Key()))
		if err != nil {
			return err
		}
		m := core.Mail{
			Kind: core.MailPreferences, TenantID: list.TenantID, ListID: list.ID, Email: email,
			DueAt: now.Add(tenants.MailDelay),
		}
		if !due {
			return tenants.LeaveOut(tx, m, now)
		}
		return tenants.AddMail(tx, m, now)
	})
}
