package imports

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// SubscriptionInput is a request to add one address to a list manually.
type SubscriptionInput struct {
	ListID string
	Email  core.Email
	Status string // core.SubscriptionPending, which sends a confirmation email, or core.SubscriptionActive
	Source string // source for the consent ledger

	Preferences core.Preferences // used only if the address is not on the list yet
}

// AddSubscription adds one address to a list, as an import of one row does, but with the proof core.ProofAdmin in the
// ledger. It returns the subscription and whether it changed. If there is no such list, it returns
// core.ErrListNotFound. It returns a Conflict if another member service manages the list, or if the address is blocked
// or has unsubscribed. Only the subscriber can undo an unsubscribe.
func (s *Store) AddSubscription(ctx context.Context, a SubscriptionInput, actor string,
	now core.Instant,
) (sub core.Subscription, changed bool, err error) {
	im, err := s.NewImport(ctx, a.ListID, a.Status, a.Source)
	if err != nil {
		return sub, false, err
	}
	im.proof = core.ProofAdmin
	rows := []ImportRow{{Email: a.Email, Preferences: a.Preferences}}
	im.prepare(rows)
	err = s.Update(ctx, func(tx *db.Tx) error {
		was, err := mayAdd(tx, im.list, &rows[0])
		if err != nil {
			return err
		}
		if was != "" {
			rows[0].Preferences = "" // the existing preferences may be the person's own
		}
		add := importing{Import: im, now: now}
		if _, err := add.run(tx, []importStep{{rows: rows}}, nil); err != nil {
			return err
		}
		if sub, err = members.Subscription(tx, im.list.ID, rows[0].id); err != nil {
			return err
		}
		if changed = add.counts.Added+add.counts.Updated > 0; !changed {
			return nil
		}
		tx.Tell("status", was, sub.Status)
		return tx.Audit(now, actor, "subscription.create", im.list.TenantID, a.Email.Mask())
	})
	return sub, changed, err
}

// mayAdd returns the status of the address on the list, or an empty string if the address is not on the list. If the
// address must not be added, it returns a Conflict.
func mayAdd(tx *db.Tx, list *core.ListWithTenant, r *ImportRow) (status string, err error) {
	stands, err := campaigns.Suppressions(tx, r.key, list.TenantID)
	if err != nil {
		return "", err
	}
	found, err := members.Subscription(tx, list.ID, r.id)
	sub := &found
	if errors.Is(err, core.ErrNotFound) {
		sub = nil
	} else if err != nil {
		return "", err
	}
	for _, s := range stands {
		switch {
		case s.Kind == core.KindLeft:
			if tenants.ErasedFrom(s.Kind, sub) {
				return "", core.Conflictf("suppressed",
					"The data for this address was erased. Only the person who owns the address can subscribe again.")
			}
		case s.ListID == "" || s.ListID == list.ID:
			return "", core.Conflictf("suppressed", "This address can't receive emails. Its status is %s.", s.Kind)
		}
	}
	if sub == nil {
		return "", nil
	}
	if sub.Left() {
		if blocked, err := members.EndedByBlock(tx, sub); err != nil {
			return "", err
		} else if blocked {
			return "", core.Conflictf("unsubscribed",
				"The subscription ended when the address was blocked. Ask the person to sign up again with a form.")
		}
		return "", core.Conflictf("unsubscribed",
			"This person unsubscribed from the list. Only they can subscribe again.")
	}
	return sub.Status, nil
}
