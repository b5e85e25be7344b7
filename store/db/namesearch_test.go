package db

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestNamesAreFoundHoweverJSONWritesThem checks that a search for a prefix of a word finds every name with that word,
// however JSON escapes its letters. The cheap check before parsing must not exclude any match.
func TestNamesAreFoundHoweverJSONWritesThem(t *testing.T) {
	s := testOpen(t, filepath.Join(t.TempDir(), "a.db"), Daemon)
	found := func(preferences string, n NameSearch) (ok bool) {
		t.Helper()
		err := s.Get(t.Context(), &ok, "SELECT "+ByName("'key'", 1)+" FROM (SELECT ?6 AS preferences) AS s",
			append(n.Args(), preferences)...)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	for _, name := range []string{
		"Ann Müller", "Öztürk Åse", "O'Brien & Sons", `The "Duke" Ellington`, "<b>Bold</b>", "ÉCOLE Normale", "Anna-Lena 3rd",
		"a\\b c",
	} {
		b, err := json.Marshal(map[string]string{"first_name": name, "city": "Bonn"})
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(name)
		for i, w := range append(words, name) {
			for end := range []rune(w) {
				text := string([]rune(w)[:end+1])
				for _, text := range []string{text, strings.ToLower(text), strings.ToUpper(text)} {
					n := NewNameSearch(text)
					whole := n
					whole.start = ""
					if want := found(string(b), whole); want != found(string(b), n) || !want && text == string([]rune(w)[:end+1]) {
						t.Errorf("%q (%d): %q is found: %t without what it begins with", name, i, text, want)
					}
				}
			}
		}
		if n := NewNameSearch("Bonn"); found(string(b), n) || n.start != "bonn" {
			t.Errorf("%q is found by a city, or by %q", name, n.start)
		}
	}
}
