package netguard

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestGuardAllowsPublicAddresses(t *testing.T) {
	for addr, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"0.0.0.0": false, "100.64.0.1": false, "198.18.0.1": false, "224.0.0.1": false, "255.255.255.255": false,
		"::1": false, "fe80::1": false, "fc00::1": false, "::ffff:127.0.0.1": false, "64:ff9b::7f00:1": false,
		"2002:7f00:1::": false, "ff02::1": false, "::": false,
	} {
		if got := public(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
}

// The cases are all entries of IANA's IPv4 and IPv6 special-purpose address registries, and internal addresses that are
// not in the registries.
func TestGuardRefusesSpecialPurposeAddresses(t *testing.T) {
	for _, entry := range []struct{ name, first, last string }{
		{"this network", "0.0.0.0", "0.255.255.255"},
		{"private use", "10.0.0.0", "10.255.255.255"},
		{"shared address space", "100.64.0.0", "100.127.255.255"},
		{"loopback", "127.0.0.0", "127.255.255.255"},
		{"link local", "169.254.0.0", "169.254.255.255"},
		{"private use", "172.16.0.0", "172.31.255.255"},
		{"IETF protocol assignments", "192.0.0.0", "192.0.0.255"},
		{"IPv4 service continuity prefix", "192.0.0.0", "192.0.0.7"},
		{"IPv4 dummy address", "192.0.0.8", "192.0.0.8"},
		{"NAT64/DNS64 discovery", "192.0.0.170", "192.0.0.171"},
		{"documentation (TEST-NET-1)", "192.0.2.0", "192.0.2.255"},
		{"deprecated (6to4 relay anycast)", "192.88.99.0", "192.88.99.255"},
		{"6a44 relay anycast", "192.88.99.2", "192.88.99.2"},
		{"private use", "192.168.0.0", "192.168.255.255"},
		{"benchmarking", "198.18.0.0", "198.19.255.255"},
		{"documentation (TEST-NET-2)", "198.51.100.0", "198.51.100.255"},
		{"documentation (TEST-NET-3)", "203.0.113.0", "203.0.113.255"},
		{"multicast", "224.0.0.0", "239.255.255.255"},
		{"reserved", "240.0.0.0", "255.255.255.254"},
		{"limited broadcast", "255.255.255.255", "255.255.255.255"},

		{"unspecified address", "::", "::"},
		{"loopback address", "::1", "::1"},
		{"IPv4-compatible", "::127.0.0.1", "::10.0.0.1"},
		{"IPv4-mapped of loopback", "::ffff:127.0.0.1", "::ffff:127.255.255.255"},
		{"IPv4-mapped of private use", "::ffff:10.0.0.0", "::ffff:10.255.255.255"},
		{"IPv4-translated", "::ffff:0:7f00:1", "::ffff:0:a00:1"},
		{"IPv4-IPv6 translation of loopback", "64:ff9b::127.0.0.1", "64:ff9b::127.255.255.255"},
		{"IPv4-IPv6 translation of link local", "64:ff9b::169.254.169.254", "64:ff9b::169.254.169.254"},
		{"IPv4-IPv6 translation, local use", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff"},
		{"discard-only", "100::", "100::ffff:ffff:ffff:ffff"},
		{"dummy IPv6 prefix", "100:0:0:1::", "100:0:0:1:ffff:ffff:ffff:ffff"},
		{"IETF protocol assignments", "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"Teredo of a server at 10.0.0.1", "2001:0:a00:1::", "2001:0:a00:1:ffff:ffff:ffff:ffff"},
		{"benchmarking", "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff"},
		{"deprecated (ORCHID)", "2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"documentation", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"6to4 of loopback", "2002:7f00:1::", "2002:7f00:1:ffff:ffff:ffff:ffff:ffff"},
		{"6to4 of private use", "2002:a00::", "2002:aff:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"documentation", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"segment routing (SRv6) SIDs", "5f00::", "5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"unique-local", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"link-local unicast", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"site-local unicast", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		{"multicast", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},

		{"the host of a machine at Azure", "168.63.129.16", "168.63.129.16"},
		{"metadata of a machine at AWS", "fd00:ec2::254", "fd00:ec2::254"},
	} {
		for _, addr := range []string{entry.first, entry.last} {
			if public(netip.MustParseAddr(addr)) {
				t.Errorf("%s (%s) counts as public", addr, entry.name)
			}
		}
	}
	// The neighbors of these blocks are public, as is everything that the registries list as globally reachable.
	for _, addr := range []string{
		"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"168.63.129.15", "168.63.129.17", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.31.196.1", "192.52.193.1",
		"192.175.48.1", "198.17.255.255", "198.20.0.0", "223.255.255.255",
		"2001:200::1", "2001:db9::1", "2003::1", "2620:4f:8000::1", "3ffe:ffff::1", "3fff:1000::1",
	} {
		if !public(netip.MustParseAddr(addr)) {
			t.Errorf("%s counts as not public", addr)
		}
	}
}

func TestGuardFetches(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/", http.StatusFound)
		case "/large":
			_, _ = w.Write(make([]byte, maxFetched+1))
		default:
			_, _ = w.Write([]byte("here"))
		}
	}))
	defer srv.Close()
	if _, err := (&Guard{}).Fetcher()(t.Context(), srv.URL); !errors.Is(err, ErrNotPublic) {
		t.Errorf("a loopback address: %v", err)
	}
	localhost := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	if _, err := (&Guard{}).Fetcher()(t.Context(), localhost); !errors.Is(err, ErrNotPublic) {
		t.Errorf("a name that leads inside: %v", err)
	}
	fetch := (&Guard{Allow: []string{strings.TrimPrefix(srv.URL, "http://")}}).Fetcher()
	if b, err := fetch(t.Context(), srv.URL); err != nil || string(b) != "here" {
		t.Errorf("%q, %v", b, err)
	}
	for _, path := range []string{"/moved", "/large"} {
		if _, err := fetch(t.Context(), srv.URL+path); err == nil {
			t.Errorf("%s was fetched", path)
		}
	}
}

// The size of a response's header is limited.
func TestGuardBoundsResponseHeader(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := range 3 {
			w.Header().Set(fmt.Sprintf("X-Large-%d", i), strings.Repeat("x", 32<<10))
		}
	}))
	defer server.Close()
	g := &Guard{Allow: []string{server.Listener.Addr().String()}}
	res, err := g.Client().Get(server.URL)
	if err == nil {
		_ = res.Body.Close()
		t.Error("96 KiB of head were taken")
	}
}

func TestGuardChecksWhatNeedsNoLookup(t *testing.T) {
	g := &Guard{Allow: []string{"localhost:9", "10.0.0.1:9"}}
	for addr, want := range map[string]bool{
		"crm.example.org:443": true, "93.184.216.34:443": true, "localhost.example.org:443": true,
		"notlocalhost:443": true,
		"localhost:9":      true, "10.0.0.1:9": true,
		"localhost:443": false, "LOCALHOST.:443": false, "a.localhost:443": false, "127.0.0.1:443": false,
		"10.0.0.1:443": false, "[::1]:9": false,
	} {
		if err := g.Check(addr); (err == nil) != want {
			t.Errorf("%s: %v", addr, err)
		}
	}
}
