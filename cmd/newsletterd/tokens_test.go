package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core/coretest"
)

// tokenAnswer is a response of the token endpoint.
type tokenAnswer struct {
	status        int
	cache, pragma string // headers
	Access        string `json:"access_token"`
	Refresh       string `json:"refresh_token"`
	ID            string `json:"id_token"`
	Error         string `json:"error"`
}

// logIn signs ann@example.org in.
func logIn(d *running) (a tokenAnswer) {
	d.Helper()
	d.Send("POST", "/api/auth/login", url.Values{
		"grant_type": {"password"}, "username": {"ann@example.org"}, "password": {daemontest.Password},
		"scope": {"openid email"},
	}).OK().JSON(&a)
	return a
}

// TestForgedTokens checks that any invalid token gets a 401 and the same challenge (RFC 6750 section 3, RFC 8725
// section 3, RFC 9068 section 4).
func TestForgedTokens(t *testing.T) {
	daemontest.Parallel(t)
	d := start(t, nil)
	d.addUser("ann@example.org")
	good := logIn(d)
	profileWith := func(token string) (status int, challenge string) {
		t.Helper()
		r := d.As(token).Get("/api/user/profile")
		return r.StatusCode, r.Header.Get("WWW-Authenticate")
	}
	if status, _ := profileWith(good.Access); status != http.StatusOK {
		t.Fatalf("a good token: %d", status)
	}
	keys, err := d.store.SigningKeys(t.Context(), now())
	if err != nil {
		t.Fatal(err)
	}
	var key *ecdsa.PrivateKey
	kid := ""
	for _, k := range keys {
		if private, err := x509.ParsePKCS8PrivateKey(k.Private); err == nil && k.Alg == "ES256" {
			key, kid = private.(*ecdsa.PrivateKey), k.KID
		}
	}
	foreign, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	public, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(good.Access, ".")
	var claims map[string]any
	payload, _ := base64.RawURLEncoding.DecodeString(parts[1])
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Fatal(err)
	}
	with := func(name string, value any) map[string]any {
		c := maps.Clone(claims)
		if c[name] = value; value == nil {
			delete(c, name)
		}
		return c
	}
	forge := func(alg jose.SignatureAlgorithm, key any, kid, typ string, claims map[string]any) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key},
			(&jose.SignerOptions{}).WithType(jose.ContentType(typ)).WithHeader("kid", kid))
		if err != nil {
			t.Fatal(err)
		}
		b, _ := json.Marshal(claims)
		jws, err := signer.Sign(b)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := jws.CompactSerialize()
		return s
	}
	const typ = "at+jwt"
	if status, _ := profileWith(forge(jose.ES256, key, kid, typ, with("jti", "x"))); status != http.StatusOK {
		t.Fatalf("a token made as ours are: %d", status)
	}
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt","kid":"` + kid + `"}`))
	for name, token := range map[string]string{
		"forged":                forge(jose.ES256, foreign, kid, typ, claims),
		"expired":               forge(jose.ES256, key, kid, typ, with("exp", time.Now().Add(-time.Minute).Unix())),
		"alg none":              none + "." + parts[1] + ".",
		"HS256 with public key": forge(jose.HS256, public, kid, typ, claims),
		"foreign kid":           forge(jose.ES256, foreign, "foreign", typ, claims),
		"id token":              good.ID,
		"refresh token":         good.Refresh,
		"wrong iss":             forge(jose.ES256, key, kid, typ, with("iss", "https://evil.example")),
		"wrong aud":             forge(jose.ES256, key, kid, typ, with("aud", "https://evil.example")),
		"wrong typ":             forge(jose.ES256, key, kid, "JWT", claims),
		"missing exp":           forge(jose.ES256, key, kid, typ, with("exp", nil)),
		"no token at all":       "x",
	} {
		if status, challenge := profileWith(token); status != http.StatusUnauthorized ||
			challenge != `Bearer realm="newsletterd", error="invalid_token"` {
			t.Errorf("%s: %d, WWW-Authenticate %q", name, status, challenge)
		}
	}
	if status, challenge := profileWith(""); status != http.StatusUnauthorized ||
		challenge != `Bearer realm="newsletterd"` {
		t.Errorf("no token: %d, WWW-Authenticate %q", status, challenge)
	}
}

