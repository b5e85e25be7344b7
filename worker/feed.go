package worker

import (
	"context"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

// claimSize is how many recipients one claim reads; a job is claimed again when half of them are handed out.
const claimSize = 256

// item is one claimed recipient on its way through a lane.
type item struct {
	store.Claim
	job        *jobFeed
	departures uint64 // of the store, read before the claim: while it stands, the claim's check holds
	lost       int    // connections that broke in this recipient's own transaction, running
	slot       bool   // holds a slot of the max_unrecorded window
}

// jobFeed is a running job as the sender sees it. Its fields are guarded by the feed's mutex, but for those that never
// change and those that the claimer alone uses.
type jobFeed struct {
	job     core.SendJob
	key     store.ClaimKey
	content *content // nil until compiled

	queue   []*item // to be handed out, from head on
	head    int
	out     int  // handed out or read from the file, without a recorded outcome
	stopped bool // the job has ended: nothing is handed out any more

	after    int64        // the claimer's position among the queued
	dueAt    core.Instant // … and among the deferred
	dueSeq   int64
	drained  bool      // the last claim found less than it asked for
	lookAt   time.Time // for deferred ones that have become due
	found    int64     // recipients that the job had at the last look
	expanded bool
}

func (j *jobFeed) waiting() int { return len(j.queue) - j.head }

// feed is what the lanes take from: the claimed recipients of all running jobs, one job after the other in turn, so that
// a large job does not hold a small one up.
type feed struct {
	mu     sync.Mutex
	more   *sync.Cond    // something was queued, or the feed was closed
	low    chan struct{} // tells the claimer to look again
	jobs   []*jobFeed
	turn   int
	closed bool
}

func newFeed() *feed {
	f := &feed{low: make(chan struct{}, 1)}
	f.more = sync.NewCond(&f.mu)
	return f
}

// signal makes the claimer look again.
func (f *feed) signal() {
	select {
	case f.low <- struct{}{}:
	default:
	}
}

// next hands out one item; nil means none is ready (wait false), or the feed is closed or ctx has ended.
func (f *feed) next(ctx context.Context, wait bool) *item {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || ctx.Err() != nil {
		return nil
	}
	if it := f.pop(); it != nil || !wait {
		return it
	}
	stop := context.AfterFunc(ctx, f.wake)
	defer stop()
	for {
		if f.closed || ctx.Err() != nil {
			return nil
		}
		if it := f.pop(); it != nil {
			return it
		}
		f.more.Wait()
	}
}

// wake makes every waiting lane look again.
func (f *feed) wake() {
	f.mu.Lock()
	f.more.Broadcast()
	f.mu.Unlock()
}

func (f *feed) pop() *item {
	for range f.jobs {
		if f.turn >= len(f.jobs) {
			f.turn = 0
		}
		j := f.jobs[f.turn]
		f.turn++
		if j.waiting() == 0 {
			continue
		}
		it := j.queue[j.head]
		j.queue[j.head] = nil
		j.head++
		if j.waiting() == claimSize/2 || j.waiting() == 0 {
			f.signal()
		}
		return it
	}
	return nil
}

// push queues claimed items of a job behind the others.
func (f *feed) push(j *jobFeed, items []*item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if j.stopped {
		j.out -= len(items)
		f.signal()
		return
	}
	if j.head > 0 {
		n := copy(j.queue, j.queue[j.head:])
		clear(j.queue[n:])
		j.queue, j.head = j.queue[:n], 0
	}
	j.queue = append(j.queue, items...)
	f.more.Broadcast()
}

// giveBack queues an item again, before all others of its job: nobody has taken its message.
func (f *feed) giveBack(it *item) {
	f.mu.Lock()
	defer f.mu.Unlock()
	j := it.job
	if j.stopped || f.closed {
		j.out--
		f.signal()
		return
	}
	if j.head > 0 {
		j.head--
		j.queue[j.head] = it
	} else {
		j.queue = append(j.queue, it)
	}
	f.more.Signal()
}

// settled notes that n items of a job have a recorded outcome.
func (f *feed) settled(j *jobFeed, n int) {
	f.mu.Lock()
	j.out -= n
	done := n > 0 && j.out == 0
	f.mu.Unlock()
	if done {
		f.signal()
	}
}

// stop drops what is queued of a job that has ended.
func (f *feed) stop(j *jobFeed) {
	f.mu.Lock()
	j.stopped = true
	j.out -= j.waiting()
	j.queue, j.head = nil, 0
	f.mu.Unlock()
	f.signal()
}

// has tells whether the sender still holds anything of a job.
func (f *feed) has(jobNo int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, j := range f.jobs {
		if j.job.No == jobNo {
			return true
		}
	}
	return false
}

// close wakes all lanes and hands out nothing more.
func (f *feed) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.more.Broadcast()
}

// reset forgets everything; no lane runs.
func (f *feed) reset() {
	f.mu.Lock()
	f.jobs, f.turn, f.closed = nil, 0, false
	f.mu.Unlock()
}
