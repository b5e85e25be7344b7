package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// A table of routes becomes a handler. The tags of a struct define what a request must contain.
func ExampleNew() {
	type greeting struct {
		Name  string `json:"name" is:"required"`
		Times int    `json:"times"`
	}
	greet := func(_ *web.Call, in greeting) (greeting, error) {
		in.Times++
		return in, nil
	}
	var t web.Table
	t.Add("POST", "/api/greetings", web.Public(), web.Member, web.JSON(greet).Created(), "Greet")
	t.Add("POST", "/api/send-jobs", web.Bearer(core.ScopeSend), web.Send, web.JSON(greet), "Send")
	h, err := web.New(web.Options{
		Bearer: func(_ context.Context, token string, _ core.Instant) (core.Caller, error) {
			if token != "good" {
				return core.Caller{}, core.ErrUnauthenticated
			}
			return core.Caller{UserID: core.NewID(), Scopes: []string{core.ScopeSend}}, nil
		},
	}, t)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range []struct{ path, body string }{
		{"/api/greetings", `{"name": "Ann"}`},
		{"/api/greetings", `{}`},
		{"/api/send-jobs", `{"name": "Ann"}`},
	} {
		req := httptest.NewRequest(http.MethodPost, r.path, strings.NewReader(r.body))
		req.Header.Set("Content-Type", "application/json")
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		body, _, _ := strings.Cut(strings.TrimSpace(rec.Body.String()), `,"request_id"`)
		fmt.Println(rec.Code, body)
	}
	// Output:
	// 201 {"name":"Ann","times":1}
	// 400 {"error":"invalid_request","message":"name is missing.","field":"name"
	// 401 {"error":"unauthorized","message":"The access token is missing or not valid. Send a valid one."
}
