package handlers

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

// What asks for a fresh sign-in refuses an older one, and says so as RFC 9470 has it; what programs of the first API
// call asks nothing, and tokens without a sign-in are never asked.
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
	never := []string{
		"POST /api/send-jobs", "POST /api/send-jobs/:id/cancel", "POST /api/send-jobs/:id/pause",
		"POST /api/campaigns/:id/undo", "POST /api/campaigns/:id/reject",
	}
	asked := 0
	for _, r := range e.handler.Routes() {
		info := r.Info()
		if !info.NeedsToken {
			continue
		}
		asks := info.Action.AsksProof(r.Method == "GET" && !strings.HasSuffix(r.Path, "/export")) && !slices.Contains(never, r.Method+" "+r.Path)
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
				`"This needs a sign-in of the last 15 minutes: sign in again.", max_age="900"`
			if got := w.Header().Get("WWW-Authenticate"); refused && got != challenge {
				t.Error(r.Path, got)
			}
		}
	}
	if asked < 6 {
		t.Error("only", asked, "operations ask")
	}
}
