// Package store is one SQLite file and all SQL of the program, beside the method that runs it.
//
// # Rooms
//
//	store.go       Open, Close, Ping: pragmas, locks, the pool of readers
//	cache.go       records that change once a month
//	writer.go      the one writer: group commit, a savepoint per operation
//	tx.go          update, bulk, view, get, all; translate: the only place that knows SQLite's result codes
//	checkpoint.go  owned checkpoints and the mark that tells an old copy beside a newer -wal
//	secrets.go     purpose keys, secrets sealed at rest, derived ids
//	sessions.go    scs's store over the readers; its writes go through the writer
//	pagearena_linux.go  the memory of SQLite's page caches
//	numbering.go   next_number, a function of SQL that numbers rows
//	uploads.go     files on their way in, chunk by chunk, and what removes them; chunks.go reads them
//	provider_events.go  what mail providers report; recipient_search.go finds a recipient by address alone
//	undo.go        an unsubscribing taken back
//	persons.go personexport.go personerase.go  all about one person, in one reading, and gone; erased.go what stays as a hash
//	drift.go       how member and send side differ, and who feeds a list; suppressions.go: all that stands against mailing an address
//	*.go           one file a noun: the operations
//
// An exported method is one operation, all or nothing: it opens the transaction. An unexported function takes the
// *Tx, so operations compose. An operation reads rows, asks a rule of core, writes rows, adds to the outbox; it never
// calls the network, hashes a password or writes a log line. Time comes in as a value.
//
// # Decisions
//
//   - 2026-11-21 One writer goroutine with group commit and synchronous=FULL: what waits is committed together, and a
//     caller is answered after the commit. Rejected: a pool of writers (SQLite's busy polling starves) and NORMAL
//     (loses acknowledged opt-ins at power loss and is hardly faster once grouped).
//   - 2026-11-21 An operation alone in its batch runs without a savepoint: the transaction is its savepoint.
//   - 2026-11-21 Nor do operations that may run twice (updateAgain) have one: where one fails, the batch is rolled back and run
//     with savepoints. A savepoint costs two statements and a copy of each page that is changed under it.
//   - 2026-11-21 No VACUUM: it would need the room of the file once more and hold the writer for seconds. Unused pages are used again, and
//     housekeeping gives them back step by step (auto_vacuum=INCREMENTAL) where they are more than a quarter of the file.
//   - 2026-11-21 An operation of which one statement found no working disk has failed, whatever it makes of that, and runs no other:
//     SQLite may have ended the transaction, and each statement behind that would commit by itself. A driver that fails on
//     order, at each call of each operation, shows it (TestAmongFaults).
//   - 2026-11-21 The mark behind a checkpoint has a transaction of its own, an fsync in 16 MiB: left to the next write, a command's -wal
//     would begin without it, and an older copy of the file pass for the one that it belongs to.
//   - 2026-11-21 migrate takes the file with locking_mode=EXCLUSIVE: SQLite itself then refuses while any other process,
//     ours or not, has it open, which no lock file of ours could promise.
//   - 2026-11-21 Departures, a counter in memory that moves with every commit which may make somebody unmailable (and
//     with every commit of another process), spares the send path a read per mail just before MAIL.
//   - 2026-11-21 A command that changed something lingers until an idle daemon has had its look (550 ms after the commit).
//     Rejected: a look at each read, since the daemon's own commits move data_version on every connection but the writer's.
//   - 2026-11-21 A file has a row of its own (model_file) which a model names when it is whole. An upload is so invisible
//     until then, and a deleted model's chunks, which may be a GiB, are removed in steps. Triggers let files go and count
//     an owner's bytes, so that it holds for cascades too.
//   - 2026-11-21 The library is ordered by a model's number, which the end of its upload gives: one integer orders the
//     indexes and the full text index alike, clocks have no say, and no page changes behind a reader. The audience of
//     a model stands in the full text index, so that a search costs what is visible of it, not what exists.
//     Rejected: OFFSET, and (created_at, id), by which FTS5 can't read.
//   - 2026-11-21 A block (bounced, complaint, suppressed) holds whenever it arrives, also when its instant is older than the
//     member's word: it is about the mailbox, not about the wish. Only a newer activation lifts a bounce.
//   - 2026-11-21 A subscriber is keyed by the id that list and address derive, whatever id an event brings: so a claim finds the
//     member's own subscription beside it, and nobody's event can hide that a person has left.
//   - 2026-11-21 What anybody may ask of a list costs the same whoever is on it: statements that one case spares are run idly,
//     the mailer is woken also where there is no mail, and a mail that may follow is due half a second after the answer, for
//     the work on it would make the answer slower. Measured in pairs by make torture: 0.69 to 1.55 before, 0.91 to 1.10 so.
//   - 2026-11-21 An undo names the instant of the unsubscribing that it takes back, so it dies with anything that happens
//     after it, and nothing about it is stored. It restores no more than there was: a subscription that was never confirmed,
//     or an address that was switched off, complained or is suppressed (on either side), stays out.
//   - 2026-11-21 An event has a row in the outbox for each receiver (endpoint_id), not one row with a list of them: order, retries
//     and dead letters are then each receiver's own, and the same statements serve all.
//   - 2026-11-21 A full sync takes part in what asks for it only until its plan begins (due_at 0), and begins after the latest stamp
//     of what asked: the walk over the list, or a clock that goes back, would else leave changes out that no event announces.
//   - 2026-11-21 No full sync ends subscribers of a list that another client has fed since before it began (fed_list): a sync says who
//     is there, and only who feeds a list alone can say who is not.
//   - 2026-11-21 Recipients that were sent are marked by range and mask, up to 63 in one statement. Measured, a row: 3.4 µs in a
//     statement of its own, 3.2 by json_each, 1.7 by a list (IN, which makes a table of it each time), 1.2 so.
//   - 2026-11-21 An erased address stays as a hash, keyed, with the kind of what stood against mailing it: nobody else can
//     tell whose it is, and an import can't undo it. Rows of sent mails stay without address, and with the beginning of the
//     subscriber's id, which keeps them in the order that seqOf halves. A test looks for an erased person in every column
//     of every table. One event may hold the address a while: what tells a tenant's own endpoints that it has left, for
//     who was erased here must not be mailed from there.
//   - 2026-11-21 What is deleted is overwritten with zeros where its page is written anyhow (secure_delete=FAST), so that the
//     file holds nothing of an erased person in free room either, as soon as the -wal, which keeps old pages for a while, is
//     written anew. The outbox, which deletes most, costs no more CPU by it. Rejected: ON, which writes pages that are let go.
//   - 2026-11-21 Who leaves by the link of a mail, and has a subscription at another member service alone, has the word
//     "unsubscribed" here from that moment; whatever that service says later counts again, for it is told. Rejected: a block
//     (suppressed), which an operator would have to lift for everybody who subscribes anew.
//   - 2026-11-21 Pages of SQLite's caches lie in an arena of their own, behind SQLITE_CONFIG_MALLOC: the driver's allocator
//     rounds 4,368 bytes up to 8 KiB and seven of those to 64 KiB, so that full caches took more than twice what their
//     cache_size says. Rejected: smaller caches (more reads for the same memory), and SQLite's own page buffer and bulk
//     allocation, which touch all of it at once: an idle daemon is to be small.
//   - 2026-11-21 While files come in, a checkpoint is due at 4 MiB of -wal instead of 16: a file fills it at once, and
//     everybody waits for each checkpoint.
//   - 2026-11-21 The -wal is given room in zeros as it grows. Measured on ext4: a 16 KiB write with fsync takes 0.12 ms and
//     47 µs of CPU where it overwrites, 0.4 to 1.2 ms and 100 to 120 µs where it makes the file longer.
package store
