package replica

import "time"

// Progress returns how long the oldest commit waits that is not in the bucket, 0 where all are; how long a file of the
// log takes to get there, of late; and the last transaction up to which the bucket has all.
func (r *Replica) Progress() (lag, latency time.Duration, txid uint64) {
	s := r.shipper()
	if s == nil {
		return 0, 0, 0
	}
	oldest := time.Duration(s.firstNote.Load())
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.inFlight {
		if oldest == 0 || p.start < oldest {
			oldest = p.start
		}
	}
	if oldest != 0 {
		lag = max(s.lease.clock()-oldest, 1)
	}
	return lag, s.latency, s.arrived
}
