package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
)

// load runs 8 workers for a while; each has a function that makes its next request of the answer to its last.
func (f *figures) load(name string, goal float64, worker func(i int) func(answer tokenAnswer) []byte) {
	f.Helper()
	const workers, warm = 8, time.Second / 2
	long := atMost(f, 4*time.Second, time.Second/4)
	var done, failed atomic.Int64
	var counting, over atomic.Bool
	var wg sync.WaitGroup
	for i := range workers {
		next := worker(i)
		c := f.Dial()
		wg.Go(func() {
			defer c.Close()
			var a tokenAnswer
			for !over.Load() {
				status, body, err := c.Do(next(a))
				if err != nil {
					failed.Add(1)
					return
				}
				if a = (tokenAnswer{status: status}); bytes.HasPrefix(body, []byte(`{"access_token"`)) {
					_ = json.Unmarshal(body, &a)
				}
				if status != http.StatusOK {
					failed.Add(1)
				}
				if counting.Load() {
					done.Add(1)
				}
			}
		})
	}
	<-time.After(warm)
	daemon, generator := daemontest.CPU(f.PID()), daemontest.CPU(os.Getpid())
	counting.Store(true)
	began := time.Now()
	<-time.After(long)
	counting.Store(false)
	took := time.Since(began)
	daemon, generator = daemontest.CPU(f.PID())-daemon, daemontest.CPU(os.Getpid())-generator
	over.Store(true)
	wg.Wait()
	n := float64(done.Load())
	f.Line(name, "%.0f/s (goal %.0f), %d failed; µs of CPU a request: %.0f, load generator %.0f", n/took.Seconds(), goal,
		failed.Load(),
		float64(daemon.Microseconds())/n, float64(generator.Microseconds())/n)
	if failed.Load() > 0 {
		f.Errorf("%s: %d requests failed", name, failed.Load())
	}
}

// TestFiguresOfIdentity prints the figures of the identity part: requests a second of 8 workers, the load generator
// running on the same machine.
func TestFiguresOfIdentity(t *testing.T) {
	if os.Getenv(figuresEnv) == "" {
		t.Skip("make bench")
	}
	f := newFigures(t)
	client := func(alg string) core.ClientInput {
		return core.ClientInput{
			Name: new("bench"), ClientType: new(core.ClientConfidential), IDTokenAlg: &alg,
			Scopes: &[]string{"openid", "profile", "email", "offline_access", "newsletter:send"},
		}
	}
	clients := f.People(8, client("RS256"), client("ES256"))
	f.Serve()
	defer f.Stop()
	constant := func(r []byte) func(int) func(tokenAnswer) []byte {
		return func(int) func(tokenAnswer) []byte { return func(tokenAnswer) []byte { return r } }
	}
	f.load("discovery", 25000, constant(daemontest.Request("GET", "/api/.well-known/openid-configuration", "", "")))
	f.load("key set", 25000, constant(daemontest.Request("GET", "/api/.well-known/jwks.json", "", "")))
	logIn := func(i int, c [2]string) tokenAnswer {
		form := url.Values{"grant_type": {"password"}, "username": {daemontest.Person(i)}, "password": {daemontest.Password}}
		if c[0] != "" {
			form.Set("client_id", c[0])
			form.Set("client_secret", c[1])
		}
		status, body, err := f.Dial().Do(daemontest.Request("POST", "/api/auth/login", "", form.Encode()))
		f.Must(err)
		a := tokenAnswer{status: status}
		f.Must(json.Unmarshal(body, &a))
		if status != http.StatusOK {
			f.Must(errors.New(string(body)))
		}
		return a
	}
	f.load("profile", 15000, constant(daemontest.Request("GET", "/api/user/profile", logIn(0, [2]string{}).Access, "")))
	for i, alg := range []string{"RS256", "ES256"} {
		c := clients[i]
		f.load("refresh, id token "+alg, []float64{1200, 3000}[i], func(i int) func(tokenAnswer) []byte {
			token := logIn(i, c).Refresh
			return func(a tokenAnswer) []byte {
				if a.Refresh != "" {
					token = a.Refresh
				}
				return daemontest.Request("POST", "/api/oauth/token", "", "grant_type=refresh_token&client_id="+c[0]+
					"&client_secret="+c[1]+
					"&refresh_token="+token)
			}
		})
	}
	f.load("client_credentials", 5000,
		constant(daemontest.Request("POST", "/api/oauth/token", "", "grant_type=client_credentials&client_id="+clients[1][0]+
			"&client_secret="+clients[1][1])))
	f.load("password login", 60, func(i int) func(tokenAnswer) []byte {
		form := url.Values{
			"grant_type": {"password"}, "username": {daemontest.Person(i)},
			"password": {daemontest.Password},
		}.Encode()
		return func(tokenAnswer) []byte { return daemontest.Request("POST", "/api/auth/login", "", form) }
	})
}
