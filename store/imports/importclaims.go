package imports

import (
	"newsletterd/core"
	"newsletterd/store/members"
)

// If a file lists a person as unsubscribed, undoing the import reverts that, unless the record has changed since. If
// the person later unsubscribes in another way, the record gets the time of that unsubscribe and no longer depends on
// the file.

// forget handles the undo of an import that activated a person whom a later import then unsubscribed. If the later
// import is undone too, the person returns to the state before both imports.
func (u *undoing) forget(sub *core.Subscription, at core.Instant) error {
	if sub.Proof != core.ProofImport || sub.Generation != 1 || sub.ChangedAt == at {
		return nil
	}
	byFile, err := members.LeftByFile(u.Tx, sub)
	if err != nil || !byFile {
		return err
	}
	n, err := u.Exec("DELETE FROM consent WHERE list_id = ? AND subscription_id = ? AND at = ? AND what = 'imported'",
		sub.ListID, sub.ID, int64(at))
	if err != nil || n == 0 {
		return err
	}
	sub.Proof = core.ProofLeft // the person subscribed but never confirmed
	if sub.CreatedAt == at {
		sub.Proof = ""
	}
	if err := moveWords(u.Tx, u.list.TenantID, sub, at); err != nil {
		return err
	}
	return members.SaveSubscription(u.Tx, sub.Status, sub)
}
