package db

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"newsletterd/core"
)

// The reserve is disk space that writes caused by strangers leave free, so that all other work can continue: 256 MiB,
// or a twentieth of a small disk.
const (
	reserveBytes = 256 << 20
	reservePart  = 20
)

// reserveEvery is how long a measurement of the disk is valid, unless the space that it granted is used up earlier.
const reserveEvery = time.Second

var errNoRoom = &core.Error{
	Kind: core.Unavailable, Code: "storage_unavailable", RetryAfter: 60,
	Message: "The server's disk is almost full. Contact the server administrator, or try again later.",
}

// reserve admits writes while the disk has space beyond its reserve. Each measurement grants space to later writes, and
// each write deducts the most space that it may need. Most calls therefore need no system call. A disk with little
// space is measured more often.
type reserve struct {
	measure func() (room int64, err error) // returns the bytes that are free beyond the reserve

	until atomic.Int64 // unix ns until which the measurement is valid
	left  atomic.Int64 // bytes of the measurement that are not taken yet

	mu   sync.Mutex // guards the fields below
	room int64      // bytes found by the last measurement
	low  bool       // whether a write was refused and the space has stayed below reserveClear since
	said func(low bool)
}

// reserveClear is the number of free bytes at which the disk no longer counts as full.
const reserveClear = 1 << 20

// take claims space for a write of the given number of bytes. If that would use the reserve, it returns errNoRoom.
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

// sayRoom logs that the free space has fallen to the reserve, or that there is enough space again.
func (s *DB) sayRoom(low bool) {
	if low {
		s.log.Warn("the disk is almost full: signups, subscriptions, uploads and tracking are rejected to keep space "+
			"for everything else",
			slog.String("path", s.path))
		return
	}
	s.log.Info("the disk has space again; everything is accepted", slog.String("path", s.path))
}

// roomBeyondReserve returns the bytes that are free on the file's disk beyond the reserve. It subtracts the size of
// the -wal, because its contents need their space a second time when they move into the file.
func (s *DB) roomBeyondReserve() (int64, error) {
	free, total, _, err := DiskOf(s.path)
	if err != nil {
		return 0, err
	}
	return free - min(reserveBytes, total/reservePart) - WalSize(s.path), nil
}

// leastBeyondReserve is the number of bytes beyond the reserve that a subscription or a registration needs.
const leastBeyondReserve = 64 << 10

// InReserve reports whether the disk has no space beyond its reserve. In that case, writes caused by strangers are
// refused, and all others continue.
func (s *DB) InReserve() bool {
	room, err := s.roomBeyondReserve()
	return err == nil && room < leastBeyondReserve
}

// RefusesWrites reports whether writes are refused for lack of space: all writes, or only those caused by strangers.
func (s *DB) RefusesWrites() bool {
	_, _, readOnly, err := DiskOf(s.path)
	return s.full.Load() || err == nil && readOnly || s.InReserve()
}

// Room reserves disk space for a write that strangers cause, such as a signup. bytes is the most that the write may
// need. If it would touch the reserve of the disk, Room returns core.ErrStorage with the code storage_unavailable.
// Sign-in, confirmation, unsubscribe, server administrators' commands and the sender's records don't call Room and may
// use the reserve.
func (s *DB) Room(bytes int64) error { return s.reserve.take(bytes) }
