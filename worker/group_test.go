package worker

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

func TestALoopSleepsUntilItsInstantOrAKick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		start := time.Now()
		l := &Loop{Name: "test", Step: func(_ context.Context, now time.Time) time.Time {
			at = append(at, now.Sub(start))
			if len(at) < 3 {
				return now.Add(time.Hour)
			}
			return Never
		}}
		g := NewGroup(slog.New(slog.DiscardHandler), l)
		g.Start()
		time.Sleep(5 * time.Hour)
		synctest.Wait()
		if len(at) != 3 || at[0] != 0 || at[1] != time.Hour || at[2] != 2*time.Hour {
			t.Errorf("steps at %v", at)
		}
		l.Kick()
		synctest.Wait()
		if len(at) != 4 || at[3] != 5*time.Hour {
			t.Errorf("after a kick: %v", at)
		}
		g.Drain(time.Minute)
		g.Drain(time.Minute)
	})
}

// TestKicksToComeCountAsOne checks that several requests for a later kick result in one kick, at the earliest of their
// times.
func TestKicksToComeCountAsOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		start := time.Now()
		l := &Loop{Name: "test", Step: func(_ context.Context, now time.Time) time.Time {
			at = append(at, now.Sub(start))
			return Never
		}}
		g := NewGroup(slog.New(slog.DiscardHandler), l)
		g.Start()
		for range 2 {
			for range 3 {
				l.KickIn(time.Second)
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		if len(at) != 3 || at[1] != time.Second || at[2] != time.Minute+1300*time.Millisecond {
			t.Errorf("steps at %v", at)
		}
		g.Drain(time.Minute)
	})
}

func TestDrainWaitsThenCutsWithItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		l := &Loop{Name: "hangs", Step: func(ctx context.Context, _ time.Time) time.Time {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return Never
		}}
		g := NewGroup(slog.New(slog.DiscardHandler), l)
		g.Start()
		synctest.Wait()
		began := time.Now()
		g.Drain(30 * time.Second)
		if d := time.Since(began); d != 30*time.Second || !errors.Is(cause, ErrDrain) {
			t.Errorf("cut after %v with %v", d, cause)
		}
	})
}

func TestAPanicDoesNotEndALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		l := &Loop{Name: "panics", Step: func(context.Context, time.Time) time.Time {
			if n++; n == 1 {
				panic("once")
			}
			return Never
		}}
		g := NewGroup(slog.New(slog.DiscardHandler), l)
		g.Start()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		g.Drain(time.Second)
		if n != 2 {
			t.Errorf("%d steps, want a second one a second after the panic", n)
		}
	})
}
