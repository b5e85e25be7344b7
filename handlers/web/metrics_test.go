package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"newsletterd/core"
)

// TestTheLogLine checks that the log line of a request is enough to find the request, and contains no secret.
func TestTheLogLine(t *testing.T) {
	var out bytes.Buffer
	h := bare(t,
		lineOf("GET", "/api/things/:id", AnyToken(), Member, Path(func(c *Call, _ string) (None, error) {
			c.Tenant = "t1"
			return None{}, nil
		}), "Thing"),
		lineOf("GET", "/api/broken", Public(), Member, Get(func(*Call) (None, error) {
			return None{}, errors.New("disk on fire")
		}), "Broken"),
	)
	h.log = slog.New(slog.NewJSONHandler(&out, nil))
	h.options.Bearer = func(context.Context, string, core.Instant) (core.Caller, error) {
		return core.Caller{UserID: "u1", ClientID: "c1", Email: "jane@mail.example"}, nil
	}
	line := func(path string) (map[string]any, *httptest.ResponseRecorder) {
		out.Reset()
		req := httptest.NewRequest("GET", path, nil)
		req.Header.Set("Authorization", "Bearer SECRET")
		req.Header.Set("X-Request-Id", "mine")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		var got map[string]any
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%v: %s", err, &out)
		}
		for _, secret := range []string{"SECRET", "HIDDEN", "jane@", "0190163d"} {
			if strings.Contains(out.String(), secret) {
				t.Errorf("the line tells %s: %s", secret, &out)
			}
		}
		return got, rec
	}
	got, rec := line("/api/things/0190163d-8694-739b-aea5-966c26f8ad90?token=HIDDEN")
	for k, want := range map[string]any{
		"level": "INFO", "msg": "request", "method": "GET", "route": "/api/things/:id", "status": 204.0, "user": "u1",
		"client": "c1",
		"tenant": "t1", "client_request_id": "mine", "request_id": rec.Header().Get("X-Request-Id"),
	} {
		if got[k] != want {
			t.Errorf("%s is %v, want %v", k, got[k], want)
		}
	}
	if rec.Header().Get("X-Request-Id") == "mine" {
		t.Error("a caller's own request id is answered")
	}
	got, rec = line("/api/broken")
	if got["level"] != "ERROR" || !strings.Contains(got["error"].(string), "disk on fire") {
		t.Errorf("broken: %v", got)
	}
	if rec.Code != 500 || strings.Contains(rec.Body.String(), "fire") {
		t.Errorf("the answer tells it: %d %s", rec.Code, rec.Body)
	}
	got, _ = line("/api/HIDDEN/path")
	if got["route"] != "none" || got["status"] != 404.0 {
		t.Errorf("unknown path: %v", got)
	}
}

// TestClientsThatLeaveAreNoFaults checks that a client that disconnects doesn't count as a fault of the daemon,
// whatever waited for it: log and metrics report that it left. Work that ended for another reason is still a fault.
func TestClientsThatLeaveAreNoFaults(t *testing.T) {
	for name, c := range map[string]struct {
		err    func(*Call) error
		level  string
		status float64
	}{
		"left":          {func(c *Call) error { return c.Err() }, "INFO", 499},
		"left waiting":  {func(c *Call) error { return ErrBusy.With(fmt.Errorf("turn: %w", c.Err())) }, "INFO", 499},
		"left, a fault": {func(*Call) error { return errors.New("disk on fire") }, "ERROR", 500},
		"left, refused": {func(*Call) error { return core.Invalidf("a", "No.") }, "INFO", 400},
	} {
		var out bytes.Buffer
		h := bare(t, lineOf("GET", "/api/slow", Public(), Member, Get(func(call *Call) (None, error) {
			<-call.Done()
			return None{}, c.err(call)
		}), "Slow"))
		h.log = slog.New(slog.NewJSONHandler(&out, nil))
		ctx, leave := context.WithCancel(t.Context())
		leave()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", "/api/slow", nil))
		var got map[string]any
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%s: %v: %s", name, err, &out)
		}
		if got["level"] != c.level || got["status"] != c.status {
			t.Errorf("%s: %v", name, got)
		}
	}
	var out bytes.Buffer
	h := bare(t, lineOf("GET", "/api/ended", Public(), Member, Get(func(*Call) (None, error) {
		return None{}, context.Canceled
	}), "Ended"))
	h.log = slog.New(slog.NewJSONHandler(&out, nil))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/api/ended", nil))
	if !strings.Contains(out.String(), `"status":503`) || !strings.Contains(out.String(), `"level":"ERROR"`) {
		t.Errorf("a client that waits: %s", &out)
	}
}

