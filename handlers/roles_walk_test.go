package handlers

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
	"newsletterd/store/storetest"
)

// walkTenant is a tenant of the walk, with a record of each noun. Its marker stands in the names of all of them.
type walkTenant struct {
	id, marker string
	records    map[string]string // by the path of the collection
	fresh      map[string]func() string
}

// seenBy is what lets a caller see a record at a path at all: without it the record is missing.
var seenBy = map[string]core.Action{
	"/api/admin/tenants": core.ActionTenantRead, "/api/admin/newsletter-lists": core.ActionListRead,
	"/api/admin/oauth-clients": core.ActionClientManage, "/api/admin/team": core.ActionTeamRead,
	"/api/admin/users":   core.ActionUserManage,
	"/api/send-jobs":     core.ActionFiguresRead,
	"/api/admin/imports": core.ActionPeopleMasked, "/api/admin/webhook-clients": core.ActionWebhookManage,
	"/api/admin/webhook-endpoints": core.ActionEndpointManage,
	"/api/admin/outbox":            core.ActionOutboxManage,
}

func walkTenants(t *testing.T, s *storetest.Seeder) (all []*walkTenant) {
	for i := range 3 {
		w := &walkTenant{marker: fmt.Sprintf("marker-%c", 'a'+i)}
		tenant := func() string {
			return s.NewTenant(func(in *core.TenantInput) { in.Name = new(w.marker) }).ID
		}
		w.id = tenant()
		list := func() string {
			return s.NewList(func(in *core.ListInput) { in.TenantID, in.Name = new(w.id), new(w.marker) }).ID
		}
		client := func() string {
			c, _ := s.NewClient(core.ClientInput{TenantID: new(w.id), Name: new(w.marker)})
			return c.ID
		}
		member := func() string {
			u := core.NewUser(core.Email(core.NewID()+"@"+w.marker+".example"), 1)
			u.Roles = []core.Role{{Role: core.RoleEditor, TenantID: w.id}}
			s.Must(s.AddUser(t.Context(), u, "", 1))
			return u.ID
		}
		sender := func() string {
			c, err := s.AddWebhookClient(t.Context(), w.id, w.marker, make([]byte, 32), "test", 1)
			s.Must(err)
			return c.ID
		}
		receiver := func() string {
			e := core.Endpoint{ID: core.NewID(), TenantID: w.id, Name: w.marker, URL: "https://" + w.marker + ".example/"}
			s.Must(s.AddEndpoint(t.Context(), e, make([]byte, 32), "test"))
			return e.ID
		}
		first := list()
		s.Active(first, core.Email("reader@"+w.marker+".example"))
		events, err := s.OutboxEvents(t.Context(), store.OutboxFilter{ListID: first}, 0, 1)
		s.Must(err)
		upload := func() string {
			j := s.NewImportJob(list(), "email\nann@"+w.marker+".example\n",
				func(j *core.ImportJob) { j.Name = w.marker })
			return j.ID
		}
		w.records = map[string]string{
			"/api/admin/tenants": w.id, "/api/admin/newsletter-lists": first, "/api/admin/oauth-clients": client(),
			"/api/send-jobs": s.NewJob(first).ID, "/api/admin/team": member(), "/api/admin/users": member(),
			"/api/admin/imports": upload(), "/api/admin/webhook-clients": sender(),
			"/api/admin/webhook-endpoints": receiver(),
			"/api/admin/outbox":            events[0].EventID,
		}
		w.fresh = map[string]func() string{
			"/api/admin/tenants": tenant, "/api/admin/newsletter-lists": list, "/api/admin/oauth-clients": client,
			"/api/admin/team": member, "/api/admin/users": member,
			"/api/admin/imports": upload, "/api/admin/webhook-clients": sender,
			"/api/admin/webhook-endpoints": receiver,
		}
		all = append(all, w)
	}
	return all
}

