package page

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
)

// Every language has all texts, with the same placeholders in each.
func TestWordsOfEveryLanguage(t *testing.T) {
	names := regexp.MustCompile(`\{\{[a-z]+\}\}`)
	of := func(s string) string {
		found := names.FindAllString(s, -1)
		slices.Sort(found)
		return strings.Join(slices.Compact(found), " ")
	}
	en := reflect.ValueOf(*AllWords()["en"])
	for _, lang := range core.Languages {
		w := reflect.ValueOf(*AllWords()[lang])
		for _, f := range reflect.VisibleFields(w.Type()) {
			if f.Anonymous {
				continue
			}
			got, want := w.FieldByIndex(f.Index).String(), en.FieldByIndex(f.Index).String()
			if got == "" || of(got) != of(want) {
				t.Errorf("%s %s: %q beside %q", lang, f.Name, got, want)
			}
		}
	}
}
