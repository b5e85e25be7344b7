package handlers

import (
	"fmt"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"newsletterd/store/db/dbtest"
)

// The API and the form share one counter, as do the addresses of one household. Malformed requests don't count.
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

// If a trusted proxy is in front, each client is counted by its own address, however the proxy writes it.
func TestSubscribeLimitBehindAProxy(t *testing.T) {
	e := unservedEnv(t, newEnv(t).store)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	o := e.handler.options
	o.PublicURL, o.Newsletter.SubscribePerAddress = "https://news.example", 3
	o.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	h, err := New(o)
	e.must(err)
	ask := func(i int, forwarded string) int {
		req := httptest.NewRequest("POST", "/api/newsletter/subscribe",
			strings.NewReader(fmt.Sprintf(`{"list_id": %q, "email": "p%d@user.example"}`, e.value("weekly"), i)))
		req.Header.Set("Content-Type", jsonType)
		req.Header.Set("X-Forwarded-For", forwarded)
		req.RemoteAddr = "127.0.0.1:1"
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		return rec.Code
	}
	for _, form := range []string{"203.0.113.%d:5000%[1]d", "[2001:db8:%d::1]:5000%[1]d", "[2001:db8:a%d::1]", `"198.51.100.%d:443"`, "192.0.2.%d, "} {
		for i := 1; i <= 8; i++ {
			if from := fmt.Sprintf(form, i); ask(i, from) != 200 {
				t.Errorf("%s is refused", from)
			}
		}
	}
	for i, from := range []string{"203.0.113.1:1", `"203.0.113.1"`, "203.0.113.1:2"} { // the first request was above
		if got := ask(i, from); got != map[bool]int{true: 200, false: 429}[i < 2] {
			t.Errorf("%s, the %d. of one address: %d", from, i+2, got)
		}
	}
}

// Limits per origin address apply to everything that strangers can request and that writes a row for each new address:
// password resets through the API and the page together, and unsubscribe tokens.
func TestLimitsOfWhatStrangersWrite(t *testing.T) {
	e := unservedEnv(t, newEnv(t).store)
	e.step("tenant acme")
	e.step("list weekly tenant=acme")
	o := e.handler.options
	o.PublicURL, o.Newsletter.SubscribePerAddress = "http://news.test", 4
	h, err := New(o)
	e.must(err)
	throttled := func() int { return dbtest.Count(e.store.DB, "SELECT count(*) FROM throttle") }
	asked := 0
	ask := func(from, path string) *httptest.ResponseRecorder {
		asked++
		media, body := jsonType, fmt.Sprintf(`{"list_id": %q, "email": "w%d@user.example"}`, e.value("weekly"), asked)
		switch path {
		case "/api/auth/password/forgot":
			body = fmt.Sprintf(`{"email": "w%d@user.example"}`, asked)
		case "/password/forgot":
			media, body = formType, fmt.Sprintf("email=w%d%%40user.example", asked)
		}
		req := httptest.NewRequest("POST", path, strings.NewReader(body))
		req.Header.Set("Content-Type", media)
		req.RemoteAddr = from + ":1"
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		return rec
	}
	for _, tt := range []struct {
		paths []string
		most  int
	}{
		{[]string{"/api/auth/password/forgot", "/password/forgot"}, forgotPerAddress},
		{[]string{"/api/newsletter/unsubscribe-token"}, 4},
	} {
		before := throttled()
		for i := range tt.most {
			if rec := ask("192.0.2.1", tt.paths[i%len(tt.paths)]); rec.Code >= 300 {
				t.Fatalf("%s, the %d. request: %d %s", tt.paths, i+1, rec.Code, rec.Body)
			}
		}
		if n := throttled() - before; n != tt.most {
			t.Errorf("%s: %d rows of %d requests", tt.paths, n, tt.most)
		}
		for range 3 {
			for _, path := range tt.paths {
				rec := ask("192.0.2.1", path)
				if wait, _ := strconv.Atoi(rec.Header().Get("Retry-After")); rec.Code != 429 || wait < 1 || wait > 901 {
					t.Errorf("%s beyond the limit: %d, Retry-After %d", path, rec.Code, wait)
				}
			}
		}
		if n := throttled() - before; n != tt.most {
			t.Errorf("%s: those refused have left rows: %d", tt.paths, n)
		}
		if rec := ask("192.0.2.2", tt.paths[0]); rec.Code >= 300 {
			t.Errorf("%s from elsewhere: %d %s", tt.paths, rec.Code, rec.Body)
		}
	}
}
