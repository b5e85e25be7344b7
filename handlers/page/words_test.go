package page

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

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

// Times are in the words of the language and in the time zone of the newsletter, or in UTC.
func TestTimesInWords(t *testing.T) {
	berlin, err := core.ParseZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := core.At(time.Date(2026, 12, 31, 23, 30, 0, 0, time.UTC))
	for _, c := range []struct {
		lang string
		zone *time.Location
		want string
	}{
		{"de", berlin, "1. Januar 2027, 00:30 Uhr (Berlin)"},
		{"de", nil, "31. Dezember 2026, 23:30 Uhr (UTC)"},
		{"en", nil, "31 December 2026, 23:30 (UTC)"},
		{"fr", berlin, "1 janvier 2027, 00:30 (Berlin)"},
		{"es", berlin, "1 de enero de 2027, 00:30 (Berlin)"},
	} {
		if got := AllWords()[c.lang].When(at, c.zone); got != c.want {
			t.Errorf("%s: %q, want %q", c.lang, got, c.want)
		}
	}
}
