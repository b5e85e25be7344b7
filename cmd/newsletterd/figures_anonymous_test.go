package main

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/core"
	"newsletterd/handlers"
	"newsletterd/mail"
	"newsletterd/mail/picture/picturetest"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// anonymousCase is a request that anyone can send. Each request has a different number for %d, and the list for LIST.
type anonymousCase struct {
	route  string // its row in the table of routes
	path   func(anyone) string
	form   url.Values // of a POST
	json   string     // of a POST
	header map[string]string
	name   string // special property of the request; empty: none
}

// anyone holds the values for the paths of anonymous requests.
type anyone struct {
	list, client, click, pixel, view, leave, manage, undo, confirm, picture, poll string
}

func at(path string) func(anyone) string { return func(anyone) string { return path } }

// anonymousGets returns the GET requests that anyone can send, at least one per route. An unknown token is "x". Because
// valid tokens cost more, each link in emails has a request with a valid one.
func anonymousGets() (all []anonymousCase) {
	get := func(route string, path func(anyone) string, name ...string) {
		all = append(all, anonymousCase{route: route, path: path, name: strings.Join(name, "")})
	}
	for _, path := range []string{
		"/api/.well-known/jwks.json", "/api/.well-known/openid-configuration", "/.well-known/openid-configuration",
		"/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/api", "/style.css",
		"/newsreader.woff2", "/newsreader-italic.woff2", "/login",
		"/setup",
		"/login/code", "/passkey.js", "/login/confirm", "/account/passkeys", "/logout", "/api/oauth/logout", "/register",
		"/password/forgot", "/account", "/account/two-step", "/archive.js", "/healthz", "/openapi", "/api/openapi.json",
		"/openapi/send.json", "/openapi/devices.json", "/openapi/pages.json", "/console/style.css", "/console/LICENSES.txt",
		"/console/code.js", "/console/console.js", "/console/editor.css", "/console/editor.js", "/console/htmx.js",
		"/console/inter-latin.woff2", "/console/inter-latin-ext.woff2",
	} {
		get(path, at(path))
	}
	for _, path := range []string{"/password/reset", "/verify", "/review", "/invitation", "/undo"} {
		get(path, at(path+"?token=x&email=a%40user.example"), "unknown token")
	}
	get("/api/auth/email/verify", at("/api/auth/email/verify?token=x&email=a%40user.example"), "unknown token")
	get("/api/sender-domain-records", at("/api/sender-domain-records?token=x"), "unknown token")
	get("/records", at("/records?token=x"), "unknown token")
	get("/openapi", at("/openapi?q=e"), "search, nearly all")
	get("/openapi", at("/openapi?q=subscribe"), "search")
	all = append(all, anonymousCase{
		route: "/openapi", path: at("/openapi"), name: "gzip", header: map[string]string{"Accept-Encoding": "gzip"},
	})
	get("/api/oauth/authorize", func(a anyone) string {
		return "/api/oauth/authorize?response_type=code&code_challenge_method=S256&code_challenge=" + strings.Repeat("a",
			43) +
			"&redirect_uri=https%3A%2F%2Fapp.example.org%2Fcallback&scope=openid&client_id=" + a.client
	})
	get("/api/newsletter/confirm", at("/api/newsletter/confirm?token=x"), "unknown token")
	get("/confirm", func(a anyone) string { return "/confirm?token=" + a.confirm })
	get("/unsubscribe", func(a anyone) string { return "/unsubscribe?token=" + a.leave })
	get("/api/newsletter/unsubscribe", func(a anyone) string { return "/api/newsletter/unsubscribe?token=" + a.leave })
	get("/undo", func(a anyone) string { return "/undo?token=" + a.undo })
	get("/preferences", func(a anyone) string { return "/preferences?list=" + a.list }, "asks for a link")
	get("/preferences", func(a anyone) string { return "/preferences?token=" + a.manage })
	get("/moved/:tool", func(a anyone) string { return "/moved/substack?list=" + a.list })
	get("/l/:id", func(a anyone) string { return "/l/" + a.list })
	get("/a/:list", at("/a/garden"))
	get("/a/:list/", at("/a/garden/"), "40 issues")
	get("/a/:list/", at("/a/garden/?q=sentence"), "search, all issues")
	get("/a/:list/:issue", at("/a/garden/issue-%d"), "10 KB of Markdown")
	get("/a/:list/:issue/mail", at("/a/garden/issue-%d/mail"), "10 KB of Markdown")
	get("/a/:list/:issue", at("/a/garden/feed.xml"), "the feed")
	get("/t/o/:file", func(a anyone) string { return "/t/o/" + a.pixel + ".gif" })
	get("/t/c/:token", func(a anyone) string { return "/t/c/" + a.click }, "unknown link")
	get("/poll/:token", func(a anyone) string { return "/poll/" + a.poll })
	get("/v/:token", func(a anyone) string { return "/v/" + a.view }, "10 KB of HTML")
	get("/m/:digits/:name", func(a anyone) string { return a.picture }, "100 KB")
	return all
}

