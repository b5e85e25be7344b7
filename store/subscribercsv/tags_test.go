package subscribercsv

import (
	"errors"
	"strings"
	"testing"

	"newsletterd/core"
)

func TestTags(t *testing.T) {
	for cell, want := range map[string]string{
		`VIP, Press`:                        "VIP|Press",
		`VIP;Press; ;`:                      "VIP|Press",
		`"VIP","Press"`:                     "VIP|Press",
		`"a, b","c"`:                        "a, b|c",
		`["VIP","Press"]`:                   "VIP|Press",
		"'=x":                               "=x",
		"Friends ::: Work ::: * myContacts": "Friends|Work",
		"":                                  "",
	} {
		var got []string
		for _, name := range splitTags(cell) {
			if name = cleanCell(name); name != "" {
				got = append(got, name)
			}
		}
		if text := strings.Join(got, "|"); text != want {
			t.Errorf("%s: %s, not %s", cell, text, want)
		}
	}
}

// A column named tags or labels contains tags, unless the list has such a field. A mapping decides otherwise. Invalid
// names are left out.
func TestTagColumns(t *testing.T) {
	for _, c := range []struct {
		header, cell string
		o            Options
		tags, prefs  string
	}{
		{header: "Tags", cell: `"a,b"`, tags: "a;b"},
		{header: "Labels", cell: "a;b", tags: "a;b"},
		{header: "Schlagwörter", cell: "a", tags: "a"},
		{header: "étiquettes", cell: "a", tags: "a"},
		{header: "Gruppe", cell: "a", o: Options{Map: map[string]string{"Gruppe": "Tags"}}, tags: "a"},
		{header: "tags", cell: "a", o: Options{Map: map[string]string{"tags": "topic"}}, prefs: `{"topic":"a"}`},
		{header: "tags", cell: "a", o: Options{Fields: core.Fields{{Name: "tags"}}}, prefs: `{"tags":"a"}`},
		{header: "tags", cell: "a", o: Options{KnownOnly: true}, tags: "a"},
		{header: "tags", cell: "a", o: Options{Tags: []string{"b", "c"}}, tags: "b;c;a"},
		{header: "tags", cell: `"` + strings.Repeat("x", core.MaxTagName+1) + `,ok"`, tags: "ok"},
	} {
		r, err := NewReader(strings.NewReader("email,"+c.header+"\na@b.example,"+c.cell+"\n"), c.o)
		if err != nil {
			t.Fatal(c.header, err)
		}
		row, _, err := r.Next()
		if err != nil || row.Tags != c.tags || string(row.Preferences) != c.prefs || r.HasTags() != (c.tags != "") {
			t.Errorf("%s: %q %q %v", c.header, row.Tags, row.Preferences, err)
		}
	}
}

// An import of newsletterd's own export restores the tags, whatever their names are, even if the list has a field named
// tags.
func TestExportedTagsComeBack(t *testing.T) {
	tags := []string{`"quoted"`, "=sum", "[x]", "a ::: b", "* star", "Zürich"}
	sub := &core.Subscription{
		Email: "a@b.example", Status: core.SubscriptionActive, Preferences: `{"tags":"mine","city":"Ulm"}`,
	}
	for name, write := range map[string]func(*strings.Builder, []string) error{
		"plain": func(b *strings.Builder, tags []string) error {
			w := NewWriter(b, false, 0)
			return errors.Join(w.Write(sub, tags), w.Close())
		},
		"with fields": func(b *strings.Builder, tags []string) error {
			w := NewFieldWriter(b, []string{"city", "tags"}, 0)
			return errors.Join(w.WriteOn("News", sub, tags, 0, 0), w.Close())
		},
	} {
		for _, some := range [][]string{tags, tags[4:], tags[5:], nil} {
			var b strings.Builder
			if err := write(&b, some); err != nil {
				t.Fatal(err)
			}
			r, err := NewReader(strings.NewReader(b.String()), Options{Fields: core.Fields{{Name: "tags"}}})
			if err != nil {
				t.Fatal(err)
			}
			row, _, err := r.Next()
			if err != nil || row.Tags != strings.Join(some, ";") ||
				row.Preferences.Values()["tags"] == nil || r.BadTags > 0 {
				t.Errorf("%s: %q %s %v\n%s", name, row.Tags, row.Preferences, err, b.String())
			}
		}
	}
}
