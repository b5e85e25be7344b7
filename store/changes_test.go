package store

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/people"
)

// TestTheTrailTellsWhatChanged checks that an audit entry contains the values before and after a change, the origin of
// the request, and only the beginning of a long text.
func TestTheTrailTellsWhatChanged(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	from := netip.MustParseAddr("192.0.2.7")
	ctx := context.WithValue(t.Context(), db.OriginKey{}, &from)
	tenant := core.Tenant{ID: core.NewID(), Name: "Acme", Status: core.TenantActive}
	must(t, s.AddTenant(ctx, tenant, "user:ann"))
	template, err := core.NewTemplate(tenant.ID, core.TemplateInput{
		Name: new("frame"), BodyHTML: new(strings.Repeat("x", 2000)),
	}, 2)
	must(t, err)
	must(t, s.AddTemplate(ctx, template, "user:ann"))
	_, err = s.UpdateTenant(ctx, tenant.ID, "user:ann", func(t *core.Tenant) error {
		t.Name, t.Domains, t.UpdatedAt = "Acme Gardens", core.Strings{"acme.example"}, 3
		return nil
	})
	must(t, err)
	must(t, s.DeleteTenant(ctx, tenant.ID, "user:ann", 4))
	rows, _, err := s.Audit(ctx, core.AuditFilter{Actor: "user:ann"}, core.Page{Limit: 9})
	must(t, err)
	want := []struct{ action, changes string }{
		{"tenant.delete", `{"deleted_at":{"before":null,"after":"1970-01-01T00:00:00.004Z"}}`},
		{"tenant.update", `{"domains":{"before":null,"after":["acme.example"]},` +
			`"name":{"before":"Acme","after":"Acme Gardens"}}`},
		{"template.create", `{"body_html":{"before":null,"after":"` + strings.Repeat("x", db.MaxAudited) + `…"},` +
			`"name":{"before":null,"after":"frame"},"tenant_id":{"before":null,"after":"` + tenant.ID + `"}}`},
		{"tenant.create", `{"name":{"before":null,"after":"Acme"},"status":{"before":null,"after":"active"}}`},
	}
	for i, w := range want {
		if len(rows) != len(want) || rows[i].Action != w.action || string(rows[i].Changes) != w.changes ||
			rows[i].Origin != "192.0.2.7" {
			t.Errorf("%d: %+v, want %s", i, rows, w)
		}
	}
	if b, err := json.Marshal(core.AuditEntry{}); err != nil || !strings.Contains(string(b), `"changes":{}`) {
		t.Errorf("%s, %v", b, err)
	}
	must(t, s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE audit SET actor = 'command:root' WHERE action = 'tenant.create'")
		return err
	}))
	rows, _, err = s.Audit(ctx, core.AuditFilter{Action: "tenant", From: 3, TenantID: tenant.ID}, core.Page{Limit: 9})
	if err != nil || len(rows) != 2 {
		t.Errorf("%+v, %v; want the two changes of the tenant since then", rows, err)
	}
	rows, _, err = s.Audit(ctx, core.AuditFilter{Object: tenant.ID, Until: 3}, core.Page{Limit: 9})
	if err != nil || len(rows) != 1 || rows[0].Origin != core.CommandLine {
		t.Errorf("%+v, %v; want what was before, by a command", rows, err)
	}
	if _, err := s.Housekeeping(ctx, people.Retention{}, core.Instant(4).Add(people.OriginKept)); err != nil {
		t.Fatal(err)
	}
	rows, _, err = s.Audit(ctx, core.AuditFilter{Actor: "user:ann"}, core.Page{Limit: 9})
	if err != nil || len(rows) != 3 || rows[0].Origin == "" || rows[1].Origin != "" {
		t.Errorf("%+v, %v; want the origins of the oldest forgotten", rows, err)
	}
}

