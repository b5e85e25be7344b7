package web

import "context"

// Turn is held by one request at a time of those that read much.
type Turn chan struct{}

// NewTurn returns a turn that is free.
func NewTurn() Turn { return make(Turn, 1) }

// Take waits for the turn; its error is that of a request that has ended meanwhile.
func (t Turn) Take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// End gives the turn to the next.
func (t Turn) End() { <-t }
