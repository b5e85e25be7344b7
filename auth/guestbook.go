package auth

import (
	"net/netip"
	"sync"
	"time"

	"newsletterd/core"
)

const (
	maxGuests     = 65536 // remote addresses remembered
	guestFailures = 60
	guestWindow   = 15 * time.Minute
)

// guestbook counts the failed logins of remote addresses in bounded memory, in windows that begin with the first.
type guestbook struct {
	mu   sync.Mutex
	rows map[string]guest
}

type guest struct {
	n     int
	until core.Instant
}

// enter counts one attempt of an address beforehand, so that many at once are counted too; leave takes it
// back when it was no failure. An empty key is not counted.
func (g *guestbook) enter(key string, now core.Instant) (until core.Instant, ok bool) {
	if key == "" {
		return 0, true
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	row, there := g.rows[key]
	if row.until <= now {
		row = guest{until: now.Add(guestWindow)}
	}
	if row.n >= guestFailures {
		return row.until, false
	}
	row.n++
	if g.rows == nil {
		g.rows = map[string]guest{}
	}
	if !there && len(g.rows) >= maxGuests {
		g.makeRoom(now)
	}
	g.rows[key] = row
	return 0, true
}

// makeRoom drops what has ended, or else an eighth of all, whichever come first.
func (g *guestbook) makeRoom(now core.Instant) {
	for k, row := range g.rows {
		if row.until <= now {
			delete(g.rows, k)
		}
	}
	for k := range g.rows {
		if len(g.rows) < maxGuests*7/8 {
			return
		}
		delete(g.rows, k)
	}
}

func (g *guestbook) leave(key string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if row, ok := g.rows[key]; ok && row.n > 0 {
		row.n--
		g.rows[key] = row
	}
}

// remoteKey is what a remote address is counted by: itself, or the /64 of IPv6, which one customer
// holds whole. Loopback is a proxy or a test and never counted.
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
