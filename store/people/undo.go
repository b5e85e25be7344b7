package people

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// UndoRequest is what an undo token asks for.
type UndoRequest struct {
	ListID         string
	SubscriptionID string
	LeftAt         core.Instant // of the unsubscribe that is to be taken back
	Origin         core.Origin
}

// Undo takes an unsubscribe back: the subscription is active again, with the proof of consent that it had, and a row of
// its own in the ledger. The job whose mail caused the unsubscribe no longer counts it. It works once; repeated while
// the subscription is active it changes nothing. Anyone who was switched off, complained or is suppressed stays out. It
// returns core.ErrInvalidToken, core.ErrListInactive or core.ErrSubscriptionNotFound.
func (s *Store) Undo(ctx context.Context, u UndoRequest, now core.Instant) (sub core.Subscription, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		sub, err = undo(tx, u, now)
		return err
	})
	return sub, err
}

// CanUndo reports whether Undo would work, and what it would be about. Its errors are those of Undo. It returns
// core.ErrInvalidToken, core.ErrListInactive or core.ErrSubscriptionNotFound, as Undo does.
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

func undo(tx *db.Tx, u UndoRequest, now core.Instant) (sub core.Subscription, err error) {
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
	if err := members.SaveChange(tx, list.TenantID, was, &sub, change, now); err != nil {
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
		Proof: core.ProofUndo, Origin: u.Origin, Generation: sub.Generation,
	})
}

// uncountLeaving takes the unsubscribe that u takes back off the count of the job whose mail caused it, if one did.
func uncountLeaving(tx *db.Tx, u UndoRequest) error {
	_, err := tx.Exec(`UPDATE send_job SET unsubscribed = unsubscribed - 1 WHERE unsubscribed > 0 AND no =
		(SELECT job_no FROM consent WHERE list_id = ? AND subscription_id = ? AND at = ? AND what = 'unsubscribed' AND
		job_no > 0)`,
		u.ListID, u.SubscriptionID, int64(u.LeftAt))
	return err
}

// leavingToUndo reads what an undo is about, unless something keeps the address out.
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
