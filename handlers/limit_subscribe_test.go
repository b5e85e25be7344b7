package handlers

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// How many requests to subscribe get through at once, by where they come from and who sends them.
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
		limit, want     int // want -1: more than any limit
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
		h, err := New(Options{
			PublicURL: tt.url, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
			Newsletter: NewsletterOptions{SubscribePerAddress: tt.limit},
		})
		if err != nil {
			t.Fatal(err)
		}
		c := &web.Call{Context: t.Context(), Now: 1_790_000_000_000, Remote: netip.MustParseAddr(tt.from), Caller: tt.caller}
		got := 0
		for err = h.subscribes.check(c, list); err == nil && got < 2000; err = h.subscribes.check(c, list) {
			got++
		}
		if tt.want < 0 && err != nil || tt.want >= 0 && (got != tt.want || !errors.Is(err, core.ErrTooMany)) {
			t.Errorf("%s: %d requests got through, then %v; want %d", tt.name, got, err, tt.want)
		}
	}
}

// The API and the form share one counter, as do the addresses of one household; what is malformed is not counted.
func TestSubscribeLimitIsShared(t *testing.T) {
	e := unservedEnv(t, newEnv(t).store)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	o := e.handler.options
	o.PublicURL, o.Newsletter.SubscribePerAddress = "http://news.test", 4
	h, err := New(o)
	e.must(err)
	e.handler = h
	api, form := "/api/newsletter/subscribe", "/l/"+e.value("weekly")
	for i, tt := range []struct {
		from, path string
		want       int
	}{
		{"2001:db8::1", api, 200},
		{"2001:db8::2", form, 200},
		{"2001:db8::3", "bad", 400},
		{"2001:db8::4", api, 200},
		{"2001:db8::5", form, 200},
		{"2001:db8::6", api, 429},
		{"2001:db8::7", form, 429},
		{"2001:db8:0:1::1", api, 200},
		{"192.0.2.1", form, 200},
	} {
		media, body := jsonType, fmt.Sprintf(`{"list_id": %q, "email": "a%d@user.example"}`, e.value("weekly"), i)
		switch tt.path {
		case form:
			media, body = formType, fmt.Sprintf("email=a%d%%40user.example", i)
		case "bad":
			tt.path, body = api, `{"list_id": "x", "email": "nobody"}`
		}
		req := httptest.NewRequest("POST", tt.path, strings.NewReader(body))
		req.Header.Set("Content-Type", media)
		req.RemoteAddr = "[" + tt.from + "]:1"
		rec := httptest.NewRecorder()
		e.handler.ServeHTTP(rec, req)
		wait, _ := strconv.Atoi(rec.Header().Get("Retry-After"))
		if rec.Code != tt.want || tt.want == 429 && (wait < 1 || wait > 901) {
			t.Errorf("%d: %s from %s: %d with Retry-After %d %s, want %d", i, tt.path, tt.from, rec.Code, wait,
				rec.Body,
				tt.want)
		}
	}
}
