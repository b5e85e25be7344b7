package web

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/web/webtest"
)

type echoIn struct {
	Name  string     `json:"name" is:"required"`
	Email core.Email `json:"email"`
	Kind  string     `json:"kind" enum:"a|b"`
	Ref   string     `json:"ref" is:"uuid"`
	N     *int       `json:"n"`
	Sub   struct {
		At core.Instant `json:"at"`
	} `json:"sub"`
}

// lineOf returns a route as Table.Add creates it.
func lineOf(method, path string, who Access, d Dialect, do Endpoint, summary string) *Route {
	return new(Table).Add(method, path, who, d, do, summary)
}

func TestFrame(t *testing.T) {
	echo := func(_ *Call, in echoIn) (echoIn, error) { return in, nil }
	url := webtest.Start(t, Server(bare(t,
		lineOf("POST", "/api/echo", Public(), Member, JSON(echo), "Echo"),
		lineOf("POST", "/api/send-jobs", Bearer(core.ScopeSend), Send, JSON(echo).Created(), "Send"),
		lineOf("POST", "/api/admin/x", Bearer(core.ScopeAdmin), Member, JSON(echo), "Admin"),
		lineOf(
			"GET", "/api/models/library", Public(), Device, Get(func(*Call) (string, error) { return "library", nil }),
			"Library",
		),
		lineOf(
			"GET", "/api/models/:id/profile", Public(), Device,
			Path(func(_ *Call, id string) (string, error) { return id, nil }), "Profile",
		),
		lineOf(
			"GET", "/api/confirm", Public(), Member, Get(func(*Call) (None, error) { return None{}, nil }).Changes(),
			"Confirm",
		),
		lineOf("GET", "/api/panic", Public(), Member, Get(func(*Call) (None, error) { panic("boom") }), "Panic"),
		lineOf("POST", "/api/oauth/token", Public(), OAuth, Form(func(_ *Call, in struct {
			Grant string `form:"grant_type,required"`
		},
		) (string, error) {
			return in.Grant, nil
		}), "Token"),
	)))
	const id = "0190163d-8694-739b-aea5-966c26f8ad90"
	for _, tt := range []struct {
		name, method, path, token, body string
		status                          int
		want                            string
	}{
		{
			"good", "POST", "/api/echo", "", `{"name":"x","email":"A@b.co","sub":{"at":"2026-01-01T00:00:00+01:00"}}`, 200,
			`"email":"A@b.co"`,
		},
		{
			"instant", "POST", "/api/echo", "", `{"name":"x","sub":{"at":"2026-01-01T00:00:00+01:00"}}`, 200,
			`"at":"2025-12-31T23:00:00.000Z"`,
		},
		{"missing", "POST", "/api/echo", "", `{}`, 400, `"message":"name is missing.","field":"name"`},
		{"null is absent", "POST", "/api/echo", "", `{"name":null}`, 400, `"field":"name"`},
		{"type", "POST", "/api/echo", "", `{"name":1}`, 400, `"message":"name must be a string.","field":"name"`},
		{"nested type", "POST", "/api/echo", "", `{"name":"x","sub":{"at":1}}`, 400, `"field":"sub.at"`},
		{"email", "POST", "/api/echo", "", `{"name":"x","email":"b.co"}`, 400, `"error":"invalid_email"`},
		{"enum", "POST", "/api/echo", "", `{"name":"x","kind":"c"}`, 400, `kind must be one of a, b.`},
		{"uuid", "POST", "/api/echo", "", `{"name":"x","ref":"c"}`, 400, `ref must be a UUID.`},
		{"duplicate", "POST", "/api/echo", "", `{"name":"x","name":"y"}`, 400, `"error":"invalid_json"`},
		{"empty", "POST", "/api/echo", "", ``, 400, `"error":"invalid_json"`},
		{"array", "POST", "/api/echo", "", `[]`, 400, `must be a JSON object`},
		{
			"large", "POST", "/api/echo", "", `{"name":"` + strings.Repeat("x", 70000) + `"}`, 413,
			`"error":"payload_too_large"`,
		},
		{"no token", "POST", "/api/send-jobs", "", `{`, 401, `"error":"unauthorized"`},
		{"bad token", "POST", "/api/send-jobs", "bad", `{`, 401, `"error":"unauthorized"`},
		{"scope", "POST", "/api/admin/x", "good", `{`, 403, `"error":"insufficient_scope"`},
		{"send invalid", "POST", "/api/send-jobs", "good", `{`, 422, `"error":"validation_error"`},
		{"send field", "POST", "/api/send-jobs", "good", `{"name":1}`, 422, `"reason":"name"`},
		{"created", "POST", "/api/send-jobs", "good", `{"name":"x"}`, 201, `"name":"x"`},
		{"literal", "GET", "/api/models/library", "", "", 200, `"library"`},
		{"parameter", "GET", "/api/models/" + strings.ToUpper(id) + "/profile", "", "", 200, id},
		{"no uuid", "GET", "/api/models/7/profile", "", "", 404, `"code":"not_found"`},
		{"empty parameter", "GET", "/api/models//profile", "", "", 404, `"code":"not_found"`},
		{"slash", "GET", "/api/models/library/", "", "", 404, `"code":"not_found"`},
		{"case", "GET", "/api/Echo", "", "", 404, `"error":"not_found"`},
		{"escaped", "GET", "/api/models/%6cibrary", "", "", 404, `"error":"not_found"`},
		{"method", "PUT", "/api/models/library", "", "", 405, `"error":"method_not_allowed"`},
		{"options", "OPTIONS", "/api/models/library", "", "", 405, `"error":"method_not_allowed"`},
		{"options of all", "OPTIONS", "*", "", "", 404, `"error":"not_found"`},
		{"head", "HEAD", "/api/models/library", "", "", 200, ``},
		{"head of a change", "HEAD", "/api/confirm", "", "", 405, ``},
		{"no content", "GET", "/api/confirm", "", "", 204, ``},
		{"panic", "GET", "/api/panic", "", "", 500, `"error":"internal"`},
		{"form", "POST", "/api/oauth/token", "", "grant_type=password", 200, `"password"`},
		{"form twice", "POST", "/api/oauth/token", "", "grant_type=a&grant_type=b", 400, `"error":"invalid_request"`},
		{"form empty", "POST", "/api/oauth/token", "", "grant_type=", 400, `"error_description":"grant_type is missing."`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, _ := http.NewRequestWithContext(t.Context(), tt.method, url+strings.TrimPrefix(tt.path, "*"),
				strings.NewReader(tt.body))
			if tt.token != "" {
				req.Header.Set("Authorization", "Bearer "+tt.token)
			}
			req.Header.Set("Content-Type", "application/json")
			if tt.path == "*" {
				req.URL.Path, req.URL.Opaque = "", "*"
			}
			if strings.Contains(tt.path, "oauth") {
				req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			b, _ := io.ReadAll(res.Body)
			if res.StatusCode != tt.status || !strings.Contains(string(b), tt.want) {
				t.Errorf("%d %s, want %d with %s", res.StatusCode, b, tt.status, tt.want)
			}
			if res.Header.Get("X-Request-Id") == "" || res.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("headers %v", res.Header)
			}
			if tt.status == 401 && res.Header.Get("WWW-Authenticate") == "" {
				t.Error("no WWW-Authenticate")
			}
			if tt.status == 405 && res.Header.Get("Allow") == "" {
				t.Error("no Allow")
			}
		})
	}
}
