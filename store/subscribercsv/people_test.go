package subscribercsv

import (
	"encoding/csv"
	"errors"
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
		"a@example.test Ann, b@example.test Bob":       "a@example.test|Ann| b@example.test|Bob|",
		"Dr. Inge von der Au <inge@example.test>":      "inge@example.test|Dr. Inge|von der Au",
		"Gerd Gone <gone.gerd@example.test>":           "gone.gerd@example.test|Gerd|Gone",
		"Gerd Gone, gone.gerd@example.test":            "gone.gerd@example.test|Gerd|Gone",
		"gone.gerd@example.test;Gerd Gone":             "gone.gerd@example.test|Gerd|Gone",
		"A <a@example.test>,\nB <b@example.test>; \n\n;\n, c@example.test,": "a@example.test|A| b@example.test|B| " +
			"c@example.test||",
		"- A <a@example.test>\n* b@example.test\n• c@example.test": "a@example.test|A| b@example.test|| c@example.test||",
		"1. D d@example.test\n2) e@example.test":                   "d@example.test|D| e@example.test||",
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
		"a@example.test,Ann,Gray,Berlin\n", "%PDF-1 a@example.test", "<html>a@example.test",
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

// Addresses copied from an email can be in one long line.
func TestPeopleInLongLine(t *testing.T) {
	t.Parallel()
	if rows, _ := peopleCSV(t, strings.Repeat("Ann Gray <a@example.test>, ", 1000)); len(rows) != 1001 {
		t.Errorf("%d rows", len(rows))
	}
}

// The errors of a list quote its lines as they are.
func TestPeopleFaults(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"who?":                              `"who?" is not a valid email address`,
		"ann@example.test, born 1990":       `"ann@example.test, born 1990" contains more than names and email addresses`,
		"A <a@example.test> B <b":           `"A <a@example.test> B <b" contains more than names and email addresses`,
		"Ann Inactive <ann@example.test>,":  `"Ann Inactive <ann@example.test>" may mean that the person unsubscribed`,
		"sabine.müller@example.test":        `"sabine.müller@example.test" contains "ü" before the @`,
		"S. Müller <s.müller@example.test>": `"S. Müller <s.müller@example.test>" contains "ü" before the @`,
	} {
		for _, text := range []string{"ok@example.test\n" + line, line + "\nok@example.test"} {
			if text[0] == line[0] && (line == "who?" || strings.HasPrefix(line, "Ann Inactive")) { // a header
				continue
			}
			p, table, err := ReadPeople(strings.NewReader(text))
			if err != nil || p == nil {
				t.Fatalf("%q: %v, a table %v", text, err, table != nil)
			}
			c, err := NewReader(p, Options{})
			if err != nil {
				t.Fatal(err)
			}
			var faults []string
			for err != io.EOF {
				var fault LineError
				if _, _, err = c.Next(); errors.As(err, &fault) {
					faults = append(faults, fault.Text)
				}
			}
			if len(faults) != 1 || faults[0] != want {
				t.Errorf("%q: %q, want %q", text, faults, want)
			}
		}
	}
}

func FuzzPeople(f *testing.F) {
	for _, s := range []string{
		"Dora <dora@example.test>\nemil@example.test; Emil\n", "a@b.test\x00\"\"", "\"a\tb\" a@b.test", "<a@b.test> <",
		"• A <a@b.test>,\n1. ;, ü@b.test\n", "\xff\xfea\x00@\x00b\x00.\x00c\x00", "a@b.test\r\rx\r",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		rows, _ := peopleCSV(t, text)
		for _, row := range rows {
			if len(row) != len(core.PeopleColumns) {
				t.Errorf("%q", row)
			}
		}
	})
}

// A column mapped to full_name becomes first_name and last_name, unless another column or a field of the list has that
// name.
func TestWholeNames(t *testing.T) {
	t.Parallel()
	read := func(text string, o Options) string {
		c, err := NewReader(strings.NewReader(text), o)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		row, _, err := c.Next()
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return string(row.Preferences)
	}
	whole := Options{Map: map[string]string{"Name": BecomesFullName}}
	for text, want := range map[string]string{
		"email;Name\na@x.test;\"Gray, Ann\"":            `{"first_name":"Ann","last_name":"Gray"}`,
		"email;Name\na@x.test;Dr. Inge von der Au":      `{"first_name":"Dr. Inge","last_name":"von der Au"}`,
		"email;Name\na@x.test;Ann":                      `{"first_name":"Ann"}`,
		"email;Name\na@x.test;":                         "",
		"email;first_name;Name\na@x.test;Anne;Ann Gray": `{"first_name":"Anne","last_name":"Gray"}`,
		"email;first_name;Name\na@x.test;;Ann Gray":     `{"first_name":"Ann","last_name":"Gray"}`,
	} {
		if got := read(text, whole); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	whole.Fields = core.Fields{{Name: BecomesFullName, Label: "Name"}}
	if got := read("email;Name\na@x.test;Ann Gray", whole); got != `{"full_name":"Ann Gray"}` {
		t.Errorf("a field of the list: %s", got)
	}
}
