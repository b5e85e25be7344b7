package bulk

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

const columns = "id, tenant_id, list_id, kind, rule, state, reason, done_id, done, expected, changed, restored, " +
	"announced, created_by, undo_by, created_at, finished_at, tag_id, " +
	"coalesce((SELECT name FROM tag WHERE tag.id = bulk_action.tag_id), '') AS tag"

const (
	selectAction = "SELECT " + columns + " FROM bulk_action WHERE id = ?"
	actionsOf    = "SELECT " + columns + ` FROM bulk_action INDEXED BY bulk_action_list WHERE list_id = ? AND id < ?
		ORDER BY id DESC LIMIT +?`
	// nextOpen selects the oldest open action of the next tenant after a given one.
	nextOpen = `SELECT id, tenant_id FROM bulk_action INDEXED BY bulk_action_open WHERE state IN ('running', 'undoing')
		AND tenant_id > ? ORDER BY tenant_id, id LIMIT 1`
	countOpen = `SELECT count(*) FROM bulk_action INDEXED BY bulk_action_open WHERE state IN ('running', 'undoing') AND
		tenant_id = ?`
)

// Request is a request for a bulk action on the people who match a rule, or on those with the given ids.
type Request struct {
	ListID string
	Kind   string
	Rule   *core.Rule // may refer to segments
	IDs    []string   // ids of subscriptions, without duplicates
	Tag    string     // name or id of the tag, for core.BulkTag and core.BulkUntag
	Of     int64      // number of people who match the rule
	Actor  string
}

// StartBulk starts a bulk action and returns it. The rule is frozen, so later changes to its segments have no effect.
// If the list doesn't exist, it returns core.ErrListNotFound; if the rule can't be evaluated, a core.Undecided error.
// If the tag doesn't exist, it returns an Invalid error on tag. If the tenant has the maximum number of open actions,
// it returns core.ErrBulkFull. If another service manages the list, it returns a Conflict.
func (s *Store) StartBulk(ctx context.Context, r Request, now core.Instant) (a core.BulkAction, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		a, err = start(tx, &r, now)
		return err
	})
	return a, err
}

