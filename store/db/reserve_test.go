package db

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
)

// TestReserve checks that one measurement of free space serves the writes of a second, up to the space that it found.
func TestReserve(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		room, measured, low := int64(100), 0, []bool{}
		r := reserve{
			measure: func() (int64, error) { measured++; return room, nil },
			said:    func(l bool) { low = append(low, l) },
		}
		take := func(n int, bytes int64, refused, want int) {
			t.Helper()
			before, got := measured, 0
			for range n {
				if err := r.take(bytes); err != nil {
					if got++; err != error(errNoRoom) {
						t.Error(err)
					}
				}
			}
			if got != refused || measured-before != want {
				t.Errorf("%d of %d writes of %d bytes were refused and %d measurements made, want %d and %d", got, n,
					bytes, measured-before, refused, want)
			}
		}
		take(10, 10, 0, 1)
		room = 50 // the writes are on the disk now
		take(5, 10, 0, 1)
		room = 5
		take(1, 10, 1, 1)
		take(100, 10, 100, 0) // refused without a new measurement
		take(1, 2, 0, 1)      // a smaller write can fit
		if len(low) != 1 || !low[0] {
			t.Errorf("the log says %v, want once that the disk is low", low)
		}
		room = 1 << 40
		time.Sleep(reserveEvery + 1)
		take(10_000, 1<<20, 0, 1)
		if len(low) != 2 || low[1] {
			t.Errorf("the log says %v, want at last that it is no longer", low)
		}
		time.Sleep(reserveEvery + 1)
		r.measure = func() (int64, error) { return 0, errors.New("no disk") }
		if err := r.take(1); !errors.Is(err, core.ErrStorage) {
			t.Errorf("without a measurement: %v", err)
		}
	})
}