// anonymousPosts returns POST requests that anyone can send and that may store something, each with a new address or
// name.
func anonymousPosts() []anonymousCase {
	const email = "new%d@user.example"
	post := func(path, json string, form ...string) anonymousCase {
		c := anonymousCase{route: path, path: at(path), json: json}
		for i := 0; i+1 < len(form); i += 2 {
			if c.form == nil {
				c.form = url.Values{}
			}
			c.form.Set(form[i], form[i+1])
		}
		return c
	}
	form := post("/l/:id", "", "email", "form-"+email)
	form.path = func(a anyone) string { return "/l/" + a.list }
	return []anonymousCase{
		post("/api/auth/register", `{"email":"api-`+email+`","password":"correct horse battery"}`),
		post("/register", "", "email", "page-"+email, "password", "correct horse battery"),
		post("/api/auth/login", "", "grant_type", "password", "username", email, "password", "wrong horse battery"),
		post("/login", "", "email", email, "password", "wrong horse battery"),
		post("/api/auth/password/forgot", `{"email":"api-`+email+`"}`),
		post("/password/forgot", "", "email", "page-"+email),
		post("/api/auth/password/reset", `{"email":"`+email+`","token":"x","new_password":"correct horse battery"}`),
		post("/api/auth/refresh", "", "grant_type", "refresh_token", "refresh_token", "x%d"),
		post("/api/oauth/token", "", "grant_type", "client_credentials", "client_id", "x%d", "client_secret", "x"),
		post("/api/oauth/introspect", "", "token", "x%d", "client_id", "x", "client_secret", "x"),
		post("/api/newsletter/subscribe", `{"list_id":"LIST","email":"api-`+email+`"}`),
		form,
		post("/api/newsletter/unsubscribe-token", `{"list_id":"LIST","email":"`+email+`"}`),
		post("/api/newsletter/unsubscribe", `{"token":"x"}`),
		post("/preferences", "", "list", "LIST", "email", email),
		post("/webhooks/subscriptions", `{"id":"x"}`),
	}
}

// TestAnonymousFiguresAreComplete checks that each public GET route has a request here.
func TestAnonymousFiguresAreComplete(t *testing.T) {
	h, err := handlers.New(handlers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	had := map[string]bool{}
	for _, c := range anonymousGets() {
		had[c.route] = true
	}
	for _, r := range h.Routes() {
		if r.Method == http.MethodGet && r.Who.String() == "public" && !had[r.Path] {
			t.Errorf("anonymousGets has no GET %s", r.Path)
		}
	}
}

// TestFiguresOfAnonymous measures the CPU time, bytes and rows of each request that anyone can send: on a separate
// daemon, as the difference before and after many requests. A GET may take 15 ms.
func TestFiguresOfAnonymous(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench-pages")
	}
	const most = 15 * time.Millisecond
	p := daemontest.New(t, "NEWSLETTERD_SERVER_TRUSTED_PROXIES=127.0.0.1",
		"NEWSLETTERD_SERVER_PUBLIC_URL=http://localhost",
		"NEWSLETTERD_LOG_LEVEL=info")
	p.Build()
	var a anyone
	p.Prepare(func(s *storetest.Seeder) { a = anonymousRecords(s) })
	p.Serve()
	fmt.Println("| request | answer | CPU | bytes of the answer | rows | bytes of the database |\n|---|---|---|---|---|---|")
	for _, c := range anonymousGets() {
		if cpu := measureAnonymous(p, http.MethodGet, &c, a); cpu > most {
			t.Errorf("GET %s (%s) takes %v of CPU, more than %v", c.route, c.name, cpu, most)
		}
	}
	for _, c := range anonymousPosts() {
		measureAnonymous(p, http.MethodPost, &c, a)
	}
	p.Stop()
}

