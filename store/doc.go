// Package store is one SQLite file and all SQL of the program, beside the method that runs it.
//
// # Rooms
//
//	store.go       Open, Close, Ping: pragmas, locks, the pool of readers
//	writer.go      the one writer: group commit, a savepoint per operation
//	tx.go          update, bulk, view, get, all; translate: the only place that knows SQLite's result codes
//	checkpoint.go  owned checkpoints and the mark that tells an old copy beside a newer -wal
//	secrets.go     purpose keys, secrets sealed at rest, derived ids
//	sessions.go    scs's store over the readers; its writes go through the writer
//	uploads.go     files on their way in, chunk by chunk, and what removes them; chunks.go reads them
//	provider_events.go  what mail providers report; recipient_search.go finds a recipient by address alone
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
//   - 2026-11-21 Recipients that were sent are marked up to 64 in one statement, with the last place repeated: a statement costs
//     more than a row.
package store
