package segments

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/storetest"
)

// room returns a Room with a list, and a function that requests a count as a publisher of the list's tenant.
func room(t *testing.T) (r *Room, count func(ctx context.Context) *httptest.ResponseRecorder) {
	s := storetest.Seed(t, nil)
	tenant := s.NewTenant()
	list := s.NewList(func(in *core.ListInput) { in.TenantID = &tenant.ID })
	s.Readers(list, 3)
	r = &Room{Store: s.Store}
	var table web.Table
	r.Routes(&table)
	h, err := web.New(web.Options{
		Store: s.Store,
		Bearer: func(context.Context, string, core.Instant) (core.Caller, error) {
			return core.Caller{
				UserID: core.NewID(), FirstParty: true, Scopes: core.AllScopes,
				Roles: []core.Role{{Role: core.RolePublisher, TenantID: tenant.ID}},
			}, nil
		},
	}, table)
	if err != nil {
		t.Fatal(err)
	}
	return r, func(ctx context.Context) *httptest.ResponseRecorder {
		req := httptest.NewRequestWithContext(ctx, "POST", "/api/segment-count",
			strings.NewReader(`{"list_ids": ["`+list.ID+`"], "rule": {"not": {"domain": "none.example"}}}`))
		req.Header.Set("Authorization", "Bearer x")
		req.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		return rec
	}
}

// Two requests can evaluate rules at a time. Other requests wait a moment and are then asked to try again later.
func TestEvaluationsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, count := room(t)
		r.turns <- struct{}{}
		if rec := count(t.Context()); rec.Code != 200 || !strings.Contains(rec.Body.String(), `"exact":3`) {
			t.Fatalf("with one at work: %d %s", rec.Code, rec.Body)
		}
		r.turns <- struct{}{}
		rec := count(t.Context())
		var said web.ErrorBody
		if err := json.Unmarshal(rec.Body.Bytes(), &said); err != nil || rec.Code != 503 || said.Error != "busy" ||
			rec.Header().Get("Retry-After") == "" {
			t.Errorf("with two at work: %d %v %s", rec.Code, rec.Header(), rec.Body)
		}
		time.AfterFunc(turnWait/2, func() { <-r.turns })
		if rec := count(t.Context()); rec.Code != 200 {
			t.Errorf("when one has ended: %d %s", rec.Code, rec.Body)
		}
		ctx, leave := context.WithCancel(t.Context())
		leave()
		if rec := count(ctx); rec.Code == 200 {
			t.Errorf("a client that has gone: %d %s", rec.Code, rec.Body)
		}
		<-r.turns
		if n := len(r.turns); n != 0 {
			t.Errorf("%d turns are still taken", n)
		}
	})
}
