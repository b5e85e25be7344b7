package members

import (
	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// saidByFile is an SQL condition that is true for a subscription s that is unsubscribed only according to a file.
const saidByFile = `(s.status = 'unsubscribed' AND EXISTS (SELECT 1 FROM consent AS c WHERE c.list_id = s.list_id AND
	c.subscription_id = s.id AND c.at = s.changed_at AND c.what IN ('unsubscribed', 'imported_unsubscribed') AND
	c.means = 'import'))`

// LeftByFile reports whether a subscription is unsubscribed only according to a file.
func LeftByFile(from db.Querier, sub *core.Subscription) (yes bool, err error) {
	err = from.Get(&yes, "SELECT EXISTS (SELECT 1 FROM subscription AS s WHERE s.list_id = ? AND s.id = ? AND "+
		saidByFile+")", sub.ListID, sub.ID)
	return yes, err
}

// leaveAgain handles an unsubscribe from a subscription that is already unsubscribed. If it was unsubscribed only
// according to a file, the person's own unsubscribe replaces that, without an event. Otherwise leaveAgain only adds a
// missing reason.
func leaveAgain(tx *db.Tx, l UnsubscribeRequest, sub *core.Subscription, now core.Instant) error {
	byFile, err := LeftByFile(tx, sub)
	if err != nil {
		return err
	}
	if !byFile {
		if l.Proof == core.ProofMailed { // not for a token that anyone can request
			if err := spoke(tx, l.ListID, l.SubscriptionID); err != nil {
				return err
			}
		}
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
	return AddConsent(tx, core.Consent{ // without a job, because this doesn't count as an unsubscribe of any job
		ListID: sub.ListID, SubscriptionID: sub.ID, At: sub.ChangedAt, What: core.ConsentUnsubscribed,
		Proof: l.Proof, Origin: l.Origin, Reason: l.Reason, Generation: sub.Generation,
	})
}

// spoke records that a person whom a bulk action unsubscribed or removed has also unsubscribed on their own. Undoing
// the action then doesn't restore them.
func spoke(tx *db.Tx, listID, id string) error {
	_, err := tx.Exec("DELETE FROM bulk_person WHERE action_id IN (SELECT id FROM bulk_action INDEXED BY "+
		"bulk_action_list WHERE list_id = ?) AND subscriber_id = ?", listID, id)
	return err
}

// spokeAll is like spoke, for all of a tenant's lists.
func spokeAll(tx *db.Tx, tenantID string, email core.Email) error {
	pairs, err := tenants.IDsOf(tx, email.Key(), tenantID)
	if err != nil {
		return err
	}
	_, err = tx.ExecPairs(pairs, BulkPairs, DeleteBulkPerson)
	return err
}

// BulkPairs is a query for the keys of the rows that bulk actions store about a person, for db.Tx.ExecPairs.
// DeleteBulkPerson deletes one of these rows.
const (
	BulkPairs = `SELECT b.id AS a, p.value->>1 AS b FROM json_each(?1) AS p CROSS JOIN bulk_action AS b
		INDEXED BY bulk_action_list ON b.list_id = p.value->>0`
	DeleteBulkPerson = "DELETE FROM bulk_person WHERE action_id = ? AND subscriber_id = ?"
)
