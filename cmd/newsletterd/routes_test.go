package main

import (
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/sourcetest"
	"newsletterd/handlers"
)

// TestNoMapIsKeyedByOperations checks that what is known of an operation stands in its row of the table of routes: no
// map has an operation as its key, by method and path or by its name in the OpenAPI documents. A name of one word says
// nothing, as other things have such names too.
func TestNoMapIsKeyedByOperations(t *testing.T) {
	daemontest.Parallel(t)
	h, err := handlers.New(handlers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	operations := map[string]bool{}
	for _, r := range h.Routes() {
		if id := r.OperationID(); id != strings.ToLower(id) {
			operations[id] = true
		}
	}
	if len(operations) < 200 {
		t.Fatalf("%d operations", len(operations))
	}
	route := regexp.MustCompile(`^(GET|HEAD|POST|PUT|PATCH|DELETE) /`)
	for _, f := range sourcetest.Files(t) {
		if f.Test() || strings.HasSuffix(f.Dir, "test") {
			continue
		}
		ast.Inspect(f.Tree, func(n ast.Node) bool {
			var key ast.Expr
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				key = n.Key
			case *ast.IndexExpr:
				key = n.Index
			}
			text, ok := key.(*ast.BasicLit)
			if !ok || text.Kind != token.STRING {
				return true
			}
			if s, err := strconv.Unquote(text.Value); err == nil && (operations[s] || route.MatchString(s)) {
				t.Errorf("%s:%d: %q is the key of a map: say it in the row of the route", f.Path, f.Line(text.Pos()), s)
			}
			return true
		})
	}
}
