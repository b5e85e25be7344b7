package main

import (
	"errors"
	"io"
	"strings"
	"testing"

	"newsletterd/core"
)

// readAll reads a file and gives each line in one word: "address preferences", "left" or the fault.
func readAll(text string, rename map[string]string) (lines []string, err error) {
	r, err := newCSVReader(strings.NewReader(text), rename)
	if err != nil {
		return nil, err
	}
	for {
		row, _, err := r.next()
		var fault errLine
		switch {
		case err == nil:
			lines = append(lines, strings.TrimSpace(string(row.Email)+" "+string(row.Preferences)))
		case errors.Is(err, errLeft):
			lines = append(lines, "left")
		case errors.As(err, &fault):
			lines = append(lines, fault.Error())
		case errors.Is(err, io.EOF):
			return lines, nil
		default:
			return lines, err
		}
	}
}

func TestCSVForms(t *testing.T) {
	cases := []struct {
		name, text string
		rename     map[string]string
		want       []string
	}{
		{"plain", "email,first_name\na@b.example,Ann\n", nil, []string{`a@b.example {"first_name":"Ann"}`}},
		{"semicolons, mark and returns", "\xef\xbb\xbfE-Mail;City\r\na@b.example;Köln\r\n", nil, []string{`a@b.example {"City":"Köln"}`}},
		{"tabs", "email\tcity\na@b.example\tBonn\n", nil, []string{`a@b.example {"city":"Bonn"}`}},
		{"empty cells and columns without name", "email,,city\na@b.example,x,\n", nil, []string{"a@b.example"}},
		{"renamed and dropped", "Adresse,Vorname,Notes\na@b.example,Ann,x\n", map[string]string{"Adresse": "email", "Vorname": "first_name", "Notes": ""}, []string{`a@b.example {"first_name":"Ann"}`}},
		{"quotes and line ends in cells", "email,note\na@b.example,\"a \"\"b\"\"\nc\"\n", nil, []string{`a@b.example {"note":"a \"b\"\nc"}`}},
		{"faulty lines don't end it", "email,n\nbad,1\na@b.example\nc@d.example,2\n", nil, []string{`line 2: "bad" is no e-mail address`, "line 3: has 1 columns, not 2", `c@d.example {"n":"2"}`}},
		{"our export", "email,status,created_at,preferences\na@b.example,active,x,\"{\"\"n\"\":1}\"\nc@d.example,unsubscribed,x,{}\ne@f.example,odd,x,{}\n", nil, []string{`a@b.example {"n":1}`, "left", `line 4: unknown status "odd"`}},
		{"our export with a column more", "email,status,created_at,preferences,n\na@b.example,active,x,\"{\"\"n\"\":1,\"\"m\"\":2}\",3\n", nil, []string{`a@b.example {"m":2,"n":"3"}`}},
		{"a status that is a preference", "email,status\na@b.example,gold\n", nil, []string{`a@b.example {"status":"gold"}`}},
		{"apostrophes of an export", "email,n\n'+a@b.example,'=1\n", nil, []string{`+a@b.example {"n":"=1"}`}},
		{"preferences that are none", "email,status,created_at,preferences\na@b.example,active,x,[1]\n", nil, []string{"line 2: must be a JSON object (preferences)"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := readAll(c.text, c.rename)
			if err != nil || strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("got  %q (%v)\nwant %q", got, err, c.want)
			}
		})
	}
}

func TestCSVHeaderFaults(t *testing.T) {
	for _, c := range []struct {
		name, text, want string
		rename           map[string]string
	}{
		{"empty", "", "the file is empty", nil},
		{"no address", "name,city\n", "no column is named email; there are name, city", nil},
		{"twice", "email,n,n\n", `two columns are named "n"`, nil},
		{"unknown name", "email\n", `there is no column "x"`, map[string]string{"x": "y"}},
		{"an endless record", "email,\"" + strings.Repeat("x", 2*maxCSVRecord), "is a quote not closed?", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := readAll(c.text, c.rename); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want: %s", err, c.want)
			}
		})
	}
}

func TestSpreadsheetCells(t *testing.T) {
	for _, s := range []string{"=1+1", "+49 30", "-1", "@sum", "\tx", "\rx", "plain", "", "'quoted"} {
		cell := spreadsheetCell(s)
		if strings.IndexAny(cell, formulaStarts) == 0 {
			t.Errorf("%q would run as a formula", cell)
		}
		if plainCell(cell) != s {
			t.Errorf("%q came back as %q", s, plainCell(cell))
		}
	}
}

// Whatever a file holds, every line becomes a valid row or a fault, and reading ends.
func FuzzCSV(f *testing.F) {
	f.Add("email,first_name\na@b.example,Ann\n")
	f.Add("\xef\xbb\xbfemail;status;created_at;preferences\n'=a@b.example;active;;{\"\":1}\n\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := newCSVReader(strings.NewReader(text), nil)
		if err != nil {
			return
		}
		for {
			row, _, err := r.next()
			if err == nil {
				if _, bad := core.ParseEmail(string(row.Email)); bad != nil || row.Preferences.Check("") != nil {
					t.Fatalf("row %+v", row)
				}
				continue
			}
			if _, fault := errors.AsType[errLine](err); !fault && !errors.Is(err, errLeft) {
				return
			}
		}
	})
}
