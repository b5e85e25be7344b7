package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web/webtest"
)

// bare returns a handler with a table of its own and without a store. The token good permits sending.
func bare(t *testing.T, rows ...*Route) *Handler {
	t.Helper()
	h, err := New(Options{
		TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.1/32")},
		DialectOf: func(_ *Call, path string) Dialect {
			if strings.HasPrefix(path, "/api/models") {
				return Device
			}
			return Member
		},
		Bearer: func(_ context.Context, token string, _ core.Instant) (core.Caller, error) {
			if token != "good" {
				return core.Caller{}, core.ErrUnauthenticated
			}
			return core.Caller{UserID: core.NewID(), Scopes: []string{core.ScopeSend}}, nil
		},
		ErrorPage: func(_ *Call, status int, e ErrorBody) (HTML, error) {
			return HTML{Status: status, Body: []byte("<!doctype html>" + e.Message)}, nil
		},
	}, rows)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// large responds with the number of bytes of the body.
func large(c *Call, _ struct{}) (int, error) { return len(c.body), nil }

func post(h http.Handler, body io.Reader) *httptest.ResponseRecorder {
	req := httptest.NewRequest("POST", "/api/large", body)
	req.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	return rec
}

func bodyOf(n int) string { return `{"name":"` + strings.Repeat("x", n-11) + `"}` }

func TestLargeBodiesShareABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := bare(t, lineOf("POST", "/api/large", Public(), Member, JSON(large).MaxBody(5*MiB), "Large"))
		if rec := post(h, strings.NewReader(bodyOf(5*MiB))); rec.Code != 200 || rec.Body.String() != fmt.Sprintln(5*MiB) {
			t.Errorf("the largest: %d %.80s", rec.Code, rec.Body)
		}
		if rec := post(h, strings.NewReader(bodyOf(5*MiB+1))); rec.Code != 413 {
			t.Errorf("one byte more: %d", rec.Code)
		}
		// The same without a Content-Length.
		if rec := post(h, io.MultiReader(strings.NewReader(bodyOf(5*MiB+1)))); rec.Code != 413 {
			t.Errorf("one byte more, chunked: %d", rec.Code)
		}
		if !h.budget.all.TryAcquire(bodyBudget) {
			t.Fatal("the budget is not given back")
		}
		start := time.Now()
		if rec := post(h, strings.NewReader(bodyOf(64*KiB))); rec.Code != 200 || time.Since(start) != 0 {
			t.Errorf("a small body: %d after %v", rec.Code, time.Since(start))
		}
		rec := post(h, strings.NewReader(bodyOf(freeBody+2)))
		if rec.Code != 503 || !strings.Contains(rec.Body.String(), `"busy"`) || rec.Header().Get("Retry-After") == "" ||
			time.Since(start) != BodyBudgetWait {
			t.Errorf("budget used up: %d %s after %v", rec.Code, rec.Body, time.Since(start))
		}
		h.budget.all.Release(bodyBudget)
		if rec := post(h, strings.NewReader(bodyOf(freeBody+2))); rec.Code != 200 {
			t.Errorf("afterwards: %d", rec.Code)
		}
	})
}

// TestUnlistedProxyIsNamedOnce checks that the log names a proxy on loopback that is not in TrustedProxies, once. No
// request of a stranger can cause that line.
func TestUnlistedProxyIsNamedOnce(t *testing.T) {
	var out strings.Builder
	h := bare(t)
	h.log = slog.New(slog.NewTextHandler(&out, nil))
	ask := func(peer, forwarded string) {
		req := httptest.NewRequest("GET", "/nothing", nil)
		req.RemoteAddr = peer
		if forwarded != "" {
			req.Header.Set("X-Forwarded-For", forwarded)
		}
		h.remote(req)
	}
	ask("203.0.113.9:1", "192.0.2.1")
	ask("127.0.0.1:1", "")
	if out.Len() > 0 {
		t.Errorf("a line without a proxy: %s", &out)
	}
	ask("127.0.0.1:1", "192.0.2.1")
	ask("[::1]:1", "192.0.2.1")
	if n := strings.Count(out.String(), "trusted_proxies"); n != 1 {
		t.Errorf("%d lines: %s", n, &out)
	}
	listed := bare(t)
	listed.log, listed.options.TrustedProxies = h.log, []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	h = listed
	out.Reset()
	ask("127.0.0.1:1", "192.0.2.1")
	if out.Len() > 0 {
		t.Errorf("a proxy that is listed: %s", &out)
	}
}

