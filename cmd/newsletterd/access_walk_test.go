package main

import (
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/oauth2"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/oidctest"
	"newsletterd/core"
	"newsletterd/handlers"
	"newsletterd/handlers/accesstest"
	"newsletterd/handlers/web"
	"newsletterd/handlers/web/webtest"
	"newsletterd/store/storetest"
)

// accessWalk is a daemon with the records of accesstest, and the callers to whom it has issued tokens.
type accessWalk struct {
	*daemontest.Process
	walk     *accesstest.Walk
	visitors map[string]*oidctest.Visitor // by role
}

// TestAccessWalk sends a running daemon every request that a caller isn't allowed to make, over HTTP. It uses tokens
// issued for a password, for the code of a client with and without a tenant, and to clients for themselves. It also
// sends only a cookie, a wrong token, and no token. No row may change, and no response may contain secrets or other
// people's data. Then it sends the allowed requests, and checks what is on each caller's pages.
func TestAccessWalk(t *testing.T) {
	if testing.Short() {
		t.Skip("55,000 requests, which scenarios make one of each")
	}
	daemontest.Parallel(t)
	w := newAccessWalk(t)
	before := w.Rows()
	w.walk.Refused()
	after := w.Rows() // the daemon's own tasks change marks
	for table := range after {
		if before[table] != after[table] && !slices.Contains([]string{"session", "throttle", "mark"}, table) {
			t.Errorf("%s had %s, and has %s after refusals alone", table, before[table], after[table])
		}
	}
	refused := maps.Clone(w.walk.Answers())
	for i := range w.walk.Callers {
		if w.walk.Callers[i].Name == core.RoleOperator+" by password" {
			w.walk.Whole(&w.walk.Callers[i])
		}
	}
	w.walk.Allowed()
	w.Line("walk of rights", "%d routes, %d callers, 3 tenants; refused %v, with what they may %v", len(w.walk.Routes),
		len(w.walk.Callers), refused, w.walk.Answers())
	for role, v := range w.visitors {
		w.pages(role, v)
	}
	w.Stop()
}

func newAccessWalk(t *testing.T) *accessWalk {
	t.Helper()
	w := &accessWalk{Process: daemontest.New(t), visitors: map[string]*oidctest.Visitor{}}
	var world *accesstest.World
	users := map[string]core.User{}
	w.Prepare(func(s *storetest.Seeder) {
		provider, err := auth.New(t.Context(), s.Store, auth.Config{Issuer: w.URL + "/api"}, s.Time())
		w.Must(err)
		hash, err := provider.NewPassword(t.Context(), "password", daemontest.Password)
		w.Must(err)
		world = accesstest.NewWorld(s, hash)
		for _, role := range core.Roles {
			users[role] = s.NewUser(core.Email(role+"@one.example"), hash, func(u *core.User) {
				u.Roles = []core.Role{{Role: role, TenantID: world.Tenants[0].ID}}
				if role == core.RoleOperator {
					u.Roles[0].TenantID = core.TenantNone
				}
			})
		}
		users["no role"], err = s.User(t.Context(), world.Tenants[0].Owner)
		w.Must(err)
	})
	w.Serve()
	s := storetest.Seed(t, w.Open())
	h, err := handlers.New(handlers.Options{PublicURL: w.URL})
	w.Must(err)
	w.walk = &accesstest.Walk{TB: t, World: world, Seeder: s, Routes: h.Routes(), Send: w.ask}
	w.walk.Describe(h.Document("member"), h.Document("send"), h.Document("devices"))
	w.clients(s, users)
	for _, headers := range [][]string{nil, {"Authorization", "Bearer wrong"}} {
		w.walk.Callers = append(w.walk.Callers, accesstest.Caller{Name: "no user", Headers: headers})
	}
	return w
}

func (w *accessWalk) ask(c *accesstest.Caller, method, path, mediaType, body string) (int, string) {
	var sent any
	if body != "" {
		sent = body
	}
	r, err := w.Try(method, path, sent, slices.Concat(c.Headers, []string{"Content-Type", mediaType})...)
	if err != nil {
		w.Errorf("%s %s: %v", method, path, err)
		return 0, ""
	}
	return r.StatusCode, r.Text
}

