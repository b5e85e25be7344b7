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

// SubscriptionInput is what an operator asks for who adds one address to a list.
type SubscriptionInput struct {
	ListID string
	Email  core.Email
	Status string // core.SubscriptionPending, which asks the address by mail, or core.SubscriptionActive
	Source string // for the ledger

	Preferences core.Preferences // of an address that is not on the list yet
}

// AddSubscription adds one address to a list as an import of one row does, but that the ledger names the proof
// core.ProofAdmin. It returns the record, and whether it is another one than before. core.ErrListNotFound, and a
// Conflict where another member service keeps the list, something stands against mailing the address, or the address
// has left the list: only a subscription of its own brings it back.
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
			rows[0].Preferences = "" // whose they are may have chosen them
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

// mayAdd returns the status that the address has on the list; empty: none. It fails with a Conflict where the address
// must not be added.
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
					"The data of this address was erased. Only its owner can subscribe again.")
			}
		case s.ListID == "" || s.ListID == list.ID:
			return "", core.Conflictf("suppressed", "This address gets no emails. Its status is %s.", s.Kind)
		}
	}
	if sub == nil {
		return "", nil
	}
	if sub.Left() {
		return "", core.Conflictf("unsubscribed",
			"This person unsubscribed from the list. Only they can subscribe again.")
	}
	return sub.Status, nil
}
