package imports

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/google/uuid"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// importBrought is the kind of import_chunk for the subscriptions whose status an import changed. A chunk contains the
// instant of a step in milliseconds, followed by the ids in order.
const importBrought = 2

const instantBytes = 8

// note records that the import changed the status of a subscription.
func (im *importing) note(id string) {
	u, err := uuid.Parse(id)
	if im.job == "" || err != nil {
		return
	}
	if len(im.noted) == 0 {
		im.noted = binary.BigEndian.AppendUint64(im.noted, uint64(im.at))
	}
	im.noted = append(im.noted, u[:]...)
	im.brought++
}

// keepNoted stores the ids that note has collected in a step.
func (im *importing) keepNoted(tx *db.Tx) error {
	if len(im.noted) == 0 {
		return nil
	}
	err := addNoted(tx, im.job, importBrought, im.noted)
	im.noted = im.noted[:0]
	return err
}

// addNoted adds a chunk of a kind that an undo reads.
func addNoted(tx *db.Tx, id string, kind int64, data []byte) error {
	no, err := tx.Number("SELECT coalesce(max(no), -1) + 1 FROM import_chunk WHERE import_id = ? AND kind = ?",
		id, kind)
	if err == nil {
		err = addImportChunk(tx, id, kind, no, data)
	}
	return err
}

// broughtChunk is a chunk of kind importBrought: a step of an import and the subscriptions that the step changed.
type broughtChunk struct {
	No   int64  `db:"no"`
	Data []byte `db:"data"`
}

// read returns the instant of the step and the ids of its subscriptions.
func (c *broughtChunk) read() (at core.Instant, ids core.Strings) {
	if len(c.Data) < instantBytes {
		return 0, nil
	}
	at = core.Instant(binary.BigEndian.Uint64(c.Data))
	for b := c.Data[instantBytes:]; len(b) >= len(uuid.UUID{}); b = b[len(uuid.UUID{}):] {
		ids = append(ids, uuid.UUID(b[:len(uuid.UUID{})]).String())
	}
	return at, ids
}

// movedBy returns the subscriptions with the given ids, and for each the outcome of undoing the import. at is when the
// import changed them.
func movedBy(from db.Querier, j *core.ImportJob, at, now core.Instant, ids core.Strings) ([]core.Subscription,
	[]core.UndoOutcome, error,
) {
	var subs []core.Subscription
	err := from.All(&subs, "SELECT "+members.SubscriptionColumns+` FROM json_each(?2) AS x CROSS JOIN subscription AS s
		ON s.list_id = ?1 AND s.id = x.value`, j.ListID, ids.Column())
	outcomes := make([]core.UndoOutcome, len(subs))
	for i := range subs {
		asked := false
		kinds := core.Strings{core.MailConfirm}
		if subs[i].Status == core.SubscriptionActive { // an active subscriber has confirmed, to lift a bounce
			kinds = append(kinds, core.MailAlreadySubscribed)
		}
		if err == nil {
			err = from.Get(
				&asked,
				`SELECT EXISTS (SELECT 1 FROM mail WHERE email_key = ? AND kind IN (SELECT value FROM json_each(?)) AND
				created_at > ? AND list_id = ? AND state != `+tenants.SQLMailLeftOut+` AND created_at != (SELECT asked_at FROM subscription WHERE
				list_id = mail.list_id AND id = ?))`,
				subs[i].Email.Key(),
				kinds.Column(),
				int64(at),
				j.ListID,
				subs[i].ID,
			)
		}
		resumed := false
		if err == nil && subs[i].EventAt != at {
			resumed, err = resumedBy(from, j.TenantID, &subs[i])
		}
		outcomes[i] = subs[i].ImportUndone(at, asked, resumed)
		if err == nil && outcomes[i].Frees(&subs[i]) {
			var said bool
			if _, said, err = heir(from, j.TenantID, &subs[i], j.ID, now); said {
				outcomes[i] = outcomes[i].WithWord(&subs[i])
			}
		}
	}
	return subs, outcomes, err
}

// undoLooks is the maximum number of changed subscriptions that a plan checks.
const undoLooks = 5000

