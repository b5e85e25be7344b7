package handlers

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/handlers/web"
	"newsletterd/mail/report"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

// Scenarios are files testdata/api/<area>/<name>.txt. They contain requests and the expected responses, over real HTTP.
// Each file runs against a fresh database.
//
//	# A line of comment.
//	! tenant acme domains=acme.example     a step (see steps); its name stands for what it creates
//	! user op operator                     an access token has a name, too
//
//	== a title
//	POST /api/admin/tenants as op          "as op" sends the token {op}
//	X-Header: value                        headers, if any
//
//	{"name": "Beta"}                       the body, after a blank line: JSON or a form
//	-> 201                                 expected response: status, relevant headers, body
//
//	{ … "id": "{id1}" … }
//
// In responses, the values that differ between runs are replaced. Values that a step has named become {name}. Other
// ids, tokens, cursors, JWTs and ETags become {id1}, {token1}, {cursor1}, {jwt1}, {secret1}, {key1}, {etag1}, in order
// of appearance. Times become {time}, and request ids {request}. Later requests can use every name except the last two.
// -update rewrites the responses; review the difference before you commit it.
var update = flag.Bool("update", false, "rewrite golden files")

// env is the environment in which one scenario file runs.
type env struct {
	t       *testing.T
	store   *store.Store
	handler *Handler
	url     string
	callers map[string]core.Caller // callers by token
	names   map[string]string      // values by name
	order   []string               // names, in the order in which they were set
	counts  map[string]int

	answered string // unchanged response to the last example
}

// steps maps the words after an exclamation mark to their functions. Areas add theirs in init functions of their own
// test files.
var steps = map[string]func(e *env, name string, args map[string]string){
	"tenant": func(e *env, name string, args map[string]string) {
		in := core.TenantInput{Name: new(argOr(args, "name", name))}
		if d := args["domains"]; d != "" {
			in.Domains = new(strings.Split(d, ","))
		}
		tenant, err := core.NewTenant(in, core.Instant(1))
		tenant.Status = argOr(args, "status", core.TenantActive)
		e.must(err)
		e.must(e.store.AddTenant(e.t.Context(), tenant, "command"))
		e.name(name, tenant.ID)
	},
	"list": func(e *env, name string, args map[string]string) {
		list, err := core.NewList(core.ListInput{
			Name:     new(argOr(args, "name", name)),
			TenantID: new(e.value(args["tenant"])),
		}, 1)
		list.Status = argOr(args, "status", core.ListActive)
		list.ConfirmToken, list.ConfirmFloor = args["confirm_token"], args["confirm_token"]
		e.must(err)
		e.must(e.store.AddList(e.t.Context(), list, "command"))
		e.name(name, list.ID)
	},
	// user NAME operator | tenant_admin=TENANT[,TENANT] publisher=… scopes="a b" email=… client client_tenant=TENANT :
	// a caller with a token {NAME}
	"user": func(e *env, name string, args map[string]string) {
		c := core.Caller{
			UserID: core.NewID(), Email: core.Email(argOr(args, "email", name+"@user.example")),
			EmailVerified: args["verified"] != "false",
		}
		if _, operator := args["operator"]; operator {
			c.Roles = append(c.Roles, core.Role{Role: core.RoleOperator})
		}
		c.ClientID = core.BuiltInClientID
		c.Scopes = strings.Fields(argOr(args, "scopes", strings.Join(core.AllScopes, " ")))
		for _, role := range core.Roles[:4] {
			for _, t := range strings.FieldsFunc(args[role], func(r rune) bool { return r == ',' }) {
				c.Roles = append(c.Roles, core.Role{Role: role, TenantID: e.value(t)})
			}
		}
		c.ClientTenant = e.value(args["client_tenant"])
		_, client := args["client"]
		c.FirstParty = !client && c.ClientTenant == ""
		e.name(name, "token-of-"+name)
		e.callers["token-of-"+name] = c
	},
	"close-database": func(e *env, _ string, _ map[string]string) { e.must(e.store.Close()) },
}

// setups holds changes to the options with which scenarios are served. Areas add theirs.
var setups []func(e *env, o *Options)

// modelLimits sets the limits of models.
func modelLimits(l core.ModelLimits) func(*Options) { return func(o *Options) { o.ModelLimits = l } }

func argOr(args map[string]string, key, def string) string {
	if v := args[key]; v != "" {
		return v
	}
	return def
}

func newEnv(t *testing.T, change ...func(*Options)) *env {
	return newEnvOn(t, storetest.Open(t), change...)
}

