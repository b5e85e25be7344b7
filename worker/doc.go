// Package worker is what happens without a request: each worker is a Loop whose Step does what is due and says when it
// wants to run again. Nothing polls: a loop sleeps until that instant or until it is kicked.
//
// # Rooms
//
//	group.go     Loop, Group: start, kick, drain
//	outbox.go    events to the send service, in order per subscription; sync.go: lists copied whole; post.go: signed posts of both
//	mailer.go    transactional mail, rendered when its turn comes
//	backoff.go   the schedules of retries
//
// # Decisions
//
//   - 2026-11-21 A loop has no clock of its own: tests run it in testing/synctest, where time.Now and timers are fake.
package worker
