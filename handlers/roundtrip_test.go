package handlers

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/accesstest"
	"newsletterd/store/storetest"
)

// TestWhatIsShownCanBeSentBack checks, for each record that can be changed, that PUT or PATCH accepts the unchanged
// response of GET. This changes nothing, not even the time of the last change, and adds no entry to the audit log.
func TestWhatIsShownCanBeSentBack(t *testing.T) {
	s := storetest.Seed(t, nil)
	tenant := accesstest.NewWorld(s, "").Tenants[0]
	operator := core.Caller{
		UserID: core.NewID(), Roles: []core.Role{{Role: core.RoleOperator}}, EmailVerified: true, FirstParty: true,
		Scopes: core.AllScopes,
	}
	owner := operator
	owner.UserID = tenant.Owner
	h, err := New(Options{
		Store: s.Store, PublicURL: "http://news.test",
		Bearer: func(_ context.Context, token string, _ core.Instant) (core.Caller, error) {
			if token == "owner" {
				return owner, nil
			}
			return operator, nil
		},
	})
	s.Must(err)
	ask := func(method, path, body string) (int, string) {
		req := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer operator")
		if tenant.Records[path[:strings.LastIndex(path, "/")]].Seen == "" {
			req.Header.Set("Authorization", "Bearer owner")
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("If-Match", "*")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		return rec.Code, rec.Body.String()
	}
	entries := func() int {
		_, body := ask("GET", "/api/admin/audit", "")
		return strings.Count(body, `"action"`)
	}
	shown := map[string]bool{}
	for _, r := range h.Routes() {
		shown[r.Method+" "+r.Path] = true
	}
	tried := 0
	for _, r := range h.Routes() {
		if r.Method != "PUT" && r.Method != "PATCH" || !shown["GET "+r.Path] {
			continue
		}
		if r.Path == "/api/send-jobs/:id" { // only its times can be changed
			continue
		}
		record, ok := tenant.Records[r.Path[:strings.LastIndex(r.Path, "/")]]
		if !ok {
			continue
		}
		tried++
		t.Run(r.Method+" "+r.Path, func(t *testing.T) {
			path := r.Path[:strings.LastIndex(r.Path, "/")+1] + record.ID
			above, _, _ := strings.Cut(r.Path, "/:id")
			path = strings.Replace(path, ":id", tenant.Records[above].ID, 1)
			status, before := ask("GET", path, "")
			if status != 200 {
				t.Fatalf("GET answers %d %s", status, before)
			}
			n := entries()
			status, answer := ask(r.Method, path, before)
			if status != 200 {
				t.Fatalf("what GET answers is refused: %d %s of %s", status, answer, before)
			}
			if got := entries(); got != n {
				t.Errorf("%d entries of the audit trail were added", got-n)
			}
			if _, after := ask("GET", path, ""); after != before {
				t.Errorf("it has changed:\n%s\n%s", before, after)
			}
			var was, is map[string]any
			s.Must(json.Unmarshal([]byte(before), &was), json.Unmarshal([]byte(answer), &is))
			for key, value := range is {
				if text, ok := value.(string); ok && text != was[key] {
					t.Errorf("%s is answered as %v, and was %v", key, value, was[key])
				}
			}
		})
	}
	if tried < 12 {
		t.Errorf("%d kinds of records", tried)
	}
}
