package worker_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/worker"
	"newsletterd/worker/workertest"
)

// TestDrillsAreMadeOnceAWeek checks that a drill runs once a week, sooner after one that failed or had findings, and
// not directly after a start.
func TestDrillsAreMadeOnceAWeek(t *testing.T) {
	coretest.Bubble(t, func(t *testing.T) {
		h := workertest.New(t, nil)
		var mu sync.Mutex // guards everything that the loop reads and writes, too
		var made []time.Time
		var findings []string
		var fails error
		run := func(ctx context.Context) (core.Drill, error) {
			mu.Lock()
			defer mu.Unlock()
			made = append(made, time.Now())
			d := core.Drill{At: core.At(time.Now()), Whole: len(findings) == 0, Findings: findings}
			if fails == nil {
				h.Must(h.KeepDrill(ctx, d))
			}
			return d, fails
		}
		const week, day = 7 * 24 * time.Hour, 24 * time.Hour
		begun := time.Now()
		h.Run(worker.Drill(h.Store, week, run, h.Opts.Log))
		// after sleeps and returns the time from since to the only drill that ran meanwhile, or 0 if none did.
		after := func(since time.Time, sleep time.Duration) time.Duration {
			t.Helper()
			mu.Lock()
			made = nil
			mu.Unlock()
			time.Sleep(sleep)
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			switch len(made) {
			case 0:
				return 0
			case 1:
				return made[0].Sub(since)
			}
			t.Errorf("drills at %v", made)
			return -1
		}
		if d := after(begun, 59*time.Minute); d != 0 {
			t.Errorf("%s after the start", d)
		}
		if d := after(begun, 2*time.Minute); d != time.Hour {
			t.Errorf("the first came %s after the start", d)
		}
		first := begun.Add(time.Hour)
		if d := after(first, week-2*time.Minute); d != 0 {
			t.Errorf("the next came after %s", d)
		}
		from := func(found []string, err error) {
			mu.Lock()
			defer mu.Unlock()
			findings, fails = found, err
		}
		from([]string{"a part is missing"}, nil)
		d := after(first, time.Hour)
		if d < week || d > week+30*time.Minute {
			t.Errorf("the next came after %s", d)
		}
		second := first.Add(d)
		from(nil, errors.New("too little room"))
		if d = after(second, day); d < day-time.Hour || d > day {
			t.Errorf("after one that found something: %s", d)
		}
		from(nil, nil)
		if d = after(second.Add(d), day); d != day {
			t.Errorf("after one that could not be made: %s", d)
		}
		// A drill that an operator has started counts.
		time.Sleep(5 * day)
		h.Must(h.KeepDrill(t.Context(), core.Drill{At: core.At(time.Now()), Whole: true}))
		manual := time.Now()
		if d = after(manual, week-time.Minute); d != 0 {
			t.Errorf("after an operator's: %s", d)
		}
		if d = after(manual, time.Hour); d < week || d > week+30*time.Minute {
			t.Errorf("after an operator's: %s", d)
		}
	})
}
