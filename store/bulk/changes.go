package bulk

import (
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
)

// syncAfter is the delay between an action's last change and the planning of its full sync.
const syncAfter = 5 * time.Second

// changing holds the state of one commit of an action or of its undo.
type changing struct {
	*db.Tx
	action *core.BulkAction // counts include the changes made so far
	list   *core.ListWithTenant
	now    core.Instant
	actor  string
	tag    core.Tag     // set for an action that tags people
	sync   bool         // whether a full sync announces the changes
	latest core.Instant // time of the latest change that the sync has to announce
}

// change performs the action on a person. It skips people who are no longer on the list.
func (c *changing) change(id string) error {
	if core.BulkTags(c.action.Kind) {
		return c.changeTag(id)
	}
	sub, err := members.Subscription(c.Tx, c.list.ID, id)
	was := sub
	switch {
	case errors.Is(err, core.ErrNotFound):
		return c.endMirrored(id)
	case err != nil:
		return err
	case sub.Status == core.SubscriptionUnsubscribed:
		return c.skip(id)
	case c.action.Kind == core.BulkRemove && sub.Left(): // keep the record, so that no import can subscribe them again
		return c.skip(id)
	case c.action.Kind == core.BulkRemove:
		return c.remove(&sub)
	}
	_, sub, err = members.Unsubscribe(c.Tx, c.leaving(id, sub.Email), c.now)
	if err != nil {
		return err
	}
	return c.keep(id, sub.ChangedAt, &core.BulkBefore{Status: was.Status})
}

// leaving returns the request with which the action unsubscribes a person.
func (c *changing) leaving(id string, email core.Email) members.UnsubscribeRequest {
	return members.UnsubscribeRequest{
		ListID: c.list.ID, SubscriptionID: id, Email: email, Proof: core.ProofAdmin,
		Origin: core.Origin{Source: c.actor}, Announce: c.announce,
	}
}

// endMirrored unsubscribes a person whose subscription another member service manages. This can't be undone here.
func (c *changing) endMirrored(id string) error {
	var sub core.Subscriber
	err := c.Get(&sub, campaigns.SelectSubscriber, c.list.ID, id)
	if errors.Is(err, core.ErrNotFound) || err == nil && sub.MemberStatus != core.StatusActive {
		return c.skip(id)
	}
	if err != nil || c.action.Kind == core.BulkRemove || !c.Store.Options().MemberElsewhere {
		return errors.Join(err, c.skip(id))
	}
	c.action.Changed++
	return errors.Join(people.EndMirrored(c.Tx, c.leaving(id, sub.Email), c.now), c.skip(id))
}

// skip removes a person whom the action doesn't change from the action's records.
func (c *changing) skip(id string) error {
	_, err := c.Exec("DELETE FROM bulk_person WHERE action_id = ? AND subscriber_id = ?", c.action.ID, id)
	return err
}

// keep stores the state that a person had before the change.
func (c *changing) keep(id string, at core.Instant, was *core.BulkBefore) error {
	c.action.Changed++
	_, err := c.Exec(`INSERT INTO bulk_person (action_id, subscriber_id, at, was) VALUES (?, ?, ?, ?)
		ON CONFLICT (action_id, subscriber_id) DO UPDATE SET at = excluded.at, was = excluded.was`, c.action.ID, id,
		int64(at), was.Column())
	return err
}

// remove deletes a subscription. The consent ledger stays. The send side and the tenant's endpoints are notified.
func (c *changing) remove(sub *core.Subscription) error {
	at, err := members.Stamp(c.Tx, c.list.ID, c.now)
	if err != nil {
		return err
	}
	was := sub.Before()
	err = c.Scan("SELECT asked_at, heard_at FROM subscription WHERE list_id = ? AND id = ?", []any{c.list.ID, sub.ID},
		&was.AskedAt, &was.HeardAt)
	if err != nil {
		return err
	}
	switch sub.Status {
	case core.SubscriptionActive:
		c.Departs(c.list.TenantID)
		ended := *sub
		change := ended.EndedByUndo(at)
		at = change.OccurredAt
		ended.Status, ended.Preferences = core.SubscriptionUnsubscribed, core.NoPreferences
		err = c.announce(c.Tx, c.list.TenantID, &ended, change, c.now)
	case core.SubscriptionPending:
		err = tenants.LeaveOutConfirmations(c.Tx, c.list.ID, sub.Email.Key(), c.now)
	}
	if err != nil {
		return err
	}
	tenants.Moved(c.Tx, c.list.ID, core.CountedSubscription(sub.Status), core.NotCounted)
	if err := c.One("DELETE FROM subscription WHERE list_id = ? AND id = ?", c.list.ID, sub.ID); err != nil {
		return err
	}
	return c.keep(sub.ID, at, &was)
}

// announce reports a change to the send side and the tenant's endpoints. A send side in this database is updated in the
// same operation, and ignores older events that are still queued for it. A remote send side gets an event or, after
// many changes, a full sync. Each removal is an event, because a full sync doesn't contain removed people. The tenant's
// endpoints get events for the first changes and, at the end, a summary of the others.
func (c *changing) announce(tx *db.Tx, tenantID string, sub *core.Subscription, change *core.Change,
	now core.Instant,
) (err error) {
	event := tenants.EventOf(tenantID, sub, change)
	c.action.Announced++
	switch {
	case !tx.DB().Options().SendElsewhere:
		err = campaigns.ApplySubscriber(tx, campaigns.Applying{
			ListID: event.ListID, EventType: event.Type, OccurredAt: event.OccurredAt,
		}, event.Subscriber, now)
	case c.action.Announced > imports.MaxSingle && c.action.Kind != core.BulkRemove:
		c.sync, c.latest = true, max(c.latest, change.OccurredAt)
	default:
		err = tenants.PutEvent(tx, event, "", now)
	}
	if err != nil || c.action.Announced > tx.DB().Options().ImportEvents {
		return err
	}
	return tenants.AddToEndpoints(tx, event, now)
}

// save stores the position and the counts of the action.
func (c *changing) save() error {
	a := c.action
	err := c.One(`UPDATE bulk_action SET done_id = ?1, done = ?2, expected = max(expected, ?2), changed = ?3,
		restored = ?4, announced = ?5 WHERE id = ?6`, a.DoneID, a.Done, a.Changed, a.Restored, a.Announced, a.ID)
	if err == nil && c.sync {
		_, err = members.RequestSync(c.Tx, a.TenantID, a.ListID, c.now.Add(syncAfter), c.latest)
	}
	return err
}
