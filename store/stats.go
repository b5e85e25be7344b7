package store

import (
	"sync/atomic"
	"time"
)

// stats counts what the store does, for the metrics and for tests.
type stats struct {
	batches, ops, busy atomic.Int64
	wal                atomic.Int64
	statements         atomic.Int64
}

func (s *stats) batch(ops int, took time.Duration) {
	s.batches.Add(1)
	s.ops.Add(int64(ops))
	s.busy.Add(int64(took))
}

// Stats is a snapshot of the writer's counters since the start.
type Stats struct {
	Batches int64         // transactions
	Ops     int64         // operations in them
	Busy    time.Duration // time spent in transactions, commit included
	WAL     int64         // bytes of the -wal at the last look
	Waiting int           // operations in the queues now

	Statements int64 // SQL statements, reading ones included
}

// Stats returns the writer's counters.
func (s *Store) Stats() Stats {
	return Stats{
		Batches: s.stats.batches.Load(), Ops: s.stats.ops.Load(), Busy: time.Duration(s.stats.busy.Load()),
		WAL: s.stats.wal.Load(), Statements: s.stats.statements.Load(), Waiting: len(s.writer.interactive) + len(s.writer.bulk),
	}
}
