// Package replica keeps the database of a machine in a bucket, so that another machine can go on with it when that one
// dies. It copies each commit from SQLite's -wal into a log of LTX files, says when they are there, and keeps a second
// machine from writing at the same time. It knows nothing of what is in the database.
//
// # Parts
//
//	replica.go   Replica: what the store uses
//	prepare.go   the database file at the start: as it is, or restored, or shipped for the first time
//	note.go      what a machine remembers next to the file
//	mend.go      a log of which a part is missing or damaged
//	missing.go   a bucket that has lost what was kept in it
//	lease.go     the lock object: which machine may write, and until when it may believe so
//	ship.go      from the -wal into the log, and who waits for it
//	put.go       files of the log on their way to the bucket, and strays of earlier holders
//	whole.go     the whole database into the log, in parts
//	wal.go       the -wal, its index, and files of the log made of them
//	logfiles.go  the log in the bucket: names, where it ends, what a restore needs
//	compact.go   keeping the log short
//	restore.go   from the log into a database file
//	state.go     what a bucket holds, for those who only look
//	copy.go      a database as it was, without the lease
//	mark_*.go boottime_*.go   which file and which start of the machine it is, by operating system
//	lag.go       how long the bucket takes to have what another process has committed
//
// # Invariants
//
//   - No caller is told that something is done before the log has it without a gap and the lease was fresh after that.
//   - The -wal begins anew only after all of it is in the log: checkpoints run while no one else may write.
//   - A file of the log is written once. What a former holder has sent too late gives way, for no one was told of it;
//     until then the log ends before it.
//   - What is put or removed without a condition says the same on each machine: levels above 0 are made of what the log
//     has, and what they cover is removed.
//   - A machine that lost the lease never acts again; one that could not renew it in time does not act until it has.
//   - A -shm that was opened stays open: SQLite's locks of the -wal would go with the descriptor.
//   - A database file that the log does not go on from is kept under another name, never deleted. The same goes for its
//     -wal and its rollback journal, with or without the file: SQLite would apply them to the restored file.
//
// # Flow
//
//	Prepare ── lease ── log and file agree? ── yes: ship what the -wal has left, go on
//	                                       └── no: set aside, restore
//	COMMIT ── Committed ── -wal read ── PUT, up to eight at once ── all before it there? ── lease fresh? ── After
package replica
