package members

import (
	"errors"
	"log/slog"
	"net/netip"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// TestSubscribeLimits checks how many of many concurrent requests to subscribe are accepted, by their origin and their
// caller.
func TestSubscribeLimits(t *testing.T) {
	t.Parallel()
	list := &core.ListWithTenant{}
	list.TenantID = core.NewID()
	writer := core.Caller{ClientID: "site", ClientTenant: list.TenantID, Scopes: []string{core.ScopeEventsWrite}}
	reader, foreign := writer, writer
	reader.Scopes = []string{core.ScopeListRead}
	foreign.ClientTenant = core.NewID()
	const public, local = "https://news.example.org", "http://localhost:8080"
	for _, tt := range []struct {
		name, url, from string
		caller          core.Caller
		limit, want     int // want -1: the number has no limit
	}{
		{"a stranger", public, "192.0.2.1", core.Caller{}, 60, 60},
		{"a stranger of IPv6", public, "2001:db8::1", core.Caller{}, 60, 60},
		{"no limit", public, "192.0.2.1", core.Caller{}, 0, -1},
		{"a token for the list", public, "192.0.2.1", writer, 60, 600},
		{"a token without the scope", public, "192.0.2.1", reader, 60, 60},
		{"a token of another tenant", public, "192.0.2.1", foreign, 60, 60},
		{"a private address", public, "192.168.1.1", core.Caller{}, 60, 600},
		{"a mapped one", public, "::ffff:172.16.1.1", core.Caller{}, 60, 600},
		{"a unique local one", public, "fd00::1", core.Caller{}, 60, 600},
		{"one behind a carrier", public, "100.64.0.1", core.Caller{}, 60, 600},
		{"a private one under a higher limit", public, "192.168.1.1", core.Caller{}, 700, 700},
		{"a trusted proxy for nobody", public, "10.0.0.1", core.Caller{}, 60, 60},
		{"this machine", public, "127.0.0.1", core.Caller{}, 60, 600},
		{"this machine, its own daemon", local, "127.0.0.1", core.Caller{}, 60, -1},
		{"this machine, its own daemon, IPv6", "http://[::1]:8080", "::1", core.Caller{}, 60, -1},
		{"another machine", local, "192.0.2.1", core.Caller{}, 60, 60},
	} {
		limits, err := web.NewOriginLimits(tt.limit, "subscriptions", tt.url,
			[]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		c := &web.Call{
			Context: t.Context(), Now: 1_790_000_000_000, Remote: netip.MustParseAddr(tt.from),
			Caller: tt.caller,
		}
		got := 0
		for err == nil && got < 2000 {
			if err = limits.Check(c, maintains(c, list)); err == nil {
				got++
			}
		}
		if tt.want < 0 && err != nil || tt.want >= 0 && (got != tt.want || !errors.Is(err, core.ErrTooMany)) {
			t.Errorf("%s: %d requests got through, then %v; want %d", tt.name, got, err, tt.want)
		}
	}
}
