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

// TestNoMapIsKeyedByOperations checks that facts about an operation are in its row of the table of routes. No map may
// have operations as keys, by method and path or by their names in the OpenAPI documents. Names of a single word are
// ignored, because not only operations have such names.
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

// TestTagsOfInputsAreKnown checks that the code reads every tag of an input. A misspelled tag would be missing in the
// OpenAPI documents, and no other test would notice.
func TestTagsOfInputsAreKnown(t *testing.T) {
	daemontest.Parallel(t)
	known := map[string]bool{
		"json": true, "form": true, "query": true, "path": true, "header": true, "db": true, "xml": true,
		"is": true, "enum": true,
		"min": true, "max": true, "oneof": true, "like": true, "each": true, "about": true,
	}
	key := regexp.MustCompile(`(\w+):"(?:[^"\\]|\\.)*"`)
	for _, f := range sourcetest.Files(t) {
		if f.Test() || f.Dir != "core" && !sourcetest.Within(f.Dir, "handlers") {
			continue
		}
		ast.Inspect(f.Tree, func(n ast.Node) bool {
			field, ok := n.(*ast.Field)
			if !ok || field.Tag == nil {
				return true
			}
			for _, found := range key.FindAllStringSubmatch(field.Tag.Value, -1) {
				if !known[found[1]] {
					t.Errorf("%s:%d: no code reads the tag %s", f.Path, f.Line(field.Pos()), found[1])
				}
			}
			return true
		})
	}
}
