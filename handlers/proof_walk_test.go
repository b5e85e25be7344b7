package handlers

import (
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/storetest"
)

// A route that changes or exports something requires a fresh sign-in, or is listed here with the reason why nothing
// that it grants outlives the session. Decide this for each new route.
var withoutProof = []struct{ reason, routes string }{
	{"It asks if it changes more than core.BulkUnproved people.", `
		POST /api/bulk-actions
		POST /api/bulk-actions/:id/undo`},
	{"It only stops a change.", `
		POST /api/bulk-actions/:id/cancel`},
	{"It is a sign-in itself, or ends one.", `
		POST /api/auth/register
		POST /api/auth/login
		POST /api/auth/logout
		POST /api/oauth/token
		POST /api/oauth/revoke
		POST /api/oauth/logout
		POST /login
		POST /setup
		POST /login/code
		POST /login/passkey
		POST /login/confirm
		POST /logout
		POST /register`},
	{"It makes nothing fresh: tokens keep the time of the sign-in, and end with the user's sessions.", `
		POST /api/auth/refresh
		POST /api/oauth/authorize
		POST /consent`},
	{"It only reads.", `
		POST /api/oauth/userinfo
		POST /api/oauth/introspect
		POST /api/admin/template-preview
		POST /api/admin/templates/:id/preview
		POST /api/admin/themes/:id/preview
		POST /api/admin/theme-preview
		POST /api/campaigns/:id/preview
		POST /api/campaigns/:id/check
		POST /api/segment-count
		POST /api/admin/subscribers/search
		POST /api/send-jobs/:id/preview`},
	{"A token that was mailed proves the address, and no session is needed.", `
		POST /api/auth/password/forgot
		POST /api/auth/password/reset
		POST /password/forgot
		POST /password/reset
		POST /verify
		POST /invitation`},
	{"The page asks for a fresh proof itself, or for the password.", `
		POST /account/passkeys
		POST /account/two-step
		POST /account
		POST /review`},
	{"What it restores was there before, and clients and endpoints stay disabled.", `
		POST /api/admin/tenants/:id/restore
		POST /api/admin/newsletter-lists/:id/restore`},
	{"Subscribers change what is their own, by the tokens of their mails.", `
		POST /api/newsletter/subscribe
		POST /api/newsletter/unsubscribe
		POST /api/newsletter/unsubscribe-token
		POST /confirm
		POST /l/:id
		POST /preferences
		POST /poll/:token
		POST /preferences/export
		POST /preferences/erase
		POST /unsubscribe
		POST /undo`},
	{"The request is signed, and comes from no session.", `
		POST /webhooks/subscriptions
		POST /webhooks/:provider
		POST /webhooks/lists/full-sync`},
	{"It changes a record of the newsletter, which those who see it can change back. It lets nobody in.", `
		POST /api/newsletter/preferences
		POST /api/subscriptions/disable
		POST /api/api/subscriptions/disable
		POST /api/admin/newsletter-lists/:id/full-sync
		POST /api/admin/newsletter-lists
		PUT /api/admin/newsletter-lists/:id
		DELETE /api/admin/newsletter-lists/:id
		DELETE /api/admin/newsletter-lists/:id/imported-issues/:slug
		POST /api/admin/subscribers
		PUT /api/admin/subscribers/:id
		PUT /api/admin/subscribers/:id/tags
		PATCH /api/admin/subscribers/:id/tags
		POST /api/admin/subscribers/:id/unsubscribe
		POST /api/admin/subscribers/unsubscribe
		POST /api/admin/suppressions
		PUT /api/admin/suppressions
		POST /api/admin/suppressions/lift
		POST /api/admin/newsletter-lists/:id/ask-again
		POST /api/admin/newsletter-lists/:id/unsubscribe-silent
		POST /api/admin/newsletter-lists/:id/remove-unconfirmed
		POST /api/admin/templates
		PUT /api/admin/templates/:id
		DELETE /api/admin/templates/:id
		POST /api/admin/themes
		PUT /api/admin/themes/:id
		DELETE /api/admin/themes/:id
		POST /api/segments
		PUT /api/segments/:id
		DELETE /api/segments/:id
		POST /api/tags
		PUT /api/tags/:id
		DELETE /api/tags/:id
		POST /api/campaigns
		PUT /api/campaigns/:id
		PATCH /api/campaigns/:id
		DELETE /api/campaigns/:id
		POST /api/campaigns/:id/duplicate
		POST /api/campaigns/:id/review
		POST /api/campaigns/:id/archive
		PUT /api/campaigns/:id/links/:no/proposal
		DELETE /api/campaigns/:id/links/:no/proposal
		PUT /api/campaigns/:id/versions/:version
		POST /api/campaigns/:id/versions/:version/restore
		POST /api/media
		PATCH /api/media/:id
		DELETE /api/media/:id`},
	{"It stops something, in a hurry perhaps.", `
		POST /api/campaigns/:id/reject
		POST /api/campaigns/:id/polls/:number/close
		POST /api/campaigns/:id/undo
		POST /api/send-jobs/:id/cancel
		POST /api/send-jobs/:id/pause`},
	{"The specification names it, and its clients know no such answer. It sends once.", "POST /api/send-jobs"},
	{"It sends one test, or again what was decided before.", `
		POST /api/admin/relay/test
		POST /api/campaigns/:id/test
		POST /api/send-jobs/:id/test
		POST /api/admin/outbox/:id/retry
		POST /api/admin/outbox/retry
		POST /api/admin/mails/retry`},
	{"It asks by what changes: Tenant.AsksProof.", `
		POST /api/admin/tenants
		PUT /api/admin/tenants/:id`},
	{"Operators delete a tenant, which gives nobody anything.", "DELETE /api/admin/tenants/:id"},
	{"Only who keeps the domain's DNS gains by it, and the link shows records that are public.", `
		POST /api/admin/sender-domains
		DELETE /api/admin/sender-domains/:id
		POST /api/admin/sender-domains/:id/check
		POST /api/admin/sender-domains/:id/records-link`},
	{"Devices and models are the user's own. A share opens one model, and its owner sees and ends it.", `
		POST /api/devices
		PATCH /api/devices/:id
		DELETE /api/devices/:id
		POST /api/devices/:id/register
		POST /api/devices/:id/unregister
		POST /api/agents
		PATCH /api/agents/:id
		DELETE /api/agents/:id
		POST /api/models
		PATCH /api/models/:id
		DELETE /api/models/:id
		PATCH /api/models/:id/visibility
		POST /api/models/:id/shares
		PUT /api/models/:id/shares/:share_id
		DELETE /api/models/:id/shares/:share_id`},
}

