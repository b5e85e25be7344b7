package web

import "context"

// Turn lets one request at a time perform an expensive read.
type Turn chan struct{}

// NewTurn returns a free turn.
func NewTurn() Turn { return make(Turn, 1) }

// Take waits for the turn. If ctx ends first, it returns the error of ctx.
func (t Turn) Take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// End releases the turn.
func (t Turn) End() { <-t }
