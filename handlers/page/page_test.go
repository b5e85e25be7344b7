package page

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

// A field for a new password accepts what the rule allows. A field for the current password accepts every password that
// could ever be set. Browsers count UTF-16 units, and 256 characters can be 512 of them.
func TestPasswordFieldsTakeWhatTheRuleAllows(t *testing.T) {
	field := regexp.MustCompile(`<input[^>]* autocomplete="(new|current)-password"[^>]*>`)
	seen := 0
	names, err := fs.Glob(files, "pages/*.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range field.FindAllStringSubmatch(string(b), -1) {
			seen++
			if want := map[string]string{
				"new":     ` maxlength="256"`,
				"current": ` maxlength="512"`,
			}[m[1]]; !strings.Contains(m[0],
				want) {
				t.Errorf("%s: no%s in %s", name, want, m[0])
			}
		}
	}
	if seen != 6 {
		t.Errorf("%d fields", seen)
	}
}

func TestEveryPageCanBeParsed(t *testing.T) {
	if err := templates.Check(); err != nil {
		t.Error(err)
	}
}

// A name such as "e. V." is never broken over two lines.
func TestAbbreviationsStayTogether(t *testing.T) {
	for text, want := range map[string]string{
		"Sonnenhang e. V.":          "Sonnenhang e.\u00a0V.",
		"Sonnenhang e. V., Bonn":    "Sonnenhang e.\u00a0V., Bonn",
		"News of May. A new season": "News of May. A new season",
	} {
		if got := unbroken(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	v := View{Title: "Sonnenhang e. V.", Brand: Brand{Name: "Sonnenhang e. V."}, Data: Note{}}
	shown, err := Fill(200, "message", v)
	if err != nil || strings.Contains(strings.SplitAfter(string(shown.Body), "</title>")[1], "e. V.") {
		t.Errorf("%s, %v", shown.Body, err)
	}
	if want := "<title>Sonnenhang e. V.</title>"; !strings.Contains(string(shown.Body), want) {
		t.Errorf("no %q in %s", want, shown.Body)
	}
}