// walkCallers are each role in each tenant, the operator by a client of one, a client of each tenant for itself, one of
// no tenant, and a user without a role: each with each set of scopes.
func walkCallers(tenants []*walkTenant) map[string]core.Caller {
	callers := map[string]core.Caller{}
	add := func(name string, c core.Caller) {
		for _, scopes := range []string{
			"email", core.ScopeAdmin, core.ScopeSend, core.ScopeListRead, core.ScopeEventsWrite,
			core.ScopeAdmin + " " + core.ScopeSend, strings.Join(core.AllScopes, " "),
		} {
			c.Scopes = strings.Fields(scopes)
			callers[name+" with "+scopes] = c
		}
	}
	user := core.Caller{UserID: core.NewID(), EmailVerified: true, FirstParty: true}
	add("a user", user)
	add("a client of none", core.Caller{ClientID: core.NewID()})
	for _, role := range core.Roles {
		for _, w := range tenants {
			held := core.Role{Role: role, TenantID: w.id}
			if role == core.RoleOperator {
				held.TenantID = core.TenantNone
			}
			user.Roles = []core.Role{held}
			add(role+" of "+w.marker, user)
			if role == core.RoleOperator || role == core.RolePublisher {
				bound := user
				bound.ClientTenant, bound.FirstParty = tenants[0].id, false
				add(role+" of "+w.marker+" by a client of "+tenants[0].marker, bound)
			}
		}
	}
	for _, w := range tenants {
		add("a client of "+w.marker, core.Caller{ClientID: core.NewID(), ClientTenant: w.id})
	}
	return callers
}

// mayByTable reads core.Permissions by itself, as docs/security.md prints it.
func mayByTable(c core.Caller, a core.Action, tenant string) bool {
	row := slices.IndexFunc(core.Permissions, func(p core.Permission) bool { return p.Action == a })
	if row < 0 {
		return false
	}
	p := core.Permissions[row]
	rank := func(role string) int { return slices.Index(core.Roles, role) }
	if !slices.ContainsFunc(p.Scopes, func(s string) bool { return slices.Contains(c.Scopes, s) }) {
		return false
	}
	if c.ClientTenant != "" && tenant != c.ClientTenant {
		return false
	}
	if c.UserID == "" {
		return c.ClientTenant != "" && !p.People && rank(p.Least) <= rank(core.RoleTenantAdmin)
	}
	return slices.ContainsFunc(c.Roles, func(r core.Role) bool {
		role := r.Role
		if role == core.RoleOperator && c.ClientTenant != "" {
			role = core.RoleTenantAdmin
		}
		return (r.Role == core.RoleOperator || r.TenantID == tenant) && rank(role) >= rank(p.Least)
	})
}

