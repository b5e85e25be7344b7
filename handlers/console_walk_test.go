package handlers

import (
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/accesstest"
	"newsletterd/handlers/console"
	"newsletterd/handlers/web"
	"newsletterd/store/storetest"
	"newsletterd/worker"
)

// consoleWalk visits all pages of the console as one user.
type consoleWalk struct {
	*pageEnv
	world  *accesstest.World
	role   string
	own    *accesstest.Tenant // the user's tenant; nil for an operator
	caller core.Caller
	pages  int
}

// The console shows each role only what it may see of its tenant. No page contains a word of another tenant, no link or
// button leads to a refused request, and addresses are masked if the role requires that. Requests that the role may not
// make are refused if they are sent without a button.
func TestConsoleWalk(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	e := newPageEnv(t, "http://news.test")
	s := storetest.Seed(t, e.store)
	const password = "correct horse battery"
	hash, err := e.handler.options.Auth.NewPassword(t.Context(), "password", password)
	if err != nil {
		t.Fatal(err)
	}
	world := accesstest.NewWorld(s, "")
	own := world.Tenants[0]
	done := s.NewImportJob(own.List, "email\nbrought@reader.example\n")
	s.Must(s.RunImport(t.Context(), done.ID, core.ImportInput{SubscriberStatus: core.SubscriptionPending}, "test",
		s.Time()))
	worker.Imports(e.store, nil, slog.New(slog.DiscardHandler)).Step(t.Context(), time.Now())
	pages := 0
	for _, role := range core.Roles {
		r := core.Role{Role: role, TenantID: own.ID}
		w := consoleWalk{pageEnv: e, world: world, role: role, own: own}
		if role == core.RoleOperator {
			r.TenantID, w.own = core.TenantNone, nil
		}
		u := s.NewUser(core.Email(role+"@team.example"), hash, func(u *core.User) {
			u.Name, u.Roles = role, []core.Role{r}
		})
		w.caller = core.Caller{UserID: u.ID, FirstParty: true, Scopes: core.AllScopes, Roles: u.Roles}
		accesstest.Own(s, &u)
		t.Run(role, func(t *testing.T) {
			w.T = t
			clear(w.cookies)
			if res := w.ask("POST", "/login", url.Values{"email": {string(u.Email)}, "password": {password}}); res.StatusCode != http.StatusSeeOther ||
				!strings.HasSuffix(res.Header.Get("Location"), console.Path) {
				t.Fatal("the login leads to", res.StatusCode, res.Header.Get("Location"))
			}
			first := console.Path + "/" + own.ID
			from := []string{first, console.OwnPath}
			if w.caller.May(core.ActionTenantSettings, own.ID) {
				from = append(from, first+"/settings/logo") // reached through a button
			}
			w.crawl(from...)
			w.refused()
		})
		pages += w.pages
	}
	e.T = t
	t.Logf("%d pages", pages)
}

var (
	hrefs   = regexp.MustCompile(`(?:href|src|hx-get)="(/[^"]*)"`)
	forms   = regexp.MustCompile(`(?s)<form\b[^>]*>`)
	actions = regexp.MustCompile(`action="([^"]*)"`)
)

