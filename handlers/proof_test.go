package handlers

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

// A user who signed in long ago can't remove the need for a second person, but can change other settings of the tenant,
// and can require a second person.
func TestASecondPersonIsGivenUpByAFreshSignIn(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("user ann tenant_admin=acme")
	put := func(body string, status int) {
		t.Helper()
		r := httptest.NewRequest("PUT", "/api/admin/tenants/"+e.value("acme"), strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+e.value("ann"))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		e.handler.ServeHTTP(w, r)
		if w.Code != status {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	old := e.callers[e.value("ann")]
	old.ProvedAt = core.At(time.Now()).Add(-core.ProofAge - time.Minute)
	e.callers[e.value("ann")] = old
	put(`{"approval": "second_person", "name": "Acme"}`, 200)
	put(`{"approval": "second_person", "name": "Acme Ltd"}`, 200)
	put(`{"approval": "none"}`, 401)
	old.ProvedAt = core.At(time.Now())
	e.callers[e.value("ann")] = old
	put(`{"approval": "none"}`, 200)
}

// The relays and sender domains of a tenant outlive the session of an operator who sets them.
func TestRelaysAndDomainsAskForAFreshSignIn(t *testing.T) {
	e := newEnv(t)
	e.step("tenant acme")
	e.step("user op operator")
	old := e.callers[e.value("op")]
	for path, bodies := range map[string][]string{
		"POST /api/admin/tenants": {
			`{"name": "B", "relays": [{"host": "relay.example", "port": 587}]}`, `{"name": "B", "domains": ["b.example"]}`,
		},
		"PUT /api/admin/tenants/" + e.value("acme"): {
			`{"relays": [{"host": "relay.example", "port": 587}]}`, `{"domains": ["c.example"]}`,
		},
	} {
		method, path, _ := strings.Cut(path, " ")
		for _, body := range bodies {
			// The same value needs no fresh sign-in.
			for _, age := range []time.Duration{core.ProofAge + time.Minute, time.Minute} {
				refused := age > core.ProofAge
				old.ProvedAt = core.At(time.Now()).Add(-age)
				e.callers[e.value("op")] = old
				r := httptest.NewRequest(method, path, strings.NewReader(body))
				r.Header.Set("Authorization", "Bearer "+e.value("op"))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				e.handler.ServeHTTP(w, r)
				if (w.Code == 401) != refused || !refused && w.Code >= 300 {
					t.Errorf("%s %s after %v: %d %s", method, body, age, w.Code, w.Body)
				}
			}
		}
	}
}

// Operations that require a fresh sign-in refuse an older one, with the error of RFC 9470. Operations that API clients
// use don't require it, and neither do tokens without a sign-in.
func TestOperationsThatAskForAFreshSignIn(t *testing.T) {
	e := unservedEnv(t, storetest.Open(t))
	now := core.At(time.Now())
	for name, at := range map[string]core.Instant{
		"fresh": now.Add(time.Minute - core.ProofAge), "old": now.Add(-core.ProofAge - time.Minute), "own": 0,
	} {
		e.callers[name] = core.Caller{
			UserID: core.NewID(), Scopes: core.AllScopes, Roles: []core.Role{{Role: core.RoleOperator}}, ProvedAt: at,
		}
	}
	asked := 0
	for _, r := range e.handler.Routes() {
		if !r.Info().NeedsToken {
			continue
		}
		asks := e.asksForProof(r)
		if asks {
			asked++
		}
		for name := range e.callers {
			req := httptest.NewRequest(r.Method, strings.NewReplacer(":id", core.NewID(), ":", "").Replace(r.Path), nil)
			req.Header.Set("Authorization", "Bearer "+name)
			w := httptest.NewRecorder()
			e.handler.ServeHTTP(w, req)
			refused := w.Code == 401 && strings.Contains(w.Body.String(), `"insufficient_user_authentication"`)
			if want := asks && name == "old"; refused != want {
				t.Errorf("%s %s with a sign-in that is %s: %d %s", r.Method, r.Path, name, w.Code, w.Body)
			}
			const challenge = `Bearer realm="newsletterd", error="insufficient_user_authentication", error_description=` +
				`"Sign in again to do this. The last sign-in must be at most 15 minutes old.", max_age="900"`
			if got := w.Header().Get("WWW-Authenticate"); refused && got != challenge {
				t.Error(r.Path, got)
			}
		}
	}
	if asked < 50 {
		t.Error("only", asked, "operations ask")
	}
}
