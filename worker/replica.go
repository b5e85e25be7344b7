package worker

import (
	"context"
	"time"

	"newsletterd/store"
)

// keptWait is the maximum time that a batch waits for the replica. After that, the batch is reread.
const keptWait = 2 * time.Second

// kept waits until the replica, if there is one, contains the data that was read for a batch. Other systems must not
// get data that a machine restored from the replica would lack.
func kept(ctx context.Context, s *store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, keptWait)
	defer cancel()
	return s.Acknowledged(ctx)
}
