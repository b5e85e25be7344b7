package handlers

import (
	"log/slog"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

// Limits of subscribing beside the one of [limits] subscribe_per_address. A private address that is no trusted proxy may be a proxy
// nevertheless, with everybody behind it.
const (
	SubscribePerPrivate = 600 // requests an hour of such an address
	subscribePerToken   = 600 // requests a minute of a caller who may write the list's events
)

// subscribeLimits counts requests to subscribe, of the API and of forms together. nil: there is no limit.
type subscribeLimits struct {
	address *limiter // by address of origin
	private *limiter // by private address of origin
	token   *limiter // by caller
	local   bool     // the daemon is a machine's own: callers of that machine are not counted
	saidAt  atomic.Int64
}

// newSubscribeLimits returns the limits of n requests an hour and address; 0: none.
func newSubscribeLimits(n int, publicURL string) (l *subscribeLimits, err error) {
	if n == 0 {
		return nil, nil
	}
	l = &subscribeLimits{local: loopbackOrigin(publicURL)}
	if l.address, err = newLimiter(rate{n, time.Hour}); err != nil {
		return nil, err
	}
	if l.private, err = newLimiter(rate{max(n, SubscribePerPrivate), time.Hour}); err != nil {
		return nil, err
	}
	l.token, err = newLimiter(rate{subscribePerToken, time.Minute})
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

// Unproxied reports whether an address of origin may be that of a proxy that is not among the trusted ones: a private one, or that of the
// daemon's own machine.
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

// maintains reports whether the caller may write the events of a list.
func (c *Call) maintains(list *store.ListWithTenant) bool {
	return c.Caller.Has(core.ScopeEventsWrite) && c.Caller.ActsFor(list.TenantID)
}

// limitSubscribe counts a request to subscribe to a list, and refuses those that are too many.
func (c *Call) limitSubscribe(list *store.ListWithTenant) error {
	l, from := c.api.subscribes, c.Remote.Unmap()
	if l == nil || !from.IsValid() || l.local && from.IsLoopback() {
		return nil
	}
	switch {
	case c.maintains(list):
		return c.countBy(l.token, c.Caller.ClientID+" "+c.Caller.UserID)
	case !Unproxied(from, c.api.options.TrustedProxies):
		return c.countBy(l.address, originKey(from))
	}
	err := c.countBy(l.private, originKey(from))
	if last := l.saidAt.Load(); err != nil && c.Now > core.Instant(last).Add(time.Hour) && l.saidAt.CompareAndSwap(last, int64(c.Now)) {
		c.api.log.Warn("a private address asks for more subscriptions than one may: list it in [server] trusted_proxies if it is a proxy; "+
			"a site of your own sends a token with the scope newsletter:events.write", slog.String("remote", from.String()))
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