// ImportUndoPlan returns the expected outcome of undoing an import. It checks at most 5,000 changed subscriptions; ids
// are practically random, so these are a fair sample. If there is no such import, it returns core.ErrNotFound. If the
// import can't be undone, it returns a Conflict.
func (s *Store) ImportUndoPlan(ctx context.Context, id string, now core.Instant) (p core.ImportUndoPlan, err error) {
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		var j core.ImportJob
		if err := r.Get(&j, "SELECT "+importColumns+" FROM import_job WHERE id = ? AND status <> 'deleted'",
			id); err != nil {
			return err
		}
		if err := undoable(&j, now); err != nil {
			return err
		}
		p = core.ImportUndoPlan{Brought: j.Brought, Tagged: j.Tagged}
		var chunks []broughtChunk
		err := r.All(&chunks, "SELECT no, data FROM import_chunk WHERE import_id = ? AND kind = ? ORDER BY no LIMIT +?",
			id,
			importBrought, undoLooks/ImportBatch)
		for i := range chunks {
			at, ids := chunks[i].read()
			if err != nil || p.Looked >= undoLooks {
				break
			}
			var outcomes []core.UndoOutcome
			if _, outcomes, err = movedBy(r, &j, at, now, ids); err != nil {
				break
			}
			for n := range ids {
				outcome := core.UndoOutcome(0) // without a subscription, it was deleted
				if n < len(outcomes) {
					outcome = outcomes[n]
				}
				p.Add(outcome)
			}
		}
		if err == nil {
			err = planReplaced(r, &j, &p)
		}
		if err != nil {
			return err
		}
		return r.Get(&p.Lift, `SELECT count(*) FROM suppression AS s INDEXED BY suppression_import WHERE s.import_id = ?1 AND
			s.import_id <> '' AND NOT EXISTS (SELECT 1 FROM import_word AS w WHERE w.email_key = s.email_key AND w.tenant_id =
			s.tenant_id AND w.list_id = '' AND w.import_id <> ?1 AND w.at = s.created_at)`, j.ID)
	})
	return p, err
}

// undoable returns nil if an import can be undone, otherwise a Conflict with the reason.
func undoable(j *core.ImportJob, now core.Instant) error {
	switch {
	case !j.Ended():
		return core.Conflictf("conflict", "The import has the status %s. Cancel it first.", j.Status)
	case j.UndoStatus != "":
		return core.Conflictf("conflict", "The import was already undone.")
	case j.Brought+j.Replaced+j.Barred+j.Said+j.Tagged+j.NewTags == 0:
		return core.Conflictf("conflict", "The import changed nothing that can be undone.")
	case now >= j.UndoUntil:
		return core.Conflictf("conflict", "This import can't be undone anymore. Imports can be undone for a week.")
	}
	return nil
}

// UndoImport starts undoing an import, which happens in steps. If there is no such import, it returns
// core.ErrNotFound. It returns a Conflict if the import has not ended, changed nothing, ended more than a week ago or
// was already undone.
func (s *Store) UndoImport(ctx context.Context, id, actor string, now core.Instant) (core.ImportJob, error) {
	return s.changeImport(ctx, id, actor, "import.undo", now, func(tx *db.Tx, j *core.ImportJob) error {
		if err := undoable(j, now); err != nil {
			return err
		}
		tx.Kick(db.TopicImports)
		if _, err := tx.Exec("UPDATE list SET import_undone = 1 WHERE id = ?", j.ListID); err != nil {
			return err
		}
		return tx.One("UPDATE import_job SET undo_status = '"+core.ImportUndoRunning+"', undo_by = ? WHERE id = ?",
			actor, id)
	})
}

// NextUndo returns the id of an import that is being undone. If there is none, it returns core.ErrNotFound.
func (s *Store) NextUndo(ctx context.Context) (id string, err error) {
	err = s.Get(ctx, &id, "SELECT id FROM import_job WHERE undo_status = 'running' ORDER BY id LIMIT 1")
	return id, err
}

