package subscribercsv

import (
	"encoding/csv"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"newsletterd/core"
)

// peopleCSV returns the rows of a list of people, or nil if the text is something else.
func peopleCSV(t *testing.T, text string) (rows [][]string, sources []Source) {
	t.Helper()
	p, other, err := ReadPeople(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if p == nil {
		same, err := io.ReadAll(other)
		if err != nil || string(same) != text {
			t.Fatalf("%q became %q: %v", text, same, err)
		}
		return nil, nil
	}
	rows, err = csv.NewReader(iotest.OneByteReader(p)).ReadAll()
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return rows, p.Sources()
}

func TestPeopleInLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"Dora Klein <dora@example.test>":               "dora@example.test|Dora|Klein",
		"emil@example.test; Emil":                      "emil@example.test|Emil|",
		"Fritz, fritz@example.test":                    "fritz@example.test|Fritz|",
		"\ufefffritz@example.test\r\n":                 "fritz@example.test||",
		"Anna Maria Klein anna@example.test":           "anna@example.test|Anna Maria|Klein",
		"Anna\tKlein\tanna@example.test":               "anna@example.test|Anna|Klein",
		"anna@example.test\tAnna Klein\t":              "anna@example.test|Anna|Klein",
		`"Klein, Anna" <anna@example.test>`:            "anna@example.test|Anna|Klein",
		`"anna@example.test","Klein, Anna"`:            "anna@example.test|Anna|Klein",
		"Klein, Anna <anna@example.test>;":             "anna@example.test|Anna|Klein",
		"anna@example.test, <b@example.test>":          "anna@example.test|| b@example.test||",
		"'anna@example.test' <anna@example.test>":      "anna@example.test||",
		"mailto:anna@example.test":                     "anna@example.test||",
		"Anna (anna@example.test)":                     "anna@example.test|Anna|",
		"a@example.test, b@example.test":               "a@example.test|| b@example.test||",
		"A <a@example.test>, B <b@example.test>":       "a@example.test|A| b@example.test|B|",
		"a@example.test; B <b@example.test>; c@d.test": "a@example.test|| b@example.test|B| c@d.test||",
	} {
		rows, _ := peopleCSV(t, line)
		var got []string
		for _, row := range rows {
			got = append(got, strings.Join(row, "|"))
		}
		if len(got) == 0 || got[0] != "email|first_name|last_name" || strings.Join(got[1:], " ") != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
	for _, other := range []string{
		"", " \n", "email,name\nann@example.test,Ann\n", "Name\nann@example.test", `[{"email":"ann@example.test"}]`,
		"a@example.test,Ann,Gray,Berlin\n", "a@example.test Ann, b@example.test Bob", "%PDF-1 a@example.test",
		"A <a@example.test> B <b", "<html>a@example.test", strings.Repeat("a@example.test,", 1000),
	} {
		if rows, _ := peopleCSV(t, other); rows != nil {
			t.Errorf("%q: %q", other, rows)
		}
	}
}

// Lines without a person become faulty rows, and the sources lead to the lines of the list.
func TestPeopleKeepTheirLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxPeopleLine) + " ann@example.test"
	rows, sources := peopleCSV(t, "a@example.test\n\nwho?\nb@example.test, c@example.test\nd@example.test e@example.test f\n"+
		long+"\ng@example.test")
	s := &Survey{Sources: sources}
	want := []struct {
		line  int
		valid bool
	}{{1, true}, {3, false}, {4, true}, {4, true}, {5, false}, {6, false}, {7, true}}
	if len(rows) != len(want)+1 {
		t.Fatalf("%q", rows)
	}
	for i, w := range want {
		_, line := s.place(i + 2)
		_, err := core.ParseEmail(cleanAddress(rows[i+1][0]))
		if line != w.line || (err == nil) != w.valid || len(rows[i+1][0]) > maxShownLine+10 {
			t.Errorf("row %q: line %d (%v), want %+v", rows[i+1], line, err, w)
		}
	}
}

func FuzzPeople(f *testing.F) {
	for _, s := range []string{
		"Dora <dora@example.test>\nemil@example.test; Emil\n", "a@b.test\x00\"\"", "\"a\tb\" a@b.test", "<a@b.test> <",
		"\xff\xfea\x00@\x00b\x00.\x00c\x00", "a@b.test\r\rx\r",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, _ := peopleCSV(t, text)
		for _, row := range rows {
			if len(row) != len(peopleHeader) {
				t.Errorf("%q", row)
			}
		}
	})
}
