package campaigns

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
)

// Reached returns an address's subscriber on one of the given lists: the first list that may email the address or, if
// there is none, the first list that has the address. If no list has the address, it returns core.ErrNotFound.
func (s *Store) Reached(ctx context.Context, lists []string, to core.Email) (sub core.Subscriber, err error) {
	err = core.ErrNotFound
	for _, id := range lists {
		found, fault := s.Subscriber(ctx, id, to)
		switch {
		case fault != nil && !errors.Is(fault, core.ErrNotFound):
			return sub, fault
		case fault == nil && found.Mailable():
			return found, nil
		case fault == nil && err != nil:
			sub, err = found, nil
		}
	}
	return sub, err
}

// ReachedByJob is like Reached, for a job's lists.
func (s *Store) ReachedByJob(ctx context.Context, j *core.SendJob, to core.Email) (sub core.Subscriber, err error) {
	var lists []string
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		parts, err := jobParts(r, j)
		for _, p := range parts {
			lists = append(lists, p.ListID)
		}
		return err
	})
	if err != nil {
		return sub, err
	}
	return s.Reached(ctx, lists, to)
}

// ReachedByDraft is like Reached, for the lists of a draft. It also replaces the list in the draft's content with the
// list found, but keeps the campaign's language.
func (s *Store) ReachedByDraft(ctx context.Context, d *Draft, to core.Email) (sub core.Subscriber, err error) {
	if sub, err = s.Reached(ctx, d.Fields.ListIDs, to); err != nil || sub.ListID == d.Content.List.ID {
		return sub, err
	}
	l, err := s.List(ctx, sub.ListID)
	l.Language = d.Content.List.Language
	d.Content.List = l
	return sub, err
}
