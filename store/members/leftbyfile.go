package members

import (
	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// saidByFile is true for a subscription s that is unsubscribed only according to a file.
const saidByFile = `(s.status = 'unsubscribed' AND EXISTS (SELECT 1 FROM consent AS c WHERE c.list_id = s.list_id AND
	c.subscription_id = s.id AND c.at = s.changed_at AND c.what IN ('unsubscribed', 'imported_unsubscribed') AND
	c.means = 'import'))`

// LeftByFile reports whether a subscription is unsubscribed only according to a file.
func LeftByFile(from db.Querier, sub *core.Subscription) (yes bool, err error) {
	err = from.Get(&yes, "SELECT EXISTS (SELECT 1 FROM subscription AS s WHERE s.list_id = ? AND s.id = ? AND "+
		saidByFile+")", sub.ListID, sub.ID)
	return yes, err
}

// leaveAgain records an unsubscribe of a subscription that is already unsubscribed. If that was only according to a
// file, it becomes an unsubscribe in its own right, without an event. Otherwise only a missing reason is added.
func leaveAgain(tx *db.Tx, l UnsubscribeRequest, sub *core.Subscription, now core.Instant) error {
	byFile, err := LeftByFile(tx, sub)
	if err != nil {
		return err
	}
	if !byFile {
		return addReason(tx, l, sub.ChangedAt)
	}
	list, err := tenants.ListWithTenant(tx, l.ListID)
	if err != nil {
		return db.OrNotFound(err, core.ErrSubscriptionNotFound)
	}
	sub.ChangedAt = max(now, sub.ChangedAt+1)
	if err := SaveSubscription(tx, sub.Status, sub); err != nil {
		return err
	}
	if err := AuditLeaving(tx, l, list.TenantID, sub.Email, sub.Status, sub.ChangedAt); err != nil {
		return err
	}
	return AddConsent(tx, core.Consent{ // without a job, since none counts it
		ListID: sub.ListID, SubscriptionID: sub.ID, At: sub.ChangedAt, What: core.ConsentUnsubscribed,
		Proof: l.Proof, Origin: l.Origin, Reason: l.Reason, Generation: sub.Generation,
	})
}
