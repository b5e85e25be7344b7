package main

import (
	"go/ast"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/sourcetest"
)

// TestReferenceNamesEveryError checks that docs/reference.md lists each word that the API returns in "error": the
// literal values of core.Error's field Code, and the codes passed to core.Conflictf.
func TestReferenceNamesEveryError(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]token.Position{}
	for _, f := range sourcetest.Files(t) {
		if f.Test() || !sourcetest.Within(f.Dir, "core", "store", "auth", "handlers") ||
			sourcetest.Within(f.Dir, "store/replica") { // its errors are those of S3
			continue
		}
		add := func(e ast.Expr) {
			if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if code, err := strconv.Unquote(lit.Value); err == nil {
					codes[code] = f.Set.Position(lit.Pos())
				}
			}
		}
		ast.Inspect(f.Tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
					add(n.Value)
				}
			case *ast.CallExpr:
				name := ""
				switch f := n.Fun.(type) {
				case *ast.Ident:
					name = f.Name
				case *ast.SelectorExpr:
					name = f.Sel.Name
				}
				if name == "Conflictf" {
					add(n.Args[0])
				}
			}
			return true
		})
	}
	if len(codes) < 30 {
		t.Errorf("only %d error codes were found in the code", len(codes))
	}
	for code, where := range codes {
		if !strings.Contains(string(text), "`"+code+"`") {
			t.Errorf("%s: docs/reference.md does not name the error %q", where, code)
		}
	}
}
