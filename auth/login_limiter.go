package auth

import (
	"net/netip"
	"sync"
	"time"

	"newsletterd/core"
)

const (
	maxLimited     = 65536 // remote addresses remembered
	failuresMost   = 60    // failed logins of a remote address within failuresPeriod
	failuresPeriod = 15 * time.Minute
)

// loginLimiter counts the failed logins of remote addresses in bounded memory, in periods that begin with the first
// failure.
type loginLimiter struct {
	mu   sync.Mutex
	rows map[string]failedLogins
}

// failedLogins is the failed logins of one remote address in its period.
type failedLogins struct {
	n     int
	until core.Instant
}

// enter counts a login of an address as failed before it is judged, so that many at once are counted too; leave takes
// that back. Where the address has failed too often, ok is false and until is when its period ends. An empty key is not
// counted.
func (l *loginLimiter) enter(key string, now core.Instant) (until core.Instant, ok bool) {
	if key == "" {
		return 0, true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	row, there := l.rows[key]
	if row.until <= now {
		row = failedLogins{until: now.Add(failuresPeriod)}
	}
	if row.n >= failuresMost {
		return row.until, false
	}
	row.n++
	if l.rows == nil {
		l.rows = map[string]failedLogins{}
	}
	if !there && len(l.rows) >= maxLimited {
		l.makeRoom(now)
	}
	l.rows[key] = row
	return 0, true
}

// leave takes the count of enter back: the login has not failed.
func (l *loginLimiter) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if row, ok := l.rows[key]; ok && row.n > 0 {
		row.n--
		l.rows[key] = row
	}
}

// makeRoom drops the periods that have ended, or else an eighth of all, in no order. The lock is held.
func (l *loginLimiter) makeRoom(now core.Instant) {
	for k, row := range l.rows {
		if row.until <= now {
			delete(l.rows, k)
		}
	}
	for k := range l.rows {
		if len(l.rows) < maxLimited*7/8 {
			return
		}
		delete(l.rows, k)
	}
}

// remoteKey returns what a remote address is counted by: itself, or the /64 of an IPv6 address, which one customer has
// whole. A loopback address is a proxy's or a test's and is never counted: its key is empty.
func remoteKey(a netip.Addr) string {
	a = a.Unmap()
	if !a.IsValid() || a.IsLoopback() {
		return ""
	}
	if a.Is6() {
		if p, err := a.WithZone("").Prefix(64); err == nil {
			return p.Addr().String() + "/64"
		}
	}
	return a.String()
}
