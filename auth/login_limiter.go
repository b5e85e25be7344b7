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

// loginLimiter counts failed logins by remote address in bounded memory. The period for an address starts with its
// first failure.
type loginLimiter struct {
	mu   sync.Mutex
	rows map[string]failedLogins
}

// failedLogins is the number of failed logins from one remote address in its current period.
type failedLogins struct {
	n     int
	until core.Instant
}

// enter counts a login as failed before it is checked, so that concurrent logins count, too. leave reverts that. key
// identifies the remote address; if it is empty, enter does nothing. If too many logins from the address have failed,
// ok is false and until is the end of its period.
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

// leave reverts a call of enter after a successful login.
func (l *loginLimiter) leave(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if row, ok := l.rows[key]; ok && row.n > 0 {
		row.n--
		l.rows[key] = row
	}
}

// makeRoom forgets the addresses whose periods have ended or, if there are none, an arbitrary eighth of all addresses.
// The caller must hold the lock.
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

// remoteKey returns the key under which logins from a remote address are counted. For IPv4, it is the address itself.
// For IPv6, it is the /64 network, because a customer usually has a whole /64. For a loopback address, which belongs to
// a proxy or a test, the key is empty, and logins are not counted.
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
