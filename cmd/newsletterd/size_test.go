package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
)

// Budgets of every Go file in the repository. Tests get more room in a function, for their tables.
const (
	maxFileLines     = 600
	maxFuncLines     = 80
	maxTestFuncLines = 120
)

// sourceFile is one parsed Go file of the repository.
type sourceFile struct {
	path  string // from the root
	text  []byte
	lines int
	set   *token.FileSet
	tree  *ast.File
}

func (f sourceFile) test() bool { return strings.HasSuffix(f.path, "_test.go") }

func sourceFiles(t *testing.T) []sourceFile {
	t.Helper()
	const root = "../.."
	var all []sourceFile
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, path, text, parser.ParseComments)
		if err != nil {
			return err
		}
		if ast.IsGenerated(tree) {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		all = append(all, sourceFile{rel, text, bytes.Count(text, []byte{'\n'}), set, tree})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestFilesAndFunctionsAreShort(t *testing.T) {
	daemontest.Parallel(t)
	for _, f := range sourceFiles(t) {
		limit := maxFuncLines
		if f.test() {
			limit = maxTestFuncLines
		}
		if f.lines > maxFileLines {
			t.Errorf("%s has %d lines, more than %d", f.path, f.lines, maxFileLines)
		}
		for _, d := range f.tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			if n := f.set.Position(fn.End()).Line - f.set.Position(fn.Pos()).Line + 1; n > limit {
				t.Errorf("%s: %s has %d lines, more than %d", f.path, fn.Name.Name, n, limit)
			}
		}
	}
}

// Every package says in doc.go what it is, and every exported name says what it does.
func TestEverythingExportedIsDocumented(t *testing.T) {
	daemontest.Parallel(t)
	packages := map[string]bool{}
	for _, f := range sourceFiles(t) {
		if f.test() {
			continue
		}
		dir := filepath.Dir(f.path)
		packages[dir] = packages[dir] || f.tree.Doc != nil
		for _, d := range f.tree.Decls {
			for _, name := range undocumented(d) {
				t.Errorf("%s: %s is exported and not documented", f.path, name)
			}
		}
	}
	for dir, has := range packages {
		if !has {
			t.Errorf("package %s has no package comment", dir)
		}
	}
}

// undocumented names what a declaration exports without a comment. A comment on a group of values counts for each, and
// methods that an interface of the standard library prescribes need none.
func undocumented(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && !(d.Recv != nil && (!exportedReceiver(d) || wellKnown[d.Name.Name])) {
			names = append(names, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && d.Doc == nil && s.Doc == nil {
					names = append(names, s.Name.Name)
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
						names = append(names, n.Name)
					}
				}
			}
		}
	}
	return names
}

var wellKnown = map[string]bool{
	"Error": true, "Unwrap": true, "Is": true, "String": true, "ServeHTTP": true, "Read": true, "Write": true,
	"Close":       true,
	"WriteHeader": true, "MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "UnmarshalText": true,
	"Scan": true, "Value": true, "Enabled": true, "Handle": true, "WithAttrs": true, "WithGroup": true,
}

func exportedReceiver(d *ast.FuncDecl) bool {
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	switch x := typ.(type) {
	case *ast.IndexExpr:
		typ = x.X
	case *ast.IndexListExpr:
		typ = x.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.IsExported()
}

// Time comes in as a value: only the edges look at the clock, and tests do so in synctest bubbles.
func TestOnlyEdgesAskTheTime(t *testing.T) {
	edges := []string{"handlers", "worker", "auth", "mail", "cmd/newsletterd"} // with the packages below them
	for _, f := range sourceFiles(t) {
		if dir := filepath.ToSlash(filepath.Dir(f.path)); within(dir, edges) || f.test() || dir == "store" ||
			strings.HasSuffix(dir, "test") {
			continue // store asks for its own waiting, never for what it writes: the SQL test there says so
		}
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "Now" {
				if id, ok := sel.X.(*ast.Ident); ok && id.Name == "time" {
					t.Errorf("%s asks the time", f.set.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

// TestFieldErrorsAreSentences checks that the messages of errors about a field are sentences, which are understood
// alone, as in a form or a list of faulty lines.
func TestFieldErrorsAreSentences(t *testing.T) {
	daemontest.Parallel(t)
	fragment := regexp.MustCompile(`^"(must|is|are|has|have|may|needs) `)
	for _, f := range sourceFiles(t) {
		ast.Inspect(f.tree, func(n ast.Node) bool {
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
			if name != "Invalidf" || !ok || field != nil && field.Value == `""` { // "": the frame puts the name in front
				return true
			}
			if fragment.MatchString(message.Value) {
				t.Errorf("%s: %s", f.set.Position(call.Pos()), message.Value)
			}
			return true
		})
	}
}
