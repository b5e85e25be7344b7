package campaigns

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

const subscriberColumns = `list_id, email_key, subscriber.id, email, word, word_at, block, block_at, preferences, soft_bounces, soft_at,
	doubted_at, sync_no, created_at, changed_at, joined_at`

// SelectSubscriber selects a subscriber by list and id.
const SelectSubscriber = "SELECT " + subscriberColumns + " FROM subscriber WHERE list_id = ? AND id = ?"

// Subscriber returns the send side's record of an address on a list. If the list has no such subscriber, it returns
// core.ErrNotFound.
func (s *Store) Subscriber(ctx context.Context, listID string, email core.Email) (sub core.Subscriber, err error) {
	err = s.Get(ctx, &sub, SelectSubscriber, listID, s.SubscriptionID(listID, email.Key()))
	return sub, err
}

// Subscribers returns a page of a list's subscribers, sorted by id. Its only error is core.ErrStorage.
func (s *Store) Subscribers(ctx context.Context, listID string, page core.Page) (subs []core.Subscriber, err error) {
	err = s.All(ctx, &subs, "SELECT "+subscriberColumns+` FROM subscriber WHERE list_id = ? AND id > ?
		ORDER BY id LIMIT +?`, listID, page.After, page.Limit)
	return subs, err
}

// ApplyEvent applies an event, and stores its id and nonce in the same transaction. If the list does not belong to the
// event's tenant, it returns an Invalid error on list_id. For a repeated event or nonce, it returns
// core.ErrDuplicateEvent or core.ErrReplayedNonce.
func (s *Store) ApplyEvent(ctx context.Context, n tenants.Nonce, e core.Event, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if _, err := tenants.ListOf(tx, e.TenantID, e.ListID); err != nil {
			return err
		}
		if err := tenants.AcceptEvent(tx, e.TenantID, e.ID, now); err != nil {
			return err
		}
		if err := tenants.AcceptNonce(tx, n, now); err != nil {
			return err
		}
		if err := tenants.Feeds(tx, n.ClientID, e.ListID, now); err != nil {
			return err
		}
		kinds, err := tenants.ErasedAmong(tx.DB(), tx, e.TenantID, 1, func(int) string { return e.Subscriber.Email.Key() })
		if err != nil {
			return err
		}
		return ApplySubscriber(tx, Applying{e.ListID, e.Type, e.OccurredAt, 0, kinds}, e.Subscriber, now)
	})
}

// Applying describes the event or full-sync batch that is being applied to subscribers. For an event, syncNo is 0.
type Applying struct {
	ListID     string
	EventType  string
	OccurredAt core.Instant
	syncNo     int64
	erased     map[string]string // kinds of erased addresses, by folded address
}

// ApplySubscriber applies an event or a batch to one of its subscribers and stores the result. If the address was
// erased, its earlier block is restored.
func ApplySubscriber(tx *db.Tx, a Applying, p core.EventSubscriber, now core.Instant) error {
	// The id that the sender uses is ignored. Unsubscribe tokens and the comparison with the member side use the id
	// derived here.
	p.ID = tx.DB().SubscriptionID(a.ListID, p.Email.Key())
	sub := core.Subscriber{}
	err := tx.Get(&sub, SelectSubscriber, a.ListID, p.ID)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	_, err = a.apply(tx, &sub, err == nil, p, now)
	return err
}

// apply is like ApplySubscriber, for a subscriber that was already looked up. known reports whether it was found. apply
// reports whether it stored the result, which is in sub.
func (a *Applying) apply(tx *db.Tx, sub *core.Subscriber, known bool, p core.EventSubscriber, now core.Instant) (bool,
	error,
) {
	sub.ListID = a.ListID
	if !known && a.erased != nil {
		sub.Block = tenants.ErasedBlock(a.erased[p.Email.Key()])
	}
	mailable, was := sub.EmailKey != "" && sub.Mailable(), sub.Counted()
	changed := sub.Apply(p, a.EventType, a.OccurredAt, now)
	if a.syncNo > sub.SyncNo {
		sub.SyncNo, changed = a.syncNo, true
	}
	if !changed {
		return false, nil
	}
	if mailable && !sub.Mailable() {
		if err := departs(tx, a.ListID); err != nil {
			return false, err
		}
	}
	if err := SaveSubscriber(tx, was, sub); err != nil || known {
		return err == nil, err
	}
	return true, tenants.TakeTags(tx, a.ListID, sub.ID, sub.EmailKey)
}

// selectKnown selects the subscribers of a list whose ids are in a JSON array.
const selectKnown = "SELECT " + subscriberColumns + ` FROM json_each(?2) AS j CROSS JOIN subscriber
	WHERE list_id = ?1 AND subscriber.id = j.value`

