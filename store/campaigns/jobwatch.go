package campaigns

import (
	"context"
	"slices"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// changedJobs collects the jobs that an operation has changed, and passes their numbers to the watches after the
// commit.
type changedJobs struct {
	op, commit []int64

	// open holds, for each job, the number of recipients that had no outcome at the last count, minus the outcomes
	// since. While the number is above 0, the job can't be complete. The map outlives operations and is never stored.
	open map[int64]int64

	mu      sync.Mutex
	watches []*JobWatch
}

// changed marks a job as changed, for the watches. An operation that changes many jobs, or a list or tenant, kicks
// db.TopicJobs instead. A change to a job's counters needs no mark.
func changed(tx *db.Tx, no int64) {
	c := tx.Kept("campaigns").(*changedJobs)
	c.op = append(c.op, no)
}

func (c *changedJobs) Begin()                         { c.op = c.op[:0] }
func (c *changedJobs) End(*db.Tx) error               { return nil }
func (c *changedJobs) Done()                          { c.commit, c.op = append(c.commit, c.op...), c.op[:0] }
func (c *changedJobs) Commit(*db.Tx, time.Time) error { return nil }

// Committed passes the numbers of the changed jobs to the watches.
func (c *changedJobs) Committed() {
	if len(c.commit) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.watches {
		w.add(c.commit)
	}
	c.commit = c.commit[:0]
}

// Undone drops the changes that were rolled back, and all counts, because they may include outcomes that were rolled
// back.
func (c *changedJobs) Undone(all bool) {
	clear(c.open)
	c.op = c.op[:0]
	if all {
		c.commit = c.commit[:0]
	}
}

const (
	startedJobs = "SELECT " + sendJobColumns + " FROM send_job INDEXED BY send_job_running WHERE status = 'running' " +
		"ORDER BY no"
	sendableJobs = "SELECT " + sendJobColumns + " FROM send_job INDEXED BY send_job_running WHERE status = 'running' " +
		"AND " + sendable + " ORDER BY no"

	// The plus sign makes SQLite look up the jobs by number.
	amongJobs = " FROM send_job WHERE no IN (SELECT value FROM json_each(?)) AND +status = 'running' "

	startedAmong  = "SELECT " + sendJobColumns + amongJobs + "ORDER BY no"
	sendableAmong = "SELECT " + sendJobColumns + amongJobs + "AND " + sendable + " ORDER BY no"
	stillSendable = "SELECT no" + amongJobs + "AND " + sendable + " ORDER BY no"

	sendable = "paused_at = 0 AND " + switchedOff + " = ''"
)

// JobWatch tracks which running jobs have changed, so that a worker doesn't read all of them again. Only one goroutine
// may call Read.
type JobWatch struct {
	store *Store
	every string // query for all running jobs
	some  string // query for the running jobs among given numbers
	kick  func()

	mu  sync.Mutex
	all bool // whether any job may have changed
	nos []int64
}

// JobChanges holds the jobs of a watch that may have changed: the jobs in Nos or, if All is set, every job. Running
// holds only the running ones.
type JobChanges struct {
	All     bool
	Nos     []int64
	Running []core.SendJob // oldest first
}

// WatchJobs returns a watch of the running jobs. If sendable is true, jobs that are paused, or whose lists or tenant
// are inactive, don't count as running. After a change, even one by another process, the watch calls kick, which must
// not block and must not call the store.
func (s *Store) WatchJobs(sendable bool, kick func()) *JobWatch {
	w := &JobWatch{store: s, kick: kick, all: true, every: startedJobs, some: startedAmong}
	if sendable {
		w.every, w.some = sendableJobs, sendableAmong
	}
	s.OnKick(db.TopicJobs, func() { w.Touch(); kick() })
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	s.jobs.watches = append(s.jobs.watches, w)
	return w
}

func (w *JobWatch) add(nos []int64) {
	w.mu.Lock()
	if !w.all {
		w.nos = append(w.nos, nos...)
	}
	w.mu.Unlock()
	w.kick()
}

// Touch makes the next Read return all running jobs.
func (w *JobWatch) Touch() {
	w.mu.Lock()
	w.all, w.nos = true, nil
	w.mu.Unlock()
}

// Changed reports whether a job may have changed since the last Read.
func (w *JobWatch) Changed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.all || len(w.nos) > 0
}

// Read returns the jobs that may have changed since the last Read, and those with the given numbers. The first Read
// returns all running jobs. After an error, the next Read returns the same jobs. Its only error is core.ErrStorage.
func (w *JobWatch) Read(ctx context.Context, more ...int64) (c JobChanges, err error) {
	w.mu.Lock() // before reading the database, so that the next Read includes later changes
	c.All, c.Nos = w.all, append(w.nos, more...)
	w.all, w.nos = false, nil
	w.mu.Unlock()
	slices.Sort(c.Nos)
	c.Nos = slices.Compact(c.Nos)
	switch {
	case c.All:
		err = w.store.All(ctx, &c.Running, w.every)
	case len(c.Nos) > 0:
		err = w.store.All(ctx, &c.Running, w.some, db.JsonOf(c.Nos))
	}
	if err != nil {
		w.mu.Lock()
		w.all, w.nos = w.all || c.All, append(w.nos, c.Nos...)
		w.mu.Unlock()
	}
	return c, err
}

// Ended reports whether a job is no longer running, according to the changes.
func (c *JobChanges) Ended(no int64) bool {
	if _, asked := slices.BinarySearch(c.Nos, no); !asked && !c.All {
		return false
	}
	_, runs := slices.BinarySearchFunc(c.Running, no, func(j core.SendJob, no int64) int { return int(j.No - no) })
	return !runs
}

// StillRunning returns the given numbers whose jobs are still running, in order. Its only error is core.ErrStorage.
func (w *JobWatch) StillRunning(ctx context.Context, nos []int64) (running []int64, err error) {
	err = w.store.All(ctx, &running, stillSendable, db.JsonOf(nos))
	return running, err
}
