package db

import (
	"context"
	"sync"
)

// CheckState is how a look for damage next to the running daemon stands.
type CheckState string

// The states. Where no one looks, or nothing was found, it is empty.
const (
	CheckRunning CheckState = "running"
	CheckDamaged CheckState = "damaged"
	CheckFailed  CheckState = "failed" // the look itself: no one knows
)

// besideCheck is a quick_check that requests do not wait for.
type backgroundCheck struct {
	mu     sync.Mutex // guards what follows
	state  CheckState
	cancel context.CancelFunc
	done   chan struct{}
}

// QuickCheckInBackground starts a QuickCheck and returns. done is called with what it finds; CheckState tells of it
// meanwhile and afterwards. Close ends it.
func (s *DB) QuickCheckInBackground(done func([]string, error)) {
	b := &s.background
	ctx, cancel := context.WithCancel(context.Background())
	b.mu.Lock()
	b.state, b.cancel, b.done = CheckRunning, cancel, make(chan struct{})
	b.mu.Unlock()
	go func() {
		defer close(b.done)
		found, err := s.QuickCheck(ctx)
		state := CheckState("")
		switch {
		case len(found) > 0:
			state = CheckDamaged
		case err != nil && ctx.Err() == nil:
			state = CheckFailed
		}
		b.mu.Lock()
		b.state = state
		b.mu.Unlock()
		if ctx.Err() == nil {
			done(found, err)
		}
	}()
}

// CheckState tells how the last QuickCheckInBackground stands.
func (s *DB) CheckState() CheckState {
	s.background.mu.Lock()
	defer s.background.mu.Unlock()
	return s.background.state
}

// end stops a check that runs and waits for it.
func (b *backgroundCheck) end() {
	b.mu.Lock()
	cancel, done := b.cancel, b.done
	b.mu.Unlock()
	if cancel != nil {
		cancel()
		<-done
	}
}
