package handlers

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/handlers/console"
)

// newOperatorEnv is a peopleEnv whose ann is an operator.
func newOperatorEnv(t *testing.T) *peopleEnv {
	t.Helper()
	e := newPeopleEnv(t, core.RoleViewer)
	ann, err := e.store.UserByEmail(t.Context(), "ann@user.example")
	e.must(err)
	e.must(e.store.GrantRole(t.Context(), ann.ID, core.Role{Role: core.RoleOperator}, false, e.seed.Time()))
	return e
}

// operates asks for a page of operators, and checks its status and its texts.
func (e *peopleEnv) operates(path string, status int, texts ...string) string {
	e.Helper()
	got, body := e.page("GET", console.OperatorPath+path, nil)
	e.holds("GET "+path, got, body, status, texts)
	return body
}

// orders posts a form of such a page, and returns where the answer leads to.
func (e *peopleEnv) orders(path string, status int, form url.Values, texts ...string) (to string) {
	e.Helper()
	res := e.ask("POST", console.OperatorPath+path, form)
	body, err := io.ReadAll(res.Body)
	e.must(err)
	e.holds("POST "+path, res.StatusCode, string(body), status, texts)
	return strings.TrimPrefix(res.Header.Get("Location"), "https://news.example.org"+console.OperatorPath)
}

// No page of operators is there for those who only administer a tenant, and nothing leads to one.
func TestConsoleOfOperatorsIsTheirsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newPeopleEnv(t, core.RoleTenantAdmin)
		e.shows("", http.StatusOK, "-"+console.OperatorPath)
		ids := strings.NewReplacer(":id", e.tenant.ID)
		n := 0
		for _, r := range e.handler.Routes() {
			if !strings.HasPrefix(r.Path, console.OperatorPath) {
				continue
			}
			n++
			var form url.Values
			if r.Method == "POST" {
				form = url.Values{"act": {"rotate"}}
			}
			status, body := e.page(r.Method, ids.Replace(r.Path), form)
			if status != http.StatusNotFound || strings.Contains(body, console.OperatorPath) {
				t.Errorf("%s %s: %d %s", r.Method, r.Path, status, textOf(body))
			}
		}
		if n < 3 {
			t.Errorf("%d routes of operators", n)
		}
		e.cookies = map[string]string{}
		res := e.ask("GET", console.OperatorPath+"?x=1", nil)
		if to := res.Header.Get("Location"); !strings.HasSuffix(to, "/login?continue=%2Foperator%3Fx%3D1") {
			t.Errorf("without a session: %d, leads to %q", res.StatusCode, to)
		}
	})
}

func TestConsoleShowsTheSystem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newOperatorEnv(t)
		o := e.handler.options
		o.Doctor = func(_ context.Context, dns bool) []core.Finding {
			found := []core.Finding{
				{Check: "clock", Level: core.LevelOK, Text: "The clock is right."},
				{Check: "relay", Level: core.LevelFault, Text: "The relay is away.", Advice: "Start it."},
			}
			if dns {
				found = append(found, core.Finding{Check: "dkim", Level: core.LevelWarning, Text: "No DKIM record."})
			}
			return found
		}
		var err error
		e.handler, err = New(o)
		e.must(err)
		e.shows("", http.StatusOK, `href="`+console.OperatorPath+`"`, "Operation")
		e.operates("", http.StatusOK, "System", "Free on disk", "One tenant, one list, one user.", "ES256", "signs",
			"Make the next keys", `aria-current="page"`)
		e.operates("/findings", http.StatusOK, "One fault has to be mended.", "The relay is away.", "Start it.", "-No DKIM",
			"Look at DNS too")
		e.operates("/findings?dns=true", http.StatusOK, "No DKIM record.", "-Look at DNS too")
		if to := e.orders("", http.StatusSeeOther, url.Values{"act": {"rotate"}}); to != "?done=created" {
			t.Errorf("leads to %q", to)
		}
		e.operates("?done=created", http.StatusOK, "is next", "-Make the next keys")
		e.orders("", http.StatusConflict, url.Values{"act": {"rotate"}}, "The next keys wait already.")
	})
}
