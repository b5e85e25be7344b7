package worker

import (
	"context"
	"time"

	"newsletterd/store"
)

// keptWait is the maximum time that a batch waits for the replica. After that, the batch is reread.
const keptWait = 2 * time.Second

// kept waits until the data read for a batch is in the replica, if there is one. Other systems must not get data that a
// machine restored from the replica would lack.
func kept(ctx context.Context, s *store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, keptWait)
	defer cancel()
	return s.Acknowledged(ctx)
}
