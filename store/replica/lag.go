package replica

import (
	"context"
	"time"

	"newsletterd/store/replica/objects"
)

// Stats describes the current state of a running replica.
type Stats struct {
	Generation uint64
	TXID       uint64        // the bucket has this transaction and all before it
	Lag        time.Duration // age of the oldest commit that the bucket lacks; 0: it lacks none
	Put        time.Duration // recent duration of writing a log file; 0: unknown
	InFlight   int           // number of log files being uploaded
	Waiting    int           // number of callers that wait for the bucket
	Lease      error         // nil, ErrStale or ErrLost, as returned by Check
}

// Stats returns the current state. Before Start, the fields about the log are zero.
func (r *Replica) Stats() Stats {
	st := Stats{Generation: r.lease.generation(), Lease: r.lease.check()}
	s := r.shipper()
	if s == nil {
		return st
	}
	now := s.lease.clock()
	oldest := now
	for _, at := range []int64{s.firstNote.Load(), s.copySince.Load()} {
		if at > 0 {
			oldest = min(oldest, time.Duration(at))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.inFlight {
		oldest = min(oldest, p.start)
	}
	st.TXID, st.Put, st.InFlight, st.Waiting = s.arrived, s.latency, len(s.inFlight), len(s.waiting)
	st.Lag = now - oldest
	return st
}

// Progress returns the fields Lag, Put and TXID of Stats.
func (r *Replica) Progress() (lag, latency time.Duration, txid uint64) {
	st := r.Stats()
	return st.Lag, st.Put, st.TXID
}

// lagPause is the interval at which Lag checks the bucket.
const lagPause = 20 * time.Millisecond

// Lag measures how long it takes until the bucket has everything that was committed to the database at path before the
// call. If the bucket already has everything, Lag returns 0. If ctx ends first, Lag returns the cause. If level 0 lacks
// the last log file, Lag waits for the next file. Another process must have the file open and ship it.
func Lag(ctx context.Context, url string, env func(string) string, path string) (time.Duration, error) {
	bucket, err := objects.Open(url, env)
	if err != nil {
		return 0, err
	}
	l := logFiles{bucket: bucket}
	begin := time.Now()
	want, err := readIndex(path)
	if err != nil || want.frames == 0 {
		return 0, err
	}
	var s shipped
	first := true
	for s.head() == 0 {
		if s, err = l.shipped(ctx); err == nil && s.head() == 0 {
			first, err = false, pause(ctx, lagPause)
		}
		if err != nil {
			return 0, err
		}
	}
	last := logFile{max: s.head()}
	var has walEnd // zero: unknown
	if len(s.files) > 0 {
		last = s.files[len(s.files)-1]
	}
	for {
		if last.min > 0 {
			h, err := l.header(ctx, last)
			if err != nil {
				return 0, err
			}
			has = walEndOf(h)
		}
		switch {
		case has.salt == want.salt && has.frames >= want.frames, has.frames > 0 && int32(has.salt[0]-want.salt[0]) > 0:
			if first {
				return 0, nil
			}
			return time.Since(begin), nil
		}
		for first = false; ; {
			next, there, err := l.exists(ctx, last.max+1)
			if err != nil {
				return 0, err
			}
			if there {
				last = next
				break
			}
			if err := pause(ctx, lagPause); err != nil {
				return 0, err
			}
		}
	}
}
