package accesstest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/storetest"
)

// Walk sends requests from each caller to each route that requires a token, with the records of each tenant and with
// unknown ids.
type Walk struct {
	testing.TB
	*World
	Callers []Caller
	Routes  []*web.Route
	Seeder  *storetest.Seeder
	// Send sends a request as a caller. It may be called concurrently.
	Send func(c *Caller, method, path, mediaType, body string) (status int, answer string)

	operations map[string]operation
	mu         sync.Mutex
	answers    map[int]int
}

// operation is a route's description in an API document.
type operation struct {
	Parameters  []parameter
	RequestBody struct {
		Content map[string]struct{ Example json.RawMessage }
	}
}

type parameter struct {
	Name, In string
	Required bool
}

// asks reports whether the operation has a query parameter with the given name. If required is true, the parameter must
// be required.
func (o *operation) asks(name string, required bool) bool {
	return slices.ContainsFunc(o.Parameters, func(p parameter) bool {
		return p.In == "query" && p.Name == name && (p.Required || !required)
	})
}

// body returns the media type of the body, and a valid example with a tenant's ids.
func (o *operation) body(t *Tenant) (mediaType, body string) {
	for mediaType, content := range o.RequestBody.Content {
		var example map[string]any
		if t == nil || json.Unmarshal(content.Example, &example) != nil {
			return mediaType, string(content.Example)
		}
		for name, id := range map[string]string{"tenant_id": t.ID, "list_id": t.List, "email": string(t.Email)} {
			if _, ok := example[name]; ok {
				example[name] = id
			}
		}
		b, _ := json.Marshal(example)
		return mediaType, string(b)
	}
	return "application/json", ""
}

// names reports whether the operation has a parameter for a tenant, or for a list of a tenant.
func (o *operation) names() bool {
	if o.asks("tenant_id", false) || o.asks("list_id", false) {
		return true
	}
	for _, content := range o.RequestBody.Content {
		example := string(content.Example)
		if strings.Contains(example, `"tenant_id"`) || strings.Contains(example, `"list_id"`) {
			return true
		}
	}
	return false
}

// Describe reads the routes' inputs from the program's API documents.
func (w *Walk) Describe(documents ...[]byte) {
	w.operations, w.answers = map[string]operation{}, map[int]int{}
	for _, d := range documents {
		var doc struct {
			Servers []struct{ URL string }
			Paths   map[string]map[string]json.RawMessage
		}
		if err := json.Unmarshal(d, &doc); err != nil {
			w.Fatal(err)
		}
		server, err := url.Parse(doc.Servers[0].URL)
		if err != nil {
			w.Fatal(err)
		}
		for path, methods := range doc.Paths {
			for method, text := range methods {
				var o operation
				if json.Unmarshal(text, &o) == nil {
					w.operations[strings.ToUpper(method)+" "+server.Path+path] = o
				}
			}
		}
	}
}

func (w *Walk) operation(r *web.Route) operation {
	parts := strings.Split(r.Path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, ":") {
			parts[i] = "{" + p[1:] + "}"
		}
	}
	o, ok := w.operations[r.Method+" "+strings.Join(parts, "/")]
	if !ok {
		w.Errorf("%s %s stands in no document", r.Method, r.Path)
	}
	return o
}

// target is a route with the ids of one tenant, or with unknown ids.
type target struct {
	*web.Route
	operation
	tenant *Tenant // nil: unknown ids
	record string  // path of the record's collection; empty: only the tenant is named
}

// targets returns a route's targets. If a tenant has no record for an id in the path, it fails the test.
func (w *Walk) targets(r *web.Route) (all []target) {
	o := w.operation(r)
	at := strings.LastIndex(r.Path, "/:")
	record := r.Path[:max(at, 0)]
	for _, t := range w.Tenants {
		if record == "" && !o.names() {
			break
		}
		for prefix := r.Path; strings.Contains(prefix, "/:"); {
			prefix = prefix[:strings.LastIndex(prefix, "/:")]
			if _, ok := t.Records[prefix]; !ok {
				w.Errorf("%s %s: accesstest.World has no record of %s", r.Method, r.Path, prefix)
				return nil
			}
		}
		all = append(all, target{r, o, t, record})
	}
	return append(all, target{r, o, nil, record})
}