// asksForProof reports whether a route refuses the token "old" of an operator who signed in long ago.
func (e *env) asksForProof(r *web.Route) bool {
	req := httptest.NewRequest(r.Method, strings.NewReplacer(":id", core.NewID(), ":", "").Replace(r.Path), nil)
	req.Header.Set("Authorization", "Bearer old")
	w := httptest.NewRecorder()
	e.handler.ServeHTTP(w, req)
	return w.Code == 401 && strings.Contains(w.Body.String(), `"insufficient_user_authentication"`)
}

func TestWhatOutlastsASessionAsksForAFreshSignIn(t *testing.T) {
	e := unservedEnv(t, storetest.Open(t))
	e.callers["old"] = core.Caller{
		UserID: core.NewID(), Scopes: core.AllScopes, Roles: []core.Role{{Role: core.RoleOperator}},
		ProvedAt: core.At(time.Now()).Add(-core.ProofAge - time.Minute),
	}
	reasons := map[string]string{}
	for _, w := range withoutProof {
		for route := range strings.Lines(strings.TrimSpace(w.routes)) {
			reasons[strings.TrimSpace(route)] = w.reason
		}
	}
	for _, r := range e.handler.Routes() {
		route := r.Method + " " + r.Path
		if r.Method == "GET" && !strings.HasSuffix(r.Path, "/export") || r.Dialect == web.Console {
			continue
		}
		asks, reason := e.asksForProof(r), reasons[route]
		delete(reasons, route)
		switch {
		case asks && reason != "":
			t.Errorf("%s asks for a fresh sign-in: it needs no reason", route)
		case !asks && reason == "":
			t.Errorf("%s doesn't ask for a fresh sign-in: have it ask, or say in withoutProof why it need not", route)
		}
	}
	for route := range reasons {
		t.Errorf("%s is no route", route)
	}
}

// The pages of the console call the API for the visitor, and so require what the API requires. They have no other way
// to change anything.
func TestTheConsoleChangesNothingByItself(t *testing.T) {
	files, err := os.ReadDir("console")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		text, err := os.ReadFile("console/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), ".Store()") {
			t.Errorf("console/%s uses the store", f.Name())
		}
	}
}