// UndoImportStep undoes one step of an import, and reports whether there is more to undo. Its only error is
// core.ErrStorage.
func (s *Store) UndoImportStep(ctx context.Context, id string, now core.Instant) (more bool, err error) {
	err = s.Bulk(ctx, func(tx *db.Tx) error {
		more = false
		u := undoing{Tx: tx, now: now}
		err := tx.Get(&u.job, "SELECT "+importColumns+" FROM import_job WHERE id = ? AND undo_status = 'running'", id)
		if errors.Is(err, core.ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		more, err = u.step()
		return err
	})
	return more && err == nil, err
}

// undoing holds the state of an operation that undoes one step of an import.
type undoing struct {
	*db.Tx
	job                    core.ImportJob
	list                   *core.ListWithTenant
	now, at                core.Instant
	removed, pending, kept int64
	restored               int64
	resumed, lifted        int64
	untagged               int64
	heirs                  map[string][]string // ids of subscriptions by id of the import that now owns them
}

// step undoes the first remaining step. If there is none, it ends the undo.
func (u *undoing) step() (more bool, err error) {
	if more, err := u.unsay(); more || err != nil {
		return more, err
	}
	// Tags are removed before people, because a person's address is needed to find their other lists.
	if more, err := u.untag(); more || err != nil {
		return more, err
	}
	var c broughtChunk
	err = u.Get(&c, "SELECT no, data FROM import_chunk WHERE import_id = ? AND kind = ? ORDER BY no LIMIT 1", u.job.ID,
		importBrought)
	brought := !errors.Is(err, core.ErrNotFound)
	if err == nil || !brought {
		u.list, err = tenants.ListWithTenant(u.Tx, u.job.ListID)
	}
	if errors.Is(err, core.ErrListNotFound) {
		return false, u.end()
	}
	if err != nil {
		return false, err
	}
	if !brought {
		if more, err := u.lift(); more || err != nil {
			return more, err
		}
		// Replaced fields are restored after all steps, because restoring them makes subscriptions look changed.
		if more, err := u.restore(); more || err != nil {
			return more, err
		}
		return false, u.end()
	}
	if u.at, err = members.Stamp(u.Tx, u.job.ListID, u.now); err != nil {
		return false, err
	}
	at, ids := c.read()
	subs, outcomes, err := movedBy(u.Tx, &u.job, at, u.now, ids)
	for i := range subs {
		if err == nil {
			err = u.undo(&subs[i], outcomes[i], at)
		}
	}
	if err == nil {
		err = u.keepHeirs(at)
	}
	if err != nil {
		return false, err
	}
	_, err = u.Exec("DELETE FROM import_chunk WHERE import_id = ? AND kind = ? AND no = ?", u.job.ID, importBrought,
		c.No)
	if err != nil {
		return false, err
	}
	return true, u.One(
		`UPDATE import_job SET undo_removed = undo_removed + ?2, undo_pending = undo_pending + ?3, undo_kept =
		undo_kept + ?4, undo_resumed = undo_resumed + ?5 WHERE id = ?1`,
		u.job.ID,
		u.removed,
		u.pending,
		u.kept,
		u.resumed,
	)
}

// undo reverts the import's change to a subscription. at is the instant of that change.
func (u *undoing) undo(sub *core.Subscription, o core.UndoOutcome, at core.Instant) error {
	switch o {
	case core.UndoRemoves, core.UndoPends:
	case core.UndoResumes:
		return u.resume(sub, at)
	case core.UndoSaid:
		u.kept++
		return u.bequeath(sub)
	case core.UndoEnds, core.UndoMarks:
		return u.hold(sub, o == core.UndoMarks, at)
	case core.UndoUnmarks:
		u.pending++
		sub.Proof = ""
		return members.SaveSubscription(u.Tx, sub.Status, sub)
	default:
		u.kept++
		return u.forget(sub, at)
	}
	was := *sub
	if err := u.announce(sub); err != nil {
		return err
	}
	const ledger = "DELETE FROM consent WHERE list_id = ? AND subscription_id = ?"
	if o == core.UndoPends {
		u.pending++
		sub.PendAgain()
		_, err := u.Exec(ledger+" AND at = ?", sub.ListID, sub.ID, int64(at))
		if err != nil {
			return err
		}
		return members.SaveSubscription(u.Tx, was.Status, sub)
	}
	u.removed++
	if sub.Status == core.SubscriptionPending {
		if err := tenants.LeaveOutConfirmations(u.Tx, sub.ListID, sub.Email.Key(), u.now); err != nil {
			return err
		}
	}
	if _, err := u.Exec(ledger, sub.ListID, sub.ID); err != nil {
		return err
	}
	tenants.Moved(u.Tx, sub.ListID, core.CountedSubscription(sub.Status), core.NotCounted)
	_, err := u.Exec("DELETE FROM subscription WHERE list_id = ? AND id = ?", sub.ListID, sub.ID)
	return err
}

// announce notifies the send side and the tenant's endpoints that a subscription has ended. The same operation updates
// a local send side. Any events still queued for it are older.
func (u *undoing) announce(sub *core.Subscription) error {
	if sub.Status != core.SubscriptionActive {
		return nil
	}
	u.Departs(u.list.TenantID)
	ended := *sub
	change := sub.EndedByUndo(u.at)
	ended.Status, ended.Preferences = core.SubscriptionUnsubscribed, core.NoPreferences
	return u.hand(tenants.EventOf(u.list.TenantID, &ended, change))
}

// hand passes an event to the send side and to the tenant's endpoints. A local send side applies the event in the same
// operation.
func (u *undoing) hand(event *core.Event) error {
	var err error
	if u.Store.Options().SendElsewhere {
		err = tenants.PutEvent(u.Tx, event, "", u.now)
	} else {
		err = campaigns.ApplySubscriber(u.Tx, campaigns.Applying{
			ListID: event.ListID, EventType: event.Type,
			OccurredAt: event.OccurredAt,
		},
			event.Subscriber, u.now)
	}
	if err != nil {
		return err
	}
	if u.rows() >= u.Store.Options().ImportEvents { // these changes are reported in one event at the end
		return nil
	}
	return tenants.AddToEndpoints(u.Tx, event, u.now)
}

// rows returns the number of subscribers changed so far.
func (u *undoing) rows() int64 {
	return u.job.UndoRemoved + u.job.UndoPending + u.job.UndoRestored + u.job.UndoResumed + u.removed + u.pending +
		u.restored + u.resumed
}

// end records that the import is undone.
func (u *undoing) end() error {
	by := ""
	if err := u.Get(&by, "SELECT undo_by FROM import_job WHERE id = ?", u.job.ID); err != nil {
		return err
	}
	if err := u.dropTags(by); err != nil {
		return err
	}
	if err := u.Watch("import_job", u.job.ID); err != nil {
		return err
	}
	err := u.One("UPDATE import_job SET undo_status = '"+core.ImportUndoDone+"', undone_at = ? WHERE id = ?",
		int64(u.now),
		u.job.ID)
	if err != nil {
		return err
	}
	if u.rows() > u.Store.Options().ImportEvents {
		err = summarize(u.Tx, &core.SummaryEvent{
			ID: core.NewID(), Type: core.EventImportUndone, TenantID: u.job.TenantID, ListID: u.job.ListID,
			ImportID: u.job.ID, Counts: u.job.ImportUndo.Summary(), OccurredAt: u.now,
		}, u.now, core.EventUnsubscribed, core.EventPreferences)
		if err != nil {
			return err
		}
	}
	u.Tx.Tell("undo_removed", nil, u.job.UndoRemoved)
	u.Tx.Tell("undo_pending", nil, u.job.UndoPending)
	u.Tx.Tell("undo_kept", nil, u.job.UndoKept)
	u.Tx.Tell("undo_resumed", nil, u.job.UndoResumed)
	u.Tx.Tell("undo_lifted", nil, u.job.UndoLifted)
	u.Tx.Tell("undo_untagged", nil, u.job.UndoUntagged)
	u.Tx.Tell("undo_restored", nil, u.job.UndoRestored)
	u.Tx.Tell("undo_unrestored", nil, u.job.UndoUnrestored)
	return u.Audit(u.now, by, "import.undone", u.job.TenantID, u.job.ID)
}