// anonymousRecords creates the records that the requests need.
func anonymousRecords(s *storetest.Seeder) (a anyone) {
	manyIssues(s, 40)
	l := s.NewList(func(in *core.ListInput) { in.Name = new("Weekly") })
	s.Readers(l, 1)
	email := core.Email("ann@user.example")
	sub := s.Active(l.ID, email)
	a.list, a.confirm = l.ID, s.Pending(l.ID, "bob@user.example")
	client, _ := s.NewClient(core.ClientInput{
		TenantID: new(s.TenantID), RedirectURIs: &[]string{"https://app.example.org/callback"},
	})
	a.client = client.ID
	m := s.NewMedia("pic", []string{string(picturetest.Plain(400, 300, 0, 0x11, 0x11, 0x11)) + strings.Repeat("x",
		100<<10)})
	a.picture = m.Mail.Path("pic")
	key := func(purpose string) []byte {
		k, err := s.PurposeKey(s.Context(), purpose)
		s.Must(err)
		return k
	}
	sealer, err := auth.NewSealer(key(db.PurposeUnsubscribe))
	s.Must(err)
	ident := mail.NewIdent(key(db.PurposeMessageID))
	j := s.Finish(s.NewJob(l.ID, func(r *campaigns.JobRequest) {
		r.BodyHTML = "<p><a href=\"https://shop.example/\">x</a></p>" + strings.Repeat("<p>A sentence of <b>some</b> words.</p>\n", 250)
		r.TrackOpen, r.TrackClick = true, true
	}))
	a.pixel, a.click = ident.Track(j.No, 1, 0), ident.Track(j.No, 1, 1)
	a.view = string(sealer.AppendView(nil, auth.ViewToken{JobNo: j.No, Seq: 1, IssuedAt: j.StartedAt}))
	token := func(kind auth.UnsubscribeKind, issued core.Instant) string {
		text, err := sealer.SealUnsubscribe(auth.UnsubscribeToken{
			Kind: kind, ListID: l.ID, SubscriptionID: sub.ID, Email: email, IssuedAt: issued,
		})
		s.Must(err)
		return text
	}
	a.leave, a.manage = token(auth.UnsubscribeMailed, s.Time()), token(auth.UnsubscribeManage, s.Time())
	a.undo = token(auth.UnsubscribeUndo, s.Time())
	voted, _ := manyVoters(s, 1)
	a.poll = ident.Poll(voted, 1, mail.Answer{Poll: 1, Option: 1})
	return a
}

// measureAnonymous prints the average cost of many equal requests, after a first one as a warm-up.
func measureAnonymous(p *daemontest.Process, method string, c *anonymousCase, a anyone) time.Duration {
	const enough, fewest, many = 250 * time.Millisecond, 200, 1000
	conn := p.Dial()
	defer func() { conn.Close() }()
	sent, status, size := 0, 0, 0
	send := func() {
		sent++
		s, body, err := conn.Do(c.request(p, method, a, sent))
		if err != nil { // the daemon has closed the connection after its response
			conn.Close()
			conn = p.Dial()
			s, body, err = conn.Do(c.request(p, method, a, sent))
			p.Must(err)
		}
		status, size = s, len(body)
	}
	send()
	rows, kept, before, first := countRows(p), p.Number(keptBytes), daemontest.CPU(p.PID()), sent
	for sent-first < many && (sent-first < fewest || daemontest.CPU(p.PID())-before < enough) {
		send()
	}
	n := sent - first
	cpu := (daemontest.CPU(p.PID()) - before) / time.Duration(n)
	name := method + " " + c.route
	if c.name != "" {
		name += ", " + c.name
	}
	fmt.Printf("| %s | %d | %v | %d | %.1f | %d |\n", name, status, cpu.Round(10*time.Microsecond), size,
		float64(countRows(p)-rows)/float64(n), (p.Number(keptBytes)-kept)/n)
	return cpu
}

// keptBytes queries the size of the database without its free pages.
const keptBytes = `SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size`

// countRows returns the number of rows in all tables.
func countRows(p *daemontest.Process) (n int) {
	for _, digest := range p.Rows() {
		rows := 0
		_, _ = fmt.Sscanf(digest, "%d rows", &rows)
		n += rows
	}
	return n
}

// request returns the bytes of the n-th request. Each comes from a different address.
func (c *anonymousCase) request(p *daemontest.Process, method string, a anyone, n int) []byte {
	p.Helper()
	numbered := func(s string) string {
		return strings.ReplaceAll(s, "%d", fmt.Sprint(n%40+1))
	}
	body, kind := "", "application/json"
	if c.form != nil {
		form := url.Values{}
		for _, name := range slices.Sorted(maps.Keys(c.form)) {
			form.Set(name, strings.ReplaceAll(strings.ReplaceAll(c.form.Get(name), "%d", fmt.Sprint(n)), "LIST", a.list))
		}
		body, kind = form.Encode(), "application/x-www-form-urlencoded"
	} else if c.json != "" {
		body = strings.ReplaceAll(strings.ReplaceAll(c.json, "%d", fmt.Sprint(n)), "LIST", a.list)
	}
	r, err := http.NewRequestWithContext(p.Context(), method, p.URL+numbered(c.path(a)), strings.NewReader(body))
	p.Must(err)
	r.Host = "localhost"
	if method == http.MethodPost {
		r.Header.Set("Content-Type", kind)
	}
	r.Header.Set("Accept", "text/html,application/json")
	r.Header.Set("X-Forwarded-For", fmt.Sprintf("198.51.%d.%d", n/250%250, n%250+1))
	for name, value := range c.header {
		r.Header.Set(name, value)
	}
	var b bytes.Buffer
	p.Must(r.Write(&b))
	return b.Bytes()
}