// TestUnreadableHopIsNamedOnce checks that the log names an unreadable hop once, whatever a stranger writes before it.
// A readable hop isn't logged.
func TestUnreadableHopIsNamedOnce(t *testing.T) {
	var out strings.Builder
	h := bare(t)
	h.log = slog.New(slog.NewTextHandler(&out, nil))
	for i, forwarded := range []string{"nonsense, 192.0.2.1", "[2001:db8::1]:80", "192.0.2.1, ", "unknown", "_other"} {
		req := httptest.NewRequest("GET", "/nothing", nil)
		req.RemoteAddr = "10.0.0.1:1"
		req.Header.Set("X-Forwarded-For", forwarded)
		h.remote(req)
		if n := strings.Count(out.String(), "hop="); n != min(max(i-2, 0), 1) || n > 0 &&
			!strings.Contains(out.String(), "hop=unknown") {
			t.Errorf("after %q: %s", forwarded, &out)
		}
	}
}

// TestStrangersBodiesLeaveRoom checks that bodies of unauthenticated senders leave memory for those of authenticated
// callers.
func TestStrangersBodiesLeaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		known := Public().And(func(c *Call) error { c.Caller.ClientID = "c"; return nil })
		h := bare(t,
			lineOf("POST", "/api/large", known, Member, JSON(large).MaxBody(5*MiB), "Known"),
			lineOf("POST", "/api/hook", Public(), Member, JSON(large).MaxBody(5*MiB), "Anybody"),
			lineOf("POST", "/api/signed", Signed(), Send, JSON(large).MaxBody(8*MiB), "Signed"))
		h.options.Signed = func(_ context.Context, head http.Header, _ string,
			_ core.Instant,
		) (func([]byte) (core.Caller, error), error) {
			return func([]byte) (core.Caller, error) { return core.Caller{ClientID: "c"}, nil }, nil
		}
		// Each sends 4 MB and then stops sending.
		stalled, ended := make([]*io.PipeWriter, 0, 18), make(chan int, 18)
		for i := range 18 {
			r, w := io.Pipe()
			stalled = append(stalled, w)
			req := httptest.NewRequest("POST", []string{"/api/hook", "/api/signed"}[i%2], r)
			req.Header.Set("Content-Type", "application/json")
			go func() {
				rec := httptest.NewRecorder()
				h.ServeHTTP(rec, req)
				_ = r.Close()
				ended <- rec.Code
			}()
			go func() { _, _ = io.WriteString(w, bodyOf(4 * MiB)[:4*MiB-1]) }()
		}
		synctest.Wait()
		for i := range 3 {
			if rec := post(h, strings.NewReader(bodyOf(3*MiB))); rec.Code != 200 {
				t.Errorf("job %d beside strangers: %d %s", i, rec.Code, rec.Body)
			}
		}
		for _, w := range stalled {
			_ = w.CloseWithError(io.ErrUnexpectedEOF)
		}
		for range stalled {
			if code := <-ended; code != 400 && code != 422 && code != 503 {
				t.Errorf("a stalled body: %d", code)
			}
		}
		if !h.budget.all.TryAcquire(bodyBudget) || !h.budget.signed.TryAcquire(signedShare) ||
			!h.budget.strangers.TryAcquire(strangersShare) {
			t.Error("the budget is not given back")
		}
	})
}

func TestSlowCallersAreCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := webtest.Serve(t, Server(bare(t, lineOf("POST", "/api/large", Public(), Member, JSON(large), "Large"))))
		for name, tt := range map[string]struct {
			send string
			cut  time.Duration
			want string
		}{
			"header": {"POST /api/large HTTP/1.1\r\n", headerTimeout, ""},
			"body": {"POST /api/large HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 99\r\n" +
				"\r\n{", bodyTimeout, "400 Bad Request"},
			"idle": {"GET /healthzz HTTP/1.1\r\nHost: x\r\n\r\n", idleTimeout, "404 Not Found"},
			"huge header": {
				"GET / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 17*KiB) + "\r\n\r\n", 0,
				"431 Request Header",
			},
		} {
			c, start := p.Dial(), time.Now()
			go func() { _, _ = io.WriteString(c, tt.send) }()
			b, _ := io.ReadAll(c)
			if took := time.Since(start); took < tt.cut || took > tt.cut+time.Second || !strings.Contains(string(b), tt.want) {
				t.Errorf("%s: cut after %v, want %v: %q", name, took, tt.cut, b)
			}
			c.Close()
		}
	})
}

