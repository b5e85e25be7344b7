package imports

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/members"
)

// importStayed is the kind of import_chunk that lists the subscriptions of people who unsubscribed according to the
// file and stay subscribed, for example because they signed up later. A chunk has their ids.
const importStayed = 7

// stays records that a person stays subscribed although the file says otherwise.
func (im *importing) stays(sub *core.Subscription) {
	u, err := uuid.Parse(sub.ID)
	if im.job != "" && !im.DryRun && err == nil && sub.Status == core.SubscriptionActive {
		im.stayed = append(im.stayed, u[:]...)
	}
}

// keepStayed stores the ids that stays has collected in a step.
func (im *importing) keepStayed(tx *db.Tx) error {
	if len(im.stayed) == 0 {
		return nil
	}
	err := addNoted(tx, im.job, importStayed, im.stayed)
	im.stayed = im.stayed[:0]
	return err
}

// stayedChunks is the maximum number of chunks that StillSubscribed reads. A chunk has the people of a step.
const stayedChunks = 20

// StillSubscribed returns at most n people who unsubscribed according to the file of an import and are still
// subscribed. more reports whether there may be others. Its only error is core.ErrStorage.
func (s *Store) StillSubscribed(ctx context.Context, j *core.ImportJob, n int) (found []core.Subscription, more bool,
	err error,
) {
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		found, more = nil, false
		for no := range stayedChunks {
			var data []byte
			err := r.Get(&data, "SELECT data FROM import_chunk WHERE import_id = ? AND kind = ? AND no = ?", j.ID,
				importStayed, no)
			if errors.Is(err, core.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			var ids core.Strings
			for ; len(data) >= len(uuid.UUID{}); data = data[len(uuid.UUID{}):] {
				ids = append(ids, uuid.UUID(data[:len(uuid.UUID{})]).String())
			}
			var some []core.Subscription
			err = r.All(&some, "SELECT "+members.SubscriptionColumns+` FROM json_each(?2) AS x
				CROSS JOIN subscription AS s ON s.list_id = ?1 AND s.id = x.value
				WHERE s.status = 'active' LIMIT +?3`,
				j.ListID, ids.Column(), n+1-len(found))
			if err != nil {
				return err
			}
			if found = append(found, some...); len(found) > n {
				found, more = found[:n], true
				return nil
			}
		}
		more = true
		return nil
	})
	return found, more, err
}
