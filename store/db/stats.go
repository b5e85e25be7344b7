package db

import (
	"sync/atomic"
	"time"
)

// stats holds the writer's counters, for metrics and tests.
type stats struct {
	batches, ops, busy atomic.Int64
	wal                atomic.Int64
	statements         atomic.Int64
	sizes, times       histogram
}

// The upper bounds of the batch histograms: operations per batch, and seconds from the lock to the commit.
var (
	BatchSizes = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}
	BatchTimes = []float64{.0005, .001, .002, .004, .008, .016, .032, .064, .128, .256, 1}
)

// histogram holds the number of values up to each bound and above the previous one. The last number is for values above
// all bounds.
type histogram struct{ counts [16]atomic.Int64 }

func (h *histogram) add(bounds []float64, v float64) {
	i := 0
	for i < len(bounds) && v > bounds[i] {
		i++
	}
	h.counts[i].Add(1)
}

func (h *histogram) read(bounds []float64) []int64 {
	out := make([]int64, len(bounds)+1)
	for i := range out {
		out[i] = h.counts[i].Load()
	}
	return out
}

func (s *stats) batch(ops int, took time.Duration) {
	s.batches.Add(1)
	s.ops.Add(int64(ops))
	s.busy.Add(int64(took))
	s.sizes.add(BatchSizes, float64(ops))
	s.times.add(BatchTimes, took.Seconds())
}

// Stats is a snapshot of the writer's counters since the start.
type Stats struct {
	Batches int64         // transactions
	Ops     int64         // operations in these transactions
	Busy    time.Duration // time spent in transactions, commit included
	WAL     int64         // size of the -wal in bytes when it was last checked
	Waiting int           // operations that are waiting in the queues

	Statements int64 // SQL statements of operations, including reads

	Sizes []int64 // transactions by BatchSizes, and a last count for larger ones
	Times []int64 // transactions by BatchTimes, and a last count for longer ones
}

// Stats returns the writer's counters.
func (s *DB) Stats() Stats {
	return Stats{
		Batches: s.stats.batches.Load(), Ops: s.stats.ops.Load(), Busy: time.Duration(s.stats.busy.Load()),
		WAL: s.stats.wal.Load(), Statements: s.stats.statements.Load(),
		Waiting: s.writer.waiting(),
		Sizes:   s.stats.sizes.read(BatchSizes), Times: s.stats.times.read(BatchTimes),
	}
}
