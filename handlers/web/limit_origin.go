package web

import (
	"log/slog"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"newsletterd/core"
)

// Limits in addition to [limits] subscribe_per_address. A private address may belong to a proxy, even if no trusted
// proxy with this address is configured. In that case, all clients of the proxy share the address.
const (
	SubscribePerPrivate = 600 // requests per hour from a private address
	subscribePerToken   = 600 // requests per minute from a caller who may write the list's events
)

// OriginLimits limits one kind of request by origin address. Requests to the API and to pages share a count. Use it for
// anonymous requests that write to the database. A nil OriginLimits means no limit.
type OriginLimits struct {
	what    string         // kind of request, for the log
	address *Limiter       // by origin address
	private *Limiter       // by private origin address
	token   *Limiter       // by caller
	local   bool           // the server runs for its own machine only: callers on that machine are not counted
	trusted []netip.Prefix // proxies, which are not counted as callers
	log     *slog.Logger
	saidAt  atomic.Int64
}

// NewOriginLimits returns limits that allow n requests per hour from each address. If n is 0, there is no limit.
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

// Unproxied reports whether an origin address might belong to an untrusted proxy: a private address, or one of this
// machine's addresses.
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

// Check counts a request and returns ErrRateLimited if there are too many. known means that the caller may write the
// data without the subscriber's confirmation.
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

// originKey returns AddressKey as a string. For callers on this machine, it returns the loopback address.
func originKey(a netip.Addr) string {
	if key := AddressKey(a); key.IsValid() {
		return key.String()
	}
	return "loopback"
}
