package worker

import (
	"context"
	"time"

	"newsletterd/store"
)

// keptWait is how long a batch waits for the replica before it is read anew.
const keptWait = 2 * time.Second

// kept returns once what was read for a batch is in the replica, where there is one: the world must not hear of what
// the machine that goes on after this one does not know.
func kept(ctx context.Context, s *store.Store) error {
	ctx, cancel := context.WithTimeout(ctx, keptWait)
	defer cancel()
	return s.Acknowledged(ctx)
}