func start(tx *db.Tx, r *Request, now core.Instant) (a core.BulkAction, err error) {
	list, err := tenants.ListWithTenant(tx, r.ListID)
	if err != nil {
		return a, err
	}
	if tx.DB().Options().MemberElsewhere && r.Kind == core.BulkRemove {
		return a, core.Conflictf("conflict", "Another service manages this list. Remove people there.")
	}
	open, err := tx.Number(countOpen, list.TenantID)
	if err != nil {
		return a, err
	}
	if open >= core.MaxOpenBulk {
		return a, core.ErrBulkFull
	}
	a = core.BulkAction{
		ID: core.NewID(), TenantID: list.TenantID, ListID: list.ID, Kind: r.Kind, State: core.BulkRunning,
		Of: r.Of, CreatedBy: r.Actor, CreatedAt: now,
	}
	if a.Tag, a.TagID, err = tagOf(tx, a.TenantID, r); err != nil {
		return a, err
	}
	if r.Rule != nil {
		if a.Rule, err = campaigns.InlinedRule(tx, a.TenantID, r.Rule, now); err != nil {
			return a, err
		}
	} else {
		a.Of = int64(len(r.IDs))
	}
	_, err = tx.Exec(`INSERT INTO bulk_action (id, tenant_id, list_id, kind, rule, state, expected, created_by,
		created_at, tag_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, a.ID, a.TenantID, a.ListID, a.Kind, string(a.Rule),
		a.State, a.Of, a.CreatedBy, int64(now), a.TagID)
	for _, id := range r.IDs {
		if err == nil {
			_, err = tx.Exec("INSERT INTO bulk_person (action_id, subscriber_id, at) VALUES (?, ?, 0)", a.ID, id)
		}
	}
	if err == nil && a.Kind == core.BulkRemove { // for the reason, see members.LeaveUndone
		_, err = tx.Exec("UPDATE list SET import_undone = 1 WHERE id = ?", a.ListID)
		tx.Kick(db.TopicRecords)
	}
	if err != nil {
		return a, err
	}
	tx.Kick(db.TopicBulk)
	tx.Tell("action", nil, a.Kind)
	tx.Tell("list_id", nil, a.ListID)
	tx.Tell("of", nil, a.Of)
	return a, tx.Audit(now, r.Actor, "bulk_action.start", a.TenantID, a.ID)
}

// tagOf returns the name and the id of the tag that a request names.
func tagOf(tx *db.Tx, tenantID string, r *Request) (name, id string, err error) {
	if err := core.CheckBulkTag(r.Kind, r.Tag); err != nil || r.Tag == "" {
		return "", "", err
	}
	t, err := tenants.TagNamed(tx, tenantID, r.Tag)
	if errors.Is(err, core.ErrTagNotFound) {
		err = core.Invalidf("tag", "Tag %q not found. Create it first.", r.Tag)
	}
	return t.Name, t.ID, err
}

// BulkAction returns a bulk action. If there is no such action, it returns core.ErrNotFound.
func (s *Store) BulkAction(ctx context.Context, id string) (a core.BulkAction, err error) {
	err = s.Get(ctx, &a, selectAction, id)
	a.SetUndoUntil()
	return a, err
}

// BulkActions returns a page of the bulk actions on a list, newest first. Its only error is core.ErrStorage.
func (s *Store) BulkActions(ctx context.Context, listID string, page core.Page) (all []core.BulkAction, err error) {
	before := page.After
	if before == "" {
		before = "~" // greater than all ids
	}
	err = s.All(ctx, &all, actionsOf, listID, before, page.Limit)
	for i := range all {
		all[i].SetUndoUntil()
	}
	return all, err
}

// NextBulk returns the id and the tenant of an open action. Tenants take turns: it picks the next tenant after the
// given one, and starts over after the last. If there is no open action, it returns core.ErrNotFound.
func (s *Store) NextBulk(ctx context.Context, after string) (id, tenantID string, err error) {
	var next struct {
		ID       string `db:"id"`
		TenantID string `db:"tenant_id"`
	}
	err = s.Get(ctx, &next, nextOpen, after)
	if core.KindOf(err) == core.NotFound && after != "" {
		err = s.Get(ctx, &next, nextOpen, "")
	}
	return next.ID, next.TenantID, err
}

// change reads an action, applies fn, and returns the changed action.
func (s *Store) change(ctx context.Context, id string, fn func(tx *db.Tx, a *core.BulkAction) error) (a core.BulkAction,
	err error,
) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Get(&a, selectAction, id); err != nil {
			return err
		}
		tx.Tell("list_id", nil, a.ListID)
		tx.Tell("changed", nil, a.Changed)
		if err := fn(tx, &a); err != nil {
			return err
		}
		return tx.Get(&a, selectAction, id)
	})
	a.SetUndoUntil()
	return a, err
}

// CancelBulk stops an action. Changes already made stay. If there is no such action, it returns core.ErrNotFound. If
// the action has ended, it returns a Conflict.
func (s *Store) CancelBulk(ctx context.Context, id, actor string, now core.Instant) (core.BulkAction, error) {
	return s.change(ctx, id, func(tx *db.Tx, a *core.BulkAction) error {
		if !a.Stoppable() {
			return core.Conflictf("conflict", "The bulk action has already ended. There is nothing to cancel.")
		}
		if err := end(tx, a, core.BulkCancelled, "", now); err != nil {
			return err
		}
		return tx.Audit(now, actor, "bulk_action.cancel", a.TenantID, id)
	})
}

// UndoBulk starts undoing an action, which happens in steps. A running action stops. If the list is deleted or
// inactive, it returns a Conflict. It also returns core.ErrNotFound and the errors of core.BulkAction.MayUndo.
func (s *Store) UndoBulk(ctx context.Context, id, actor string, now core.Instant) (core.BulkAction, error) {
	return s.change(ctx, id, func(tx *db.Tx, a *core.BulkAction) error {
		if err := a.MayUndo(now); err != nil {
			return err
		}
		list, err := tenants.ListWithTenant(tx, a.ListID)
		if errors.Is(err, core.ErrListNotFound) || err == nil && !list.Active() {
			return core.Conflictf("conflict", "The list is deleted or inactive. Restore or activate it before you "+
				"undo the action.")
		}
		if err != nil {
			return err
		}
		tx.Kick(db.TopicBulk)
		err = tx.One(`UPDATE bulk_action SET state = 'undoing', reason = '', announced = 0, finished_at = 0, undo_by = ?
			WHERE id = ?`, actor, id)
		if err != nil {
			return err
		}
		return tx.Audit(now, actor, "bulk_action.undo", a.TenantID, id)
	})
}

// end ends an action in the given state. If endpoints did not get an event for each change, it sends them a summary.
func end(tx *db.Tx, a *core.BulkAction, state, reason string, now core.Instant) error {
	a.State, a.Reason, a.FinishedAt = state, reason, now
	err := tx.One("UPDATE bulk_action SET state = ?, reason = ?, finished_at = ? WHERE id = ?", state, reason,
		int64(now), a.ID)
	if err == nil && state != core.BulkPaused {
		_, err = tx.Exec("DELETE FROM bulk_person WHERE action_id = ? AND at = 0", a.ID)
	}
	if err != nil || a.Announced <= tx.DB().Options().ImportEvents {
		return err
	}
	endpoints, err := tenants.EndpointsOf(tx, a.TenantID)
	for i := range endpoints {
		if err == nil && endpoints[i].Wants(a.ListID, core.EventUnsubscribed, core.EventActivated) {
			_, err = tenants.PutSummary(tx, &core.SummaryEvent{
				ID: core.NewID(), Type: core.EventBulkEnded, TenantID: a.TenantID, ListID: a.ListID, BulkID: a.ID,
				Status: a.State, Counts: a.Summary(), OccurredAt: now,
			}, endpoints[i].ID, now, now)
		}
	}
	return err
}
