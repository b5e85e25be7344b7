package coretest

import (
	"testing"
	"testing/synctest"
	"time"
)

// Bubble runs a test in a testing/synctest bubble that starts at noon on 21 November 2026. Other bubbles start in 2000,
// when Unix timestamps had nine digits; webhook signatures need ten.
func Bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		Settle(time.Until(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)))
		test(t)
	})
}

// Settle advances time by d in a bubble and waits until all goroutines are blocked.
func Settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
