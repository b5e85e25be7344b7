package db

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"newsletterd/core"
)

// What strangers cause to be written leaves this much of the disk free, so that everyone else's work goes on: 256 MiB,
// or a twentieth of a small disk.
const (
	reserveBytes = 256 << 20
	reservePart  = 20
)

// reserveEvery is how long a measurement of the disk is good for, unless what it allowed is used up before.
const reserveEvery = time.Second

var errNoRoom = &core.Error{
	Kind: core.Unavailable, Code: "storage_unavailable", RetryAfter: 60,
	Message: "The server's disk is almost full. Contact the server administrator, or try again later.",
}

// reserve admits writes while the disk has room beyond its reserve. A measurement grants its room to the writes that
// follow, each of which takes what it may need, so that most calls ask the system nothing and a small disk is measured
// more often.
type reserve struct {
	measure func() (room int64, err error) // bytes that are free beyond the reserve

	until atomic.Int64 // unix ns that the measurement is good for
	left  atomic.Int64 // bytes of it that were not taken yet

	mu   sync.Mutex // guards the rest
	room int64      // as it was measured
	low  bool       // a write was refused, and there has been no more than a little room since
	said func(low bool)
}

// reserveClear is the room, in bytes, at which the disk is no longer called too full.
const reserveClear = 1 << 20

// take counts bytes as written; errNoRoom where they would touch the reserve.
func (r *reserve) take(bytes int64) error {
	if time.Now().UnixNano() < r.until.Load() && r.left.Add(-bytes) >= 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := time.Now()
	if fresh := at.UnixNano() < r.until.Load(); !fresh || r.room >= bytes {
		if fresh && r.left.Add(-bytes) >= 0 { // another caller has measured
			return nil
		}
		room, err := r.measure()
		if err != nil {
			return core.ErrStorage.With(err)
		}
		r.room = room
		r.left.Store(room)
		r.until.Store(at.Add(reserveEvery).UnixNano())
		if r.low && room >= reserveClear {
			r.low = false
			r.said(false)
		}
	}
	if r.left.Add(-bytes) >= 0 {
		return nil
	}
	if !r.low {
		r.low = true
		r.said(true)
	}
	return errNoRoom
}

// sayRoom logs that the reserve is reached, and that it no longer is.
func (s *DB) sayRoom(low bool) {
	if low {
		s.log.Warn("the disk is almost full: signups, subscriptions, uploads and tracking are rejected to keep space "+
			"for everything else",
			slog.String("path", s.path))
		return
	}
	s.log.Info("the disk has space again; everything is accepted", slog.String("path", s.path))
}

// roomBeyondReserve is what is free on the disk of the file beyond the reserve. What stands in the -wal needs its room
// a second time, when it moves into the file.
func (s *DB) roomBeyondReserve() (int64, error) {
	free, total, _, err := DiskOf(s.path)
	if err != nil {
		return 0, err
	}
	return free - min(reserveBytes, total/reservePart) - WalSize(s.path), nil
}

// leastBeyondReserve is the room beyond the reserve that what strangers cause needs: a subscription, a registration.
const leastBeyondReserve = 64 << 10

// InReserve reports whether the disk has no room beyond its reserve: what strangers cause is refused, all else goes on.
func (s *DB) InReserve() bool {
	room, err := s.roomBeyondReserve()
	return err == nil && room < leastBeyondReserve
}

// RefusesWrites reports whether writes are refused for want of room: those of strangers, or all.
func (s *DB) RefusesWrites() bool {
	_, _, readOnly, err := DiskOf(s.path)
	return s.full.Load() || err == nil && readOnly || s.InReserve()
}

// Room returns an error of code storage_unavailable where a write of so many bytes would touch the reserve of the disk.
// It is for what strangers cause; sign-in, confirming, unsubscribe, the operators' commands and the records of the
// sender go on into the reserve. bytes is the most that the write may cost. It returns core.ErrStorage where there is
// no room.
func (s *DB) Room(bytes int64) error { return s.reserve.take(bytes) }
