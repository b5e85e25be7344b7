package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/superfly/ltx"

	"newsletterd/store/replica/objects"
)

// send starts to upload a log file. The caller holds captureMu.
func (s *shipper) send(p *parcel) {
	s.txid++
	p.txid = s.txid
	if s.alone > 0 {
		s.alone--
	}
	p.context = s.context
	s.mu.Lock()
	p.start = s.lease.clock()
	s.lastStart = p.start
	s.inFlight[p.txid] = p
	s.mu.Unlock()
	s.loops.Go(func() {
		err := s.put(p)
		if err == nil {
			s.done(p)
		} else if s.context.Err() == nil {
			s.failed(err)
		}
	})
}

// staleLook is how often put checks whether the lease is fresh, while a file waits for that.
const staleLook = 20 * time.Millisecond

// put writes a log file, and retries until the bucket has it. It fails if its context ends or the lease is lost.
func (s *shipper) put(p *parcel) error {
	key := s.log.key(0, p.txid, p.txid)
	cond := objects.Condition{Absent: true}
	for try := 0; ; try++ {
		err := s.lease.check()                                  // another machine may be writing the file by now
		for ; errors.Is(err, ErrStale); err = s.lease.check() { // checks are cheap, and it may be fresh only briefly
			if err := pause(p.context, staleLook); err != nil {
				return err
			}
		}
		if err == nil {
			if _, err = s.log.bucket.Put(p.context, key, p.body, cond); err == nil {
				return nil
			}
			cond = objects.Condition{Absent: true}
		}
		if errors.Is(err, objects.ErrPrecondition) {
			var own bool
			if own, cond, err = s.taken(p, key); own {
				return nil
			}
			if err == nil {
				continue
			}
		}
		switch {
		case errors.Is(err, ErrLost):
			return err
		case p.context.Err() != nil:
			return context.Cause(p.context)
		case try%10 == 3:
			s.slog.Warn("replica: the bucket doesn't accept commits", slog.Any("error", err))
		}
		if err := pause(p.context, min(50*time.Millisecond<<min(try, 6), 2*time.Second)); err != nil {
			return err
		}
	}
}

// taken finds out why a file with this name already exists. There are three cases. The file is ours, and the response
// to our Put was lost. Or it is a stray, from an earlier holder or from a whole copy that this process gave up: then it
// may be replaced as long as it is unchanged, as cond requires. Or another machine has taken over. A damaged file
// doesn't show which holder wrote it. If the lease can be renewed after the file appeared, it is not from a later
// holder.
func (s *shipper) taken(p *parcel, key string) (own bool, cond objects.Condition, err error) {
	cond.Absent = true
	own, err = objects.Owns(p.context, s.log.bucket, key, p.body)
	if own || err != nil {
		return own, cond, err
	}
	if err := s.lease.renew(p.context); err != nil {
		return false, cond, err
	}
	etag, h, err := s.log.stray(p.context, logFile{level: 0, min: p.txid, max: p.txid})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, cond, nil
	case errors.Is(err, ErrGap):
		s.slog.Warn("replica: replaced an unreadable file", slog.Any("error", err))
		if err := s.lease.renew(p.context); err != nil {
			return false, cond, err
		}
		return false, objects.Condition{Match: etag}, nil
	case err != nil:
		return false, cond, err
	}
	if mine := s.lease.generation(); h.NodeID > mine || h.NodeID == mine && !p.part {
		return false, cond, fmt.Errorf("%w: %s has generation %d, not %d", ErrLost, key, h.NodeID, mine)
	}
	s.slog.Warn("replica: replaced a late write by the previous lease holder", slog.String("file", key))
	return false, objects.Condition{Match: etag}, nil
}

// stray reads the ETag of a log file, then its header. It returns a damagedError with the ETag if the header is
// unreadable.
func (l logFiles) stray(ctx context.Context, f logFile) (etag string, h ltx.Header, err error) {
	info, err := l.bucket.Head(ctx, l.key(f.level, f.min, f.max))
	if err != nil {
		return "", h, err
	}
	h, err = l.header(ctx, f)
	return info.ETag, h, err
}

// removeStray removes a file after the end of the log, unless it comes from this holder of the lease or a later one.
// The ETag and the check of the lease keep a late request from removing a newer file of the same name. A damaged file
// is not from a later holder if the lease can be renewed after it appeared.
func (r *Replica) removeStray(ctx context.Context, f logFile) error {
	key := r.log.key(f.level, f.min, f.max)
	etag, h, err := r.log.stray(ctx, f)
	if errors.Is(err, ErrGap) {
		r.slog.Warn("replica: removed an unreadable file", slog.Any("error", err))
		err = r.lease.renew(ctx)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case h.NodeID >= r.lease.generation():
		return fmt.Errorf("%w: %s has generation %d", ErrLost, key, h.NodeID)
	}
	if err := r.lease.check(); err != nil {
		return err
	}
	if err = r.log.bucket.Remove(ctx, key, etag); errors.Is(err, objects.ErrPrecondition) {
		err = fmt.Errorf("%w: %s was replaced", ErrLost, key)
	}
	return err
}

// done records that a file has arrived in the bucket.
func (s *shipper) done(p *parcel) {
	s.mu.Lock()
	p.done = true
	s.puts++
	s.bytes += len(p.body)
	took := s.lease.clock() - p.start
	if s.latency == 0 {
		s.latency = took
	}
	s.latency += (took - s.latency) / 8
	for next := s.inFlight[s.arrived+1]; next != nil && next.done; next = s.inFlight[s.arrived+1] {
		delete(s.inFlight, next.txid)
		s.arrived = next.txid
		s.confirmed = max(s.confirmed, next.note)
		s.keep(next)
	}
	s.mu.Unlock()
	s.tell()
}

// tell wakes callers that wait until files have arrived.
func (s *shipper) tell() {
	s.mu.Lock()
	s.lease.txid.Store(max(s.lease.txid.Load(), s.arrived))
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	s.release()
	s.poke()
}

// keep keeps an arrived file in memory for the next compaction. The caller holds mu.
func (s *shipper) keep(p *parcel) {
	s.recent = append(s.recent, p)
	s.kept += len(p.body)
	for s.kept > memory {
		s.kept -= len(s.recent[0].body)
		s.recent = s.recent[1:]
	}
}
