package audience

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
)

const (
	peopleStep = 500    // maximum number of subscribers that one read checks
	peopleMost = 20_000 // maximum number of subscribers checked for one page
)

// PeopleOf returns a page of the subscribers of lists who match a rule, sorted by list and id. The rule is evaluated
// for each list, so a person on several lists appears once for each list on which they match. PeopleOf checks a limited
// number of subscribers, so a page can be shorter than its limit, or empty, even if more pages follow. next is the
// position to continue from, or empty after the last page. PeopleOf returns the errors of CountSegment.
func (s *Store) PeopleOf(ctx context.Context, q Question, page core.Page) (found []core.Subscriber, next string,
	err error,
) {
	a, err := s.ask(s.Reads(ctx), &q)
	if err != nil {
		return nil, "", err
	}
	lists := slices.Sorted(slices.Values(q.ListIDs))
	list, id, _ := strings.Cut(page.After, " ")
	for checked, at := 0, 0; at < len(lists); {
		if lists[at] < list {
			at++
			continue
		}
		if lists[at] > list {
			list, id = lists[at], ""
		}
		if checked >= peopleMost {
			return found, PlaceOf(list, id), nil
		}
		step := a.Step(list, peopleStep)
		subs, matches, err := s.peopleAfter(ctx, a, list, id, step)
		if err != nil {
			return nil, "", err
		}
		for i := range subs {
			if id = subs[i].ID; !matches[i] {
				continue
			}
			if found = append(found, subs[i]); len(found) == page.Limit {
				return found, PlaceOf(list, id), nil
			}
		}
		checked += max(1, len(subs))
		if len(subs) < step {
			at++
		}
	}
	return found, "", nil
}

// PlaceOf returns the position of a subscriber in the order of PeopleOf.
func PlaceOf(listID, id string) string { return listID + " " + id }

// peopleAfter returns the next subscribers of a list, and for each whether they match.
func (s *Store) peopleAfter(ctx context.Context, a *asked, list, after string, step int) (subs []core.Subscriber,
	matches []bool, err error,
) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	err = s.SnapshotRead(ctx, func(r *db.Reader) (err error) {
		if err = r.All(&subs, peopleOf, list, after, db.LastID, step, nil, a.TenantID); err != nil {
			return err
		}
		matches, err = a.Among(s.DB, r, subs)
		return err
	})
	return subs, matches, err
}

// stateOf is a query for the reason why a subscriber may not be emailed. Parameters 3 to 6 are those of
// campaigns.Barred.
const stateOf = `SELECT s.word, coalesce(nullif(s.block, ''), p.kind, iif(d.reason IS NULL, '', 'suppressed')) AS block,
	coalesce((SELECT m.status FROM subscription AS m WHERE m.list_id = ?1 AND m.id = ?2), '') AS status
	FROM subscriber AS s ` + campaigns.Barred + ` WHERE s.list_id = ?1 AND s.id = ?2 LIMIT 1`

// statusOf returns a list subscriber's status for core.SegmentMembership.
func (s *Store) statusOf(r *db.Reader, tenantID string, sub *core.Subscriber) (status string, err error) {
	var state struct {
		Word   string `db:"word"`
		Block  string `db:"block"`
		Status string `db:"status"`
	}
	err = r.Get(&state, stateOf, sub.ListID, sub.ID, nil, nil, nil, tenantID)
	switch {
	case state.Word == string(core.StatusActive):
		return cmp.Or(state.Block, state.Word), err
	case state.Status == core.SubscriptionPending:
		return state.Status, err
	case state.Status == "" && !s.Options().MemberElsewhere:
		return string(core.StatusRemoved), err
	}
	return string(core.StatusUnsubscribed), err
}

// WhySegment reports whether a subscriber of a list matches a rule, and whether they match each condition. It also
// evaluates the rule for a subscriber who may not be emailed, and the status in the result shows this. q must name only
// this list. In addition to the errors of CountSegment, it returns core.ErrNotFound if the list has no such subscriber.
func (s *Store) WhySegment(ctx context.Context, q Question, subscriberID string) (m core.SegmentMembership, err error) {
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		a, err := s.ask(r, &q)
		if err != nil {
			return err
		}
		var sub core.Subscriber
		if err := r.Get(&sub, campaigns.SelectSubscriber, q.ListIDs[0], subscriberID); err != nil {
			return err
		}
		if m.Status, err = s.statusOf(r, q.TenantID, &sub); err != nil {
			return err
		}
		m.Conditions, m.Match, err = a.Explain(s.DB, r, &sub)
		return err
	})
	return m, err
}