// add adds a caller with the token in a response of the token endpoint. The token must have those of the requested
// scopes that the roles allow.
func (w *accessWalk) add(name string, c core.Caller, token, granted string, asked []string) {
	w.Helper()
	for _, scope := range asked {
		if c.UserID == "" || roleAllows(c.Roles, c.ClientTenant, scope) {
			c.Scopes = append(c.Scopes, scope)
		}
	}
	got := strings.Fields(granted)
	slices.Sort(got)
	slices.Sort(c.Scopes)
	if !slices.Equal(got, c.Scopes) {
		w.Errorf("%s has the scopes %v, want %v", name, got, c.Scopes)
	}
	w.walk.Callers = append(w.walk.Callers, accesstest.Caller{
		Caller: c, Name: name, Headers: []string{"Authorization", "Bearer " + token},
	})
}

// roleAllows reports whether the first role allows a scope in a token for a client of a tenant.
func roleAllows(roles []core.Role, clientTenant, scope string) bool {
	if slices.Contains(core.UserScopes, scope) {
		return true
	}
	switch {
	case len(roles) == 0, clientTenant != "" && roles[0].TenantID != "" && roles[0].TenantID != clientTenant:
		return false
	}
	switch roles[0].Role {
	case core.RoleViewer, core.RoleEditor:
		return scope == core.ScopeAdmin
	case core.RolePublisher:
		return scope == core.ScopeAdmin || scope == core.ScopeSend
	}
	return true
}

// clients creates clients and gets tokens from the daemon for them: of users, and of the clients themselves.
func (w *accessWalk) clients(s *storetest.Seeder, users map[string]core.User) {
	w.Helper()
	ours := w.walk.Tenants[0].ID
	scoped := func(tenant string, scopes []string) func(in *core.ClientInput) {
		return func(in *core.ClientInput) {
			in.TenantID, in.Scopes = &tenant, &scopes
			in.GrantTypes = &[]string{"authorization_code", "client_credentials"}
		}
	}
	none := oidctest.New(w, s, w.URL, scoped(core.TenantNone, core.AllScopes))
	one := oidctest.New(w, s, w.URL, scoped(ours, core.AllScopes))
	other := oidctest.New(w, s, w.URL, scoped(w.walk.Tenants[1].ID, core.AllScopes))
	sets := [][]string{core.AllScopes, {core.ScopeAdmin, core.ScopeSend}}
	for _, scope := range core.AllScopes {
		sets = append(sets, []string{scope})
	}
	for role, u := range users {
		v := oidctest.NewVisitor(w.Process)
		v.Email = string(u.Email)
		w.visitors[role] = v
		c := core.Caller{UserID: u.ID, Email: u.Email, EmailVerified: true, Roles: u.Roles}
		password := w.token("/api/auth/login", url.Values{
			"grant_type": {"password"}, "username": {v.Email}, "password": {daemontest.Password},
		}, "", "")
		own := c
		own.FirstParty = true
		w.add(role+" by password", own, password.Access, password.Scope, core.AllScopes)
		for _, scopes := range sets {
			w.byCode(role, c, v, none, "none", scopes)
		}
		for i, rp := range []*oidctest.RelyingParty{one, other} {
			tenant := w.walk.Tenants[i]
			c.ClientTenant = tenant.ID
			w.byCode(role, c, v, rp, tenant.Marker, core.AllScopes)
		}
		cookies := ""
		origin, _ := url.Parse(w.URL)
		for _, k := range v.Jar.Cookies(origin) {
			cookies += k.Name + "=" + k.Value + "; "
		}
		w.walk.Callers = append(w.walk.Callers,
			accesstest.Caller{Name: role + " by cookie", Headers: []string{"Cookie", cookies}})
	}
	own := map[string]*oidctest.RelyingParty{core.TenantNone: none, ours: one, w.walk.Tenants[1].ID: other}
	for tenant, rp := range own {
		for _, scopes := range append(sets[:2:2], []string{core.ScopeAdmin}, []string{core.ScopeSend},
			[]string{core.ScopeListRead}, []string{core.ScopeEventsWrite}) {
			var own []string
			for _, scope := range scopes {
				if slices.Contains(core.ManagementScopes, scope) {
					own = append(own, scope)
				}
			}
			a := w.token("/api/oauth/token", url.Values{
				"grant_type": {"client_credentials"}, "scope": {strings.Join(own, " ")},
			}, rp.Config.ClientID, rp.Config.ClientSecret)
			w.add("a client of "+tenant+" with "+a.Scope, core.Caller{ClientID: rp.Config.ClientID, ClientTenant: tenant},
				a.Access, a.Scope, own)
		}
	}
}