func newEnvOn(t *testing.T, s *store.Store, change ...func(*Options)) *env {
	e := unservedEnv(t, s, change...)
	srv := httptest.NewUnstartedServer(e.handler)
	srv.Config = web.Server(e.handler)
	srv.Start()
	t.Cleanup(srv.Close)
	e.url = srv.URL
	return e
}

// unservedEnv returns an environment without a listener, for bubbles: their clock stands still while a goroutine waits
// for a socket.
func unservedEnv(t *testing.T, s *store.Store, change ...func(*Options)) *env {
	e := &env{t: t, store: s, callers: map[string]core.Caller{}, names: map[string]string{}, counts: map[string]int{}}
	o := Options{
		Store: e.store, PublicURL: "http://news.test", TrustedProxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Providers: map[string]*core.ProviderSecrets{
			"fixed": {
				Provider: core.Provider{Name: "fixed", Kind: report.KindGeneric},
				Secrets:  []string{providerSecret("fixed")},
			},
		},
		Bearer: func(_ context.Context, token string, _ core.Instant) (core.Caller, error) {
			c, ok := e.callers[token]
			if !ok {
				return c, core.ErrUnauthenticated
			}
			return c, nil
		},
	}
	o.Newsletter.SubscribePerAddress = 60
	for _, f := range setups {
		f(e, &o)
	}
	for _, f := range change {
		f(&o)
	}
	h, err := New(o)
	e.must(err)
	e.handler = h
	return e
}

func (e *env) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *env) name(name, value string) {
	if _, ok := e.names[name]; !ok {
		e.order = append(e.order, name)
	}
	e.names[name] = value
}

// value returns the value of a name. It returns a word that is not a name unchanged.
func (e *env) value(word string) string {
	if v, ok := e.names[word]; ok {
		return v
	}
	return word
}

var placeholder = regexp.MustCompile(`\{[a-z][a-z0-9_.-]*\}`)

// expand replaces each {name} in a request.
func (e *env) expand(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(m string) string {
		if v, ok := e.names[m[1:len(m)-1]]; ok {
			return v
		}
		return m
	})
}

var volatile = []struct {
	name  string
	re    *regexp.Regexp
	count bool
}{
	{"request", regexp.MustCompile(`("request_id": ?")([0-9a-f-]{36})`), false},
	{"request", regexp.MustCompile(`(\nRequest ID )([0-9a-f-]{36})`), false},
	{"name", regexp.MustCompile(`(\nUser )([0-9a-f]{4})\b`), false},
	{"date", regexp.MustCompile(`(Expires=)([^;]+)`), false},
	{"date", regexp.MustCompile(`()(\d+ [A-Z][a-z]+ \d{4}, \d\d:\d\d \(UTC\))`), false},
	{"day", regexp.MustCompile(`("day": ?"|filename="[^"]* )(\d{4}-\d\d-\d\d)`), false},
	{"seconds", regexp.MustCompile(`("(?:exp|iat|auth_time|updated_at)": ?)(\d{10})`), false},
	{"time", regexp.MustCompile(`()(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)`), false},
	{"jwt", regexp.MustCompile(`()(eyJ[\w-]+\.[\w-]+\.[\w-]+)`), true},
	{"key", regexp.MustCompile(`("public": ?"|; p=)([A-Za-z0-9+/=]{40,})`), true},
	{"secret", regexp.MustCompile(`()(whsec_[A-Za-z0-9+/=]+)`), true},
	{"proof", regexp.MustCompile(`(newsletterd-verification=)([a-z0-9]{26})`), true},
	{"etag", regexp.MustCompile(`(Etag: ")(\d+-[\w-]{50})`), true},
	{"token", regexp.MustCompile(`(^|[^\w-])([\w-]{40,})`), true},
	{"cursor", regexp.MustCompile(`(cursor(?:=|": "))([\w-]{20,})`), true},
	{"id", regexp.MustCompile(`()([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})`), true},
}

// mask replaces values that differ between runs.
func (e *env) mask(s string) string {
	for _, name := range e.order {
		s = strings.ReplaceAll(s, e.names[name], "{"+name+"}")
	}
	for _, v := range volatile {
		s = v.re.ReplaceAllStringFunc(s, func(m string) string {
			parts := v.re.FindStringSubmatch(m)
			name := v.name
			if v.count {
				name = e.nameOf(v.name, parts[2])
			}
			return parts[1] + "{" + name + "}"
		})
	}
	return s
}

func (e *env) nameOf(kind, value string) string {
	for _, n := range e.order {
		if e.names[n] == value {
			return n
		}
	}
	e.counts[kind]++
	name := fmt.Sprintf("%s%d", kind, e.counts[kind])
	e.name(name, value)
	return name
}