type row struct {
	N int `json:"n"`
}

// rowsTo lists the numbers up to last. A read after failAt fails.
func rowsTo(last, failAt int) Endpoint {
	return List(func(c *Call, _ struct{}, p core.Page) (out []row, err error) {
		if err := c.Err(); err != nil {
			return nil, err
		}
		n, _ := strconv.Atoi(p.After)
		if failAt > 0 && n >= failAt {
			return nil, core.ErrStorage
		}
		for n++; n <= last && len(out) < p.Limit; n++ {
			out = append(out, row{n})
		}
		return out, nil
	}, func(r row) string { return fmt.Sprintf("%09d", r.N) })
}

func TestListsAreStreamedWhole(t *testing.T) {
	for _, n := range []int{0, 1, listPage - 1, listPage, listPage + 1, 2 * listPage, 1234} {
		srv := httptest.NewServer(bare(t, lineOf("GET", "/api/rows", Public(), Member, rowsTo(n, 0), "Rows")))
		var got []row
		res, err := http.Get(srv.URL + "/api/rows")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.NewDecoder(res.Body).Decode(&got); err != nil || len(got) != n || n > 0 && got[n-1].N != n {
			t.Errorf("%d rows: %d, %v", n, len(got), err)
		}
		res.Body.Close()
		srv.Close()
	}
}

func TestListsGoInPages(t *testing.T) {
	h := bare(t, lineOf("GET", "/api/rows", Public(), Member, rowsTo(25, 0), "Rows"))
	path, sum, pages := "/api/rows?limit=10&q=a", 0, 0
	for path != "" {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", path, nil))
		var got []row
		if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
			t.Fatalf("%s: %d %s", path, rec.Code, rec.Body)
		}
		for _, r := range got {
			sum += r.N
		}
		pages++
		path, _, _ = strings.Cut(strings.TrimPrefix(rec.Header().Get("Link"), "<"), ">")
	}
	if sum != 25*26/2 || pages != 3 {
		t.Errorf("sum %d in %d pages", sum, pages)
	}
}

func TestABrokenListIsCut(t *testing.T) {
	srv := httptest.NewServer(bare(t, lineOf("GET", "/api/rows", Public(), Member, rowsTo(2000, 1000), "Rows")))
	defer srv.Close()
	res, err := http.Get(srv.URL + "/api/rows")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("%d bytes and no error", len(b))
	}
}

// TestStreamsMayTakeTheirTime reads a list slowly, far beyond every limit on a whole request, and then stops reading.
// Only that may end the response.
func TestStreamsMayTakeTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := webtest.Serve(t, Server(bare(t, lineOf(
			"GET", "/api/rows", Public(), Member, rowsTo(20*listPage, 0),
			"Rows",
		))))
		c := p.Dial()
		defer c.Close()
		go func() { _, _ = io.WriteString(c, "GET /api/rows HTTP/1.1\r\nHost: x\r\n\r\n") }()
		start, r, lines := time.Now(), bufio.NewReaderSize(c, 64), 0
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				t.Fatalf("after %v and %d lines: %v", time.Since(start), lines, err)
			}
			if lines++; lines%listPage == 0 {
				time.Sleep(20 * time.Second)
			}
			if line == "]\n" {
				break
			}
		}
		if took := time.Since(start); took < 5*time.Minute {
			t.Errorf("took %v only", took)
		}

		c2 := p.Dial()
		go func() { _, _ = io.WriteString(c2, "GET /api/rows HTTP/1.1\r\nHost: x\r\n\r\n") }()
		_, _ = io.ReadFull(c2, make([]byte, 10))
		time.Sleep(ProgressTimeout + time.Second)
		if _, err := io.ReadAll(c2); err != nil && err != io.ErrUnexpectedEOF {
			t.Error(err)
		}
	})
}

