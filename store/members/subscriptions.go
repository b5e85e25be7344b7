package members

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// SubscriptionColumns lists the columns of a subscription s.
const SubscriptionColumns = `s.list_id, s.id, s.email, s.status, s.preferences, s.generation, s.means, s.created_at, s.changed_at, s.event_at`

var (
	insertSubscription = db.InsertInto("subscription",
		"list_id, id, email, email_key, status, preferences, generation, means, created_at, changed_at, event_at")
	upsertSubscription = insertSubscription + `
		ON CONFLICT (list_id, id) DO UPDATE SET email = excluded.email, status = excluded.status, preferences =
		excluded.preferences,
		generation = excluded.generation, means = excluded.means, changed_at = excluded.changed_at, event_at =
		excluded.event_at`
)

// subscriptionValues returns the values for insertSubscription. key is the folded address.
func subscriptionValues(s *core.Subscription, key string) []any {
	return []any{
		s.ListID, s.ID, string(s.Email), key, s.Status, string(s.Preferences), s.Generation, s.Proof,
		int64(s.CreatedAt), int64(s.ChangedAt), int64(s.EventAt),
	}
}

// SaveSubscription inserts or updates a subscription. was is its previous status, empty for a new one.
func SaveSubscription(tx *db.Tx, was string, s *core.Subscription) error {
	tenants.Moved(tx, s.ListID, core.CountedSubscription(was), core.CountedSubscription(s.Status))
	_, err := tx.Exec(upsertSubscription, subscriptionValues(s, s.Email.Key())...)
	return err
}

// SaveChange saves a subscription; was is its previous status. If c is not nil, SaveChange also adds an event.
func SaveChange(tx *db.Tx, tenantID, was string, s *core.Subscription, c *core.Change, now core.Instant) error {
	if err := SaveSubscription(tx, was, s); err != nil || c == nil {
		return err
	}
	return tenants.AddEvent(tx, tenantID, s, c, now)
}

// Announce passes on the event that reports a change. A nil Announce adds the event to the outbox.
type Announce func(tx *db.Tx, tenantID string, s *core.Subscription, c *core.Change, now core.Instant) error

// SaveChange is like the function SaveChange, but passes the change to a.
func (a Announce) SaveChange(tx *db.Tx, tenantID, was string, s *core.Subscription, c *core.Change,
	now core.Instant,
) error {
	if a == nil || c == nil {
		return SaveChange(tx, tenantID, was, s, c, now)
	}
	if err := SaveSubscription(tx, was, s); err != nil {
		return err
	}
	return a(tx, tenantID, s, c, now)
}

// Subscription returns a subscription inside an operation. If there is none, it returns core.ErrSubscriptionNotFound.
func Subscription(tx *db.Tx, listID, id string) (sub core.Subscription, err error) {
	err = tx.Get(&sub, "SELECT "+SubscriptionColumns+" FROM subscription AS s WHERE s.list_id = ? AND s.id = ?", listID,
		id)
	return sub, db.OrNotFound(err, core.ErrSubscriptionNotFound)
}

// SetPreferences replaces the preferences of an address on a list. The tracking consent stays unchanged unless p
// contains one. If there is no subscription, it returns core.ErrSubscriptionNotFound. If the context names an actor
// (By), it adds an audit entry.
func (s *Store) SetPreferences(ctx context.Context, listID string, email core.Email, p core.Preferences,
	now core.Instant,
) (core.Subscription, error) {
	return s.changePreferences(ctx, listID, email, core.Consent{Origin: core.Origin{Source: "api"}},
		func(core.Fields, core.Preferences) (core.Preferences, error) { return p.OrEmpty(), nil }, now)
}

// SetOwnPreferences is like SetPreferences, but for requests made by subscribers: fields that only the team can set
// keep their values.
func (s *Store) SetOwnPreferences(ctx context.Context, listID string, email core.Email, p core.Preferences,
	now core.Instant,
) (core.Subscription, error) {
	return s.changePreferences(ctx, listID, email, core.Consent{Origin: core.Origin{Source: "api"}},
		func(f core.Fields, was core.Preferences) (core.Preferences, error) {
			return f.Guarded(was, p.OrEmpty()), nil
		},
		now)
}

