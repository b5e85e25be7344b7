// Package worker is what happens without a request: each worker is a Loop whose Step does what is due and says when it
// wants to run again. Nothing polls: a loop sleeps until that instant or until it is kicked.
//
// # Decisions
//
//   - 2026-11-21 A loop has no clock of its own: tests run it in testing/synctest, where time.Now and timers are fake.
package worker
