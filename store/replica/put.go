package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"newsletterd/store/replica/objects"
)

// send puts a file of the log on its way. captureMu is held.
func (s *shipper) send(p *parcel) {
	s.txid++
	p.txid = s.txid
	if s.alone > 0 {
		s.alone--
	}
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

// put writes a file of the log until the bucket has it. It fails where its context ends or the lease is lost.
func (s *shipper) put(p *parcel) error {
	key := s.log.key(0, p.txid, p.txid)
	for try := 0; ; try++ {
		_, err := s.log.bucket.Put(s.context, key, p.body, objects.Condition{Absent: true})
		if err == nil {
			return nil
		}
		if errors.Is(err, objects.ErrPrecondition) {
			var again bool
			if again, err = s.taken(p, key); err == nil && !again {
				return nil
			}
		}
		switch {
		case errors.Is(err, ErrLost):
			return err
		case s.context.Err() != nil:
			return context.Cause(s.context)
		case err != nil && try%10 == 3:
			s.slog.Warn("replica: the bucket does not take what was committed", slog.Any("error", err))
		}
		if err != nil {
			if err := pause(s.context, min(50*time.Millisecond<<min(try, 6), 2*time.Second)); err != nil {
				return err
			}
		}
	}
}

// taken finds out why there is a file of that name: it is ours and its answer was lost; or it is a stray of the holder
// before, which goes, and the Put is to be done again; or another machine has taken over.
func (s *shipper) taken(p *parcel, key string) (again bool, err error) {
	own, err := objects.Owns(s.context, s.log.bucket, key, p.body)
	if own || err != nil {
		return false, err
	}
	if err := s.lease.renew(s.context); err != nil {
		return false, err
	}
	f, there, err := s.log.exists(s.context, p.txid)
	if err != nil || !there {
		return true, err
	}
	h, err := s.log.header(s.context, f)
	if err != nil {
		return false, err
	}
	if h.NodeID >= s.lease.generation() {
		return false, fmt.Errorf("%w: %s is of generation %d, not of %d", ErrLost, key, h.NodeID, s.lease.generation())
	}
	s.slog.Warn("replica: what the holder of the lease before sent too late is removed", slog.String("file", key))
	return true, s.log.bucket.Delete(s.context, key)
}

// done notes that a file has arrived.
func (s *shipper) done(p *parcel) {
	s.mu.Lock()
	p.done = true
	s.puts++
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
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	s.release()
	s.poke()
}

// keep holds a file that has arrived for the next compaction. mu is held.
func (s *shipper) keep(p *parcel) {
	s.recent = append(s.recent, p)
	s.kept += len(p.body)
	for s.kept > memory {
		s.kept -= len(s.recent[0].body)
		s.recent = s.recent[1:]
	}
}
