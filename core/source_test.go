package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

func parseSource(t *testing.T, file string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// sourceConstants returns the values of a file's string constants whose names start with prefix and whose declared type
// is typeName (empty: no declared type).
func sourceConstants(t *testing.T, file, prefix, typeName string) (values []string) {
	t.Helper()
	ast.Inspect(parseSource(t, file), func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) != 1 {
			return true
		}
		if id, _ := spec.Type.(*ast.Ident); typeName != "" && (id == nil || id.Name != typeName) || typeName == "" &&
			id != nil {
			return true
		}
		if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
			v, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, v)
		}
		return true
	})
	return values
}

// sourceMethods returns the names of a file's exported methods that have a pointer receiver of the given type.
func sourceMethods(t *testing.T, file, receiver string) (names []string) {
	t.Helper()
	for _, d := range parseSource(t, file).Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil || !f.Name.IsExported() {
			continue
		}
		star, ok := f.Recv.List[0].Type.(*ast.StarExpr)
		if ok && star.X.(*ast.Ident).Name == receiver {
			names = append(names, f.Name.Name)
		}
	}
	return names
}
