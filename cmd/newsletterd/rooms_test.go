package main

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/sourcetest"
)

const (
	filesOfFolder = 50  // Go files in a folder, without tests
	methodsOfType = 140 // methods of a type
)

// large lists the folders and types that may have more: core has the types and rules of everything, and the pages of
// the console are one unit. Don't add others, but split them.
var large = map[string]int{
	"core": 1000, "handlers/console": 1000,
	"handlers/console.Page": 1000, "handlers/console.Console": 1000,
}

// TestRoomsAreSmall checks that no folder has too many files and no type too many methods, so a reader can keep them in
// mind.
func TestRoomsAreSmall(t *testing.T) {
	daemontest.Parallel(t)
	files, methods := map[string]int{}, map[string]int{}
	for _, f := range sourcetest.Files(t) {
		if f.Test() {
			continue
		}
		files[f.Dir]++
		for _, d := range f.Tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[f.Dir+"."+receiver(fn.Recv.List[0].Type)]++
			}
		}
	}
	for dir, n := range files {
		if limit := max(filesOfFolder, large[dir]); n > limit {
			t.Errorf("%s has %d files, more than %d", dir, n, limit)
		}
	}
	for name, n := range methods {
		if limit := max(methodsOfType, large[name]); n > limit {
			t.Errorf("%s has %d methods, more than %d", name, n, limit)
		}
	}
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

var statement = regexp.MustCompile(`["` + "`" + `](SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM) `)

// TestStatementsStayInTheStore checks that only store and the packages below it contain SQL. All other packages call
// its operations.
func TestStatementsStayInTheStore(t *testing.T) {
	daemontest.Parallel(t)
	for _, f := range sourcetest.Files(t) {
		if f.Test() || f.Dir == "store" || strings.HasPrefix(f.Dir, "store/") || f.Dir == "schema" ||
			strings.HasSuffix(f.Dir, "test") { // helpers of tests read the file itself
			continue
		}
		if strings.Contains(string(f.Text), "db.Tx") {
			t.Errorf("%s takes part in a transaction of the store", f.Path)
		}
		if s := statement.FindString(string(f.Text)); s != "" {
			t.Errorf("%s has a statement: %s", f.Path, s)
		}
	}
}
