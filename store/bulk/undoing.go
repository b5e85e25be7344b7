package bulk

import (
	"context"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
)

const (
	undoPeople = 100 // maximum number of people in a commit
	// keptPeople selects the people whom an undo has not reached yet. Each row is deleted in the same commit as its
	// undo.
	keptPeople = "SELECT subscriber_id, at, was FROM bulk_person WHERE action_id = ? ORDER BY subscriber_id LIMIT +?"
	// barred is a query that reports whether an address has bounced, marked an email as spam, or is blocked. Its
	// parameters are the address, the tenant, the list, the subscription id, and the hash of the address.
	barred = `SELECT EXISTS (SELECT 1 FROM disabled WHERE email_key = ?1 AND tenant_id IN ('', ?2))
		OR EXISTS (SELECT 1 FROM erased WHERE hash = ?5 AND tenant_id IN ('', ?2) AND +kind <> 'left')
		OR EXISTS (SELECT 1 FROM suppression WHERE tenant_id = ?2 AND email_key = ?1)
		OR EXISTS (SELECT 1 FROM subscriber WHERE list_id = ?3 AND id = ?4 AND block <> '')`
)

// keptPerson is the stored state that a person had before an action.
type keptPerson struct {
	ID  string          `db:"subscriber_id"`
	At  core.Instant    `db:"at"`
	Was core.BulkBefore `db:"was"`
}

// undoStep undoes an action for some people and reports whether there are more.
func (s *Store) undoStep(ctx context.Context, a *core.BulkAction, now core.Instant) (more bool, err error) {
	err = s.Bulk(ctx, func(tx *db.Tx) error {
		more = false
		var current core.BulkAction
		err := tx.Get(&current, selectAction, a.ID)
		if err != nil || current.State != core.BulkUndoing {
			return err
		}
		c := changing{Tx: tx, action: &current, now: now, actor: current.UndoBy}
		var kept []keptPerson
		if err := tx.All(&kept, keptPeople, a.ID, undoPeople); err != nil {
			return err
		}
		c.list, err = tenants.ListWithTenant(tx, a.ListID)
		gone := errors.Is(err, core.ErrListNotFound)
		switch {
		case err != nil && !gone:
			return err
		case len(kept) == 0:
			return end(tx, &current, core.BulkUndone, "", now)
		case gone || !c.list.Active(): // undoing another action can restore the other people
			return end(tx, &current, core.BulkCancelled, "", now)
		}
		if err := c.readTag(); err != nil && !errors.Is(err, core.ErrTagNotFound) {
			return err
		}
		more = true
		begun := time.Now()
		for i := range kept {
			if i > 0 && time.Since(begun) >= holdFor {
				break
			}
			if err := errors.Join(c.undo(&kept[i]), c.skip(kept[i].ID)); err != nil {
				return err
			}
		}
		return c.save()
	})
	return more && err == nil, err
}

// undo reverts the change to one person, unless the person has changed since.
func (c *changing) undo(k *keptPerson) error {
	if k.At == 0 { // the action stopped before it changed this person
		return nil
	}
	if core.BulkTags(c.action.Kind) {
		if c.tag.No == 0 { // the tag was deleted
			return nil
		}
		return c.undoTag(k)
	}
	sub, err := members.Subscription(c.Tx, c.list.ID, k.ID)
	gone := errors.Is(err, core.ErrNotFound)
	if err != nil && !gone {
		return err
	}
	removed := c.action.Kind == core.BulkRemove
	if gone != removed {
		return nil
	}
	email := sub.Email
	if removed {
		email = k.Was.Email
	}
	var bars bool
	err = c.Get(&bars, barred, email.Key(), c.list.TenantID, c.list.ID, k.ID, tenants.ErasedHash(c.DB(), email.Key()))
	if err != nil || bars {
		return err
	}
	var done bool
	joined, err := c.joinedAt(k.ID)
	switch {
	case err != nil:
	case removed:
		done, err = true, c.bringBack(k)
	case k.Was.Status == core.SubscriptionPending:
		done, err = c.pend(&sub, k.At)
	default:
		done, err = c.resume(k)
	}
	if err != nil || !done {
		return err
	}
	c.action.Restored++
	return c.setJoined(k.ID, joined)
}

// resume reactivates an unsubscribed person.
func (c *changing) resume(k *keptPerson) (bool, error) {
	_, err := people.Undo(c.Tx, people.UndoRequest{
		ListID: c.list.ID, SubscriptionID: k.ID, LeftAt: k.At, Origin: core.Origin{Source: c.actor},
		Proof: core.ProofAdmin, Announce: c.announce,
	}, c.now)
	if errors.Is(err, core.ErrInvalidToken) { // the person has changed since
		return false, nil
	}
	return err == nil, err
}

// pend makes an unsubscribed person pending again. The unsubscribe stays in the ledger but no longer counts.
func (c *changing) pend(sub *core.Subscription, left core.Instant) (bool, error) {
	was := sub.Status
	if !sub.PendsBefore(left, c.now) {
		return false, nil
	}
	_, err := c.Exec(`UPDATE consent SET taken_back = 1 WHERE list_id = ? AND subscription_id = ? AND at = ? AND
		what = 'unsubscribed'`, sub.ListID, sub.ID, int64(left))
	return true, errors.Join(err, members.SaveSubscription(c.Tx, was, sub))
}

// bringBack restores a subscription that the action removed.
func (c *changing) bringBack(k *keptPerson) error {
	at, err := members.Stamp(c.Tx, c.list.ID, c.now)
	if err != nil {
		return err
	}
	sub, change := k.Was.Subscription(c.list.ID, k.ID, k.At, at)
	if err := members.Announce(c.announce).SaveChange(c.Tx, c.list.TenantID, "", &sub, change, c.now); err != nil {
		return err
	}
	return c.One("UPDATE subscription SET asked_at = ?, heard_at = ? WHERE list_id = ? AND id = ?",
		int64(k.Was.AskedAt), int64(k.Was.HeardAt), c.list.ID, k.ID)
}

// joinedAt returns the start of a person's subscription on the send side. Callers read it before they reactivate the
// person, which changes it. If the send side is remote or has no record, the result is nil.
func (c *changing) joinedAt(id string) (at *core.Instant, err error) {
	if c.Store.Options().SendElsewhere {
		return nil, nil
	}
	var sub core.Subscriber
	err = c.Get(&sub, campaigns.SelectSubscriber, c.list.ID, id)
	if errors.Is(err, core.ErrNotFound) {
		return nil, nil
	}
	return &sub.JoinedAt, err
}

func (c *changing) setJoined(id string, at *core.Instant) error {
	if at == nil {
		return nil
	}
	_, err := c.Exec("UPDATE subscriber SET joined_at = ? WHERE list_id = ? AND id = ?", int64(*at), c.list.ID, id)
	return err
}
