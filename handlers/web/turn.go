package web

import "context"

// Turn limits how many requests may run an expensive read at the same time.
type Turn chan struct{}

// NewTurn returns a turn that only one request can hold.
func NewTurn() Turn { return NewTurns(1) }

// NewTurns returns a turn that n requests can hold at the same time.
func NewTurns(n int) Turn { return make(Turn, n) }

// Take waits for the turn. If ctx is done first, it returns ctx's error.
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
