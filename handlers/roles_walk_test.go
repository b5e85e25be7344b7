package handlers

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/accesstest"
	"newsletterd/store/storetest"
)

// TestRolesWalk sends every caller to every route that requires a token, with the records of three tenants. The
// permissions decide who is let in. Records that a caller may not see are not found, and no response contains a word of
// a tenant in which the caller has no role. TestAccessWalk of cmd/newsletterd does the same with a running daemon.
func TestRolesWalk(t *testing.T) {
	if testing.Short() {
		t.Skip("many requests, which scenarios make one of each")
	}
	s := storetest.Seed(t, nil)
	w := &accesstest.Walk{TB: t, World: accesstest.NewWorld(s, ""), Seeder: s}
	w.Callers = w.World.Callers()
	callers := map[string]core.Caller{}
	for _, c := range w.Callers {
		callers[c.Name] = c.Caller
	}
	h, err := New(Options{
		Store: s.Store, PublicURL: "http://news.test",
		TestEndpoint: func(_ context.Context, _ string) (t core.EndpointTest, err error) { return t, nil },
		Bearer: func(_ context.Context, token string, _ core.Instant) (core.Caller, error) {
			if c := callers[token]; c.Known() {
				return c, nil
			}
			return core.Caller{}, core.ErrUnauthenticated
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range h.Routes() {
		if len(r.Info().Scopes) > 0 && !strings.HasPrefix(r.Path, "/api/oauth") && !strings.HasPrefix(r.Path, "/api/user") {
			w.Routes = append(w.Routes, r)
		}
	}
	w.Describe(h.Document("member"), h.Document("send"), h.Document("devices"))
	w.Send = func(c *accesstest.Caller, method, path, mediaType, body string) (int, string) {
		req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+c.Name)
		req.Header.Set("Content-Type", mediaType)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		return rec.Code, rec.Body.String()
	}
	w.Refused()
	for i := range w.Callers {
		if strings.HasPrefix(w.Callers[i].Name, core.RoleOperator+" of") && len(w.Callers[i].Scopes) == len(core.AllScopes) {
			w.Whole(&w.Callers[i])
			break
		}
	}
	w.Allowed()
	got := w.Answers()
	t.Logf("%d routes, %d callers, 3 tenants: answers by status %v", len(w.Routes), len(w.Callers), got)
	if got[200] == 0 || got[401] == 0 || got[403] == 0 || got[404] == 0 {
		t.Errorf("answers by status %v", got)
	}
}
