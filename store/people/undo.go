package people

import (
	"cmp"
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// UndoRequest is a request to undo an unsubscribe.
type UndoRequest struct {
	ListID         string
	SubscriptionID string
	LeftAt         core.Instant // time of the unsubscribe to undo
	Origin         core.Origin
	Proof          string           // for the consent ledger; empty means core.ProofUndo
	Announce       members.Announce // how the bulk action that undoes it announces the change
}

// Undo undoes an unsubscribe. The subscription becomes active again with its earlier proof of consent, and gets a new
// row in the consent ledger. The job whose email caused the unsubscribe no longer counts it. An undo works once; while
// the subscription is active, a repeated call changes nothing. Addresses that are disabled, suppressed or have marked
// an email as spam stay unsubscribed. It returns core.ErrInvalidToken, core.ErrListInactive or
// core.ErrSubscriptionNotFound.
func (s *Store) Undo(ctx context.Context, u UndoRequest, now core.Instant) (sub core.Subscription, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		sub, err = Undo(tx, u, now)
		return err
	})
	return sub, err
}

// CanUndo returns the subscription and the error that Undo would return, without changing anything.
func (s *Store) CanUndo(ctx context.Context, u UndoRequest, now core.Instant) (sub core.Subscription, err error) {
	list, err := s.ListWithTenant(ctx, u.ListID)
	if err != nil {
		return sub, db.OrNotFound(err, core.ErrSubscriptionNotFound)
	}
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		sub, err = leavingToUndo(s.DB, r, list, u)
		return err
	})
	if err != nil {
		return sub, err
	}
	resumed := sub
	_, err = resumed.Resume(u.LeftAt, now)
	return sub, err
}

// Undo undoes an unsubscribe inside an operation; see Store.Undo.
func Undo(tx *db.Tx, u UndoRequest, now core.Instant) (sub core.Subscription, err error) {
	list, err := tenants.ListWithTenant(tx, u.ListID)
	if err != nil {
		return sub, db.OrNotFound(err, core.ErrSubscriptionNotFound)
	}
	if sub, err = leavingToUndo(tx.DB(), tx, list, u); err != nil || sub.Status == core.SubscriptionActive {
		return sub, err
	}
	if now, err = members.Stamp(tx, u.ListID, now); err != nil {
		return sub, err
	}
	was := sub.Status
	change, err := sub.Resume(u.LeftAt, now)
	if err != nil {
		return sub, err
	}
	if err := u.Announce.SaveChange(tx, list.TenantID, was, &sub, change, now); err != nil {
		return sub, err
	}
	if err := uncountLeaving(tx, u); err != nil {
		return sub, err
	}
	_, err = tx.Exec(`UPDATE consent SET taken_back = 1 WHERE list_id = ? AND subscription_id = ? AND at = ? AND
		what = 'unsubscribed'`, u.ListID, u.SubscriptionID, int64(u.LeftAt))
	if err != nil {
		return sub, err
	}
	return sub, members.AddConsent(tx, core.Consent{
		ListID: sub.ListID, SubscriptionID: sub.ID, At: now, What: core.ConsentResumed,
		Proof: cmp.Or(u.Proof, core.ProofUndo), Origin: u.Origin, Generation: sub.Generation,
	})
}

// uncountLeaving removes the unsubscribe that u undoes from the count of the job whose email caused it, if any.
func uncountLeaving(tx *db.Tx, u UndoRequest) error {
	_, err := tx.Exec(`UPDATE send_job SET unsubscribed = unsubscribed - 1 WHERE unsubscribed > 0 AND no =
		(SELECT job_no FROM consent WHERE list_id = ? AND subscription_id = ? AND at = ? AND what = 'unsubscribed' AND
		job_no > 0)`,
		u.ListID, u.SubscriptionID, int64(u.LeftAt))
	return err
}

// leavingToUndo returns the subscription whose unsubscribe u undoes. If the address is blocked, it returns an error.
func leavingToUndo(
	s *db.DB,
	from db.Querier,
	list *core.ListWithTenant,
	u UndoRequest,
) (sub core.Subscription, err error) {
	err = from.Get(&sub, "SELECT "+members.SubscriptionColumns+" FROM subscription AS s WHERE s.list_id = ? AND s.id = ?",
		u.ListID, u.SubscriptionID)
	if err != nil {
		return sub, db.OrNotFound(err, core.ErrSubscriptionNotFound)
	}
	if !list.Active() {
		return sub, core.ErrListInactive
	}
	var barred bool
	err = from.Get(&barred, `SELECT EXISTS (SELECT 1 FROM disabled WHERE email_key = ?1 AND tenant_id IN ('', ?2))
		OR EXISTS (SELECT 1 FROM erased WHERE hash = ?6 AND tenant_id IN ('', ?2) AND +kind IN ('disabled', 'complaint',
		'suppressed'))
		OR EXISTS (SELECT 1 FROM suppression WHERE tenant_id = ?2 AND email_key = ?1 AND kind IN ('complaint',
		'suppressed'))
		OR EXISTS (SELECT 1 FROM subscriber WHERE list_id = ?3 AND id = ?4 AND block IN ('complaint', 'suppressed'))
		OR EXISTS (SELECT 1 FROM consent WHERE list_id = ?3 AND subscription_id = ?4 AND at = ?5 AND what =
		'disabled')`,
		sub.Email.Key(), list.TenantID, u.ListID, u.SubscriptionID, int64(u.LeftAt), tenants.ErasedHash(s, sub.Email.Key()))
	if err == nil && barred {
		err = core.ErrInvalidToken
	}
	return sub, err
}