// TestRolesWalk sends every caller to every route that asks for a right, with the records of three tenants, and to the
// subscriptions of their lists. The table of rights says who is let in; a record that a caller may not see is missing,
// and no answer holds a word of a tenant that the caller has nothing to do with.
func TestRolesWalk(t *testing.T) {
	s := storetest.Seed(t, nil)
	tenants := walkTenants(t, s)
	callers := walkCallers(tenants)
	h, err := New(Options{
		Store: s.Store, PublicURL: "http://news.test",
		TestEndpoint: func(_ context.Context, _ string) (t core.EndpointTest, err error) { return t, nil },
		Bearer: func(_ context.Context, token string, _ core.Instant) (core.Caller, error) {
			return callers[token], nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := rolesWalk{t, h, tenants, callers, map[int]int{}}
	routes := 0
	for _, r := range h.Routes() {
		if r.Info().Action == "" {
			continue
		}
		routes++
		for name, c := range callers {
			w.route(r, name, c)
		}
	}
	for name, c := range callers {
		w.subscriptions(name, c)
	}
	t.Logf("%d routes, %d callers, 3 tenants: answers by status %v", routes, len(callers), w.answers)
	if routes < 24 || w.answers[200] == 0 || w.answers[404] == 0 || w.answers[403] == 0 {
		t.Errorf("%d routes: %v", routes, w.answers)
	}
}

type rolesWalk struct {
	*testing.T
	h       *Handler
	tenants []*walkTenant
	callers map[string]core.Caller
	answers map[int]int
}

// send returns the status, after looking for words of tenants that the caller may not see.
func (w rolesWalk) send(method, path, name string, c core.Caller) int {
	req := httptest.NewRequestWithContext(w.Context(), method, path, strings.NewReader("{"))
	req.Header.Set("Authorization", "Bearer "+name)
	req.Header.Set("Content-Type", "application/json")
	rec := httptest.NewRecorder()
	w.h.ServeHTTP(rec, req)
	w.answers[rec.Code]++
	for _, tenant := range w.tenants {
		sees := slices.ContainsFunc(core.Permissions, func(p core.Permission) bool {
			return mayByTable(c, p.Action, tenant.id)
		})
		if !sees && strings.Contains(rec.Body.String(), tenant.marker) {
			w.Errorf("%s %s as %s: %d tells of %s: %s", method, path, name, rec.Code, tenant.marker, rec.Body)
		}
	}
	return rec.Code
}

func (w rolesWalk) route(r *web.Route, name string, c core.Caller) {
	info := r.Info()
	collection, rest, item := strings.Cut(r.Path, "/:id")
	if !item {
		somewhere := mayByTable(c, info.Action, core.TenantNone) ||
			slices.ContainsFunc(w.tenants, func(t *walkTenant) bool { return mayByTable(c, info.Action, t.id) })
		path := r.Path
		if strings.HasSuffix(path, "/history") {
			path += "?email=reader@example.org"
		}
		if code := w.send(r.Method, path, name, c); (code == 403) == (somewhere && w.scoped(info, c)) || code == 404 {
			w.Errorf("%s %s as %s: %d, may %v", r.Method, path, name, code, somewhere)
		}
		return
	}
	for _, tenant := range w.tenants {
		id, known := tenant.records[collection]
		may := mayByTable(c, info.Action, tenant.id)
		if !known {
			id, may = core.NewID(), false
		}
		if gone := r.Method == "DELETE" || strings.HasSuffix(r.Path, "/users/:id/erase"); gone && may && known {
			id = tenant.fresh[collection]()
			may = may && (collection != "/api/admin/tenants" || mayByTable(c, info.Action, id))
		}
		code := w.send(r.Method, collection+"/"+id+rest, name, c)
		want := 404
		switch {
		case may && w.scoped(info, c):
			if code == 401 || code == 403 || code == 404 {
				w.Errorf("%s %s of %s as %s: %d", r.Method, r.Path, tenant.marker, name, code)
			}
			continue
		case !w.scoped(info, c) || !hasRole(c) || known && mayByTable(c, seenBy[collection], tenant.id):
			want = 403
		}
		if code != want {
			w.Errorf("%s %s of %s as %s: %d, want %d", r.Method, r.Path, tenant.marker, name, code, want)
		}
	}
}

func hasRole(c core.Caller) bool { return len(c.Roles) > 0 || c.UserID == "" && c.ClientTenant != "" }

// scoped reports whether the token has a scope that the route asks for.
func (w rolesWalk) scoped(info web.RouteInfo, c core.Caller) bool {
	return slices.ContainsFunc(info.Scopes, func(s string) bool { return slices.Contains(c.Scopes, s) })
}

// subscriptions asks for all subscriptions of each list, as the specification has it.
func (w rolesWalk) subscriptions(name string, c core.Caller) {
	for _, tenant := range w.tenants {
		want := 404
		switch {
		case !slices.Contains(c.Scopes, core.ScopeListRead):
			want = 403
		case mayByTable(c, core.ActionPeopleExport, tenant.id):
			want = 200
		}
		path := "/api/newsletter/subscriptions?list_id=" + tenant.records["/api/admin/newsletter-lists"]
		if code := w.send("GET", path, name, c); code != want {
			w.Errorf("GET %s of %s as %s: %d, want %d", path, tenant.marker, name, code, want)
		}
	}
}