// TestParallelRefreshes uses one refresh token twelve times in parallel. It must have only one successor. Using it
// again after the grace period ends the family.
func TestParallelRefreshes(t *testing.T) {
	daemontest.Parallel(t)
	tried := 0
	defer coretest.Held(t, 18, &tried, "uses of a refresh token at once")
	d := start(t, func(c *config.Config) { c.Auth.RefreshGrace = config.Duration(time.Second) })
	d.addUser("ann@example.org")
	first := logIn(d)
	refresh := func(token string) (a tokenAnswer) {
		r := d.Send("POST", "/api/auth/refresh", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token}})
		r.JSON(&a)
		a.status, a.cache, a.pragma = r.StatusCode, r.Header.Get("Cache-Control"), r.Header.Get("Pragma")
		return a
	}
	for round := range 3 {
		answers := make([]tokenAnswer, 12)
		var wg sync.WaitGroup
		for i := range answers {
			tried++
			wg.Go(func() { answers[i] = refresh(first.Refresh) })
		}
		wg.Wait()
		successors := map[string]bool{}
		for _, a := range answers {
			if a.status >= 500 || (a.status != http.StatusOK && a.Error != "invalid_grant") {
				t.Errorf("round %d: %d %s", round, a.status, a.Error)
			}
			if a.Refresh != "" {
				successors[a.Refresh] = true
			}
			if a.cache != "no-store" || a.pragma != "no-cache" {
				t.Errorf("Cache-Control %q, Pragma %q", a.cache, a.pragma)
			}
		}
		if len(successors) != 1 {
			t.Fatalf("round %d: %d successors", round, len(successors))
		}
		old := first.Refresh
		for s := range successors {
			first = refresh(s)
		}
		// The successor was used, so the old token is now a replay even within the grace period.
		if round == 2 {
			if a := refresh(old); a.status != http.StatusBadRequest || a.Error != "invalid_grant" {
				t.Errorf("replay: %d %s", a.status, a.Error)
			}
			if a := refresh(first.Refresh); a.status != http.StatusBadRequest {
				t.Errorf("the family outlived the replay: %d", a.status)
			}
			d.As(first.Access).Get("/api/user/profile").Wants(http.StatusUnauthorized)
		}
	}
}

// TestManyLoginsAtOnce checks that many parallel logins use memory only for as many hashes as there are cores, 19 MiB
// each. The 128 MiB allow for connections and garbage; hashes for all 200 logins would take 3.7 GiB. The other logins
// wait or come back later.
func TestManyLoginsAtOnce(t *testing.T) {
	if daemontest.RaceEnabled {
		t.Skip("SKIPPED: under the race detector memory says nothing; `make test` measures it")
	}
	f := daemontest.New(t)
	n := 200
	f.People(n)
	f.Serve()
	defer f.Stop()
	logIn := func(i int) (status int, retry string) {
		form := url.Values{"grant_type": {"password"}, "username": {daemontest.Person(i)}, "password": {daemontest.Password}}
		res, err := f.HTTP.PostForm(f.URL+"/api/auth/login", form)
		if err != nil {
			t.Error(err)
			return 0, ""
		}
		defer res.Body.Close()
		_, _ = io.Copy(io.Discard, res.Body)
		return res.StatusCode, res.Header.Get("Retry-After")
	}
	before := daemontest.Resident(f.PID())
	daemontest.Usage(f.PID()) // resets the peak
	var mu sync.Mutex
	counts := map[int]int{}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			status, retry := logIn(i)
			mu.Lock()
			defer mu.Unlock()
			counts[status]++
			if status != http.StatusOK && status != http.StatusTooManyRequests && status != http.StatusServiceUnavailable ||
				status != http.StatusOK && retry == "" {
				t.Errorf("status %d, Retry-After %q", status, retry)
			}
		})
	}
	wg.Wait()
	_, peak := daemontest.Usage(f.PID())
	if before == 0 {
		t.Skip("SKIPPED: no /proc here, so the memory is not measured")
	}
	grown, most := (peak-before)>>20, int64(runtime.GOMAXPROCS(0)*19+128)
	t.Logf("%v, memory grew by %d MiB of %d", counts, grown, most)
	if grown > most {
		t.Errorf("memory grew by %d MiB, more than %d", grown, most)
	}
	coretest.Held(t, 22, new(n), fmt.Sprintf("logins at once; memory grew by %d MiB of %d", grown, most))
}
