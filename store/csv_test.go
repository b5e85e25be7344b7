package store

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"newsletterd/core"
)

func (n newsletter) importCSV(file string, o CSVImport) (ImportCounts, string, error) {
	var faults bytes.Buffer
	o.ListID, o.Errors, o.Now = n.list, &faults, func() core.Instant { return now0 }
	if o.Status == "" {
		o.Status = core.SubscriptionActive
	}
	counts, err := n.ImportCSV(n.Context(), strings.NewReader(file), o)
	return counts, faults.String(), err
}

func TestImportCSV(t *testing.T) {
	for _, c := range []struct {
		name, file  string
		columns     map[string]string
		counts      ImportCounts
		faults      []string // in this order, in the error file
		email       core.Email
		preferences core.Preferences
	}{
		{"plain", "email\na@example.org\n", nil, ImportCounts{Added: 1}, nil, "a@example.org", `{}`},
		{"fields", "first_name,Email,age\nAnn,a@example.org,\n", nil, ImportCounts{Added: 1}, nil, "a@example.org", `{"first_name":"Ann"}`},
		{"byte order mark, CRLF, quotes", "\xef\xbb\xbfE-Mail,note\r\na@example.org,\"x \"\"y\"\"\nz\"\r\n", nil, ImportCounts{Added: 1}, nil, "a@example.org", `{"note":"x \"y\"\nz"}`},
		{"mapping", "who,FNAME,junk\na@example.org,Ann,1\n", map[string]string{"who": "email", "FNAME": "first_name", "junk": "-"}, ImportCounts{Added: 1}, nil, "a@example.org", `{"first_name":"Ann"}`},
		{"our export", "email,status,created_at,preferences\n'+a@example.org,active,2026-01-01T00:00:00.000Z,\"{\"\"x\"\":1}\"\n", nil, ImportCounts{Added: 1}, nil, "+a@example.org", `{"x":1}`},
		{"those who left", "email,status\nb@example.org,unsubscribed\na@example.org,active\n", nil, ImportCounts{Added: 1, Failed: 1}, []string{"2,b@example.org,"}, "a@example.org", `{}`},
		{"faulty lines", "email,x\nnot an address,1\na@example.org,1,2\na@example.org,ok\n\"a\"b,c\nz@example.org,\xff\n", nil, ImportCounts{Added: 1, Failed: 4},
			[]string{"2,not an address,", "3,a@example.org,\"has 3 columns", "5,,", "6,z@example.org,is not UTF-8"}, "a@example.org", `{"x":"ok"}`},
		{"twice in a file", "email,x\na@example.org,1\nA@Example.org,2\n", nil, ImportCounts{Added: 1, Updated: 1}, nil, "a@example.org", `{"x":"2"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := testNewsletter(t)
			counts, faults, err := n.importCSV(c.file, CSVImport{Columns: c.columns})
			if err != nil || counts != c.counts {
				t.Errorf("%+v, %v; want %+v", counts, err, c.counts)
			}
			lines := strings.Split(strings.TrimSpace(faults), "\n")[1:]
			if len(lines) != len(c.faults) {
				t.Errorf("faults:\n%s", faults)
			}
			for i := range min(len(lines), len(c.faults)) {
				if !strings.HasPrefix(lines[i], c.faults[i]) {
					t.Errorf("fault %q, want %q", lines[i], c.faults[i])
				}
			}
			sub, err := n.Subscription(t.Context(), n.list, c.email)
			if err != nil || sub.Preferences != c.preferences || sub.Status != "active" {
				t.Errorf("%+v, %v", sub, err)
			}
		})
	}
}

func TestImportCSVRefusesFiles(t *testing.T) {
	n := testNewsletter(t)
	for _, file := range []string{
		"", "name,age\nx,1\n", "email,email\n", "email,E-Mail\n", "email,preferences,x\n", "email,x,x\n",
		"email\n\"" + strings.Repeat("x", 3<<20), "email,\xff\n", strings.Repeat("a,", 300) + "email\n",
	} {
		if counts, _, err := n.importCSV(file, CSVImport{}); err == nil {
			t.Errorf("%.40q was taken: %+v", file, counts)
		}
	}
	if _, _, err := n.importCSV("email\n", CSVImport{Status: "unsubscribed"}); err == nil {
		t.Error("a status that no import may set was taken")
	}
	n.list = core.NewID()
	if _, _, err := n.importCSV("email\n", CSVImport{}); core.KindOf(err) != core.NotFound {
		t.Errorf("an unknown list: %v", err)
	}
}

func TestImportSpillsAndStaysSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("60,000 rows")
	}
	n := testNewsletter(t)
	const rows = 60_000
	var file bytes.Buffer
	file.WriteString("email,text\n")
	for i := range rows {
		fmt.Fprintf(&file, "r%d@example.org,%0200d\n", i, i)
	}
	var last CSVProgress
	counts, _, err := n.importCSV(file.String(), CSVImport{Progress: func(p CSVProgress) { last = p }})
	if err != nil || counts.Added != rows || counts.SyncID == "" || last.Lines != rows || last.Written != rows || last.Bytes != int64(file.Len()) {
		t.Fatalf("%+v %+v %v", counts, last, err)
	}
	file.Reset()
	runtime.GC()
	var out bytes.Buffer
	if got, err := n.ExportCSV(t.Context(), &out, n.list, nil); err != nil || got != rows {
		t.Fatal(got, err)
	}
	all, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(all) != rows+1 {
		t.Fatal(len(all), err)
	}
}

func TestExportGuardsFormulas(t *testing.T) {
	n := testNewsletter(t)
	n.activate("=cmd@example.org", now0)
	var out bytes.Buffer
	if _, err := n.ExportCSV(t.Context(), &out, n.list, nil); err != nil {
		t.Fatal(err)
	}
	want := "email,status,created_at,preferences\n'=cmd@example.org,active," + now0.String() + ",{}\n"
	if out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	if counts, _, err := n.importCSV(out.String(), CSVImport{}); err != nil || counts.Rows() != 1 || counts.Added != 0 {
		t.Errorf("imported again: %+v, %v", counts, err)
	}
}

func FuzzImportCSV(f *testing.F) {
	for _, seed := range []string{"email\na@b.co\n", "email,x\n\"a@b.co\",\"y\"\"\"\n", "\xef\xbb\xbfemail,preferences\na@b.co,{}\n", "email,status\r\na@b.co,active"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file string) {
		c := csvImport{im: &Import{store: &Store{subscriptionKey: []byte("k")}, list: &ListRecord{}}, spool: spool{dir: t.TempDir()}}
		c.Errors = &bytes.Buffer{}
		if err := c.read(t.Context(), strings.NewReader(file)); err != nil {
			return
		}
		for _, r := range c.spool.rows {
			if _, err := core.ParseEmail(string(r.Email)); err != nil || r.Preferences.Check("") != nil {
				t.Errorf("row %+v", r)
			}
		}
	})
}
