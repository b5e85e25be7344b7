package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/core"
)

// TestFiguresOfIdentity prints how many requests about identities the daemon serves a second, with 8 workers. The load
// generator runs on the same machine.
func TestFiguresOfIdentity(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench")
	}
	f := figurestest.New(t)
	client := func(alg string) core.ClientInput {
		return core.ClientInput{
			Name: new("bench"), ClientType: new(core.ClientConfidential), IDTokenAlg: &alg,
			Scopes: &[]string{"openid", "profile", "email", "offline_access", "newsletter:send"},
		}
	}
	clients := f.People(8, client("RS256"), client("ES256"))
	f.Serve()
	defer f.Stop()
	constant := func(r []byte) func(int) func(figurestest.Answer) []byte {
		return func(int) func(figurestest.Answer) []byte { return func(figurestest.Answer) []byte { return r } }
	}
	f.Load("discovery", 25000, constant(daemontest.Request("GET", "/api/.well-known/openid-configuration", "", "")))
	f.Load("key set", 25000, constant(daemontest.Request("GET", "/api/.well-known/jwks.json", "", "")))
	logIn := func(i int, c [2]string) figurestest.Answer {
		form := url.Values{"grant_type": {"password"}, "username": {daemontest.Person(i)}, "password": {daemontest.Password}}
		if c[0] != "" {
			form.Set("client_id", c[0])
			form.Set("client_secret", c[1])
		}
		status, body, err := f.Dial().Do(daemontest.Request("POST", "/api/auth/login", "", form.Encode()))
		f.Must(err)
		a := figurestest.Answer{Status: status}
		f.Must(json.Unmarshal(body, &a))
		if status != http.StatusOK {
			f.Must(errors.New(string(body)))
		}
		return a
	}
	f.Load("profile", 15000, constant(daemontest.Request("GET", "/api/user/profile", logIn(0, [2]string{}).Access, "")))
	for i, alg := range []string{"RS256", "ES256"} {
		c := clients[i]
		f.Load("refresh, id token "+alg, []float64{1200, 3000}[i], func(i int) func(figurestest.Answer) []byte {
			token := logIn(i, c).Refresh
			return func(a figurestest.Answer) []byte {
				if a.Refresh != "" {
					token = a.Refresh
				}
				return daemontest.Request("POST", "/api/oauth/token", "", "grant_type=refresh_token&client_id="+c[0]+
					"&client_secret="+c[1]+
					"&refresh_token="+token)
			}
		})
	}
	f.Load("client_credentials", 5000,
		constant(daemontest.Request("POST", "/api/oauth/token", "",
			"grant_type=client_credentials&client_id="+clients[1][0]+
				"&client_secret="+clients[1][1])))
	f.Load("password login", 60, func(i int) func(figurestest.Answer) []byte {
		form := url.Values{
			"grant_type": {"password"}, "username": {daemontest.Person(i)},
			"password": {daemontest.Password},
		}.Encode()
		return func(figurestest.Answer) []byte { return daemontest.Request("POST", "/api/auth/login", "", form) }
	})
}