// SetFields sets members of the preferences of an address on a list; a nil value removes the member. The others keep
// their current values. It returns core.ErrSubscriptionNotFound, or the error of core.Preferences.Check for the
// result.
func (s *Store) SetFields(ctx context.Context, listID string, email core.Email, values map[string]any,
	now core.Instant,
) (core.Subscription, error) {
	return s.changePreferences(ctx, listID, email, core.Consent{},
		func(_ core.Fields, p core.Preferences) (core.Preferences, error) {
			p = p.With(values)
			return p, p.Check("fields")
		}, now)
}

// changePreferences changes the preferences of an address on a list. If this gives or withdraws consent to tracking,
// c is the entry for the consent ledger.
func (s *Store) changePreferences(ctx context.Context, listID string, email core.Email, c core.Consent,
	change func(core.Fields, core.Preferences) (core.Preferences, error), now core.Instant,
) (sub core.Subscription, err error) {
	list, err := s.ListWithTenant(ctx, listID)
	if err != nil {
		return sub, err
	}
	id := s.SubscriptionID(list.ID, email.Key())
	err = s.Update(ctx, s.ByActor(ctx, "subscription.update", list.TenantID, email.Mask(), func(tx *db.Tx) error {
		if sub, err = Subscription(tx, list.ID, id); err != nil {
			return err
		}
		p, err := change(list.Fields, sub.Preferences)
		if err == nil {
			p = sub.Preferences.ReplacedBy(p)
			err = p.Check("preferences")
		}
		if err != nil || sub.Preferences == p {
			return err
		}
		return replacePreferences(tx, list.TenantID, &sub, p, c, now)
	}))
	return sub, db.AsItStood(err, new(core.Instant), 0)
}

func replacePreferences(tx *db.Tx, tenantID string, sub *core.Subscription, p core.Preferences, c core.Consent,
	now core.Instant,
) error {
	now, err := Stamp(tx, sub.ListID, now)
	if err != nil {
		return err
	}
	tx.Touched("preferences")
	was := sub.Preferences
	if err := SaveChange(tx, tenantID, sub.Status, sub, sub.SetPreferences(p, now), now); err != nil {
		return err
	}
	c.At = now
	return NoteTracking(tx, was, sub, c)
}

// SetField is like SetFields, but runs inside an operation and sets one string. Subscribers can't choose that string
// freely, so the field may be one that only the team can set. If the preferences would become too long, SetField
// changes nothing. Its only error is core.ErrStorage.
func SetField(tx *db.Tx, tenantID string, sub *core.Subscription, name, value string, now core.Instant) error {
	p := sub.Preferences.With(map[string]any{name: value})
	if p.Check("preferences") != nil || sub.Preferences == p {
		return nil
	}
	return replacePreferences(tx, tenantID, sub, p, core.Consent{}, now)
}

// Subscription returns the subscription of an address on a list. If there is none, it returns
// core.ErrSubscriptionNotFound.
func (s *Store) Subscription(ctx context.Context, listID string, email core.Email) (sub core.Subscription, err error) {
	err = s.Get(ctx, &sub, "SELECT "+SubscriptionColumns+" FROM subscription AS s WHERE s.list_id = ? AND s.id = ?",
		listID, s.SubscriptionID(listID, email.Key()))
	return sub, db.OrNotFound(err, core.ErrSubscriptionNotFound)
}

// Subscriptions returns a page of a list's subscriptions with any status, ordered by id. Its only error is
// core.ErrStorage.
func (s *Store) Subscriptions(ctx context.Context, listID, afterID string, limit int) ([]core.Subscription, error) {
	var subs []core.Subscription
	err := s.All(ctx, &subs,
		"SELECT "+SubscriptionColumns+" FROM subscription AS s WHERE s.list_id = ? AND s.id > ? ORDER BY s.id LIMIT +?",
		listID, afterID, limit)
	return subs, err
}
