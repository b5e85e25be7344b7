// Package replica keeps the database of a machine in a bucket. If the machine dies, another one continues with the
// database. The package copies each commit from SQLite's -wal into a log of LTX files, reports when the files have
// arrived, and keeps a second machine from writing at the same time. It doesn't know the contents of the database.
//
// # Parts
//
//	replica.go   Replica: the interface for the store
//	prepare.go   the database file at the start: unchanged, restored, or uploaded for the first time
//	note.go      the note that a machine stores next to the file
//	mend.go      a log with a missing or damaged part
//	missing.go   a bucket that has lost its contents
//	lease.go     the lock object: which machine may write, and until when
//	ship.go      from the -wal into the log, and the callers that wait for it
//	put.go       log files on their way to the bucket, and strays from earlier holders
//	whole.go     the whole database into the log, in parts
//	wal.go       the -wal, its index, and the log files made from them
//	logfiles.go  the log in the bucket: names, its end, the files that a restore needs
//	compact.go   keeping the log short
//	restore.go   from the log into a database file
//	state.go     the contents of a bucket, for read-only commands
//	copy.go      an earlier state of the database, without the lease
//	mark_*.go boottime_*.go   the identity of a file and of a machine start, by operating system
//	lag.go       how long commits of another process take to reach the bucket
//
// # Invariants
//
//   - A caller gets its result only after the log has the commit without a gap and the lease was still fresh.
//   - The -wal restarts only after all of it is in the log. Checkpoints run while no other process may write.
//   - A log file is written once. A file that a former holder sent too late is removed, because no caller got
//     a result for it. Until then, the log ends before it.
//   - Unconditional writes and deletes are the same on each machine: levels above 0 are made from the log, and the
//     files that they cover are removed.
//   - A machine that lost the lease never acts again. A machine that couldn't renew it in time waits until it has.
//   - An opened -shm stays open. Closing the descriptor would release SQLite's locks of the -wal.
//   - A database file that the log does not continue from is renamed, never deleted. The same applies to its -wal and
//     its rollback journal, with or without the file, because SQLite would apply them to the restored file.
//
// # Flow
//
//	Prepare ── lease ── log and file agree? ── yes: ship the rest of the -wal, continue
//	                                       └── no: set aside, restore
//	COMMIT ── Committed ── -wal read ── PUT, up to eight at once ── all before it there? ── lease fresh? ── After
package replica
