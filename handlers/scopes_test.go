package handlers

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

type opened struct {
	method, prefix string // an empty method matches all
	scopes         []string
}

// opens lists, for every route that accepts access tokens, the scopes of which each alone is enough. The first row with
// a matching method and path counts. A route without a row is an error, because no token could use it.
var opens = []opened{
	{"POST", "/api/auth/logout", nil}, // only ends the caller's own sign-in
	{"GET", "/api/user/profile", []string{core.ScopeOpenID, core.ScopeProfile, core.ScopeEmail}},
	{"", "/api/oauth/userinfo", []string{core.ScopeOpenID}},
	{"GET", "/api/newsletter/preferences", []string{core.ScopeEmail, core.ScopeListRead}},
	{"POST", "/api/newsletter/preferences", []string{core.ScopeEmail, core.ScopeEventsWrite}},
	{"GET", "/api/newsletter/subscriptions", []string{core.ScopeListRead}},
	{"POST", "/api/subscriptions/disable", []string{core.ScopeEventsWrite}},
	{"POST", "/api/api/subscriptions/disable", []string{core.ScopeEventsWrite}},
	{"", "/api/admin/", []string{core.ScopeAdmin}},
	{"POST", "/api/send-jobs/:id/preview", []string{core.ScopeSend, core.ScopeAdmin}},
	{"POST", "/api/send-jobs/:id/test", []string{core.ScopeSend, core.ScopeAdmin}},
	{"POST", "/api/send-jobs", []string{core.ScopeSend}},
	{"PATCH", "/api/send-jobs", []string{core.ScopeSend}},
	{"GET", "/api/send-jobs", []string{core.ScopeSend, core.ScopeAdmin}},
	{"", "/api/campaigns", []string{core.ScopeSend, core.ScopeAdmin}},
	{"", "/api/bulk-actions", []string{core.ScopeAdmin}},
	{"", "/api/segment", []string{core.ScopeSend, core.ScopeAdmin}},
	{"", "/api/tags", []string{core.ScopeSend, core.ScopeAdmin}},
	{"", "/api/media", []string{core.ScopeSend, core.ScopeAdmin}},
	{"", "/api/devices", []string{core.ScopeDevices}},
	{"", "/api/agents", []string{core.ScopeDevices}},
	{"GET", "/api/models", []string{core.ScopeModelsRead}},
	{"", "/api/models", []string{core.ScopeModelsWrite}},
}

// TestEveryRouteAsksForItsScope sends tokens of a client without scopes, with each single scope, and with all scopes to
// every route that requires a token. Only the scopes in the table above give access. The response to others names the
// scope.
func TestEveryRouteAsksForItsScope(t *testing.T) {
	h, err := New(Options{
		Store: storetest.Open(t),
		Bearer: func(_ context.Context, scopes string, _ core.Instant) (core.Caller, error) {
			return core.Caller{
				UserID: core.NewID(), ClientID: core.NewID(), ClientTenant: core.NewID(),
				Roles:  []core.Role{{Role: core.RoleOperator}},
				Scopes: strings.Split(scopes, "+"),
			}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	sets := append([]string{"nothing", strings.Join(core.AllScopes, "+")}, core.AllScopes...)
	for _, r := range h.Routes() {
		if !r.Info().NeedsToken {
			continue
		}
		row := slices.IndexFunc(opens, func(o opened) bool {
			return (o.method == "" || o.method == r.Method) && strings.HasPrefix(r.Path, o.prefix)
		})
		if row < 0 {
			t.Errorf("%s %s: no scope is known to open it", r.Method, r.Path)
			continue
		}
		want := opens[row].scopes
		for _, set := range sets {
			req := httptest.NewRequest(r.Method, realPath(r.Path), strings.NewReader("{"))
			req.Header.Set("Authorization", "Bearer "+set)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, req)
			refused := w.Code == 403 && strings.Contains(w.Body.String(), `"insufficient_scope"`)
			may := want == nil || slices.ContainsFunc(strings.Split(set, "+"),
				func(s string) bool { return slices.Contains(want, s) })
			if refused == may {
				t.Errorf("%s %s with %s: %d %s", r.Method, r.Path, set, w.Code, w.Body)
			}
			if challenge := w.Header().Get("WWW-Authenticate"); refused && !strings.HasSuffix(challenge, `scope="`+want[0]+`"`) {
				t.Errorf("%s %s: WWW-Authenticate is %q, wants %s", r.Method, r.Path, challenge, want[0])
			}
		}
	}
}

// TestEveryScopeIsInWords checks that the consent page shows what each scope allows.
func TestEveryScopeIsInWords(t *testing.T) {
	for _, scope := range core.AllScopes {
		for lang, w := range wordsOfPages() {
			if got := w.Scope(scope); got == scope || got == "" {
				t.Errorf("%s has no words in %s", scope, lang)
			}
		}
	}
}