// TestAuditReadsABoundedNumberOfEntries checks that a filter that matches nothing recent returns a short page and the
// position to continue from.
func TestAuditReadsABoundedNumberOfEntries(t *testing.T) {
	n := testOpen(t, filepath.Join(t.TempDir(), "a.db"), db.Daemon)
	n.SQL("DELETE FROM audit")
	n.SQL("INSERT INTO audit (at, actor, action) VALUES (0, 'command', 'list.create')")
	n.SQL(
		"WITH RECURSIVE i (n) AS (VALUES (2) UNION ALL SELECT n + 1 FROM i WHERE n <= 2 * 2000) INSERT INTO audit (at, " +
			"actor, action) SELECT (n + 1) / 3, 'command', 'job.create' FROM i",
	)
	var page core.Page
	for pages := 1; ; pages++ {
		page.Limit = 10
		rows, next, err := n.Audit(t.Context(), core.AuditFilter{Action: "list"}, page)
		must(t, err)
		if next == "" {
			if pages != 3 || len(rows) != 1 || rows[0].Action != "list.create" {
				t.Errorf("page %d: %+v", pages, rows)
			}
			break
		}
		if len(rows) != 0 {
			t.Errorf("page %d: %+v", pages, rows)
		}
		page.After = next
	}
	seen := map[int64]bool{}
	for page := (core.Page{Limit: 999}); ; {
		rows, next, err := n.Audit(t.Context(), core.AuditFilter{}, page)
		must(t, err)
		for _, r := range rows {
			seen[r.ID] = true
		}
		if page.After = next; next == "" {
			break
		}
	}
	if len(seen) != 4001 {
		t.Errorf("%d entries in all pages, want each once", len(seen))
	}
}

// auditors maps each function that writes an audit entry to the index of its action argument.
var auditors = map[string]int{
	"Audit": 2, "AuditUpdate": 2, "AuditBy": 1, "ByActor": 1, "ChangeRecord": 3, "TouchRecord": 3, "RemoveRecord": 3,
	"changeImport": 3, "changeCampaign": 2, "factorChanged": 3, "AuditBlocks": 3, "AuditEnded": 3,
}

// calledBy returns the name of the function in a call.
func calledBy(call *ast.CallExpr) string {
	switch fun := call.Fun.(type) {
	case *ast.SelectorExpr:
		return fun.Sel.Name
	case *ast.Ident:
		return fun.Name
	}
	return ""
}

// actionsOfTheTrail returns the audit actions named in the source of this package. An action that ends in a dot is
// continued with the name of a role or state.
func actionsOfTheTrail(t *testing.T) (actions []string) {
	t.Helper()
	var names []string
	for _, dir := range []string{"*.go", "*/*.go"} {
		found, err := filepath.Glob(dir)
		must(t, err)
		names = append(names, found...)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		must(t, err)
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			_, helper := auditors[fn.Name.Name]
			ast.Inspect(fn, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				name := calledBy(call)
				place, ok := auditors[name]
				if !ok || helper || len(call.Args) <= place || name == "Audit" && len(call.Args) < 5 { // reads the log
					return true
				}
				arg := call.Args[place]
				if sum, ok := arg.(*ast.BinaryExpr); ok {
					arg = sum.X
				}
				lit, ok := arg.(*ast.BasicLit)
				if !ok {
					t.Errorf("%s: %s names no action that a reader of the source could find", name, fn.Name.Name)
					return true
				}
				action, err := strconv.Unquote(lit.Value)
				must(t, err)
				actions = append(actions, action)
				return true
			})
		}
	}
	return actions
}

// changesNoRecord lists the actions whose entries have no values, and the reason.
var changesNoRecord = map[string]string{
	"subscription.export": "it reads", "person.export": "it reads", "recipient.export": "it reads",
	"suppression.export":  "it reads",
	"user.passkey.copied": "the sign-in is refused",
}

// TestTheTrailTellsEveryChange checks that an entry of each possible action contains the values before and after the
// change.
func TestTheTrailTellsEveryChange(t *testing.T) {
	s := newStory(t, false, false)
	s.faultless = true
	s.whole()
	actions := actionsOfTheTrail(t)
	seen := map[string]int{}
	var rows []core.AuditEntry
	must(t, s.clean.Select(&rows, "SELECT action, detail FROM audit ORDER BY id"))
	for _, r := range rows {
		i := slices.Index(actions, r.Action)
		if i < 0 {
			i = slices.IndexFunc(actions, func(a string) bool {
				return strings.HasSuffix(a, ".") && strings.HasPrefix(r.Action, a)
			})
		}
		if i < 0 {
			t.Errorf("%s: no such action in the source", r.Action)
			continue
		}
		seen[actions[i]]++
		if why := changesNoRecord[actions[i]]; (r.Changes == "") != (why != "") {
			t.Errorf("%s: %q (%s)", r.Action, r.Changes, why)
		}
	}
	for _, a := range actions {
		if seen[a] == 0 {
			t.Errorf("%s: the story of all operations has none", a)
		}
	}
}