// shown lists the headers that scenarios show for a response.
var shown = []string{
	"Allow", "Location", "Link", "Retry-After", "WWW-Authenticate", "Content-Disposition", "Content-Range", "Etag",
	"Access-Control-Allow-Origin", "Set-Cookie",
}

// exchange is one request of a scenario.
type exchange struct {
	title, request, reply string
	steps                 []string // steps before it
}

func (e *env) play(x exchange) (got string, hit string) {
	head, body, _ := strings.Cut(x.request, "\n\n")
	lines := strings.Split(strings.TrimSpace(head), "\n")
	words := strings.Fields(e.expand(lines[0]))
	if len(words) < 2 {
		e.t.Fatalf("%q is no request", lines[0])
	}
	body = e.expand(strings.TrimSuffix(body, "\n"))
	if n, ok := strings.CutPrefix(body, "bytes="); ok { // a large body, as in bytes=70000
		var size int
		_, err := fmt.Sscan(n, &size)
		e.must(err)
		body = `{"name":"` + strings.Repeat("x", size) + `"}`
	}
	if before, rest, ok := strings.Cut(body, "(bytes="); ok { // a large text in a body, as in "(bytes=70000)"
		var size int
		_, err := fmt.Sscan(rest, &size)
		e.must(err)
		_, after, _ := strings.Cut(rest, ")")
		body = before + strings.Repeat("x", size) + after
	}
	req, err := http.NewRequestWithContext(e.t.Context(), words[0], e.url+words[1], strings.NewReader(body))
	e.must(err)
	if len(words) == 4 && words[2] == "as" {
		req.Header.Set("Authorization", "Bearer "+e.value(words[3]))
	}
	if body != "" && strings.ContainsAny(body[:1], "{[") {
		req.Header.Set("Content-Type", "application/json")
	} else if body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, l := range lines[1:] {
		k, v, _ := strings.Cut(e.expand(l), ":")
		if k == "Signed-By" {
			e.sign(req, body, strings.Fields(v))
			continue
		}
		if k == "Reported-By" {
			e.signProvider(req, body, strings.Fields(v))
			continue
		}
		if k == "Host" {
			req.Host = strings.TrimSpace(v)
			continue
		}
		req.Header.Set(k, strings.TrimSpace(v))
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	e.must(err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	e.must(err)
	route := e.handler.Find(words[0], req.URL.EscapedPath())
	if route != nil {
		if words[0] != http.MethodHead && (res.Header.Get("Content-Type") == "application/json" || len(b) == 0) {
			checkDescribed(e.t, route, res.StatusCode, b)
		}
		hit = fmt.Sprintf("%s %s %d", route.Method, route.Path, res.StatusCode)
	}
	return e.mask(printReply(res, b)), hit
}

func printReply(res *http.Response, body []byte) string {
	var out strings.Builder
	fmt.Fprintf(&out, "%d\n", res.StatusCode)
	for _, k := range shown {
		for _, v := range res.Header.Values(k) {
			if k == "Retry-After" {
				v = "{seconds}"
			}
			fmt.Fprintf(&out, "%s: %s\n", k, v)
		}
	}
	if cc := res.Header.Get("Cache-Control"); cc != "no-store" {
		fmt.Fprintf(&out, "Cache-Control: %s\n", cc)
	}
	media := res.Header.Get("Content-Type")
	if media != "" && media != "application/json" {
		fmt.Fprintf(&out, "Content-Type: %s\n", media)
	}
	var pretty bytes.Buffer
	if media == "application/json" && json.Indent(&pretty, body, "", "  ") == nil {
		body = pretty.Bytes()
	}
	if strings.HasPrefix(media, "text/html") {
		body = []byte(textOf(string(body)))
	}
	if strings.HasPrefix(media, "image/") {
		body = fmt.Appendf(nil, "{%d bytes}", len(body))
	}
	if text := strings.TrimSpace(string(body)); text != "" {
		fmt.Fprintf(&out, "\n%s\n", text)
	}
	return out.String()
}

var (
	tags   = regexp.MustCompile(`(?s)<style.*?</style>|<script.*?</script>|<[^>]*>`)
	blanks = regexp.MustCompile(`\s*\n\s*`)
)

// textOf returns the text of a page without markup, for tests of pages.
func textOf(page string) string {
	return blanks.ReplaceAllString(html.UnescapeString(tags.ReplaceAllString(page, "")), "\n")
}

// parseScenario splits a file into exchanges. It keeps everything before the first exchange and between exchanges
// (comments, steps, empty lines) unchanged.
func parseScenario(text string) (blocks []exchange, raw []string) {
	for _, part := range splitBefore(text, "== ") {
		var x exchange
		head, rest := part, ""
		if strings.HasPrefix(part, "== ") {
			x.title, rest, _ = strings.Cut(part, "\n")
			head = ""
			req, reply, _ := strings.Cut(rest, "\n-> ")
			x.request, x.reply = req, reply
			if i := strings.Index(reply, "\n! "); i >= 0 {
				x.reply, head = reply[:i+1], reply[i+1:]
			}
		}
		for line := range strings.SplitSeq(head, "\n") {
			if s, ok := strings.CutPrefix(line, "! "); ok {
				x.steps = append(x.steps, s)
			}
		}
		blocks, raw = append(blocks, x), append(raw, head)
	}
	return blocks, raw
}

func splitBefore(text, prefix string) (parts []string) {
	var b strings.Builder
	for line := range strings.SplitAfterSeq(text, "\n") {
		if strings.HasPrefix(line, prefix) && b.Len() > 0 {
			parts = append(parts, b.String())
			b.Reset()
		}
		b.WriteString(line)
	}
	return append(parts, b.String())
}

var stepWord = regexp.MustCompile(`([\w-]+)(?:=("[^"]*"|\S*))?`)

func (e *env) step(line string) {
	args := map[string]string{}
	var words []string
	for _, m := range stepWord.FindAllStringSubmatch(e.expand(line), -1) {
		args[m[1]] = strings.Trim(m[2], `"`)
		words = append(words, m[1])
	}
	f := steps[words[0]]
	if f == nil {
		e.t.Fatalf("there is no step %q", words[0])
	}
	name := ""
	if len(words) > 1 {
		name = words[1]
	}
	f(e, name, args)
}

func runScenario(t *testing.T, file string, hits map[string]bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// Only a few events can wait for an endpoint, and only a few posts can be imported, so that a scenario shows what
	// happens after that.
	e := newEnvOn(t, storetest.OpenWith(t, db.Options{EndpointEvents: 4, TenantPostBytes: 3000}))
	blocks, raw := parseScenario(string(text))
	var out strings.Builder
	for i, x := range blocks {
		if x.title != "" {
			got, hit := e.play(x)
			hits[hit] = true
			if want := strings.TrimSpace(x.reply); !*update && strings.TrimSpace(got) != want {
				t.Errorf("%s\n%s\ngot:\n%s\nwant:\n%s", x.title, x.request, got, want)
			}
			fmt.Fprintf(&out, "%s\n%s\n-> %s\n", x.title, strings.TrimRight(x.request, "\n"), got)
		}
		out.WriteString(raw[i])
		for _, s := range x.steps {
			e.step(s)
		}
	}
	if *update && out.String() != string(text) {
		if err := os.WriteFile(file, []byte(strings.TrimRight(out.String(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// strict lists the areas whose routes must have a scenario for each status. For other areas, missing scenarios are only
// reported.
var strict = []string{
	"/api/admin", "/healthz", "/api/auth", "/api/user", "/api/oauth/token", "/api/.well-known",
	"/api/oauth/userinfo", "/api/oauth/revoke", "/api/oauth/introspect", "/api/send-jobs", "/api/media", "/m/",
	"/webhooks",
	"/api/devices", "/api/agents", "/api/models",
	"/api/newsletter", "/api/subscriptions", "/api/api/", "/confirm", "/unsubscribe", "/undo", "/l/", "/preferences",
}

func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("../testdata/api/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	hits, ran := map[string]bool{}, 0
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(file), "../testdata/api/"), ".txt")
		t.Run(name, func(t *testing.T) {
			ran++
			runScenario(t, file, hits)
		})
	}
	if ran < len(files) {
		return // a part was chosen with -run
	}
	faults := 0
	for hit := range hits {
		if strings.Contains(hit, " 5") && !strings.HasSuffix(hit, " 503") {
			faults++
		}
	}
	coretest.Promise(t, 25, len(hits), faults, "kinds of answers in all scenarios")
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range h.Routes() {
		if r.Dialect == web.Console { // console_test.go checks these
			continue
		}
		for _, status := range r.Info().Statuses {
			want := fmt.Sprintf("%s %s %d", r.Method, r.Path, status)
			switch {
			case hits[want]:
			case slices.ContainsFunc(strict, func(p string) bool { return strings.HasPrefix(r.Path, p) }):
				t.Errorf("no scenario shows %s", want)
			case testing.Verbose(): // otherwise, hundreds of lines would hide the errors
				t.Logf("no scenario shows %s", want)
			}
		}
	}
}