func TestRemoteAddress(t *testing.T) {
	h := bare(t)
	for _, tt := range []struct{ peer, forwarded, want string }{
		{"192.0.2.1:99", "", "192.0.2.1"},
		{"192.0.2.1:99", "198.51.100.1", "192.0.2.1"},                          // this peer is not trusted
		{"10.0.0.1:99", "198.51.100.1", "198.51.100.1"},                        // a proxy
		{"10.0.0.1:99", "203.0.113.9, 198.51.100.1", "198.51.100.1"},           // the part before it may be forged
		{"10.0.0.1:99", "203.0.113.9, 198.51.100.1, 10.2.2.2", "198.51.100.1"}, // two proxies
		{"10.0.0.1:99", "nonsense", "10.0.0.1"},
		{"10.0.0.1:99", "203.0.113.1:50001", "203.0.113.1"}, // the form of Azure's gateway
		{"10.0.0.1:99", "[2001:db8:1::1]:50001", "2001:db8:1::1"},
		{"10.0.0.1:99", "[2001:db8:a1::1]", "2001:db8:a1::1"},
		{"10.0.0.1:99", "[::ffff:203.0.113.1]:80", "203.0.113.1"},
		{"10.0.0.1:99", `"203.0.113.1:443"`, "203.0.113.1"},
		{"10.0.0.1:99", `"[2001:db8:1::1]:443"`, "2001:db8:1::1"},
		{"10.0.0.1:99", `"2001:db8:1::1"`, "2001:db8:1::1"},
		{"10.0.0.1:99", "203.0.113.9, 198.51.100.1:1234 ,\t, 10.2.2.2:80,", "198.51.100.1"},
		{"10.0.0.1:99", " , ,", "10.0.0.1"},
		{"10.0.0.1:99", "198.51.100.1, unknown", "10.0.0.1"},
		{"10.0.0.1:99", "198.51.100.1, _hidden", "10.0.0.1"},
		{"10.0.0.1:99", "198.51.100.1:http", "10.0.0.1"},
		{"10.0.0.1:99", "198.51.100.1:70000", "10.0.0.1"},
		{"10.0.0.1:99", "[198.51.100.1]", "10.0.0.1"},
		{"10.0.0.1:99", `"198.51.100.1`, "10.0.0.1"},
		{"10.0.0.1:99", `"`, "10.0.0.1"},
		{"10.0.0.1:99", "", "10.0.0.1"},
		{"[::ffff:10.0.0.1]:99", "2001:db8::1", "2001:db8::1"},
		{"pipe", "198.51.100.1", "invalid IP"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.peer
		if tt.forwarded != "" {
			r.Header.Set("X-Forwarded-For", tt.forwarded)
		}
		if got := h.remote(r).String(); got != tt.want {
			t.Errorf("%s for %q: %s, want %s", tt.peer, tt.forwarded, got, tt.want)
		}
	}
}

func TestRequestsPerAddress(t *testing.T) {
	h := bare(t, lineOf("POST", "/api/large", Public(), Member, JSON(large).PerAddress(3, time.Hour), "Large"))
	ask := func(peer, body string) *httptest.ResponseRecorder {
		req := httptest.NewRequest("POST", "/api/large", strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.RemoteAddr = peer
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		return rec
	}
	for i, tt := range []struct {
		peer, body string
		want       int
	}{
		{"192.0.2.1:1", "{}", 200},
		{"192.0.2.1:2", "{", 400}, // malformed requests don't count
		{"192.0.2.1:3", "{}", 200},
		{"192.0.2.1:4", "{}", 200},
		{"192.0.2.1:5", "{}", 429},
		{"[::ffff:192.0.2.1]:6", "{}", 429},
		{"192.0.2.2:1", "{}", 200},
		{"[2001:db8::1]:1", "{}", 200},
		{"[2001:db8::2]:1", "{}", 200},
		{"[2001:db8::3]:1", "{}", 200},
		{"[2001:db8::4]:1", "{}", 429}, // the same household
		{"[2001:db8:0:1::1]:1", "{}", 200},
		{"127.0.0.1:1", "{}", 200},
		{"127.0.0.1:1", "{}", 200},
		{"127.0.0.1:1", "{}", 200},
		{"127.0.0.1:1", "{}", 200}, // loopback is not counted
		{"[::1]:1", "{}", 200},
	} {
		rec := ask(tt.peer, tt.body)
		if rec.Code != tt.want {
			t.Errorf("%d: %s: %d %s", i, tt.peer, rec.Code, rec.Body)
		}
		if rec.Code == 429 && rec.Header().Get("Retry-After") == "" {
			t.Errorf("%d: no Retry-After", i)
		}
	}
}

func TestMediaTypes(t *testing.T) {
	h := bare(t, lineOf("POST", "/api/large", Public(), Member, JSON(large), "Large"))
	for media, want := range map[string]int{
		"application/json": 200, "application/json; charset=utf-8": 200, "APPLICATION/JSON;charset=UTF-8": 200,
		"application/json; charset=latin1": 415, "text/json": 415, "": 415, "application/json, text/plain": 415,
		"application/jsonx": 415,
	} {
		req := httptest.NewRequest("POST", "/api/large", strings.NewReader("{}"))
		req.Header["Content-Type"] = []string{media}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if rec.Code != want {
			t.Errorf("%q: %d", media, rec.Code)
		}
	}
}

// TestSignedRoutes checks the order of the checks: headers, size, signature, media type, body.
func TestSignedRoutes(t *testing.T) {
	h := bare(t, lineOf("POST", "/webhooks/x", Signed(), Send, JSON(func(c *Call, _ struct{}) (string, error) {
		return c.Caller.ClientID + " " + string(c.body), nil
	}), "Signed"))
	h.options.Signed = func(_ context.Context, head http.Header, path string,
		_ core.Instant,
	) (func([]byte) (core.Caller, error), error) {
		if head.Get("X-Client-Id") == "" || path != "/webhooks/x" {
			return nil, core.ErrInvalidSignature
		}
		return func(body []byte) (core.Caller, error) {
			if head.Get("X-Signature") != fmt.Sprint(len(body)) {
				return core.Caller{}, core.ErrInvalidSignature
			}
			if head.Get("X-Client-Id") == "off" {
				return core.Caller{}, core.Forbiddenf("Blocked")
			}
			return core.Caller{ClientID: head.Get("X-Client-Id")}, nil
		}, nil
	}
	for _, tt := range []struct {
		client, signature, media, body string
		want                           int
	}{
		{"c1", "2", "application/json", "{}", 200},
		{"", "2", "application/json", strings.Repeat(" ", maxJSON+1), 401},
		{"c1", "2", "application/json", strings.Repeat(" ", maxJSON+1), 413},
		{"c1", "3", "text/plain", "{}", 401},
		{"off", "2", "text/plain", "{}", 403},
		{"c1", "2", "text/plain", "{}", 415},
		{"c1", "2", "application/json", "[]", 422},
	} {
		req := httptest.NewRequest("POST", "/webhooks/x", strings.NewReader(tt.body))
		req.Header = http.Header{"Content-Type": {tt.media}, "X-Client-Id": {tt.client}, "X-Signature": {tt.signature}}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if rec.Code != tt.want {
			t.Errorf("%+v: %d %s", tt, rec.Code, rec.Body)
		}
	}
}

func TestFormsAndQueries(t *testing.T) {
	type in struct {
		A string `form:"a,required" query:"a,required"`
		N *int   `form:"n" query:"n"`
	}
	fields := newPlan(reflect.TypeFor[in](), formBody).form
	for _, tt := range []struct {
		text        string
		form, query bool // whether it is accepted
	}{
		{"a=1", true, true},
		{"a=1&n=7&&", true, true},
		{"a=1&n=", true, true},
		{"%61=%2B+x", true, true},
		{"a=1&b=2&b=3", false, true}, // a query may have unknown parameters
		{"a=1&a=1", false, false},
		{"a=&a=1", false, false},
		{"a=", false, false},
		{"", false, false},
		{"b=1", false, false},
		{"a=1&n=x", false, false},
		{"a=%zz", false, false},
		{"a=%00", false, false},
		{"a=%ff", false, false},
		{"a=1;n=2", false, false},
	} {
		for _, form := range []bool{true, false} {
			var got in
			err := bindValues(tt.text, fields, reflect.ValueOf(&got).Elem(), form)
			if want := form && tt.form || !form && tt.query; (err == nil) != want {
				t.Errorf("%q, form %v: %v", tt.text, form, err)
			}
		}
	}
}

// FuzzForm checks that net/url reads every accepted form in the same way.
func FuzzForm(f *testing.F) {
	type in struct {
		A string     `form:"a"`
		E core.Email `form:"e"`
		N int        `form:"n"`
	}
	fields := newPlan(reflect.TypeFor[in](), formBody).form
	for _, s := range []string{"a=1&e=x%40y.co&n=7", "a=+%2B&b", "&&a", "a=%zz", "a=1;n=2", "a=%00", "b=1&b=2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got in
		if err := bindValues(s, fields, reflect.ValueOf(&got).Elem(), true); err != nil {
			if core.KindOf(err) != core.Invalid {
				t.Fatal(err)
			}
			return
		}
		want, err := url.ParseQuery(s)
		if err != nil || got.A != want.Get("a") || (got.E != "") != (want.Get("e") != "") {
			t.Fatalf("%q: %+v, want %v %v", s, got, want, err)
		}
		for k, v := range want {
			if len(v) > 1 {
				t.Fatalf("%q: %s stands twice", s, k)
			}
		}
	})
}
