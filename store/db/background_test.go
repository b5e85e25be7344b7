package db

import (
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestBackgroundTakesAShare checks that background operations get at most a fifth of the writer's time while other
// operations wait, and all of it otherwise.
func TestBackgroundTakesAShare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
		var background, others time.Duration // changed only by the writer
		takes := func(long time.Duration, sum *time.Duration) func(*Tx) error {
			return func(*Tx) error {
				time.Sleep(long)
				*sum += long
				return nil
			}
		}
		during := func(long time.Duration, callers int) {
			background, others = 0, 0
			var wg sync.WaitGroup
			end := time.Now().Add(long)
			for range 2 {
				wg.Go(func() {
					for time.Now().Before(end) {
						must(t, s.Background(t.Context(), takes(10*time.Millisecond, &background)))
					}
				})
			}
			for range callers {
				wg.Go(func() {
					for time.Now().Before(end) {
						must(t, s.Update(t.Context(), takes(time.Millisecond, &others)))
					}
				})
			}
			wg.Wait()
		}
		during(2*time.Second, 8)
		if share := background.Seconds() / (background + others).Seconds(); share < 0.1 || share > 0.2 {
			t.Errorf("background operations took %v, others %v", background, others)
		}
		during(time.Second, 0)
		if background < 990*time.Millisecond {
			t.Errorf("without other operations, background operations took %v of a second", background)
		}
	})
}

// TestBackgroundDuringShortCommits checks that others' steady short commits leave background operations their share.
func TestBackgroundDuringShortCommits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
		const long = 2 * time.Second
		var background time.Duration // changed only by the writer
		var wg sync.WaitGroup
		end := time.Now().Add(long)
		for range 2 {
			wg.Go(func() {
				for time.Now().Before(end) {
					must(t, s.Background(t.Context(), func(*Tx) error {
						time.Sleep(10 * time.Millisecond)
						background += 10 * time.Millisecond
						return nil
					}))
				}
			})
		}
		wg.Go(func() {
			for time.Now().Before(end) {
				must(t, s.Update(t.Context(), func(*Tx) error { time.Sleep(100 * time.Microsecond); return nil }))
				time.Sleep(unusedFor / 2)
			}
		})
		wg.Wait()
		if share := background.Seconds() / long.Seconds(); share < 0.15 || share > 0.21 {
			t.Errorf("background operations took %v of %v", background, long)
		}
	})
}
