package audience

import (
	"context"

	"newsletterd/core"
)

// PeopleOf returns a page of the people who match.
func (s *Store) PeopleOf(ctx context.Context, q Question, page core.Page) (found []core.Subscriber, next string,
	err error,
) {
	return nil, "", core.ErrNotFound
}

// WhySegment explains.
func (s *Store) WhySegment(ctx context.Context, q Question, subscriberID string) (reasons []core.Reason, match bool,
	err error,
) {
	return nil, false, core.ErrNotFound
}
