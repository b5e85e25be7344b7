package worker

import (
	"context"
	"time"

	"newsletterd/store"
)

// keptWait is how long a batch waits at most for the replica. After that, the batch is read again.
const keptWait = 2 * time.Second

// kept waits until the data read for a batch is in the replica, if there is one. Other systems must not learn of data
// that a machine restored from the replica lacks.
func kept(ctx context.Context, s *store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, keptWait)
	defer cancel()
	return s.Acknowledged(ctx)
}
