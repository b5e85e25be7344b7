// Package worker contains the daemon's background work. Each worker is a Loop. Its Step does the work that is due and
// returns the time of its next run. No loop polls: it sleeps until that time, or until it is kicked. A Group starts all
// loops and drains them when the daemon stops.
//
// # Parts
//
//	group.go         Loop and Group: start, kick, drain
//	scheduler.go     moves jobs from one state to the next: due, running, ended, settled
//	sender.go connection.go tally.go …   the send path, see below
//	mailer.go        transactional emails, rendered just before sending; tenant_mailer.go: those of tenants with
//	                 their own relays; test_mail.go: test emails of a job
//	outbox.go        events to the send service, in order per subscription; full_sync.go: whole lists; poster.go: signed
//	                 requests for both; endpoints.go: the same events to tenants' webhook endpoints, one loop each
//	disabler.go      blocks addresses after spam complaints, through the member service
//	bounces.go       TakeBounce: handles a bounce message, for the LMTP listener and `newsletterd bounce`. It is not a
//	                 loop. Email providers' reports go from handlers to the store, without this package
//	tracker.go       counts opens and clicks in batches; tracker_totals.go: anonymous clicks
//	self_check.go    compares both sides of each list at night and repairs differences
//	imports.go       imports uploaded subscriber files, and performs bulk actions; importsurvey.go: the survey of
//	                 a file
//	firstfew.go      first recipients of a job, and the wait for their bounces; firstlinks.go: checks its links
//	notices.go       content of transactional emails; signing.go: DKIM signers
//	replica.go       lets workers wait for the replica
//	housekeeping.go  deletes expired records, runs SQLite's optimizer, adds the texts of old issues, stores the
//	                 recipients of ended jobs in pages, and removes subscribers that a full sync did not include;
//	                 snapshot.go: a copy of the database file that can be backed up at any time; drill.go: weekly
//	                 restore test of the replica
//	backoff.go       retry delays for events, full syncs and transactional emails. Recipients use
//	                 core.SendJob.NextTry, relays use smtp.RelayError.Backoff
//
// # The send path
//
// A running job has a row for each recipient. A message passes through these types from that row to its outcome:
//
//	 scheduler     creates the rows of a job that starts, in steps, after pending changes of its list have arrived;
//	               ends a job whose window closes; settles the rows of a job that was canceled or failed
//	     │
//	     ▼  rows without an outcome
//	┌─ claimer ──┐ compiles a job's content when it picks it up (content.go). If the job's queue is low, it reads
//	│            │ deferred recipients that are due, or else the next queued ones: 256 divided by the running jobs, but
//	│            │ at least 32. It remembers its read position (claimer.go). Recipients who may no longer be emailed
//	│            │ are recorded immediately: skipped
//	└─────┬──────┘
//	      ▼  items
//	┌ dispatcher ┐ holds a jobQueue for each job and a tenantQueue for each tenant. Hands out one item at a time:
//	│            │ tenants take turns of a few items, then the jobs of the tenant (dispatcher.go, dispatcher_next.go,
//	│            │ job_queue.go).
//	│            │ It first asks the paces of relay and tenant (pace.go) and the destination (destinations.go,
//	│            │ throttle.go). If a destination has reached its rate, its item is parked and others go first
//	└─────┬──────┘
//	      ▼  an item, when a connection of a relay of the tenant's relayGroup asks for one
//	┌ connection ┐ 1. preparedQueue: rendered, signed in the signPool (prepared.go, content.go, sign_pool.go)
//	│            │ 2. next: rereads the row if a subscriber left since the claim. Checks that the job still runs
//	│            │ 3. the session of smtp.Sender writes MAIL, RCPT and DATA
//	│            │ 4. inflight: takes one of max_unrecorded slots, or waits for one (inflight.go)
//	│            │ 5. the content and the final dot are written, and the reply is read
//	│            │ 6. done: the reply becomes a record (outcomes.go). If the relay has not judged the email, the item
//	│            │ returns to the dispatcher
//	└─────┬──────┘
//	      ▼  a record: sent, failed, skipped, or deferred with the time of the next try. If the reply was lost: queued
//	      │  again (the second time: failed)
//	┌─ recorder ─┐ collects records and passes them to the store's writer, which commits many together. Then it frees
//	│            │ their slots and counts them off their jobs (recorder.go). The same commit counts the job's figures,
//	│            │ ends the job with its last outcome, and marks subscribers as bounced
//	└────────────┘
//
// A Sender owns these parts, and a step of its loop runs them until no work is due. The claimer runs in the loop's
// goroutine, each connection in its own. The store's writer takes the records in its own goroutine. A step returns when
// the first deferred recipient is due. If a pace permits nothing, the step continues: the connections wait in
// dispatcher.next, and a timer wakes them when the pace has room.
//
// A relayGroup holds a tenant's relays in order of use, or the daemon's own (relay_group.go). The type relays holds all
// groups (relays.go, which also has the daemon's own server). A connection uses its relay while the earlier ones are
// down or have used up their daily quota. After a failure, no connection uses the relay during a growing pause; after
// it, one connection tries (relay.go). When all relays of a group have been down for GiveUpAfter, its jobs fail. A 5xx
// reply to MAIL refuses the sender: the tenant pauses in the same way, and the others continue. A job is paused after
// 100 consecutive policy refusals (policy.go).
//
// For limits per period and per day, the type limits leases parts from the database before using them. Limits per
// second are counted in memory (limits.go, period.go, quota.go). waitReasons records why a job waits (wait_reasons.go).
//
// # Kill and stop
//
// The database holds the recipient rows, their outcomes, the due times of deferred ones and the leased parts of limits.
// Everything else is in memory. A kill loses the replies that were not committed. Their recipients, at most
// max_unrecorded, get the email again, and no one is left out. Unused leases are lost. At SIGTERM the claimer stops
// claiming, each connection finishes its current message, the recorder flushes, and unused leases are returned. Claims
// without a message are forgotten.
//
// # Invariants
//
//   - One process owns the database, so a claim is a read kept in memory. After a restart, a job continues with the
//     rows without an outcome.
//   - At any time, relays may have accepted at most max_unrecorded messages without a durable outcome.
//   - Between the claim and MAIL the tenant's Departures are compared. While they are equal, the claim's check is
//     valid. Otherwise the recipient and the job's state are reread.
//   - The same recipient of the same job gets the same Message-ID and the same tokens on each try.
//   - An ended job is settled only when the sender holds none of its items, so that no outcome comes too late.
//     Then sent + failed + skipped is the number of recipients.
//   - Locks: the dispatcher's is taken before a relayGroup's, never after. No lock is held while reading or writing
//     the database, except a preparedQueue's.
//
// The decisions and their measurements are in docs/decisions, 0210 to 0223.
package worker
