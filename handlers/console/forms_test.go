package console

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each input of a form that changes something can say what is wrong with it.
func TestInputsSayWhatIsWrong(t *testing.T) {
	input := regexp.MustCompile(`{{template "(field|choice|file)" [^\n]*?}}\n`)
	carries := []string{ // the value has what is wrong with it
		"components.html", "suppressions.html", "theme.html",
	}
	files, err := filepath.Glob("templates/*.html")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := filepath.Base(file); name == "design.html" || slices.Contains(carries, name) {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for form := range strings.SplitSeq(string(b), "<form") {
			if !strings.Contains(form, `method="get"`) {
				for _, one := range input.FindAllString(form, -1) {
					if !strings.Contains(one, "Blame") && !strings.Contains(one, "$f}}") && !strings.Contains(one, ".Data.Email}}") &&
						!strings.Contains(one, ".Data.Source}}") && !strings.Contains(one, ".Data.Address}}") {
						t.Errorf("%s: %s", file, one)
					}
				}
			}
		}
	}
}
