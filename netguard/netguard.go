package netguard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Guard connects to addresses that tenants and third parties choose, and refuses internal ones. It checks the resolved
// IP address just before connecting, so it also refuses names that resolve to internal addresses. The zero Guard
// permits only public addresses. A Guard is safe for concurrent use as long as Allow does not change.
type Guard struct {
	// Allow lists the non-public addresses to permit, as host:port. The host is compared as it is dialed, before it is
	// resolved.
	Allow []string
}

// ErrNotPublic is returned for an address that is neither globally reachable nor allowed.
var ErrNotPublic = errors.New("the address is not public")

const (
	timeout    = 10 * time.Second
	maxFetched = 64 << 10 // maximum bytes of a fetched file
	maxHead    = 64 << 10 // bytes of a response's header; net/http's default is 10 MiB
)

// DialContext is like the method of net.Dialer, with a timeout of 10 seconds. If the address is neither public nor
// allowed, the error wraps ErrNotPublic.
func (g *Guard) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	d := net.Dialer{Timeout: timeout}
	if !g.Allows(addr) {
		d.Control = func(_, connected string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(connected)
			if err != nil || !public(ap.Addr()) {
				return ErrNotPublic
			}
			return nil
		}
	}
	return d.DialContext(ctx, network, addr)
}

// Allows reports whether addr (host:port) is in Allow.
func (g *Guard) Allows(addr string) bool { return slices.Contains(g.Allow, addr) }

// Check returns ErrNotPublic if addr (host:port) is an IP address that DialContext refuses, or a name of this machine
// (localhost). Other names are not resolved; they are checked when they are dialed. An addr without a port is an error.
func (g *Guard) Check(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || g.Allows(addr) {
		return err
	}
	if ip, err := netip.ParseAddr(host); err == nil && !public(ip) || isLocalhost(host) {
		return ErrNotPublic
	}
	return nil
}

// isLocalhost reports whether host is localhost or a subdomain of it (RFC 6761 section 6.3).
func isLocalhost(host string) bool {
	name := "." + strings.ToLower(strings.TrimSuffix(host, "."))
	return strings.HasSuffix(name, ".localhost")
}

// HostPort returns the address that a request to u connects to, as host:port. If u has no port, the default port for
// http or https is used.
func HostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// unicast6 is the range of global unicast addresses that IANA has assigned for IPv6 (RFC 4291 section 2.4). It
// excludes, among others, loopback, IPv4-compatible, IPv4-mapped, unique local, link-local and site-local addresses. It
// also excludes the prefixes of NAT64 (RFC 6052, RFC 8215), discard-only and segment routing addresses.
var unicast6 = netip.MustParsePrefix("2000::/3")

// notPublic lists the blocks of unicast6 and of IPv4's unicast space that IANA's special-purpose registries do not
// list as globally reachable. It also lists the blocks that embed IPv4 addresses in IPv6: Teredo and 6to4.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),        // this network
	netip.MustParsePrefix("10.0.0.0/8"),       // private use
	netip.MustParsePrefix("100.64.0.0/10"),    // shared address space
	netip.MustParsePrefix("127.0.0.0/8"),      // loopback
	netip.MustParsePrefix("168.63.129.16/32"), // not in a registry: the host of a virtual machine on Azure
	netip.MustParsePrefix("169.254.0.0/16"),   // link-local
	netip.MustParsePrefix("172.16.0.0/12"),    // private use
	netip.MustParsePrefix("192.0.0.0/24"),     // IETF protocol assignments
	netip.MustParsePrefix("192.0.2.0/24"),     // documentation
	netip.MustParsePrefix("192.88.99.0/24"),   // 6to4 and 6a44 relays
	netip.MustParsePrefix("192.168.0.0/16"),   // private use
	netip.MustParsePrefix("198.18.0.0/15"),    // benchmarking
	netip.MustParsePrefix("198.51.100.0/24"),  // documentation
	netip.MustParsePrefix("203.0.113.0/24"),   // documentation
	netip.MustParsePrefix("240.0.0.0/4"),      // reserved, limited broadcast
	netip.MustParsePrefix("2001::/23"),        // IETF protocol assignments: Teredo, benchmarking, ORCHID
	netip.MustParsePrefix("2001:db8::/32"),    // documentation
	netip.MustParsePrefix("2002::/16"),        // 6to4
	netip.MustParsePrefix("3fff::/20"),        // documentation
}

// public reports whether an IP address is globally reachable.
func public(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if !a.IsGlobalUnicast() || a.Is6() && !unicast6.Contains(a) {
		return false
	}
	return !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(a) })
}

// Client returns an HTTP client that connects through the guard. It follows no redirects and uses no proxy. Requests
// are limited to 10 seconds, and response headers to 64 KiB.
func (g *Guard) Client() *http.Client {
	return &http.Client{
		Timeout: timeout,
		Transport: &http.Transport{
			DialContext: g.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: timeout, MaxIdleConns: 4,
			IdleConnTimeout: 30 * time.Second, MaxResponseHeaderBytes: maxHead,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Fetcher returns a function that fetches a file through the guard. The function returns an error for a status other
// than 200, and for a body of more than 64 KiB.
func (g *Guard) Fetcher() func(ctx context.Context, url string) ([]byte, error) {
	client := g.Client()
	return func(ctx context.Context, url string) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return nil, err
		}
		res, err := client.Do(req)
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		b, err := io.ReadAll(io.LimitReader(res.Body, maxFetched+1))
		switch {
		case err != nil:
			return nil, err
		case res.StatusCode != http.StatusOK:
			return nil, fmt.Errorf("the response has the status %s", res.Status)
		case len(b) > maxFetched:
			return nil, fmt.Errorf("the response is larger than %d bytes", maxFetched)
		}
		return b, nil
	}
}
