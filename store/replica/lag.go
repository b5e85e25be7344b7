package replica

import (
	"context"
	"time"

	"newsletterd/store/replica/objects"
)

// Stats are figures of a replica that runs.
type Stats struct {
	Generation uint64
	TXID       uint64        // the last transaction up to which the bucket has all
	Lag        time.Duration // for how long the oldest commit that the bucket lacks has waited; 0: it lacks none
	Put        time.Duration // what writing a file of the log took lately; 0: not known yet
	InFlight   int           // files of the log on their way
	Waiting    int           // callers that wait for the bucket
	Lease      error         // nil, ErrStale or ErrLost, as Check returns it
}

// Stats returns the figures of now. Those of the log are zero before Start.
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

// Progress returns what a store asks of Stats: Lag, Put and TXID.
func (r *Replica) Progress() (lag, latency time.Duration, txid uint64) {
	st := r.Stats()
	return st.Lag, st.Put, st.TXID
}

// lagPause is how long Lag waits before it looks again.
const lagPause = 20 * time.Millisecond

// Lag returns how long it took until the bucket had what was committed to the database file at path before the call; 0
// where it had all. It waits for that until ctx is done, and then returns the cause of that; where level 0 lacks the
// last file of the log, until the next one is there. Another process has the file open and ships it.
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
	var has walEnd // the zero value: not known
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
