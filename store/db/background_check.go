package db

import (
	"context"
	"sync"
)

// CheckState is the state of a background check for damage.
type CheckState string

// The states. An empty state means that no check runs and nothing was found.
const (
	CheckRunning CheckState = "running"
	CheckDamaged CheckState = "damaged"
	CheckFailed  CheckState = "failed" // the check itself failed, so the result is unknown
)

// backgroundCheck is a quick_check that runs while the daemon serves requests.
type backgroundCheck struct {
	mu     sync.Mutex // guards the fields below
	state  CheckState
	cancel context.CancelFunc
	done   chan struct{}
}

// QuickCheckInBackground starts a QuickCheck and returns immediately. It calls done with the result. CheckState
// reports the state during the check and after it. Close ends a running check.
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

// CheckState returns the state of the last QuickCheckInBackground.
func (s *DB) CheckState() CheckState {
	s.background.mu.Lock()
	defer s.background.mu.Unlock()
	return s.background.state
}

// end stops a running check and waits for it.
func (b *backgroundCheck) end() {
	b.mu.Lock()
	cancel, done := b.cancel, b.done
	b.mu.Unlock()
	if cancel != nil {
		cancel()
		<-done
	}
}
