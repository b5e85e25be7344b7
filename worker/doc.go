// Package worker does what happens without a request. Each worker is a Loop whose Step does what is due and returns
// when it wants to run again. No loop polls: it sleeps until that instant, or until it is kicked. A Group starts all
// loops and drains them when the daemon stops.
//
// # Parts
//
//	group.go         Loop and Group: start, kick, drain
//	scheduler.go     jobs from one state to the next: due, running, ended, settled; and removes
//	                 subscribers that a full sync did not name
//	sender.go connection.go tally.go …   the send path, below
//	mailer.go        mails to one person, rendered when their turn comes; tenant_mailer.go: of tenants with relays of
//	                 their own; test_mail.go: a job's mail to one address
//	outbox.go        events to the send service, in order per subscription; full_sync.go: whole lists; poster.go: signed
//	                 requests of both; endpoints.go: the same events to the receivers of tenants, a loop for each
//	disabler.go      addresses that complained, to the member service's disable operation
//	bounces.go       TakeBounce: a mail that came back, for the LMTP listener and `newsletterd bounce`. It is no loop;
//	                 what mail providers report goes from handlers to the store, without this package
//	tracker.go       what readers open and follow, counted in batches; tracker_totals.go: without naming subscribers
//	self_check.go    compares both sides of each list at night, and repairs the differences
//	imports.go       files of subscribers that were uploaded, into their lists; importsurvey.go: what a first look found
//	firstfew.go      the first recipients of a job, and the wait for their bounces; firstlinks.go: whether its links answer
//	notices.go       the words of emails to one person; signing.go: their DKIM signers
//	replica.go       workers that wait for the replica
//	housekeeping.go  removes what has expired, and has SQLite look at its tables; snapshot.go: the copy of the file that may be copied at any moment;
//	                 drill.go: whether the replica can be restored, tried once a week
//	backoff.go       the schedules of retries of events, of full syncs and of mails to one person. That of a recipient is
//	                 core.SendJob.NextTry, that of a relay smtp.RelayError.Backoff
//
// # The send path
//
// A running job has a row for each recipient. A message goes from that row to its outcome like this; each box is a
// type:
//
//	 scheduler     makes the rows of a job that begins, in steps, once the changes of its list that are on their way
//	               have arrived; ends a job whose window closes; settles the rows of one that was cancelled or has failed
//	     │
//	     ▼  rows without an outcome
//	┌─ claimer ──┐ compiles a job's content when it takes the job up (content.go). Where the job's queue is low it reads
//	│            │ deferred recipients that are due, else the next queued ones: 256 divided by the running jobs, 32 at
//	│            │ least. It remembers how far it has read (claimer.go). Those who may not be mailed any more are
//	│            │ records at once: skipped
//	└─────┬──────┘
//	      ▼  items
//	┌ dispatcher ┐ keeps a jobQueue for each job and a tenantQueue for each tenant. Hands out one item at a time: tenants
//	│            │ take turns, then the jobs of the tenant (dispatcher.go, dispatcher_next.go, job_queue.go). Before, it asks
//	│            │ the pace of the relay and of the tenant (pace.go) and the destination (destinations.go, throttle.go).
//	│            │ An item whose destination has had its share is parked until its time; others go before it
//	└─────┬──────┘
//	      ▼  an item, when a connection of a relay of the tenant's relayGroup asks for one
//	┌ connection ┐ 1. draftQueue: the mail is rendered, and signed in the signPool (drafts.go, content.go, sign_pool.go)
//	│            │ 2. next: has a subscriber left since the claim? Then the row is read again. Does the job still run?
//	│            │ 3. the session of smtp.Sender writes MAIL, RCPT and DATA
//	│            │ 4. inflight: takes one of max_unrecorded slots, and waits for one (inflight.go)
//	│            │ 5. the content and the final dot are written, and the reply is read
//	│            │ 6. done: the reply becomes a record (outcomes.go), or the item goes back to the dispatcher where the
//	│            │ relay has not judged it
//	└─────┬──────┘
//	      ▼  a record: sent, failed, skipped, deferred with the time of the next try, or, where the reply was lost,
//	      │  queued once more (the second time: failed)
//	┌─ recorder ─┐ gathers records, gives them to the store's writer, which commits many at once, and then frees their
//	│            │ slots and counts them off their jobs (recorder.go). The same commit counts the job's figures, ends the
//	│            │ job with its last outcome, and notes at the subscriber that the address bounced
//	└────────────┘
//
// A Sender owns these parts, and a step of its loop runs them until nothing is left to do now: the claimer in the
// loop's goroutine, each connection in one of its own. The store's writer takes the records in its own goroutine. A
// step returns the instant at which the first deferred recipient is due. Where a pace lets nothing go, the step goes
// on: the connections wait in dispatcher.next, and a timer wakes them when the pace has room.
//
// A relayGroup is the relays of a tenant in the order of use, or the daemon's own (relay_group.go); relays has all
// groups (relays.go, which also has the daemon's own server). A connection uses its relay while those before it are down or have used up their quota of the
// day. After a failure the relay is left alone for a pause that grows, then one connection tries alone (relay.go).
// Once all relays of a group have been down for GiveUpAfter, its jobs fail. A 5xx to MAIL refuses the sender: the
// tenant waits in the same way, and the others go on. A job whose mails are refused 100 times running for reasons of
// policy is paused (policy.go).
//
// limits takes what a pace counts by period and by day out of the file in parts, before it is used; a second is counted
// in memory (limits.go, period.go, quota.go). waitReasons writes down why a job waits (wait_reasons.go).
//
// # Kill and stop
//
// The file has the rows of recipients, their outcomes, the due times of those deferred and the parts of limits that
// were taken; all else is memory. A kill loses the replies that were not committed: their recipients, max_unrecorded at
// most, are mailed once more, and no one is left out. What was taken of a limit and not used is lost. At SIGTERM the
// claimer claims no more, each connection finishes the message that it has begun, the recorder flushes, and the limits
// get back what is left. Claims without a message are forgotten.
//
// # Invariants
//
//   - One process owns the file, so a claim is a read and the memory of it. After a restart a job begins again with
//     the rows without an outcome.
//   - At any moment at most max_unrecorded messages may have been accepted by a relay without a durable outcome.
//   - Between the claim and MAIL the store's Departures are compared. While they are equal, the claim's check holds;
//     else the recipient, and whether the job still runs, is read again.
//   - The same recipient of the same job gets the same Message-ID and the same tokens at each try.
//   - A job that has ended is settled only when the sender holds no item of it, so that no outcome comes too late;
//     then sent + failed + skipped is the number of recipients.
//   - Locks: the dispatcher's is taken before a relayGroup's, never after. No lock is held over a read or write of the
//     file, except the lock of a draftQueue.
//
// The decisions and what was measured for them stand in docs/decisions, 0210 to 0223.
package worker
