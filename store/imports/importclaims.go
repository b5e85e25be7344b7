package imports

import (
	"newsletterd/core"
	"newsletterd/store/members"
)

// A file's word that someone has unsubscribed is taken back with its import as long as the record has not changed
// since. Who says so too, by whatever way, makes it a word of their own: the record then carries their instant.

// forget is what undoing an import does to someone whom it has made active, and a later import has ended: when that is
// undone too, they are what they were before both.
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
	sub.Proof = core.ProofLeft // they had asked, and not confirmed
	if sub.CreatedAt == at {
		sub.Proof = ""
	}
	if err := moveWords(u.Tx, u.list.TenantID, sub, at); err != nil {
		return err
	}
	return members.SaveSubscription(u.Tx, sub.Status, sub)
}
