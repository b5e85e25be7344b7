// Package worker is what happens without a request: each worker is a Loop whose Step does what is due and says when it
// wants to run again. Nothing polls: a loop sleeps until that instant or until it is kicked.
//
// # Rooms
//
//	group.go     Loop, Group: start, kick, drain
//	outbox.go    events to the send service, in order per subscription; sync.go: lists copied whole; post.go: signed posts of both
//	endpoints.go the same events to the receivers that tenants have brought, a loop for each
//	selfcheck.go compares both sides of every list at night, and heals
//	mailer.go    transactional mail, rendered when its turn comes; tenantmail.go: that of tenants with relays of their own
//	disabler.go  addresses that complained, to the member service's disable operation
//	bounces.go   mails that came back
//	backoff.go   the schedules of retries
//	housekeeping.go  what has expired; snapshot.go: the file that may be copied at any moment
//	scheduler.go due jobs → running, their recipients, closed windows, what ended jobs have left, absent subscribers
//	sender.go    Sender: a Step of the send path from its first claim to its last outcome
//	claimer.go   running jobs, and their recipients in batches; dispatcher.go: what the connections take from, in turn
//	connection.go    one connection's share: render, check again, deliver, tell the outcome; content.go: a job, compiled
//	signing.go   keys of senders; mails made and signed beside the connections; extra_thread.go: one more thread while mails go out
//	tracker.go   what readers open and follow, counted in batches
//	stop.go      when a job is paused; testmail.go: the mail of a job to one address
//	recorder.go  outcomes in batches; tally.go: figures of them
//	relay_group.go  the relays of the daemon and of tenants with their own; relay.go: one of them, when it is down
//	pace.go      how much may go out in a time; period.go: gliding periods and days, counted in the file
//	destinations.go  the pace of destination domains; throttle.go: of those that ask for less
//	wait_reason.go  why a running job waits, where everybody can read it
//
// # The send path
//
//	scheduler → recipient rows → claimer → dispatcher → connections (smtp.Sender) → recorder → the rows' outcomes
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
//   - 2026-11-21 While the send service does not answer, or refuses our signature (401), one event is tried every few seconds and the
//     others wait, for as long as it takes. An endpoint is a stranger's: the one event follows the schedule of retries, what has
//     waited for 72 hours is a dead letter, and after five days the endpoint is switched off. What is written meanwhile brings the
//     next look forward, to a minute after the last at the earliest, and never to before what Retry-After asked for. An
//     operator who sends events again, or changes the endpoint, has it looked at once.
//   - 2026-11-21 Each endpoint has a loop of its own. Rejected: one loop with a share for each, where the time-outs of one are the
//     others' wait.
//   - 2026-11-21 The self-check joins both tables instead of comparing checksums: in one file that costs no more, and says who differs.
//   - 2026-11-21 A loop has no clock of its own: tests run it in testing/synctest, where time.Now and timers are fake.
//   - 2026-11-21 The reply to a message that is lost twice fails the recipient ("no reply to the message, twice"): a third
//     copy would be worse than a missing one, and the reason is kept.
//   - 2026-11-21 A recipient is retried by the number of its tries (5, 15 min, 1, 3, 6, 12, 12, 12 h: 46 h 20 min), not by
//     the clock since the first: a daemon that was down does not use up anybody's tries.
//   - 2026-11-21 Failures of lanes that began before the last failure was noted are the same event. After a pause one lane
//     tries alone: a relay that comes back is not met by all connections at once.
//   - 2026-11-21 Jobs are served in turn, one recipient each. Rejected: a queue in order of claims, where a large job's batch
//     is a small job's wait.
//   - 2026-11-22 A lane makes its next mail while a reply is on its way, so that it seldom sleeps and is woken for one; but not the last
//     ones of a job, which are left to whoever is free first, and none where a limit counts what is taken. Mails to be signed are made
//     further ahead, eight for each lane where there are plenty: a signature costs twenty times the rest, all cores compute it even
//     for one connection, and what a lane then sends in a row disturbs them less than as many single mails. Who leaves meanwhile is
//     found by the check just before MAIL, and so are a paused job and a closed window. A lane that waits for its relay for more than
//     two seconds gives back what it has made ahead.
//   - 2026-11-22 While mails go out one more thread runs Go code than there are CPUs: a sync of the disk keeps its thread's place from all
//     others. Rejected: for the whole daemon, since requests to subscribe got a tenth slower by it.
//   - 2026-11-21 A paused job is running for the world: its reason says why nothing goes out. What is on a wire goes out, the
//     rest of its queue is dropped and claimed again when it goes on. Whoever resumes a job has decided: the rule is not
//     asked again. A suspended tenant and an inactive list need no mark, so nothing must be lifted: they are looked at.
//   - 2026-11-21 Opens and clicks are counted by recipient; those of machines are marked and stand apart: whoever says so in the
//     User-Agent, and whoever comes within 5 s behind the mail. Kept back for half a second, they cost a storm's writer nothing;
//     a kill loses so many, for they are no state of a mail.
//   - 2026-11-21 A job is retried once, in a job of its own: two of them would mail the same people.
//   - 2026-11-21 A relay that refuses MAIL for good (5xx) speaks of the sender: that tenant waits, on the schedule of a route
//     that is down, and others go on by the same relay. Everything else before RCPT is the way's fault.
//   - 2026-11-21 A mail to one goes by its tenant's relay as its jobs do. Each tenant with relays has a mailer of its own, so that
//     a relay that hangs holds up no other tenant's confirmations.
//   - 2026-11-21 A tenant with relays of its own never falls back on the daemon's: its senders are not known there (SPF), and its
//     troubles are not to become everybody's. Operators mend a relay while a job waits; the lanes take the new one at once.
//   - 2026-11-21 The window is shared by what has no reply yet: a group of ways may hold as many such messages as are left to all
//     others (the dynamic threshold of shared buffers), so there is always room for one more group.
//   - 2026-11-21 A day's quota is taken out of the file in hundredths before it is used: a crash may leave a hundredth unused and
//     never sends more. Gliding periods likewise, in parts of a 240th. Rates a second live in memory. Days are those of UTC.
//   - 2026-11-21 A relay whose day is used up is passed over until the next one, as one that is down. A period or a rate is a pace,
//     and waited for: the next relay is the reserve, not more speed.
//   - 2026-11-21 A destination throttles if ten of its replies within a minute, and a tenth of them, are 4.7.x, or 421 4.7.x behind
//     MAIL: its rate, measured where none is set, is halved at most every 10 s, and after 5 min without such a reply it gets a quarter
//     more, until it has what it had. It is forgotten at a restart. Greylisting is told apart by its words. Ways of other tenants
//     are not touched: their reputation is another.
//   - 2026-11-21 There is no bound on connections to a destination: all mails go through relays, which make those connections (Postfix:
//     smtp_destination_concurrency_limit). Ours are the relay's connections and the destination's mails a second.
//   - 2026-11-21 What ends by itself (a used-up day, a relay that is down for a minute) stands in pause_reason without paused_at:
//     the job is running, nobody need resume it, and everybody sees why nothing goes out.
//   - 2026-11-21 Recipients of a slow destination wait aside, 8192 of a job; then the job goes at the pace of that destination.
//   - 2026-11-22 A job makes its recipients when the changes of its list that were made before it began have reached the send side, for
//     the two sides agree a moment later: an import followed by a job left out whoever was still in the outbox, and nobody was told.
//     Changes that have failed once are not waited for, and none for more than 15 minutes.
//   - 2026-11-21 Recipients of a cancelled job that were not mailed are skipped, those of a failed job failed, each with
//     the reason; so sent + failed + skipped is always the number of recipients.
//   - 2026-11-21 The store's writer fetches outcomes when its transaction begins, and frees their slots itself after the commit.
//     Rejected: a goroutine that submits batches and waits, which cost each slot two more wake-ups, and outcomes that came
//     while the batch waited a commit.
//   - 2026-11-22 Outcomes gather until a lane waits for a slot, 25 ms have passed, or they are a quarter of the window, or half of it less
//     one for each lane, if that is more; twice as many where they come slowly. A commit costs 90 to 200 µs of CPU whatever it holds,
//     an outcome 0.4. On a fast disk small commits took a third of all CPU.
package worker
