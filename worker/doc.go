// Package worker is what happens without a request: each worker is a Loop whose Step does what is due and says when it
// wants to run again. Nothing polls: a loop sleeps until that instant or until it is kicked.
//
// # Rooms
//
//	group.go     Loop, Group: start, kick, drain
//	outbox.go    events to the send service, in order per subscription; sync.go: lists copied whole; post.go: signed posts of both
//	mailer.go    transactional mail, rendered when its turn comes
//	disabler.go  addresses that complained, to the member service's disable operation
//	bounces.go   mails that came back
//	backoff.go   the schedules of retries
//	scheduler.go due jobs → running, their recipients, closed windows, what ended jobs have left, absent subscribers
//	sender.go    Sender: a Step of the send path from its first claim to its last outcome
//	claimer.go   running jobs, and their recipients in batches; feed.go: what the lanes take from, in turn
//	lane.go      one connection's share: render, check again, deliver, tell the outcome; content.go: a job, compiled
//	recorder.go  outcomes in batches; route.go: the way out, when it is down
//
// # The send path
//
//	scheduler → recipient rows → claimer → feed → lanes (mail.Sender) → recorder → the rows' outcomes
//
// One process owns the file, so a claim is a read and the memory of it: a restart begins again at the rows without
// an outcome. A slot of the max_unrecorded window is taken before the content of a message is written and freed after
// the commit of its outcome; so at any moment at most that many messages may have been accepted without a record.
// Between the claim and MAIL the store's Departures are compared: while nobody has left, the claim's check holds; else
// the recipient, and whether the job still runs, is read again. A job that has ended is settled only when the sender
// has let go of it, so that no outcome comes too late.
//
// # Decisions
//
//   - 2026-11-21 A loop has no clock of its own: tests run it in testing/synctest, where time.Now and timers are fake.
//   - 2026-11-21 The reply to a message that is lost twice fails the recipient ("no reply to the message, twice"): a third
//     copy would be worse than a missing one, and the reason is kept.
//   - 2026-11-21 A recipient is retried by the number of its tries (5, 15 min, 1, 3, 6, 12, 12, 12 h: 46 h 20 min), not by
//     the clock since the first: a daemon that was down does not use up anybody's tries.
//   - 2026-11-21 Failures of lanes that began before the last failure was noted are the same event. After a pause one lane
//     tries alone: a relay that comes back is not met by all connections at once.
//   - 2026-11-21 Jobs are served in turn, one recipient each. Rejected: a queue in order of claims, where a large job's batch
//     is a small job's wait.
//   - 2026-11-21 Recipients of a cancelled job that were not mailed are skipped, those of a failed job failed, each with
//     the reason; so sent + failed + skipped is always the number of recipients.
package worker
