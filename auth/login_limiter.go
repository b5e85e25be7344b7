package auth

import (
	"net/netip"
	"sync"
	"time"

	"newsletterd/core"
)

const (
	maxLimited     = 65536 // remembered remote addresses
	failuresMost   = 60    // failed logins from a remote address within failuresPeriod
	failuresPeriod = 15 * time.Minute
)

// loginLimiter counts failed logins by remote address in bounded memory. A period starts with the first failure.
type loginLimiter struct {
	mu   sync.Mutex
	rows map[string]failedLogins
}

// failedLogins counts failed logins from one remote address in its period.
type failedLogins struct {
	n     int
	until core.Instant
}

// enter counts a login from an address as failed before it is checked, so that concurrent logins count, too. leave
// reverts this. If the address has failed too often, ok is false and until is the end of its period. An empty key is
// not counted.
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

// leave reverts the count of enter for a successful login.
func (l *loginLimiter) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if row, ok := l.rows[key]; ok && row.n > 0 {
		row.n--
		l.rows[key] = row
	}
}

// makeRoom removes the periods that have ended or, if there are none, an arbitrary eighth of all. The caller must
// hold the lock.
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

// remoteKey returns the key for counting logins from a remote address: an IPv4 address itself, or the /64 network of an
// IPv6 address, because one customer usually has a whole /64. Loopback addresses have an empty key, which is never
// counted, since they belong to a proxy or a test.
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
