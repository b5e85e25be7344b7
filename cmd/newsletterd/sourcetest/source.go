// Package sourcetest reads this repository's source for tests of its form: imports, the length of files and functions,
// and wording.
package sourcetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Root is the path of the repository, relative to the tests of cmd/newsletterd.
const Root = "../.."

// File is a Go file in the repository that is not generated.
type File struct {
	Path string // relative to the root, with slashes
	Dir  string // folder of its package
	Text []byte
	Set  *token.FileSet
	Tree *ast.File
}

// Test reports whether the file is a test file.
func (f File) Test() bool { return strings.HasSuffix(f.Path, "_test.go") }

// Line returns the line of a position.
func (f File) Line(pos token.Pos) int { return f.Set.Position(pos).Line }

// Files returns all files, parsed once for all tests.
func Files(t testing.TB) []File {
	skipShort(t)
	t.Helper()
	all, err := files()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var files = sync.OnceValues(func() (all []File, err error) {
	err = filepath.WalkDir(Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && path != Root) {
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
		if err != nil || ast.IsGenerated(tree) {
			return err
		}
		rel, err := filepath.Rel(Root, path)
		rel = filepath.ToSlash(rel)
		all = append(all, File{rel, filepath.ToSlash(filepath.Dir(rel)), text, set, tree})
		return err
	})
	return all, err
})

// Package is the output of `go list` for a package without its tests.
type Package struct {
	ImportPath string
	Imports    []string
}

// Packages returns the packages that match `go list` patterns.
func Packages(t testing.TB, patterns ...string) (all []Package) {
	skipShort(t)
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports"}, patterns...)...)
	cmd.Dir = Root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p Package
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// Within reports whether a path is one of roots or is below one.
func Within(path string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return path == r || strings.HasPrefix(path, r+"/") })
}

// Library reports whether an import path belongs to a third-party library. Such a path starts with a host name.
func Library(path string) bool { return strings.Contains(strings.SplitN(path, "/", 2)[0], ".") }

// prescribed lists method names that standard library interfaces require. Such methods need no comment.
var prescribed = map[string]bool{
	"Error": true, "Unwrap": true, "Is": true, "String": true, "ServeHTTP": true, "Read": true, "Write": true,
	"Close": true, "WriteHeader": true, "MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true,
	"UnmarshalText": true, "Scan": true, "Value": true, "Enabled": true, "Handle": true, "WithAttrs": true,
	"WithGroup": true,
}

// Undocumented returns a file's exported names without a comment. A comment on a group of values covers all of them.
func (f File) Undocumented() (names []string) {
	for _, d := range f.Tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || receiverExported(d) && !prescribed[d.Name.Name]) {
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
	}
	return names
}

// receiverExported reports whether the receiver of a method has an exported type.
func receiverExported(d *ast.FuncDecl) bool {
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

// skipShort skips source tests under the race detector.
func skipShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("a rule of the source: nothing for the race detector")
	}
}
