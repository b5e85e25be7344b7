package handlers

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/mail/report"
	"newsletterd/store/storetest"
)

// TestEveryRoute checks for each route what its row in the table promises: an access rule, 401 and 403 in the format of
// its area, 404 for invalid ids, 405, 413 and 415.
func TestEveryRoute(t *testing.T) {
	o := Options{
		Store: storetest.Open(t),
		Bearer: func(_ context.Context, token string, _ core.Instant) (core.Caller, error) {
			if token == "all" {
				return core.Caller{
					UserID: core.NewID(), Roles: []core.Role{{Role: core.RoleOperator}}, FirstParty: true,
					Scopes: core.AllScopes,
				}, nil
			}
			if token == "none" {
				return core.Caller{UserID: core.NewID()}, nil
			}
			return core.Caller{}, core.ErrUnauthenticated
		},
		Signed: func(context.Context, http.Header, string, core.Instant) (func([]byte) (core.Caller, error), error) {
			return nil, core.ErrInvalidSignature
		},
	}
	ours := core.Provider{Name: "ours", Kind: report.KindGeneric}
	if err := o.Store.AddProvider(t.Context(), ours, providerSecret("ours"), "command", 1); err != nil {
		t.Fatal(err)
	}
	h, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	defer srv.Close()
	w := walker{srv.URL}
	for _, r := range h.Routes() {
		t.Run(r.Method+" "+r.Path, func(t *testing.T) { w.route(t, r) })
	}
}

type walker struct{ url string }

func (w walker) route(t *testing.T, r *web.Route) {
	if r.Who.String() == "" {
		t.Error("no access rule")
	}
	path, info := realPath(r.Path), r.Info()
	if info.Proved {
		w.expect(t, r, r.Method, path, "", "", "{", 404)
		path = "/webhooks/ours"
		w.expect(t, r, r.Method, path, "", "", strings.Repeat(" ", 256<<10+1), 413)
		w.expect(t, r, r.Method, path, "", "", "{", 401)
	}
	w.expect(t, r, "PROPFIND", path, "", "", "", 405)
	if info.NeedsToken {
		w.expect(t, r, r.Method, path, "", "", "{", 401)
		w.expect(t, r, r.Method, path, "wrong", "", "{", 401)
	}
	if info.Signed {
		w.expect(t, r, r.Method, path, "", "application/json", "{", 401)
	}
	if len(info.Scopes) > 0 {
		w.expect(t, r, r.Method, path, "none", "", "{", 403)
	}
	if strings.Contains(r.Path, "/:id") {
		w.expect(t, r, r.Method, strings.Replace(r.Path, ":id", "7", 1), "all", "application/json", "{", 404)
	}
	if want := info.MediaType; want != "" && !info.Finds && !info.Signed {
		w.expect(t, r, r.Method, path, "all", "text/plain", "x", 415)
		w.expect(t, r, r.Method, path, "all", want, strings.Repeat(" ", int(info.MaxBody)+1), 413)
		if want == "application/json" {
			w.expect(t, r, r.Method, path, "all", want, "{", web.StatusOf(r.Dialect, core.Invalid))
		}
	}
}

// realPath fills the parameters of a path with values that can exist.
func realPath(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, ":") {
			parts[i] = "0190163d-8694-739b-aea5-966c26f8ad90"
		}
	}
	return strings.Join(parts, "/")
}

func (w walker) expect(t *testing.T, r *web.Route, method, path, token, media, body string, status int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != status {
		t.Errorf("%s %s as %q: %d %s, want %d", method, path, token, res.StatusCode, b, status)
		return
	}
	h := res.Header
	if h.Get("X-Request-Id") == "" || h.Get("X-Content-Type-Options") != "nosniff" ||
		h.Get("Cache-Control") != "no-store" {
		t.Errorf("%d: headers %v", status, h)
	}
	if status == 405 && !strings.Contains(h.Get("Allow"), r.Method) {
		t.Errorf("405: Allow is %q", h.Get("Allow"))
	}
	if status == 401 && r.Dialect != web.OAuth && h.Get("WWW-Authenticate") == "" {
		t.Error("401 without WWW-Authenticate")
	}
	if status == 401 && r.Info().TakesToken && !strings.HasPrefix(h.Get("WWW-Authenticate"), "Bearer ") {
		t.Errorf("401: WWW-Authenticate is %q", h.Get("WWW-Authenticate"))
	}
	checkForm(t, r.Dialect, status, b)
}

// checkForm checks the body of an error against the format of its area.
func checkForm(t *testing.T, d web.Dialect, status int, b []byte) {
	t.Helper()
	if d == web.Page || d == web.Console {
		return
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Errorf("%d: %v in %s", status, err, b)
		return
	}
	need := []string{"error", "message", "request_id"}
	switch d {
	case web.Device:
		need = append(need, "code")
	case web.OAuth:
		need = append(need, "error_description")
	}
	for _, k := range need {
		if s, _ := got[k].(string); s == "" {
			t.Errorf("%d: no %s in %s", status, k, b)
		}
	}
}

// TestPathsAreExact checks that nothing is redirected, and that unknown paths respond in the format of their area.
func TestPathsAreExact(t *testing.T) {
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for path, d := range map[string]web.Dialect{
		"/": web.Member, "/healthz/": web.Send, "/HEALTHZ": web.Member, "//healthz": web.Member,
		"/healthz/..":         web.Send,
		"/api/admin/tenants/": web.Member,
		"/api/send-jobs/x/y":  web.Send, "/webhooks": web.Send, "/api/models/x/y": web.Device,
		"/api/devices/": web.Device,
		"/api/oauth/x":  web.OAuth,
		"/%68ealthz":    web.Send,
	} {
		rec := httptest.NewRecorder()
		req := httptest.NewRequestWithContext(t.Context(), "GET", "http://x/", nil)
		req.URL, _ = url.Parse("http://x" + path)
		h.ServeHTTP(rec, req)
		if rec.Code != 404 {
			t.Errorf("%s: %d", path, rec.Code)
		}
		checkForm(t, d, 404, rec.Body.Bytes())
	}
}
