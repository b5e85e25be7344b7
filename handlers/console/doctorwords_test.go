package console

import (
	"go/ast"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"newsletterd/core"
)

// doctorTexts returns the texts of doctor, as formats: all texts in its files, and those that the console is known to
// show.
func doctorTexts(t *testing.T) (all, shown map[string]bool) {
	t.Helper()
	all, shown = map[string]bool{}, map[string]bool{}
	eachFile(t, "../../cmd/newsletterd/doctor*.go", func(path string, file *ast.File) {
		only := filepath.Base(path) == "doctor.go" // its findings are only for the command
		ast.Inspect(file, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				all[textOf(e)] = true
			}
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for i, arg := range call.Args {
				text := textOf(arg)
				switch name := nameOf(call.Fun); {
				case name == "counted" && i == 1:
					all["1 "+text], all["%d "+text+"s"] = true, true
					shown["1 "+text], shown["%d "+text+"s"] = true, true
				case only || !letters.MatchString(verb.ReplaceAllString(text, "")):
				case (name == "ok" || name == "advise" || name == "Say") && i < 2,
					(name == "warn" || name == "fault") && i < 3, name == "add" && i < 4:
					shown[text] = true
				}
			}
			return true
		})
	})
	return all, shown
}

// Everything that doctor says on pages is translated, with the values that it has. doctor.json contains only texts of
// doctor.
func TestDoctorIsTranslated(t *testing.T) {
	all, shown := doctorTexts(t)
	if len(shown) < 100 {
		t.Fatalf("%d texts", len(shown))
	}
	for _, lang := range languages[1:] {
		file := readWordFile(t, "words/"+lang+"/doctor.json")
		for text := range shown {
			if file[text] == "" {
				t.Errorf("%q has no text in %s", text, lang)
			}
		}
		for text, other := range file {
			if !all[text] {
				t.Errorf("%s: doctor doesn't say %q", lang, text)
			}
			for n := 1; n <= len(verb.FindAllString(text, -1)); n++ {
				if !strings.Contains(other, "{{"+strconv.Itoa(n)+"}}") {
					t.Errorf("%s: %q lacks value %d", lang, other, n)
				}
			}
			if n := len(verb.FindAllString(text, -1)); strings.Contains(other, "{{"+strconv.Itoa(n+1)+"}}") {
				t.Errorf("%s: %q has a value that doctor doesn't give", lang, other)
			}
		}
	}
}

// Values of a sentence are shown in the language of the page: names, numbers and sentences within it.
func TestDoctorShowsValues(t *testing.T) {
	p := &Page{Lang: "de"}
	for _, tt := range []struct {
		sentence core.Sentence
		want     string
	}{
		{core.Say("anyone who signs up an address to %s can also confirm it, for example %q", core.Say("1 list"),
			[]string{"Garden", "Shop"}), "Garden, Shop"},
		{core.Say("%s", core.Say("%d verified domains", 1200)), "1.200 verifizierte Domains"},
		{core.Say("%s: %s", "a.test", core.Say("no such host")), "a.test: Diesen Host gibt es nicht"},
	} {
		if text := p.say(tt.sentence); !strings.Contains(text, tt.want) {
			t.Errorf("%q, not %q", text, tt.want)
		}
	}
}
