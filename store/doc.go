// Package store is the database: one SQLite file, and all SQL of the program next to the method that runs it.
//
// An exported method is one operation, all or nothing. It opens the transaction. An unexported function takes the
// [Tx], so operations compose. An operation reads rows, asks a rule of core, writes rows and adds to the outbox. It
// never calls the network, hashes a password or writes a log line. Time comes in as an argument, in milliseconds.
//
// # The way of a write
//
//	Store.Confirm(ctx, …)                an operation: one function of a *Tx
//	  └ update / updateRepeatable / bulk      puts it into a queue and waits
//	       └ writer.run                  one goroutine takes what waits: up to 256 operations and one bulk operation
//	            ├ begin                  BEGIN IMMEDIATE; tries again while another process holds the lock
//	            ├ SAVEPOINT, fn(*Tx)     each operation for itself; a failed one is rolled back alone
//	            ├ keep                   what rooms have gathered: counts of lists, events that wait (keeper.go)
//	            ├ COMMIT                 with fsync
//	            ├ announce               caches are emptied, loops are woken, Departures moves
//	            └ the callers return
//
// A read takes a connection of the pool: get, all and scan for one statement, view for several in one snapshot.
//
// # Parts
//
//	store.go            Open, Close, kicks
//	connect.go          the file and its lock, the pool of readers, the pragmas of each connection
//	writer.go           the writer: queues and batches
//	transact.go         the transaction of a batch: savepoints, errors, full disks
//	tx.go               what an operation runs statements with; translate, which alone knows SQLite's result codes
//	cache.go            records that change seldom: lists, providers, webhook clients, domains, endpoints
//	checkpoint.go       checkpoints, and the marks that tell an old copy from the file that a -wal belongs to
//	replicated.go       Replica: commits kept besides the disk, and who waits for that; replicatedcommand.go: commands
//	                    next to its daemon; drills.go: tries to restore it
//	backup.go           Backup, Snapshot, Restore; migrate.go: Migrate; home.go: whether the file was restored
//	check.go            damage, and rows that contradict each other; invariants.go: by which counts
//	secrets.go          secrets sealed at rest, keys for a purpose, derived ids; masked_ids.go: those that tell no address
//	sessions.go         scs's session store; its writes go through the writer
//	housekeeping.go     what is deleted when its time is over; sweeps.go: by which statements
//	optimize.go         what SQLite notes of tables; pairs.go: statements by key, whose plan depends on nothing noted
//	pagearena_linux.go  the memory of SQLite's page caches
//	numbering.go        next_number, a function of SQL that numbers rows
//	others              one file for each noun: its columns, its operations
//
// Records are in core. A type that stays here is what one operation takes or returns and stands next to it (…Request,
// …Input, …Change, …Filter, …Result, figures as in [Overview]), or holds what only the store may touch ([Import],
// [File], [Upload], [ClaimKey]).
//
// # Invariants
//
//   - A caller that was answered can rely on the write: it is on the disk.
//   - After one statement of an operation found no working disk, the operation has failed and runs no other statement.
//   - A cached record is at most one commit old, and every commit empties the cache before its callers are answered.
//   - Statements are prepared once and cached by their text, so the text must be a constant.
//   - An instant is an [core.Instant] in a column that ends in _at; 0 means never.
//
// # Errors
//
// An operation returns [core.ErrStorage] when the database is closed, replaced, full, damaged or locked for too long,
// and when the context ends before the operation begins. Comments name the errors that an operation returns besides
// that one. core.ErrNotFound is the error of a row that is not there. A key that is taken is a conflict
// (core.ErrConflict, code already_exists). Secrets need the master key: without the right one, [ErrMasterKey].
//
// Decisions are in docs/decisions, numbers 0180 to 0193 and 0040, 0041, 0061.
package store
