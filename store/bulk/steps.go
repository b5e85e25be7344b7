package bulk

import (
	"context"
	"errors"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store/audience"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

const (
	stepPeople = 500 // maximum number of people in a step
	// chosenAfter selects the chosen people whom an action has not reached yet.
	chosenAfter = `SELECT subscriber_id FROM bulk_person WHERE action_id = ? AND subscriber_id > ? AND at = 0
		ORDER BY subscriber_id LIMIT +?`
)

// holdFor is the longest time that a commit may block other writers. A step has as many commits as it needs.
var holdFor = 3 * time.Millisecond

// BulkStep performs the next step of an action and reports whether there is more to do. If the rule can't be evaluated
// anymore, or the tag was deleted, it pauses the action. Its only error is core.ErrStorage.
func (s *Store) BulkStep(ctx context.Context, id string, now core.Instant) (more bool, err error) {
	a, err := s.BulkAction(ctx, id)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case a.State == core.BulkUndoing:
		return s.undoStep(ctx, &a, now)
	case a.State != core.BulkRunning:
		return false, nil
	}
	ids, next, err := s.ahead(ctx, &a)
	switch {
	case errors.Is(err, core.ErrListNotFound):
		return false, s.stop(ctx, a.ID, core.BulkCancelled, "", now)
	case core.IsUndecided(err):
		return false, s.stop(ctx, a.ID, core.BulkPaused, err.Error(), now)
	case err != nil:
		return false, err
	}
	for {
		var n int
		n, more, err = s.commit(ctx, &a, ids, next, now)
		if ids = ids[n:]; err != nil || !more || len(ids) == 0 {
			return more && err == nil, err
		}
	}
}

// ahead reads the people of the next step on a reading connection. next is the position after them, or empty at the
// end.
func (s *Store) ahead(ctx context.Context, a *core.BulkAction) (ids []string, next string, err error) {
	if a.Rule == "" {
		err = s.All(ctx, &ids, chosenAfter, a.ID, a.DoneID, stepPeople)
		if len(ids) == stepPeople {
			next = ids[len(ids)-1]
		}
		return ids, next, err
	}
	rule, err := core.ParseInlined(a.Rule)
	if err != nil {
		return nil, "", err
	}
	q := audience.Question{TenantID: a.TenantID, ListIDs: []string{a.ListID}, Rule: rule, Now: a.CreatedAt}
	subs, next, err := s.PeopleOf(ctx, q, core.Page{After: audience.PlaceOf(a.ListID, a.DoneID), Limit: stepPeople})
	for i := range subs {
		ids = append(ids, subs[i].ID)
	}
	_, next, _ = strings.Cut(next, " ") // the position's list is always the action's
	return ids, next, err
}

// stop ends an action before its last step.
func (s *Store) stop(ctx context.Context, id, state, reason string, now core.Instant) error {
	return s.Bulk(ctx, func(tx *db.Tx) error {
		var a core.BulkAction
		if err := tx.Get(&a, selectAction, id); err != nil || a.State != core.BulkRunning {
			return err
		}
		return end(tx, &a, state, reason, now)
	})
}

// commit changes as many people of a step as fit into one commit, which also saves the position. It returns the number
// of these people, and whether the action continues. a must be the action's current state; commit updates it.
func (s *Store) commit(ctx context.Context, a *core.BulkAction, ids []string, next string, now core.Instant) (n int,
	more bool, err error,
) {
	var after core.BulkAction
	err = s.Bulk(ctx, func(tx *db.Tx) error {
		n, more = 0, false
		err := tx.Get(&after, selectAction, a.ID)
		if errors.Is(err, core.ErrNotFound) {
			return nil
		}
		if err != nil || after.State != core.BulkRunning || after.DoneID != a.DoneID {
			return err // canceled, or undone
		}
		list, err := tenants.ListWithTenant(tx, a.ListID)
		if errors.Is(err, core.ErrListNotFound) {
			return end(tx, &after, core.BulkCancelled, "", now)
		}
		if err != nil {
			return err
		}
		c := changing{Tx: tx, action: &after, list: list, now: now, actor: after.CreatedBy}
		if err := c.readTag(); errors.Is(err, core.ErrTagNotFound) {
			return end(tx, &after, core.BulkPaused, err.Error(), now)
		} else if err != nil {
			return err
		}
		begun := time.Now()
		for ; n < len(ids) && (n == 0 || time.Since(begun) < holdFor); n++ {
			if err := c.change(ids[n]); err != nil {
				return err
			}
			after.DoneID = ids[n]
		}
		after.Done += int64(n)
		last := n == len(ids)
		if last && next != "" {
			after.DoneID = next
		}
		if err := c.save(); err != nil {
			return err
		}
		if more = !last || next != ""; more {
			return nil
		}
		if err := tx.One("UPDATE bulk_action SET expected = done WHERE id = ?", a.ID); err != nil {
			return err
		}
		return end(tx, &after, core.BulkCompleted, "", now)
	})
	if err == nil {
		*a = after
	}
	return n, more, err
}
