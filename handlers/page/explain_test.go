package page

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"newsletterd/core"
)

// Each message for which pages have their own text still exists in the code.
func TestExplanationsAreSaid(t *testing.T) {
	var code strings.Builder
	for _, pattern := range []string{
		"../*.go", "../*/*.go", "../../core/*.go", "../../auth/*.go", "../../store/*.go", "../../store/*/*.go",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || filepath.Base(file) == "explain.go" {
				continue
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(b)
		}
	}
	for message := range AllWords()[core.Languages[0]].explanations() {
		format := strings.Replace(message, "GET ", "%s ", 1)
		if !strings.Contains(code.String(), strconv.Quote(format)) {
			t.Errorf("nothing says %q", message)
		}
	}
}

// A page finds its text for an error by the format or by the whole message, and shows other messages unchanged.
func TestExplainByFormat(t *testing.T) {
	w := AllWords()[core.Languages[0]]
	for _, fault := range []struct {
		err  *core.Error
		want string
	}{
		{core.Invalidf("name", "The name must have 1 to %d characters.", 50), w.FaultName},
		{core.ErrInvalidEmail, w.FaultEmail},
		{core.Invalidf("x", "x is %d.", 3), "x is 3."},
	} {
		if got := w.Explain(fault.err.Sentence()); got != fault.want {
			t.Errorf("%q, not %q", got, fault.want)
		}
	}
}
