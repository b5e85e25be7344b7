package coretest

import (
	"testing"
	"testing/synctest"
	"time"
)

// Bubble runs a test in a bubble of testing/synctest whose time begins on 21 November 2026 at noon. Those that begin in
// 2000, as all others do, are no place for signatures of webhooks: their timestamps have ten digits.
func Bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		Settle(time.Until(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)))
		test(t)
	})
}

// Settle lets time pass in a bubble, and returns when all that was to happen by then has happened.
func Settle(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
