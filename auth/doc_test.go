package auth

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocNamesTests checks that the tests and scenarios named in the tables of doc.go exist.
func TestDocNamesTests(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	funcs := map[string]bool{}
	define := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	for where, prefix := range map[string]string{
		".": "", "../handlers": "handlers ", "../handlers/identity": "handlers ", "../cmd/newsletterd": "cmd ",
	} {
		files, err := filepath.Glob(where + "/*_test.go")
		if err != nil || len(files) == 0 {
			t.Fatal(where, err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range define.FindAllSubmatch(b, -1) {
				funcs[prefix+string(m[1])] = true
			}
		}
	}
	names := regexp.MustCompile(`(?:(?:cmd|handlers) )?(?:Test|Fuzz)[A-Z]\w+`).FindAllString(string(doc), -1)
	if len(names) < 50 {
		t.Errorf("only %d tests are named", len(names))
	}
	for _, name := range names {
		if !funcs[name] {
			t.Errorf("there is no test %s", name)
		}
	}
	for _, file := range regexp.MustCompile(`\b(?:oidc|auth)/[\w-]+\.txt`).FindAllString(string(doc), -1) {
		if _, err := os.Stat(filepath.Join("../testdata/api", filepath.FromSlash(strings.TrimSpace(file)))); err != nil {
			t.Error(err)
		}
	}
}
