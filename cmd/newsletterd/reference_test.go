package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestReferenceNamesEveryError holds docs/reference.md to the code: each word that the API answers in "error" stands
// there.
func TestReferenceNamesEveryError(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]token.Position{}
	for _, dir := range []string{"core", "store", "auth", "handlers"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			return collectErrorCodes(path, codes)
		})
		if err != nil {
			t.Fatal(err)
		}
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

// collectErrorCodes adds the literal values of core.Error's field Code, and the codes that core.Conflictf is given.
func collectErrorCodes(path string, codes map[string]token.Position) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	add := func(e ast.Expr) {
		if lit, ok := e.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if code, err := strconv.Unquote(lit.Value); err == nil {
				codes[code] = fset.Position(lit.Pos())
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
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
	return nil
}