// path fills in the path and the query for a caller. If gone is true, the request deletes its record, so path creates a
// new one.
func (w *Walk) path(c *Caller, g *target, gone bool) string {
	path := ""
	for part := range strings.SplitSeq(strings.TrimPrefix(g.Path, "/"), "/") {
		if strings.HasPrefix(part, ":") {
			part = core.NewID()
			if g.tenant != nil {
				prefix := g.Path[:prefixLen(g.Path, path)]
				part = g.tenant.Records[prefix].ID
				if m := g.tenant.Records[prefix].Masked; m != "" && !c.may(core.ActionPeopleRead, g.tenant.ID) {
					part = m
				}
				if gone && prefix == g.record {
					part = g.tenant.Records[prefix].Make(w.Seeder)
				}
			}
		}
		path += "/" + part
	}
	q := url.Values{}
	email := "reader@example.org"
	if t := g.tenant; t != nil {
		email = string(t.Email)
		for name, id := range map[string]string{"tenant_id": t.ID, "list_id": t.List} {
			if g.asks(name, false) {
				q.Set(name, id)
			}
		}
	}
	if g.asks("email", g.tenant == nil) {
		q.Set("email", email)
	}
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return path
}

// prefixLen returns the length of a pattern's prefix with as many parts as path.
func prefixLen(pattern, path string) int {
	n := 0
	for range strings.Count(path, "/") {
		n += 1 + strings.Index(pattern[n+1:]+"/", "/")
	}
	return n
}

// inOperation maps operations to the action that they require for the tenant in their parameters. It replaces the
// route's action.
var inOperation = map[string]core.Action{
	"GET /api/newsletter/subscriptions":   core.ActionPeopleExport,
	"GET /api/newsletter/preferences":     core.ActionPeopleRead,
	"POST /api/newsletter/preferences":    core.ActionPeopleChange,
	"POST /api/subscriptions/disable":     core.ActionSuppressionManage,
	"POST /api/api/subscriptions/disable": core.ActionSuppressionManage,
	"GET /api/admin/subscribers":          core.ActionPeopleRead,   // finds people by address
	"POST /api/segment-count":             core.ActionSegmentWrite, // count of an unsaved rule
}

// wants returns the acceptable statuses. An empty result means that the caller has access, and only 401, 403 and 404
// are wrong.
func (w *Walk) wants(c *Caller, g *target) []int {
	info := g.Info()
	action, scoped := info.Action, len(info.Scopes) == 0 || slices.ContainsFunc(info.Scopes, c.Has)
	if a, ok := inOperation[g.Method+" "+g.Path]; ok && (g.tenant != nil || action == "") {
		action = a
	}
	users := action == "" && g.Path != "/api/auth/logout" // the record belongs to the user
	owned := users && g.record != ""
	switch {
	case !c.Known():
		return []int{401}
	case !scoped:
		return []int{403}
	case g.Path == "/api/newsletter/preferences" && (!c.Has(info.Scopes[1]) || !c.FirstParty && c.ClientTenant == ""):
		return []int{400, 403, 404} // the scope email gives access to the caller's own address
	case users && c.UserID == "":
		return []int{401, 403}
	case owned && g.tenant != nil && c.UserID == g.tenant.Owner, action == "" && !owned:
		return nil
	case owned:
		return []int{404}
	case strings.HasSuffix(g.Path, "/restore") && strings.HasPrefix(g.Path, "/api/admin/"):
		return []int{403, 404} // only deleted records can be restored, and this one isn't
	case g.tenant != nil && c.may(action, g.tenant.ID):
		return nil
	case g.record != "" && (!c.hasRole() || g.tenant != nil && c.may(g.tenant.Records[g.record].Seen, g.tenant.ID)):
		return []int{403}
	case g.record != "":
		return []int{404}
	case g.tenant != nil && g.Dialect == web.Send:
		return []int{403, 404, 422} // another tenant's list counts as unknown
	case g.tenant != nil:
		return []int{403, 404}
	case c.may(action, core.TenantNone),
		slices.ContainsFunc(w.Tenants, func(t *Tenant) bool { return c.may(action, t.ID) }):
		return nil
	case strings.HasPrefix(g.Path, "/api/newsletter/"):
		return []int{400, 403, 404} // the list is checked first
	}
	return []int{403}
}

