package web

import (
	"log/slog"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"newsletterd/core"
)

// Limits next to the one of [limits] subscribe_per_address. A private address that is no trusted proxy may be a proxy
// nevertheless, which stands for all its clients.
const (
	SubscribePerPrivate = 600 // requests an hour of such an address
	subscribePerToken   = 600 // requests a minute of a caller who may write the list's events
)

// OriginLimits counts requests of one kind that strangers may send and that write something, of the API and of pages
// together, by the address that they come from. nil: there is no limit.
type OriginLimits struct {
	what    string         // is asked for, for the log
	address *Limiter       // by address of origin
	private *Limiter       // by private address of origin
	token   *Limiter       // by caller
	local   bool           // the daemon is a machine's own: callers of that machine are not counted
	trusted []netip.Prefix // proxies, which are no callers themselves
	log     *slog.Logger
	saidAt  atomic.Int64
}

// NewOriginLimits returns the limits of n requests an hour and address; 0: none.
func NewOriginLimits(n int, what, publicURL string, trusted []netip.Prefix, log *slog.Logger) (l *OriginLimits,
	err error,
) {
	if n == 0 {
		return nil, nil
	}
	l = &OriginLimits{what: what, local: loopbackOrigin(publicURL), trusted: trusted, log: log}
	if l.address, err = NewLimiter(n, time.Hour); err != nil {
		return nil, err
	}
	if l.private, err = NewLimiter(max(n, SubscribePerPrivate), time.Hour); err != nil {
		return nil, err
	}
	l.token, err = NewLimiter(subscribePerToken, time.Minute)
	return l, err
}

func loopbackOrigin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	a, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && a.IsLoopback()
}

var sharedAddresses = netip.MustParsePrefix("100.64.0.0/10") // RFC 6598

// Unproxied reports whether an address of origin may be that of a proxy that is not among the trusted ones: a private
// one, or that of the daemon's own machine.
func Unproxied(a netip.Addr, trusted []netip.Prefix) bool {
	a = a.Unmap()
	if !a.IsPrivate() && !a.IsLoopback() && !a.IsLinkLocalUnicast() && !sharedAddresses.Contains(a) {
		return false
	}
	for _, p := range trusted {
		if p.Contains(a) {
			return false
		}
	}
	return true
}

// Check counts a request, and refuses those that are too many. known: its caller may write what it asks for without
// anyone's proof.
func (l *OriginLimits) Check(c *Call, known bool) error {
	from := c.Remote.Unmap()
	if l == nil || !from.IsValid() || l.local && from.IsLoopback() {
		return nil
	}
	switch {
	case known:
		return c.CountBy(l.token, c.Caller.ClientID+" "+c.Caller.UserID)
	case !Unproxied(from, l.trusted):
		return c.CountBy(l.address, originKey(from))
	}
	err := c.CountBy(l.private, originKey(from))
	if last := l.saidAt.Load(); err != nil && c.Now > core.Instant(last).Add(time.Hour) &&
		l.saidAt.CompareAndSwap(last, int64(c.Now)) {
		l.log.Warn("a private address exceeds the rate limit: list it in [server] trusted_proxies if it is a proxy",
			slog.String("remote", from.String()), slog.String("for", l.what))
	}
	return err
}

// originKey is AddressKey, and loopback for callers of this machine.
func originKey(a netip.Addr) string {
	if key := AddressKey(a); key.IsValid() {
		return key.String()
	}
	return "loopback"
}