type givenToken struct {
	Access string `json:"access_token"`
	Scope  string `json:"scope"`
}

// token sends a request to a token endpoint.
func (w *accessWalk) token(path string, form url.Values, id, secret string) (a givenToken) {
	w.Helper()
	var headers []string
	if id != "" {
		r := &http.Request{Header: http.Header{}}
		r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
		headers = []string{"Authorization", r.Header.Get("Authorization")}
	}
	w.Send(http.MethodPost, path, form, headers...).OK().JSON(&a)
	return a
}

// byCode lets a visitor grant scopes to a client. From the second time on, the visitor is signed in already.
func (w *accessWalk) byCode(role string, c core.Caller, v *oidctest.Visitor, rp *oidctest.RelyingParty, of string,
	scopes []string,
) {
	w.Helper()
	if !slices.ContainsFunc(scopes, func(s string) bool { return roleAllows(c.Roles, c.ClientTenant, s) }) {
		return
	}
	verifier, config := oauth2.GenerateVerifier(), rp.Config
	config.Scopes = scopes
	q := v.SignIn(rp, config.AuthCodeURL("x", oauth2.S256ChallengeOption(verifier)))
	token, err := config.Exchange(w.Context(), q.Get("code"), oauth2.VerifierOption(verifier))
	if err != nil {
		w.Fatalf("%s at a client of %s with %v: %v, %v", role, of, scopes, q, err)
	}
	granted, _ := token.Extra("scope").(string)
	w.add(role+" by a client of "+of+" with "+granted, c, token.AccessToken, granted, scopes)
}

var (
	pageLinks = regexp.MustCompile(`<a [^>]*href="(/[^"#]*)`)
	pageForms = regexp.MustCompile(`<form [^>]*method="post" action="(/[^"]*)"`)
)

// isPathOf reports whether a path matches a route, whose path contains names of parameters.
func isPathOf(r *web.Route, path string) bool {
	own, parts := strings.Split(r.Path, "/"), strings.Split(path, "/")
	return slices.EqualFunc(own, parts, func(a, b string) bool { return a == b || strings.HasPrefix(a, ":") && b != "" })
}

// pages follows the links on a user's pages, and looks up the route of each form. The user must be allowed to use
// everything that the pages show.
func (w *accessWalk) pages(role string, v *oidctest.Visitor) {
	browser := webtest.Client{TB: w, URL: w.URL, HTTP: v.Client}
	seen := map[string]bool{}
	for queue := []string{"/account"}; len(queue) > 0; queue = queue[1:] {
		if seen[queue[0]] {
			continue
		}
		seen[queue[0]] = true
		page := browser.Get(queue[0])
		if page.StatusCode != http.StatusOK {
			w.Errorf("%s as %s: %d", queue[0], role, page.StatusCode)
		}
		for _, link := range pageLinks.FindAllStringSubmatch(page.Text, -1) {
			queue = append(queue, html.UnescapeString(link[1]))
		}
		for _, form := range pageForms.FindAllStringSubmatch(page.Text, -1) {
			path, _, _ := strings.Cut(form[1], "?")
			if !slices.ContainsFunc(w.walk.Routes, func(r *web.Route) bool {
				info := r.Info()
				return r.Method == http.MethodPost && isPathOf(r, path) && !info.NeedsToken && !info.Signed
			}) {
				w.Errorf("%s as %s: a form is sent to %s", queue[0], role, path)
			}
		}
	}
	if len(seen) < 2 {
		w.Errorf("as %s there are the pages %v alone", role, seen)
	}
}