func TestMetrics(t *testing.T) {
	h := bare(t, lineOf(
		"GET", "/api/things/:id", Public(), Member,
		Path(func(*Call, string) (None, error) { return None{}, nil }), "Thing",
	))
	for _, path := range []string{"/api/things/0190163d-8694-739b-aea5-966c26f8ad90", "/api/things/7", "/one", "/two"} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	}
	rec := httptest.NewRecorder()
	h.Metrics().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`newsletterd_http_requests_total{method="GET",route="/api/things/:id",status="204"} 1`,
		`newsletterd_http_requests_total{method="GET",route="/api/things/:id",status="404"} 1`,
		`newsletterd_http_requests_total{method="other",route="none",status="404"} 2`,
		`newsletterd_http_request_seconds_count{area="api"} 2`,
		`newsletterd_http_request_seconds_count{area="pages"} 2`,
		`newsletterd_http_in_flight 0`,
	} {
		if !strings.Contains(rec.Body.String(), want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
}

func TestAreas(t *testing.T) {
	for path, want := range map[string]string{
		"/api/oauth/token": "oauth", "/.well-known/openid-configuration": "oauth", "/api/campaigns": "api",
		"/console/:tenant": "console", "/t/o/:token": "tracking", "/webhooks/:provider": "webhooks", "/l/:list": "pages",
	} {
		if got := areaOf(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}

// TestMetricsAreSmall checks that a scrape stays small after each of the hundreds of routes was requested.
func TestMetricsAreSmall(t *testing.T) {
	const routes = 500
	var lines []*Route
	for i := range routes {
		lines = append(lines, lineOf("GET", fmt.Sprintf("/api/campaigns/:id/versions/number-%d", i), Public(), Member,
			Path(func(*Call, string) (None, error) { return None{}, nil }), fmt.Sprint("Number ", i)))
	}
	h := bare(t, lines...)
	for i := range routes {
		path := fmt.Sprintf("/api/campaigns/0190163d-8694-739b-aea5-966c26f8ad90/versions/number-%d", i)
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
	}
	rec := httptest.NewRecorder()
	h.Metrics().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	if n := rec.Body.Len(); n > 250*routes {
		t.Errorf("%d bytes for %d routes", n, routes)
	}
}

// TestPanics checks that a panic results in an ordinary error response or a cut connection, and nothing else.
func TestPanics(t *testing.T) {
	srv := httptest.NewServer(bare(t,
		lineOf("GET", "/api/early", Public(), Member, Get(func(c *Call) (None, error) {
			c.Header().Set("Content-Type", "image/png")
			panic("boom")
		}), "Early"),
		lineOf("GET", "/api/late", Public(), Member, Get(func(c *Call) (None, error) {
			_, _ = io.WriteString(c.w, "half an answer")
			panic("boom")
		}), "Late"),
	))
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	defer srv.Close()
	res, err := http.Get(srv.URL + "/api/early")
	if err != nil {
		t.Fatal(err)
	}
	b, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if res.StatusCode != 500 || !strings.Contains(string(b), `"internal"`) || strings.Contains(string(b), "boom") ||
		res.Header.Get("Content-Type") != "application/json" {
		t.Errorf("early: %d %s", res.StatusCode, b)
	}
	res, err = http.Get(srv.URL + "/api/late")
	if err == nil {
		_, err = io.ReadAll(res.Body)
		res.Body.Close()
	}
	if err == nil {
		t.Error("late: the answer looks whole")
	}
}

// TestErrorForms compares each kind of error in each dialect with the specification.
func TestErrorForms(t *testing.T) {
	for _, tt := range []struct {
		d      Dialect
		err    error
		status int
		body   string
	}{
		{
			Member, core.Invalidf("name", "name is bad."), 400,
			`{"error":"invalid_request","message":"name is bad.","field":"name","request_id":`,
		},
		{
			Member, core.ErrUnauthenticated, 401,
			`{"error":"unauthorized","message":"` + MessageOf(core.Unauthenticated) + `","request_id":`,
		},
		{Member, core.ErrListNotFound, 404, `{"error":"list_not_found",`},
		{Member, core.ErrConflict, 409, `{"error":"conflict",`},
		{Member, core.ErrTooMany, 429, `{"error":"rate_limited",`},
		{Member, core.ErrStorage, 503, `{"error":"storage_unavailable",`},
		{Member, context.DeadlineExceeded, 503, `{"error":"busy",`},
		{Member, errors.New("secret"), 500, `{"error":"internal",`},
		{Member, &core.Error{Code: "x", Message: "secret"}, 500, `{"error":"internal",`},
		{
			Send, core.Invalidf("subject", "subject is bad."), 422,
			`{"error":"validation_error","message":"subject is bad.","reason":"subject","request_id":`,
		},
		{
			Send, core.ErrInvalidEmail, 422,
			`{"error":"validation_error","message":"This is not a valid email address.","reason":"email",`,
		},
		{Send, core.ErrDuplicateEvent, 409, `{"error":"duplicate_event",`},
		{Send, core.ErrInvalidSignature, 401, `{"error":"invalid_signature",`},
		{
			OAuth, core.Invalidf("code", "code is \"bad\"."), 400,
			`{"error":"invalid_request","error_description":"code is 'bad'.","message":`,
		},
		{
			OAuth, &core.Error{Kind: core.Invalid, Code: "invalid_grant", Message: "No."}, 400,
			`{"error":"invalid_grant","error_description":"No.",`,
		},
		{OAuth, &core.Error{Kind: core.Invalid, Code: "unsupported_grant_type"}, 400, `{"error":"unsupported_grant_type",`},
		{OAuth, core.ErrStorage, 503, `{"error":"temporarily_unavailable",`},
		{OAuth, errors.New("secret"), 500, `{"error":"server_error",`},
		{OAuth, core.ErrTooMany, 429, `{"error":"rate_limited",`},
		{
			Device, core.Conflictf("ALREADY_REGISTERED", "It is registered."), 409,
			`{"error":"ALREADY_REGISTERED","message":"It is registered.","code":"ALREADY_REGISTERED",`,
		},
		{Page, core.ErrNotFound, 404, `<!doctype html>`},
	} {
		h := bare(t, lineOf("GET", "/x", Public(), tt.d, Get(func(*Call) (None, error) { return None{}, tt.err }), "X"))
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", "/x", nil))
		if rec.Code != tt.status || !strings.HasPrefix(rec.Body.String(), tt.body) {
			t.Errorf("%c %v: %d %s", tt.d, tt.err, rec.Code, rec.Body)
		}
		if strings.Contains(rec.Body.String(), "secret") {
			t.Errorf("%c: tells the cause: %s", tt.d, rec.Body)
		}
		if wait := rec.Header().Get("Retry-After"); (wait != "") != (tt.status == 429 || tt.status == 503) {
			t.Errorf("%c %v: Retry-After %q", tt.d, tt.err, wait)
		}
	}
}

// TestAnswers checks the possible forms of a response.
func TestAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		do     Endpoint
		status int
		header http.Header
		body   string
	}{
		"JSON": {
			Get(func(*Call) (row, error) { return row{1}, nil }), 200,
			http.Header{"Content-Type": {"application/json"}},
			"{\"n\":1}\n",
		},
		"no HTML escapes": {Get(func(*Call) (string, error) { return "<&>", nil }), 200, nil, "\"<&>\"\n"},
		"created":         {Get(func(*Call) (row, error) { return row{1}, nil }).Created(), 201, nil, "{\"n\":1}\n"},
		"accepted":        {Get(func(*Call) (row, error) { return row{1}, nil }).Accepted(), 202, nil, "{\"n\":1}\n"},
		"nothing":         {Get(func(*Call) (None, error) { return None{}, nil }), 204, nil, ""},
		"page": {
			Get(func(*Call) (HTML, error) { return HTML{Body: []byte("<p>")}, nil }), 200,
			http.Header{"Content-Type": {"text/html; charset=utf-8"}},
			"<p>",
		},
		"redirect": {
			Get(func(*Call) (Redirect, error) { return Redirect{URL: "/y"}, nil }), 302,
			http.Header{"Location": {"/y"}},
			"",
		},
		"text": {
			Get(func(*Call) (Text, error) { return Text{"text/csv", []byte("a,b")}, nil }), 200,
			http.Header{"Content-Type": {"text/csv"}},
			"a,b",
		},
		"cached": {
			Get(func(c *Call) (row, error) { c.Header().Set("Cache-Control", "max-age=9"); return row{1}, nil }), 200,
			http.Header{"Cache-Control": {"max-age=9"}},
			"{\"n\":1}\n",
		},
	} {
		h := bare(t, lineOf("GET", "/x", Public(), Member, tt.do, "X"))
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", "/x", nil))
		if rec.Code != tt.status || rec.Body.String() != tt.body {
			t.Errorf("%s: %d %q", name, rec.Code, rec.Body)
		}
		for k := range tt.header {
			if rec.Header().Get(k) != tt.header.Get(k) {
				t.Errorf("%s: %s is %q", name, k, rec.Header().Get(k))
			}
		}
	}
}

// TestOptionalTokens checks a route with an optional token: it knows its caller only if there is a token, which must be
// valid.
func TestOptionalTokens(t *testing.T) {
	h := bare(t, lineOf(
		"GET", "/x", Optional(), Member,
		Get(func(c *Call) (string, error) { return c.Caller.UserID, nil }), "X",
	))
	h.options.Bearer = func(_ context.Context, token string, _ core.Instant) (core.Caller, error) {
		if token != "good" {
			return core.Caller{}, core.ErrUnauthenticated
		}
		return core.Caller{UserID: "u1"}, nil
	}
	for _, tt := range []struct {
		header []string
		status int
		body   string
	}{
		{nil, 200, "\"\"\n"},
		{[]string{"Bearer good"}, 200, "\"u1\"\n"},
		{[]string{"bearer  good"}, 200, "\"u1\"\n"},
		{[]string{"Bearer bad"}, 401, ""},
		{[]string{"Bearer"}, 401, ""},
		{[]string{""}, 401, ""},
		{[]string{"Basic good"}, 401, ""},
		{[]string{"Bearer good", "Bearer good"}, 401, ""},
	} {
		req := httptest.NewRequest("GET", "/x", nil)
		if tt.header != nil {
			req.Header["Authorization"] = tt.header
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if rec.Code != tt.status || tt.body != "" && rec.Body.String() != tt.body {
			t.Errorf("%q: %d %s", tt.header, rec.Code, rec.Body)
		}
	}
}

// TestTheLogTellsWhereFailuresComeFrom checks that the log lines of failed sign-ins and of requests over a limit
// contain the client's address, so that an operator can block it. Other lines contain it only if the configuration says
// so.
func TestTheLogTellsWhereFailuresComeFrom(t *testing.T) {
	var fault error
	h := bare(t, lineOf("GET", "/api/things", Public(), Member, Get(func(*Call) (None, error) { return None{}, fault }), "Things"))
	var out bytes.Buffer
	h.log = slog.New(slog.NewJSONHandler(&out, nil))
	for _, c := range []struct {
		setting string
		fault   *core.Error
		named   bool
	}{
		{"", &core.Error{Kind: core.Invalid, Code: "invalid_grant"}, true},
		{"", &core.Error{Kind: core.Unauthenticated, Code: "unauthorized"}, true},
		{"", &core.Error{Kind: core.TooMany, Code: "rate_limited"}, true},
		{AddressesFailures, &core.Error{Kind: core.Invalid, Code: "invalid_client"}, true},
		{"", core.ErrNotFound, false},
		{"", nil, false},
		{AddressesAll, nil, true},
		{AddressesNone, &core.Error{Kind: core.TooMany, Code: "rate_limited"}, false},
	} {
		out.Reset()
		if fault = nil; c.fault != nil {
			fault = c.fault
		}
		h.options.ClientAddresses = c.setting
		req := httptest.NewRequest("GET", "/api/things", nil)
		req.RemoteAddr = "203.0.113.7:4711"
		h.ServeHTTP(httptest.NewRecorder(), req)
		if named := strings.Contains(out.String(), `"remote":"203.0.113.7"`); named != c.named {
			t.Errorf("%q, %v: %s", c.setting, c.fault, &out)
		}
	}
}
