package audience

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
)

const (
	peopleStep = 500    // most subscribers that one read checks
	peopleMost = 20_000 // most subscribers that one page checks
)

// PeopleOf returns a page of the subscribers of a list who match a rule, ordered by id. It checks a limited number of
// subscribers, so a page may be short or empty even if more follow. next is the position to continue from; it is empty
// after the last page. The list is the question's only one. Its errors are those of CountSegment.
func (s *Store) PeopleOf(ctx context.Context, q Question, page core.Page) (found []core.Subscriber, next string,
	err error,
) {
	a, err := s.ask(s.Reads(ctx), &q)
	if err != nil {
		return nil, "", err
	}
	next = page.After
	step := a.Step(peopleStep)
	for checked := 0; checked < peopleMost; {
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		var subs []core.Subscriber
		var matches []bool
		err := s.SnapshotRead(ctx, func(r *db.Reader) (err error) {
			if subs, err = a.read(r, peopleOf, q.ListIDs[0], next, db.LastID, step); err != nil {
				return err
			}
			matches, err = a.Among(s.DB, r, subs)
			return err
		})
		if err != nil {
			return nil, "", err
		}
		for i := range subs {
			next = subs[i].ID
			if !matches[i] {
				continue
			}
			if found = append(found, subs[i]); len(found) == page.Limit {
				return found, next, nil
			}
		}
		if len(subs) < step {
			return found, "", nil
		}
		checked += len(subs)
	}
	return found, next, nil
}

// WhySegment says whether a subscriber of a list matches a rule, and whether it matches each condition. It looks at
// the rule alone, also for a subscriber who may not be emailed. The list is the question's only one. In addition to the
// errors of CountSegment, it returns core.ErrNotFound if the list has no such subscriber.
func (s *Store) WhySegment(ctx context.Context, q Question, subscriberID string) (reasons []core.Reason, match bool,
	err error,
) {
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		a, err := s.ask(r, &q)
		if err != nil {
			return err
		}
		var sub core.Subscriber
		if err := r.Get(&sub, campaigns.SelectSubscriber, q.ListIDs[0], subscriberID); err != nil {
			return err
		}
		reasons, match, err = a.Explain(s.DB, r, &sub)
		return err
	})
	return reasons, match, err
}
