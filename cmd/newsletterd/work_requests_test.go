package main

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/core/coretest"
)

// TestWorkOfRequests measures the daemon's CPU time for requests with the longest heads and small bodies, and for those
// of a quarter of the length (`make work`).
func TestWorkOfRequests(t *testing.T) {
	if os.Getenv(coretest.WorkEnv) == "" {
		t.Skip("make work")
	}
	g := &gone{Process: daemontest.New(t, "NEWSLETTERD_SERVER_TRUSTED_PROXIES=127.0.0.1,10.0.0.0/8",
		"NEWSLETTERD_LOG_LEVEL=error")}
	g.Build()
	g.Serve()
	g.Records()
	g.TokenOf("op@acme.example", core.ScopeSend+" "+core.ScopeAdmin)
	for name, request := range g.heads() {
		g.compare(name, request)
	}
}

// The head of a request can have 16 KiB, and so can a form.
const longHead = 15 << 10

// heads returns functions that create requests of a given length.
func (g *gone) heads() map[string]func(n int) []byte {
	filled := func(piece string, n int) string { return strings.Repeat(piece, n/len(piece)) }
	get := func(path, header, piece string) func(n int) []byte {
		return func(n int) []byte { return g.request("GET", path, nil, header, filled(piece, n)) }
	}
	query := func(path, piece string) func(n int) []byte {
		return func(n int) []byte { return g.request("GET", path+filled(piece, n), nil) }
	}
	form := func(path, before, piece string) func(n int) []byte {
		return func(n int) []byte {
			return g.request("POST", path, []byte(before+filled(piece, n)),
				"Content-Type", "application/x-www-form-urlencoded")
		}
	}
	jws := func(n int) string {
		head := base64.RawURLEncoding.EncodeToString(
			[]byte(`{"alg":"ES256",` + filled(`"a":1,`, n*3/4) + `"typ":"at+jwt"}`))
		return head + ".e30." + strings.Repeat("A", 86)
	}
	theme := func(member, piece, end string) func(n int) []byte {
		return func(n int) []byte {
			return g.request("POST", "/api/admin/theme-preview",
				[]byte(`{"tenant_id":"`+g.Tenant+`","`+member+`":`+piece[:1]+filled(piece[1:], 4*n)+end+`}`))
		}
	}
	bearer := func(n int) []byte {
		return g.request("GET", "/api/admin/tenants", nil, "Authorization", "Bearer "+jws(n))
	}
	hint := func(n int) []byte { return g.request("GET", "/api/oauth/logout?id_token_hint="+jws(n), nil) }
	const authorize = "/api/oauth/authorize?client_id=a&response_type=code"
	const token = "grant_type=client_credentials&client_id=a&client_secret=b"
	return map[string]func(n int) []byte{
		"no more than needed": func(int) []byte { return g.request("GET", "/api/admin/tenants", nil) },
		"headers": func(n int) []byte {
			var all []string
			for i := range n / 10 {
				all = append(all, fmt.Sprintf("A%d", i), "b")
			}
			return g.request("GET", "/api/admin/tenants", nil, all...)
		},
		"cookies":               get("/account", "Cookie", "a=b; "),
		"cookies of one name":   get("/console", "Cookie", "newsletterd-session=a; "),
		"languages":             get("/login", "Accept-Language", "a;q=0.1,"),
		"kinds that are taken":  get("/login", "Accept", "a/b;q=0.1,"),
		"ranges":                get("/passkey.js", "Range", "0-1,"),
		"ETags":                 get("/passkey.js", "If-None-Match", `"a",`),
		"X-Forwarded-For":       get("/login", "X-Forwarded-For", "10.0.0.1,"),
		"X-Forwarded-For, IPv6": get("/login", "X-Forwarded-For", "::ffff:10.0.0.1,"),
		"token of no form":      get("/api/admin/tenants", "Authorization", "a."),
		"JWS":                   bearer,
		"id_token_hint":         hint,
		"cursor":                query("/api/admin/audit?limit=10&cursor=", "AAAA"),
		"parameters":            query("/api/admin/audit?limit=10", "&a=b"),
		"search, subscribers":   query("/api/admin/subscribers?limit=10&list_id="+g.List+"&search=", "a%20"),
		"search, capitals":      query("/api/admin/subscribers?limit=10&list_id="+g.List+"&search=", "%C4%B0"),
		"search, media":         query("/api/media?limit=10&tenant_id="+g.Tenant+"&q=", "a%20"),
		"search, campaigns":     query("/api/campaigns?limit=10&q=", "a%20"),
		"scopes":                query(authorize+"&scope=", "a+"),
		"scopes of a token":     form("/api/oauth/token", token+"&scope=", "a+"),
		"claims":                query(authorize+"&claims=", "%7B%22a%22:"),
		"theme":                 theme("footer", `"a `, `"`),
		"theme, unknown":        theme("colors", `{"a":"b",`, `"c":""}`),
	}
}

// compare measures requests of a length and of a quarter of it, many of each, because a single one is too fast to
// measure.
func (g *gone) compare(name string, request func(n int) []byte) {
	status := 0
	taken := func(n int) time.Duration {
		const enough, most = 300 * time.Millisecond, 1000
		c, before, sent := g.Dial(), daemontest.CPU(g.PID()), 0
		defer func() { c.Close() }()
		for sent < most && (sent%20 > 0 || daemontest.CPU(g.PID())-before < enough) {
			var err error
			if status, _, err = c.Do(request(n)); err != nil { // the connection was closed
				c.Close()
				c = g.Dial()
			}
			sent++
		}
		return (daemontest.CPU(g.PID()) - before) / time.Duration(cmp.Or(sent, 1))
	}
	quarter, whole := taken(longHead/4), taken(longHead)
	ratio := math.Sqrt(float64(whole) / float64(quarter))
	fmt.Printf("| request: %s | %d KiB | %v | %.1f | answer %d |\n",
		name, len(request(longHead))>>10, whole.Round(10*time.Microsecond), ratio, status)
	if ratio > 2.2 && whole > time.Millisecond {
		g.Errorf("%s: twice the bytes take %.1f times the CPU", name, ratio)
	}
}