func (w *consoleWalk) get(path string) (int, string, string) {
	w.Helper()
	res := w.ask("GET", path, nil)
	b, err := io.ReadAll(res.Body)
	if err != nil {
		w.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header.Get("Location")
}

// crawl follows all links, starting from the given pages, as long as they stay in the console.
func (w *consoleWalk) crawl(from ...string) {
	w.Helper()
	seen, next := map[string]bool{}, from
	for _, path := range from {
		seen[path] = true
	}
	if w.own == nil {
		seen[console.OperatorPath], next = true, append(next, console.OperatorPath)
	}
	kinds := map[string]int{}
	for len(next) > 0 {
		path := next[0]
		next = next[1:]
		status, page, to := w.get(path)
		if status == http.StatusFound || status == http.StatusSeeOther {
			if to = strings.TrimPrefix(to, "http://news.test"); inConsole(to) && !seen[to] {
				seen[to], next = true, append(next, to)
			}
			continue
		}
		w.pages++
		if status != http.StatusOK {
			w.Errorf("a link leads to %s: %d %s", path, status, textOf(page))
			continue
		}
		w.shows(path, page)
		for _, m := range hrefs.FindAllStringSubmatch(page, -1) {
			to := strings.ReplaceAll(m[1], "&amp;", "&")
			to, _, _ = strings.Cut(to, "#")
			kind := w.kind(to)
			if !inConsole(to) || seen[to] || kind == "" || kinds[kind] > 12 {
				continue
			}
			seen[to], next = true, append(next, to)
			kinds[kind]++
		}
		w.buttons(path, page)
	}
}

// inConsole reports whether a URL is a page of the console.
func inConsole(to string) bool {
	path, _, _ := strings.Cut(to, "?")
	return slices.ContainsFunc([]string{console.Path, console.OperatorPath, console.OwnPath}, func(root string) bool {
		return path == root || strings.HasPrefix(path, root+"/")
	})
}

// kind returns the route of a URL. The walk follows only some URLs of each route.
func (w *consoleWalk) kind(to string) string {
	path, _, _ := strings.Cut(to, "?")
	r := w.handler.Find("GET", path)
	if r == nil {
		w.Errorf("no route is at %s", to)
		return ""
	}
	return r.Path
}

// shows checks the contents of a page against what the role may see.
func (w *consoleWalk) shows(path, page string) {
	w.Helper()
	for _, other := range w.world.Tenants {
		if w.own == nil || other == w.own {
			continue
		}
		if strings.Contains(page, other.Marker) || strings.Contains(page, other.ID) {
			w.Errorf("%s tells of another tenant", path)
		}
	}
	for _, secret := range w.world.Secrets {
		if secret != "" && strings.Contains(page, secret) {
			w.Errorf("%s tells a secret", path)
		}
	}
	if w.own != nil && !w.caller.May(core.ActionPeopleRead, w.own.ID) && strings.Contains(page, string(w.own.Email)) {
		w.Errorf("%s has an address that isn't masked", path)
	}
}

// buttons checks the forms of a page against what the role may do.
func (w *consoleWalk) buttons(path, page string) {
	w.Helper()
	for _, form := range forms.FindAllString(page, -1) {
		if !strings.Contains(form, `method="post"`) {
			continue
		}
		to := path
		if m := actions.FindStringSubmatch(form); m != nil {
			to = strings.ReplaceAll(m[1], "&amp;", "&")
		}
		to, _, _ = strings.Cut(to, "?")
		r := w.handler.Find("POST", to)
		if r == nil {
			w.Errorf("%s: no form can be sent to %s", path, to)
			continue
		}
		if action := actionOf(r); action != "" && !w.caller.May(action, strings.Split(to, "/")[2]) {
			w.Errorf("%s has a form for %s, which needs %s", path, to, action)
		}
	}
}

// actionOf returns the action that a page of the console requires of the visitor's roles.
func actionOf(r *web.Route) core.Action {
	action, _ := strings.CutPrefix(r.Who.String(), "visitor ")
	if action == r.Who.String() {
		return ""
	}
	return core.Action(action)
}

// refused requests everything that the role may not do, pages of another tenant, and records of another tenant below
// the path of the user's own.
func (w *consoleWalk) refused() {
	w.Helper()
	other := w.world.Tenants[1]
	if w.own == nil {
		return
	}
	ids := slices.Sorted(maps.Values(func() map[string]string {
		all := map[string]string{}
		for path, r := range other.Records {
			all[path] = r.ID
		}
		return all
	}()))
	for _, r := range w.handler.Routes() {
		if r.Dialect != web.Console || !strings.Contains(r.Path, ":tenant") {
			continue
		}
		check := func(tenant, id string, want ...int) {
			path := strings.NewReplacer(":tenant", tenant, ":id", id, ":no", "1", ":version", "1").Replace(r.Path)
			var form url.Values
			if r.Method == "POST" {
				form = url.Values{"version": {"1"}}
			}
			res := w.ask(r.Method, path, form)
			if !slices.Contains(want, res.StatusCode) {
				w.Errorf("%s %s (%s): %d, not %v", r.Method, path, r.Path, res.StatusCode, want)
			}
		}
		check(other.ID, core.NewID(), http.StatusNotFound)
		if action := actionOf(r); action != "" && !w.caller.May(action, w.own.ID) {
			check(w.own.ID, core.NewID(), http.StatusForbidden)
			continue
		}
		if strings.Contains(r.Path, ":id") {
			for _, id := range ids {
				if _, ok := core.ParseID(id); ok {
					check(w.own.ID, id, http.StatusNotFound, http.StatusForbidden, http.StatusBadRequest)
				}
			}
		}
	}
}
