// Package db is the database engine: one SQLite file with one writer and many readers. It defines no records of its
// own. Rooms such as store/tenants store their records in it.
//
// # How a write works
//
//	Store.Confirm(ctx, …)                an operation of a room: one function of a *Tx
//	  └ Update / Bulk / Background / …   queues it and waits
//	       └ writer.run                  one goroutine takes the queue: up to 256 operations and one bulk operation
//	            ├ begin                  BEGIN IMMEDIATE; retries while another process holds the lock
//	            ├ SAVEPOINT, fn(*Tx)     each operation separately; a failed one is rolled back alone
//	            ├ join                   takes the operations that have arrived in the meantime
//	            ├ keep                   data that rooms have collected: counts of lists, pending events
//	            ├ COMMIT                 with fsync
//	            ├ announce               empties caches, wakes loops, changes Departures
//	            └ the callers return
//
// A read uses a connection of the pool: Get, All and Scan for one statement, SnapshotRead for several in one snapshot.
//
// # Files
//
//	db.go               New, Open, Close, kicks
//	connect.go          the file and its lock, the pool of readers, the pragmas of each connection; inuse*.go: whether
//	                    any process has it open
//	writer.go           the writer: queues and batches
//	transact.go         the transaction of a batch: savepoints, errors, full disks
//	keeper.go           data that rooms keep in memory until a commit
//	departures.go       Departures: whether someone may no longer get email
//	tx.go               how an operation runs statements; Translate, the only place that knows SQLite's result codes
//	columns.go pairs.go tables of records, and statements by key, whose plans don't depend on statistics
//	cache.go            records that rarely change
//	audit.go changes.go the audit log, and the changes to the watched row
//	checkpoint.go       checkpoints, and the marks that distinguish an old copy from the file that a -wal belongs to
//	replicated.go       Replica: commits stored outside the machine, and waiting for them; replicatedcommand.go:
//	                    commands next to a daemon with a replica; drills.go: restore tests
//	backup.go           Backup, Snapshot, Restore; migrate.go: Migrate; home*.go: whether the file was restored
//	check.go            damage and contradictory rows; background_check.go: the check after an unclean stop
//	ping.go reserve.go disk*.go  whether the disk accepts writes, and its free space; shrink.go returns unused pages
//	secrets.go          secrets sealed at rest, keys for a purpose (purposes.go), derived ids; masked_ids.go: ids that
//	                    reveal no address
//	sessions.go         scs's session store; its writes go through the writer
//	throttle.go         requests counted in windows
//	optimize.go         SQLite's statistics of tables
//	namesearch.go numbering.go  what SQL can't do: names within JSON, numbered rows
//	pagearena*.go connmutex*.go  SQLite's memory for pages, and its mutexes
//	stats.go            the writer's counters
//
// # Invariants
//
//   - When a caller gets its result, the write is on the disk.
//   - If a statement of an operation finds no working disk, the operation fails and runs no further statement.
//   - A cached record is at most one commit old. Every commit empties the cache before its callers get results.
//   - Statements are prepared once and cached by their text, so the text must be a constant.
//   - A column that ends in _at holds a [core.Instant]; 0 means never.
//
// # Errors
//
// An operation returns [core.ErrStorage] if the database is closed, replaced, full, damaged or locked for too long, or
// if the context ends before the operation begins. Comments name only the other errors that an operation returns. The
// error for a row that doesn't exist is core.ErrNotFound. A key that is already in use is a conflict (core.ErrConflict,
// code already_exists). Secrets need the master key; without the right one, the error is [ErrMasterKey].
//
// Decisions are in docs/decisions, numbers 0180 to 0193 and 0040, 0041, 0061, 0881.
package db