// applyAll is like ApplySubscriber, for many subscribers, which it reads in one statement.
func (a *Applying) applyAll(tx *db.Tx, all []core.EventSubscriber, now core.Instant) error {
	ids, of := make(core.Strings, len(all)), tx.DB().SubscriptionIDs(a.ListID)
	for i := range all {
		ids[i] = of.Of(all[i].Email.Key())
	}
	var stored []core.Subscriber
	err := tx.All(&stored, selectKnown, a.ListID, ids.Column())
	if err != nil {
		return err
	}
	known := make(map[string]*core.Subscriber, len(all))
	for i := range stored {
		known[stored[i].ID] = &stored[i]
	}
	for i, p := range all {
		p.ID = ids[i]
		sub := known[p.ID]
		if sub != nil {
			_, err = a.apply(tx, sub, true, p, now)
		} else {
			sub = &core.Subscriber{}
			var saved bool
			if saved, err = a.apply(tx, sub, false, p, now); saved {
				known[p.ID] = sub
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// departs records that a person on a list may no longer be emailed.
func departs(tx *db.Tx, listID string) error {
	tenantID, err := tenants.TenantOfList(tx, listID)
	if errors.Is(err, core.ErrNotFound) {
		return nil // nothing is sent to a deleted list
	}
	tx.Departs(tenantID)
	return err
}

var upsertSubscriber = db.InsertInto("subscriber",
	`list_id, email_key, id, email, word, word_at, block, block_at, preferences,
	soft_bounces, soft_at, doubted_at, sync_no, created_at, changed_at, joined_at`) + `
	ON CONFLICT (list_id, id) DO UPDATE SET email = excluded.email, word = excluded.word,
	word_at = excluded.word_at, block = excluded.block, block_at = excluded.block_at, preferences =
	excluded.preferences,
	soft_bounces = excluded.soft_bounces, soft_at = excluded.soft_at, doubted_at = excluded.doubted_at,
	sync_no = excluded.sync_no, changed_at = excluded.changed_at, joined_at = excluded.joined_at`

// SaveSubscriber inserts or updates a subscriber and adjusts the counts of the list. was is the state in which the
// counts currently include the subscriber.
func SaveSubscriber(tx *db.Tx, was core.CountedState, s *core.Subscriber) error {
	tenants.Moved(tx, s.ListID, was, s.Counted())
	_, err := tx.Exec(upsertSubscriber,
		s.ListID, s.EmailKey, s.ID, string(s.Email), string(s.MemberStatus), int64(s.MemberStatusAt), string(s.Block),
		int64(s.BlockAt),
		string(s.Preferences), s.SoftBounces, int64(s.SoftAt), int64(s.DoubtedAt), s.SyncNo, int64(s.CreatedAt),
		int64(s.ChangedAt), int64(s.JoinedAt))
	return err
}

// receivedSync is a full sync that is being received.
type receivedSync struct {
	No         int64        `db:"no"`
	ListID     string       `db:"list_id"`
	BatchTotal int          `db:"batch_total"`
	Batches    int          `db:"batches"`
	OccurredAt core.Instant `db:"occurred_at"`
	RemovedTo  string       `db:"removed_to"`
}

const receivedSyncColumns = "no, list_id, batch_total, batches, occurred_at, removed_to"

// ApplyBatch applies one batch of a full sync in one transaction. The last batch starts the removal of subscribers who
// were in no batch. RemoveAbsent performs the removal. It returns the errors of ApplyEvent, and core.ErrDuplicateBatch
// for a repeated batch. If the batch contradicts other batches of its sync, it returns an Invalid error on batch_total
// or list_id.
func (s *Store) ApplyBatch(ctx context.Context, n tenants.Nonce, f core.FullSync, now core.Instant) error {
	return s.Background(ctx, func(tx *db.Tx) error {
		list, err := tenants.ListOf(tx, f.TenantID, f.ListID)
		if err != nil {
			return err
		}
		rs, err := receiveSync(tx, n.ClientID, f, now)
		if err != nil {
			return err
		}
		if err := tenants.AcceptBatch(tx, f.TenantID, f.SyncID, f.BatchNo, now); err != nil {
			return err
		}
		if err := tenants.AcceptNonce(tx, n, now); err != nil {
			return err
		}
		if err := tenants.Feeds(tx, n.ClientID, f.ListID, now); err != nil {
			return err
		}
		removes, err := tenants.MayRemove(tx, n.ClientID, f.ListID, f.OccurredAt)
		if err != nil {
			return err
		}
		kinds, err := tenants.ErasedAmong(tx.DB(), tx, f.TenantID, len(f.Subscribers),
			func(i int) string { return f.Subscribers[i].Email.Key() })
		if err != nil {
			return err
		}
		a := Applying{f.ListID, "", f.OccurredAt, rs.No, kinds}
		if err := a.applyAll(tx, f.Subscribers, now); err != nil {
			return err
		}
		return countBatch(tx, rs, removes && list.SyncRemovesAbsent, now)
	})
}

// receiveSync returns the sync that a batch belongs to. The first batch creates it.
func receiveSync(tx *db.Tx, clientID string, f core.FullSync, now core.Instant) (rs receivedSync, err error) {
	const query = "SELECT " + receivedSyncColumns + " FROM received_sync WHERE tenant_id = ? AND sync_id = ?"
	err = tx.Get(&rs, query, f.TenantID, f.SyncID)
	if errors.Is(err, core.ErrNotFound) {
		_, err = tx.Exec(`INSERT INTO received_sync (tenant_id, sync_id, list_id, client_id, batch_total, occurred_at)
			VALUES (?, ?, ?, ?, ?, ?)`, f.TenantID, f.SyncID, f.ListID, clientID, f.BatchTotal, int64(min(f.OccurredAt,
			now)))
		if err == nil {
			err = tx.Get(&rs, query, f.TenantID, f.SyncID)
		}
	}
	switch {
	case err != nil:
		return rs, err
	case rs.ListID != f.ListID:
		return rs, core.Invalidf("list_id", "This sync belongs to another list. Use a new sync_id for each list.")
	case rs.BatchTotal != f.BatchTotal:
		return rs, core.Invalidf("batch_total", "batch_total differs from earlier batches. This sync has %d batches.",
			rs.BatchTotal)
	}
	return rs, nil
}

// countBatch counts a received batch. After the last one, it starts the removal if removes is set.
func countBatch(tx *db.Tx, rs receivedSync, removes bool, now core.Instant) error {
	last := rs.Batches+1 == rs.BatchTotal
	finished := core.Instant(0)
	if last && !removes {
		finished = now
	}
	if last && removes {
		tx.Kick(db.TopicSync)
	}
	return tx.One("UPDATE received_sync SET batches = batches + 1, removing = ?, finished_at = ? WHERE no = ?",
		last && removes, int64(finished), rs.No)
}

// removeStep is the number of subscribers that one operation of RemoveAbsent checks.
const removeStep = 500

// RemoveAbsent goes one step through the oldest open removal. It unsubscribes subscribers who were in no batch of the
// sync and have not changed since its start. The start of the sync counts as the time of the unsubscribe. more reports
// whether there are more steps. Its only error is core.ErrStorage.
func (s *Store) RemoveAbsent(ctx context.Context, now core.Instant) (more bool, err error) {
	var open int
	err = s.Get(ctx, &open, "SELECT count(*) FROM (SELECT 1 FROM received_sync INDEXED BY received_sync_open "+
		"WHERE removing = 1 LIMIT 1)")
	if err != nil || open == 0 {
		return false, err
	}
	err = s.Background(ctx, func(tx *db.Tx) error {
		var rs receivedSync
		err := tx.Get(&rs, "SELECT "+receivedSyncColumns+" FROM received_sync INDEXED BY received_sync_open "+
			"WHERE removing = 1 ORDER BY no LIMIT 1")
		if err != nil {
			return err
		}
		return removeAbsent(tx, rs, now)
	})
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// selectAbsent selects the subscribers in a range of ids that a sync didn't contain.
const selectAbsent = "SELECT " + subscriberColumns + ` FROM subscriber WHERE list_id = ? AND id > ? AND id <= ?
	AND sync_no < ? ORDER BY id`

func removeAbsent(tx *db.Tx, rs receivedSync, now core.Instant) error {
	end := db.LastID
	err := tx.Get(&end, "SELECT id FROM subscriber WHERE list_id = ? AND id > ? ORDER BY id LIMIT 1 OFFSET +?",
		rs.ListID, rs.RemovedTo, removeStep-1)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	var subs []core.Subscriber // few, because most were in the sync
	err = tx.All(&subs, selectAbsent, rs.ListID, rs.RemovedTo, end, rs.No)
	if err != nil {
		return err
	}
	left := false
	for i := range subs {
		was := subs[i].Counted()
		if !subs[i].Absent(rs.No, rs.OccurredAt, now) {
			continue
		}
		left = true
		if err := SaveSubscriber(tx, was, &subs[i]); err != nil {
			return err
		}
	}
	if left {
		if err := departs(tx, rs.ListID); err != nil {
			return err
		}
	}
	if end == db.LastID {
		return tx.One("UPDATE received_sync SET removing = 0, finished_at = ? WHERE no = ?", int64(now), rs.No)
	}
	return tx.One("UPDATE received_sync SET removed_to = ? WHERE no = ?", end, rs.No)
}
