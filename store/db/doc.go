// Package db is the database engine: one SQLite file, its one writer and its readers. It knows no noun: rooms such as
// store/tenants keep records in it.
//
// # The way of a write
//
//	Store.Confirm(ctx, …)                an operation of a room: one function of a *Tx
//	  └ Update / UpdateRepeatable / Bulk      puts it into a queue and waits
//	       └ writer.run                  one goroutine takes what waits: up to 256 operations and one bulk operation
//	            ├ begin                  BEGIN IMMEDIATE; tries again while another process holds the lock
//	            ├ SAVEPOINT, fn(*Tx)     each operation for itself; a failed one is rolled back alone
//	            ├ keep                   what rooms have gathered: counts of lists, events that wait
//	            ├ COMMIT                 with fsync
//	            ├ announce               caches are emptied, loops are woken, Departures moves
//	            └ the callers return
//
// A read takes a connection of the pool: Get, All and Scan for one statement, SnapshotRead for several in one snapshot.
//
// # Files
//
//	db.go               New, Open, Close, kicks
//	connect.go          the file and its lock, the pool of readers, the pragmas of each connection; inuse*.go: who has
//	                    it open
//	writer.go           the writer: queues and batches
//	transact.go         the transaction of a batch: savepoints, errors, full disks
//	keeper.go           what rooms keep in memory until a commit
//	tx.go               what an operation runs statements with; translate, which alone knows SQLite's result codes
//	columns.go pairs.go tables of records, and statements by key, whose plan depends on nothing noted
//	cache.go            records that change seldom
//	audit.go changes.go who changed what, and what a change says of the watched row
//	checkpoint.go       checkpoints, and the marks that tell an old copy from the file that a -wal belongs to
//	replicated.go       Replica: commits kept besides the disk, and who waits for that; replicatedcommand.go: commands
//	                    next to its daemon; drills.go: tries to restore it
//	backup.go           Backup, Snapshot, Restore; migrate.go: Migrate; home*.go: whether the file was restored
//	check.go            damage, and rows that contradict each other; background_check.go: after an unclean stop
//	ping.go reserve.go disk*.go  whether the disk takes writes, and what is left of it; shrink.go gives pages back
//	secrets.go          secrets sealed at rest, keys for a purpose (purposes.go), derived ids; masked_ids.go: those that
//	                    tell no address
//	sessions.go         scs's session store; its writes go through the writer
//	throttle.go         requests counted in windows
//	optimize.go         what SQLite notes of tables
//	namesearch.go numbering.go pagearena*.go  what SQL can't do: names within JSON, numbered rows, the page cache
//	stats.go            the writer's counters
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
package db
