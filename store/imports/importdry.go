package imports

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// try counts what importing a step would do. It reads from a snapshot and writes nothing.
func (im *Import) try(ctx context.Context, s importStep, now core.Instant) error {
	return im.store.SnapshotRead(ctx, func(r *db.Reader) error {
		var list core.List // the list may have been deleted since the import started
		if err := r.Get(&list, tenants.SelectList, im.list.ID); err != nil && im.actor == "" {
			return tenants.NoList(err)
		}
		dry := importing{Import: im, reads: r, now: now, at: now, counts: im.Counts, tags: im.named}
		if err := dry.step(nil, &s); err != nil {
			return err
		}
		im.Counts, im.named = dry.counts, dry.tags
		return nil
	})
}

// tryAdding counts rows without a subscription. It adds the subscriptions that the rows would create to the map there,
// so that later rows of the same subscribers find them.
func (im *importing) tryAdding(rows []*ImportRow, there map[string]*core.Subscription) {
	for _, r := range rows {
		sub := core.Subscription{ID: r.id, ListID: im.list.ID}
		sub.Import(r.Email, im.status, im.proof, r.Preferences, im.at)
		there[r.id] = &sub
		im.counts.Added++
		im.wants(r)
		if r.Evidence != "" {
			im.counts.Evidence++
		}
	}
}

// tryUpdating counts the evidence that an import would store with a changed subscription.
func (im *importing) tryUpdating(r *ImportRow, sub *core.Subscription, was string) error {
	if sub.Status == was {
		return im.prove(nil, r, sub)
	}
	if r.Evidence != "" {
		im.counts.Evidence++
	}
	return nil
}

// tryProving counts the evidence that would be added to a subscription's consent if the consent has no evidence.
func (im *importing) tryProving(sub *core.Subscription) error {
	lacks := false
	err := im.reads.Get(&lacks, `SELECT EXISTS (SELECT 1 FROM consent WHERE list_id = ? AND subscription_id = ?
		AND what = ? AND generation = ? AND reason = '')`, sub.ListID, sub.ID, core.ConsentImported, sub.Generation)
	if lacks {
		im.counts.Evidence++
	}
	return err
}
