package members

import (
	"maps"
	"slices"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// DisableRequest is a request to block an address.
type DisableRequest struct {
	Email      core.Email
	TenantID   string // empty means all tenants
	Reason     string
	DisabledBy string
	OccurredAt core.Instant
	Actor      string // for the audit log; empty if the caller adds its own entry, or none
	// Counted lists the tenants whose lists the caller may see; nil means all.
	Counted []string
}

// counts reports whether the caller may see the lists of a tenant.
func (d *DisableRequest) counts(tenantID string) bool {
	return d.Counted == nil || slices.Contains(d.Counted, tenantID)
}

// Total returns the number of ended subscriptions on lists that the caller may see. ended counts the subscriptions per
// tenant.
func (d *DisableRequest) Total(ended map[string]int) (n int) {
	for tenant, of := range ended {
		if d.counts(tenant) {
			n += of
		}
	}
	return n
}

// AuditEnded adds an entry to the audit log of each tenant that lost subscriptions because an address was blocked for
// all tenants. The entry for the block itself is visible only to server administrators. If the caller may not see a
// tenant's lists, that tenant's entry does not name the caller.
func AuditEnded(tx *db.Tx, now core.Instant, actor, action string, d DisableRequest, ended map[string]int) error {
	if d.TenantID != "" {
		return nil
	}
	for _, tenant := range slices.Sorted(maps.Keys(ended)) {
		who := actor
		if !d.counts(tenant) {
			who = core.AnotherTenant
		}
		tx.Tell("subscriptions", ended[tenant], 0)
		if err := tx.Audit(now, who, action, tenant, d.Email.Mask()); err != nil {
			return err
		}
	}
	return nil
}

// Disable blocks an address and returns the number of ended subscriptions per tenant.
func Disable(tx *db.Tx, d DisableRequest, now core.Instant) (ended map[string]int, err error) {
	key := d.Email.Key()
	tx.Departs(d.TenantID)
	_, err = tx.Exec(`INSERT INTO disabled (email_key, tenant_id, reason, disabled_by, occurred_at, created_at) VALUES
		(?, ?, ?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, key, d.TenantID, d.Reason, d.DisabledBy, int64(d.OccurredAt), int64(now))
	if err != nil {
		return nil, err
	}
	// Queued emails from lists to the address are no longer sent.
	if _, err := tx.Exec("UPDATE mail INDEXED BY mail_email SET state = "+tenants.SQLMailLeftOut+" WHERE email_key = ? "+
		"AND state = "+tenants.SQLMailQueued+" AND state != "+tenants.SQLMailLeftOut+" AND list_id != ''", key); err != nil {
		return nil, err
	}
	rows, err := subscriptionsOf(tx, key, d.TenantID)
	if err != nil {
		return nil, err
	}
	ended = map[string]int{}
	for i := range rows {
		sub := &rows[i].Subscription
		now, err := Stamp(tx, sub.ListID, now)
		if err != nil {
			return nil, err
		}
		was := sub.Status
		if was == core.SubscriptionUnsubscribed { // it was unsubscribed only according to a file
			now = max(now, sub.ChangedAt+1)
			sub.ChangedAt = now
		}
		change := sub.Unsubscribe(now)
		if err := SaveSubscription(tx, was, sub); err != nil {
			return nil, err
		}
		if change != nil {
			if err := tenants.AddEvent(tx, rows[i].TenantID, sub, change, now); err != nil {
				return nil, err
			}
		}
		why := d.Reason
		if !d.counts(rows[i].TenantID) { // the reason came from another tenant
			why = core.AnotherTenant
		}
		err = AddConsent(tx, core.Consent{
			ListID: sub.ListID, SubscriptionID: sub.ID, At: now, What: core.ConsentDisabled,
			Proof: core.ProofAdmin, Origin: core.Origin{Source: why}.Trim(), Generation: sub.Generation,
		})
		if err != nil {
			return nil, err
		}
		if was != core.SubscriptionUnsubscribed {
			ended[rows[i].TenantID]++
		}
	}
	return ended, nil
}

// EndedByBlock reports whether a subscription ended because its address was blocked.
func EndedByBlock(from db.Querier, sub *core.Subscription) (yes bool, err error) {
	err = from.Get(&yes, "SELECT EXISTS (SELECT 1 FROM consent WHERE list_id = ? AND subscription_id = ? AND at = ? "+
		"AND what = 'disabled')", sub.ListID, sub.ID, int64(sub.ChangedAt))
	return yes, err
}

// TenantSubscription is a subscription with the tenant of its list.
type TenantSubscription struct {
	core.Subscription
	TenantID string `db:"tenant_id"`
}

// subscriptionsOf returns the subscriptions of an address on the lists of a tenant or, if tenantID is empty, of all
// tenants. It leaves out unsubscribed ones, unless they are unsubscribed only according to a file.
func subscriptionsOf(tx *db.Tx, emailKey, tenantID string) (subs []TenantSubscription, err error) {
	pairs, err := tenants.IDsOf(tx, emailKey, tenantID)
	if err != nil {
		return nil, err
	}
	err = tx.All(&subs, "SELECT "+SubscriptionColumns+`, l.tenant_id FROM json_each(?) AS j
		CROSS JOIN subscription AS s ON s.list_id = j.value->>0 AND s.id = j.value->>1
		CROSS JOIN list AS l ON l.id = s.list_id WHERE s.status != 'unsubscribed' OR `+saidByFile, pairs)
	return subs, err
}
