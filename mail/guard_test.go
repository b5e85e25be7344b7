package mail

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestGuardKnowsPublicAddresses(t *testing.T) {
	for addr, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1::1": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false, "0.0.0.0": false,
		"100.64.0.1": false, "198.18.0.1": false, "224.0.0.1": false, "255.255.255.255": false, "::1": false, "fe80::1": false, "fc00::1": false,
		"::ffff:127.0.0.1": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false, "ff02::1": false, "::": false,
	} {
		if got := public(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v", addr, got)
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

// Nobody whose address somebody else chose makes us hold more of an answer than we read.
func TestGuardReadsASmallHeadAlone(t *testing.T) {
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
		"crm.example.org:443": true, "93.184.216.34:443": true, "localhost.example.org:443": true, "notlocalhost:443": true,
		"localhost:9": true, "10.0.0.1:9": true,
		"localhost:443": false, "LOCALHOST.:443": false, "a.localhost:443": false, "127.0.0.1:443": false, "10.0.0.1:443": false, "[::1]:9": false,
	} {
		if err := g.Check(addr); (err == nil) != want {
			t.Errorf("%s: %v", addr, err)
		}
	}
}