// Refused sends all requests that a caller must not be allowed to make, with valid bodies, for several callers
// concurrently.
func (w *Walk) Refused() {
	targets := w.all()
	callers := make(chan *Caller)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for c := range callers {
				for i := range targets {
					g := &targets[i]
					if want := w.wants(c, g); want != nil {
						mediaType, body := g.body(g.tenant)
						w.ask(c, g, w.path(c, g, false), mediaType, body, want)
					}
				}
			}
		})
	}
	for i := range w.Callers {
		callers <- &w.Callers[i]
	}
	close(callers)
	wg.Wait()
}

// Allowed sends all requests that a caller may make, with empty bodies. It creates records for requests that delete
// them.
func (w *Walk) Allowed() {
	for _, g := range w.all() {
		for i := range w.Callers {
			if c := &w.Callers[i]; w.wants(c, &g) == nil {
				gone := g.Method == http.MethodDelete || strings.HasSuffix(g.Path, "/erase")
				w.ask(c, &g, w.path(c, &g, gone), "application/json", "{", nil)
			}
		}
	}
}

// all returns the targets of all routes.
func (w *Walk) all() (targets []target) {
	for _, r := range w.Routes {
		if r.Info().NeedsToken {
			targets = append(targets, w.targets(r)...)
		}
	}
	return targets
}

// mayBeGone reports whether a permitted caller may get a 404. A resent email soon leaves the queue, a draft has no
// correction and no polls, no one has proposed targets for its links, and no mail server is set.
func mayBeGone(path string) bool {
	return strings.HasSuffix(path, "/retry") || strings.HasSuffix(path, "/correction") ||
		strings.HasSuffix(path, "/proposal") || strings.Contains(path, "/polls/") || path == "/api/admin/relay"
}

// mayBeAnothers reports whether a permitted caller may be refused because the record belongs to another person:
// publishers may undo only their own imports.
func mayBeAnothers(c *Caller, path string) bool {
	return strings.HasPrefix(path, "/api/admin/imports/") && strings.HasSuffix(path, "/undo") &&
		strings.Contains(c.Name, core.RolePublisher)
}

func (w *Walk) ask(c *Caller, g *target, path, mediaType, body string, want []int) {
	status, answer := w.Send(c, g.Method, path, mediaType, body)
	w.mu.Lock()
	w.answers[status]++
	w.mu.Unlock()
	wrong := want != nil && !slices.Contains(want, status) ||
		want == nil && (status == 401 || status == 403 && !mayBeAnothers(c, g.Path) ||
			status == 404 && !mayBeGone(g.Path)) ||
		status >= 500
	whose := "nothing"
	if g.tenant != nil {
		whose = g.tenant.Marker
	}
	if wrong {
		w.Errorf("%s %s of %s as %s: %d, want %v\n%.300s", g.Method, g.Path, whose, c.Name, status, want, answer)
	}
	if leak := w.leak(c, answer); leak != "" {
		w.Errorf("%s %s of %s as %s: %d tells %q\n%.600s", g.Method, g.Path, whose, c.Name, status, leak, answer)
	}
}

// leak returns text in a response that the caller must not see: the marker of a tenant in which the caller has no
// permission, the address or id of a subscriber if the caller may see only masked ones, or any secret.
func (w *Walk) leak(c *Caller, answer string) string {
	for _, t := range w.Tenants {
		if !c.sees(t) && strings.Contains(answer, t.Marker) {
			return t.Marker
		}
		if !c.may(core.ActionPeopleRead, t.ID) && c.UserID != t.Owner {
			known := []string{string(t.Email), "reader-of-job@" + t.Marker, t.Records["/api/admin/subscribers"].ID}
			for _, person := range known {
				if strings.Contains(answer, person) {
					return person
				}
			}
		}
	}
	for _, secret := range w.Secrets {
		if strings.Contains(answer, secret) {
			return secret
		}
	}
	return ""
}

// Whole requests every record as a server administrator, to check that all still exist.
func (w *Walk) Whole(operator *Caller) {
	for _, r := range w.Routes {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.Path, "/:id") || r.Info().Action == "" {
			continue
		}
		for _, g := range w.targets(r) {
			if g.tenant == nil {
				continue
			}
			if status, answer := w.Send(operator, r.Method, w.path(operator, &g, false), "", ""); status != http.StatusOK {
				w.Errorf("%s of %s: %d\n%.300s", r.Path, g.tenant.Marker, status, answer)
			}
		}
	}
}

// Answers returns the number of responses for each status.
func (w *Walk) Answers() map[int]int { return w.answers }
