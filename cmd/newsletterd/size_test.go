package main

import (
	"bytes"
	"go/ast"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/sourcetest"
)

// These limits apply to every Go file in the repository. Functions in tests can be longer because of their tables.
const (
	maxFileLines     = 600
	maxFuncLines     = 80
	maxTestFuncLines = 120
)

func TestFilesAndFunctionsAreShort(t *testing.T) {
	daemontest.Parallel(t)
	for _, f := range sourcetest.Files(t) {
		limit := maxFuncLines
		if f.Test() {
			limit = maxTestFuncLines
		}
		if n := bytes.Count(f.Text, []byte{'\n'}); n > maxFileLines {
			t.Errorf("%s has %d lines, more than %d", f.Path, n, maxFileLines)
		}
		for _, d := range f.Tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			if n := f.Line(fn.End()) - f.Line(fn.Pos()) + 1; n > limit {
				t.Errorf("%s: %s has %d lines, more than %d", f.Path, fn.Name.Name, n, limit)
			}
		}
	}
}

// TestEntryFilesAreShort checks the files that newcomers read first. Details belong in pages in docs and scripts in
// .ci.
func TestEntryFilesAreShort(t *testing.T) {
	const limit = 120
	for _, name := range []string{"README.md", "Makefile"} {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte("\n")); n > limit {
			t.Errorf("%s has %d lines, more than %d", name, n, limit)
		}
	}
}

// TestEverythingExportedIsDocumented checks that every package has a doc.go, and every exported name a comment.
func TestEverythingExportedIsDocumented(t *testing.T) {
	daemontest.Parallel(t)
	packages := map[string]bool{}
	for _, f := range sourcetest.Files(t) {
		if f.Test() {
			continue
		}
		packages[f.Dir] = packages[f.Dir] || f.Tree.Doc != nil
		for _, name := range f.Undocumented() {
			t.Errorf("%s: %s is exported and not documented", f.Path, name)
		}
	}
	for dir, has := range packages {
		if !has {
			t.Errorf("package %s has no package comment", dir)
		}
	}
}

// TestDocNamesFiles checks that a doc.go names each file of its package, by name or by a pattern such as admin*.go, and
// no file that doesn't exist.
func TestDocNamesFiles(t *testing.T) {
	daemontest.Parallel(t)
	files, docs := map[string][]string{}, map[string]string{}
	for _, f := range sourcetest.Files(t) {
		switch base := path.Base(f.Path); {
		case base == "doc.go":
			docs[f.Dir] = string(f.Text)
		case !f.Test():
			files[f.Dir] = append(files[f.Dir], base)
		}
	}
	name := regexp.MustCompile(`[\w*/]+\.go\b`)
	for dir, doc := range docs {
		if len(files[dir]) < 2 {
			continue
		}
		named := name.FindAllString(doc, -1)
		for _, file := range files[dir] {
			if !slices.ContainsFunc(named, func(p string) bool { ok, _ := path.Match(p, file); return ok }) {
				t.Errorf("%s/doc.go does not name %s", dir, file)
			}
		}
		for _, pattern := range named {
			matches := func(file string) bool { ok, _ := path.Match(pattern, file); return ok }
			if !strings.Contains(pattern, "/") && !strings.HasSuffix(pattern, "_test.go") &&
				!slices.ContainsFunc(files[dir], matches) {
				t.Errorf("%s/doc.go names %s, which does not exist", dir, pattern)
			}
		}
	}
}

// TestOnlyEdgesAskTheTime checks that code gets the time as a value. Only the edges of the program read the clock, and
// tests read it in bubbles of testing/synctest.
func TestOnlyEdgesAskTheTime(t *testing.T) {
	// The edges include the packages below them.
	edges := []string{"handlers", "worker", "auth", "mail", "store/replica", "cmd/newsletterd"}
	for _, f := range sourcetest.Files(t) {
		if sourcetest.Within(f.Dir, edges...) || f.Test() || sourcetest.Within(f.Dir, "store") ||
			strings.HasSuffix(f.Dir, "test") {
			continue // store reads the clock only for its own waits, never for data: see its SQL test
		}
		ast.Inspect(f.Tree, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Now" {
				if id, ok := sel.X.(*ast.Ident); ok && id.Name == "time" {
					t.Errorf("%s asks the time", f.Set.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

// TestFieldErrorsAreSentences checks that error messages about a field are full sentences that can be understood alone,
// for example in a form or a list of invalid lines.
func TestFieldErrorsAreSentences(t *testing.T) {
	daemontest.Parallel(t)
	fragment := regexp.MustCompile(`^"(must|is|are|has|have|may|needs) `)
	for _, f := range sourcetest.Files(t) {
		ast.Inspect(f.Tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 2 {
				return true
			}
			var name string
			switch fun := call.Fun.(type) {
			case *ast.Ident:
				name = fun.Name
			case *ast.SelectorExpr:
				name = fun.Sel.Name
			}
			field, _ := call.Args[0].(*ast.BasicLit)
			message, ok := call.Args[1].(*ast.BasicLit)
			if name != "Invalidf" || !ok || field != nil && field.Value == `""` { // "": the frame adds the name
				return true
			}
			if fragment.MatchString(message.Value) {
				t.Errorf("%s: %s", f.Set.Position(call.Pos()), message.Value)
			}
			return true
		})
	}
}
