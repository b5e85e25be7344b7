package subscribercsv

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"newsletterd/core"
)

// readAll reads a file and returns one text per line: "address preferences", "left" or the error.
func readAll(text string, rename map[string]string) (lines []string, err error) {
	r, err := NewReader(strings.NewReader(text), Options{Map: rename})
	if err != nil {
		return nil, err
	}
	return all(r)
}

func all(r *Reader) (lines []string, err error) {
	for {
		row, _, err := r.Next()
		var fault LineError
		switch {
		case err == nil:
			lines = append(lines, strings.TrimSpace(string(row.Email)+" "+string(row.Preferences)))
		case errors.Is(err, ErrLeft):
			lines = append(lines, "left")
		case errors.Is(err, ErrPending):
			lines = append(lines, "pending")
		case errors.As(err, &fault):
			lines = append(lines, fault.Error())
		case errors.Is(err, io.EOF):
			return lines, nil
		default:
			return lines, err
		}
	}
}

var formCases = []struct {
	name, text string
	rename     map[string]string
	want       []string
}{
	{"plain", "email,first_name\na@b.example,Ann\n", nil, []string{`a@b.example {"first_name":"Ann"}`}},
	{
		"semicolons, mark and returns", "\xef\xbb\xbfE-Mail;City\r\na@b.example;Köln\r\n", nil,
		[]string{`a@b.example {"City":"Köln"}`},
	},
	{"tabs", "email\tcity\na@b.example\tBonn\n", nil, []string{`a@b.example {"city":"Bonn"}`}},
	{"empty cells and columns without name", "email,,city\na@b.example,x,\n", nil, []string{"a@b.example"}},
	{
		"renamed and dropped", "Adresse,Vorname,Notes\na@b.example,Ann,x\n",
		map[string]string{"Adresse": "email", "Vorname": "first_name", "Notes": ""},
		[]string{`a@b.example {"first_name":"Ann"}`},
	},
	{
		"quotes and line ends in cells", "email,note\na@b.example,\"a \"\"b\"\"\nc\"\n", nil,
		[]string{`a@b.example {"note":"a \"b\"\nc"}`},
	},
	{
		"faulty lines don't end it", "email,n\nbad,1\na@b.example\nc@d.example,2\n", nil,
		[]string{`line 2: "bad" is not a valid email address`, "line 3: has 1 columns, not 2", `c@d.example {"n":"2"}`},
	},
	{
		"our export",
		"email,status,created_at,preferences\na@b.example,active,x,\"{\"\"n\"\":1}\"\nc@d.example,unsubscribed,x,{}\n" +
			"e@f.example,odd,x,{}\n", nil,
		[]string{`a@b.example {"n":1}`, "left", `line 4: unknown status "odd"`},
	},
	{
		"our export with a column more",
		"email,status,created_at,preferences,n\na@b.example,active,x,\"{\"\"n\"\":1,\"\"m\"\":2}\",3\n", nil,
		[]string{`a@b.example {"m":2,"n":"3"}`},
	},
	{
		"our export without its status",
		"email,preferences\na@b.example,\"{\"\"n\"\":1}\"\nc@d.example,\ne@f.example,daily\n", nil,
		[]string{`a@b.example {"n":1}`, "c@d.example", "line 4: preferences must be a JSON object."},
	},
	{
		"a text named preferences", "email,preferences\na@b.example,daily\n",
		map[string]string{"preferences": "preferences"},
		[]string{`a@b.example {"preferences":"daily"}`},
	},
	{
		"a status that is a preference", "email,status\na@b.example,gold\n",
		map[string]string{"status": "level"},
		[]string{`a@b.example {"level":"gold"}`},
	},
	{
		"a status that says nothing", "email,status\na@b.example,gold\nc@d.example,\n", nil,
		[]string{`line 2: unknown status "gold"`, `line 3: unknown status ""`},
	},
	{
		"a status of no known form",
		"email,Member " +
			"Status\na@b.example,Subscribed\nc@d.example,cleaned\ne@f.example,unconfirmed\ng@h.example,Opted-Out\n",
		nil,
		[]string{"a@b.example", "left", "pending", "left"},
	},
	{
		"two of them",
		"email,status,subscription_status\na@b.example,enabled,confirmed\nc@d.example,enabled,unconfirmed\n" +
			"e@f.example,enabled,unsubscribed\ng@h.example,unconfirmed,unsubscribed\n", nil,
		[]string{"a@b.example", "pending", "left", "left"},
	},
	{
		"who has left, yes or no",
		"email,Unsubscribed\na@b.example,false\nb@b.example,TRUE\nc@b.example,0\nd@b.example,1\ne@b.example,\n" +
			"f@b.example,yes\ng@b.example,maybe\nh@b.example,2021-03-04\n", nil,
		[]string{
			"a@b.example", "left", "c@b.example", "left", "e@b.example", "left", `line 8: unknown Unsubscribed "maybe"`,
			"left",
		},
	},
	{
		"who takes part, yes or no",
		"email,subscribed_to_emails,confirmed\na@b.example,true,true\nb@b.example,false,true\nc@b.example,,true\n" +
			"d@b.example,true,no\ne@b.example,false,no\n", nil,
		[]string{
			"a@b.example", "left", `line 4: unknown subscribed_to_emails ""`, "pending", "left",
		},
	},
	{
		"left, and something unknown", "email,confirmed,status\na@b.example,,unsubscribed\nc@d.example,,active\n", nil,
		[]string{"left", `line 3: unknown confirmed ""`},
	},
	{
		"when somebody left",
		"email,unsubscribed_at\na@b.example,\nb@b.example,2020-05-05 10:00:00\nc@b.example,0000-00-00 " +
			"00:00:00\nd@b.example,NULL\n", nil,
		[]string{"a@b.example", "left", "c@b.example", "d@b.example"},
	},
	{
		"columns of Mailchimp's without its bookkeeping",
		"Email Address,UNSUB_TIME\na@b.example,\nb@b.example,2020-05-05 10:00:00\n", nil,
		[]string{"a@b.example", "left"},
	},
	{
		"such a column that is a preference", "email,active\na@b.example,no\n",
		map[string]string{"active": "active"},
		[]string{`a@b.example {"active":"no"}`},
	},
	{
		"such a column in our export", "email,status,created_at,preferences,unsubscribed\na@b.example,active,x,{},true\n",
		nil,
		[]string{"left"},
	},
	{"never confirmed", "email,status,created_at,preferences\na@b.example,pending,x,{}\n", nil, []string{"pending"}},
	{
		"a file of Excel's in Windows-1252",
		"E-Mail;Vorname;Stra\xdfe\na@b.example;J\xfcrgen;\x84Am Bach\x93 \x80\nb@b.example;Zo\xc3\xab;x\n", nil,
		[]string{
			`a@b.example {"first_name":"Jürgen","Straße":"„Am Bach“ €"}`,
			`b@b.example {"first_name":"Zoë","Straße":"x"}`,
		},
	},
	{
		"neither UTF-8 nor Windows-1252", "email,b\na@b.example,b\x81c\n", nil,
		[]string{"line 2: Column b is not valid UTF-8 or contains NUL. (preferences)"},
	},
	{
		"NUL in a cell", "email,b\nnul1@x.example,b\x00c\n", nil,
		[]string{"line 2: Column b is not valid UTF-8 or contains NUL. (preferences)"},
	},
	{
		"JSON that no receiver takes",
		"email,status,created_at,preferences\na@b.example,active,x,\"{\"\"a\"\":\"\"\\u0000\"\"}\"\n" +
			"a@b.example,active,x,\"{\"\"a\"\":\"\"\\ud800\"\"}\"\na@b.example,active,x,\"{\"\"a\"\":1,\"\"a\"\":2}\"\n", nil,
		[]string{
			"line 2: preferences is not valid JSON: malformed escape, or NUL (byte 12).",
			"line 3: preferences is not valid JSON: unpaired surrogate (byte 12).",
			`line 4: preferences is not valid JSON: the key "a" is used twice (byte 10).`,
		},
	},
	{
		"the same under a column more",
		"email,status,created_at,preferences,n\na@b.example,active,x,\"{\"\"a\"\":1,\"\"a\"\":2}\",3\n", nil,
		[]string{`line 2: preferences is not valid JSON: the key "a" is used twice (byte 10).`},
	},
	{"apostrophes of an export", "email,n\n'+a@b.example,'=1\n", nil, []string{`+a@b.example {"n":"=1"}`}},
	{
		"listmonk",
		"uuid,email,name,attributes,status,created_at,updated_at\n" +
			"u,a@b.example,Ann,\"{\"\"city\"\":\"\"Ulm\"\"}\",enabled,x,y\nu,c@d.example,Cy,{},blocklisted,x,y\n" +
			"u,e@f.example,Ed,{},disabled,x,y\nu,g@h.example,Gil,{},odd,x,y\n", nil,
		[]string{`a@b.example {"city":"Ulm","name":"Ann"}`, "left", "left", `line 5: unknown status "odd"`},
	},
	{
		"Mailchimp, subscribed",
		"\"Email Address\",\"First Name\",\"Last Name\",\"Phone " +
			"Number\",MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP,LATITUDE,LONGITUDE,GMTOFF,DSTOFF," +
			"TIMEZONE,CC,REGION,LAST_CHANGED,LEID,EUID,NOTES,TAGS\n" +
			"a@b.example,Ann,Lee,,2,t,1.2.3.4,t,1.2.3.4,1,2,3,4,tz,de,by,t,9,e,secret,\"\"\"VIP\"\"\"\n", nil,
		[]string{`a@b.example {"first_name":"Ann","last_name":"Lee"}`},
	},
	{
		"Mailchimp without its last columns", "E-mail address,First Name,MEMBER_RATING,LAST_CHANGED,NOTES,TAGS\n" +
			"a@b.example,Ann,2,t,secret,\"\"\"VIP\"\"\"\n", nil,
		[]string{`a@b.example {"first_name":"Ann"}`},
	},
	{
		"Mailchimp by two of its times", "Email Address,Last Name,OPTIN_TIME,CONFIRM_TIME,REGION\na@b.example,Lee,,,by\n",
		nil,
		[]string{`a@b.example {"last_name":"Lee"}`},
	},
	{
		"columns that others have, too", "email,First Name,LAST_CHANGED,NOTES,TAGS\na@b.example,Ann,t,x,y\n", nil,
		[]string{`a@b.example {"first_name":"Ann","LAST_CHANGED":"t","NOTES":"x"}`},
	},
	{
		"Mailchimp, unsubscribed and cleaned",
		"Email Address,FNAME,LEID,EUID,UNSUB_TIME,CLEAN_TIME,UNSUB_CAMPAIGN_ID,UNSUB_CAMPAIGN_ID\n" +
			"a@b.example,A,1,e,2020-01-01,,1,1\nc@d.example,C,1,e,,2020-01-01,,\ne@f.example,E,1,e,,,,\n", nil,
		[]string{"left", "left", `e@f.example {"first_name":"E"}`},
	},
	{
		"a form's column that is renamed", "uuid,email,name,attributes,status\nu,a@b.example,Ann,{},enabled\n",
		map[string]string{"uuid": "old_id", "name": "first_name"},
		[]string{`a@b.example {"first_name":"Ann","old_id":"u"}`},
	},
	{
		"a quote in the middle of a cell", "email,n\na@b.example,x\"y\"\nc@d.example,\"2\"3\ne@f.example,4\n", nil,
		[]string{
			`line 2: a quote (") is inside a cell or is never closed`,
			`line 3: a quote (") is inside a cell or is never closed`, `e@f.example {"n":"4"}`,
		},
	},
	{
		"a quote closed lines later", "email,n\na@b.example,\"1\nc@d.example,2\ne@f.example,\"3\"\ng@h.example,4\n",
		nil,
		[]string{
			`line 2: a quote (") is not closed where it should be: lines 2 to 4 are read as one`,
			`g@h.example {"n":"4"}`,
		},
	},
	{
		"preferences that are none", "email,status,created_at,preferences\na@b.example,active,x,[1]\n", nil,
		[]string{"line 2: preferences must be a JSON object."},
	},
}

func TestCSVForms(t *testing.T) {
	for _, c := range formCases {
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
		{
			"more columns than are read", "email" + strings.Repeat(",x", MaxColumns) + "\n",
			"the file has 1001 columns, but at most 1000 are allowed", nil,
		},
		{
			"as many columns as are read", "email" + strings.Repeat(",x", MaxColumns-1) + "\n",
			`two columns are named "x"`, nil,
		},
		{"no address", "name,city\n", "no column is named email; the file has name, city", nil},
		{"two addresses", "email,email\n", `two columns contain email addresses: "email" and "email"`, nil},
		{"two addresses in our export", "email,email,status,preferences\n", "two columns contain email addresses", nil},
		{"NUL in a name", "email,b\x00c\n", "the name of column 2 is not valid UTF-8 or contains NUL", nil},
		{"twice", "email,n,n\n", `two columns are named "n"`, nil},
		{"unknown name", "email\n", `column "x" not found`, map[string]string{"x": "y"}},
		{
			"a quote never closed", "email,n\na@b.example,1\nc@d.example,\"2\ne@f.example,3\n",
			`line 3: a quote (") is never closed`, nil,
		},
		{
			"a quote never closed in the header", "email,\"n\na@b.example,1\n",
			`header: line 1: a quote (") is never closed`, nil,
		},
		{
			"an endless record", "email,\"" + strings.Repeat("x", 2*maxRecord),
			"Check for a quote that is not closed", nil,
		},
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

// When a spreadsheet program opens a file of faults, it runs no formulas from lines or column names.
func TestFaultsAreNoFormulas(t *testing.T) {
	var out bytes.Buffer
	f, err := NewFaults(&out, []string{"email", "=1+1"})
	if err == nil {
		err = f.Report(LineError{Line: 2, Text: "no address"}, []string{"@SUM(1)", "-1"})
	}
	if err == nil {
		err = f.Flush()
	}
	if want := "line,error,email,'=1+1\n2,no address,'@SUM(1),'-1\n"; err != nil || out.String() != want {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// A preview reads the file as the import does.
func TestPreviewOfWindows1252(t *testing.T) {
	p, err := NewPreview(strings.NewReader("E-Mail;Ort\na@b.example;K\xf6ln\nb@b.example;b\x81c\n"), Options{Map: nil}, 5)
	if want := [][]string{{"a@b.example", "Köln"}, {"b@b.example", "b\ufffdc"}}; err != nil ||
		!reflect.DeepEqual(p.Samples, want) {
		t.Errorf("%q, %v", p.Samples, err)
	}
}

// A status column is recognized even if no address column is.
func TestPreviewTellsStatusWithoutAddresses(t *testing.T) {
	for _, header := range []string{"Adresse;Status", "email;e-mail;Status", "Email;Stadt;E-Mail;Status;confirm_time"} {
		p, err := NewPreview(strings.NewReader(header+"\n"), Options{Map: nil}, 1)
		at := slices.IndexFunc(p.Columns, func(c Column) bool { return c.Name == "Status" })
		if err != nil || p.Problem == "" || p.Columns[at].Use != UseStatus || p.Columns[0].Use != UseNone {
			t.Errorf("%s: %+v, %v", header, p, err)
		}
	}
}

// The preview includes the use of a column by its name, even if a mapping changes the use.
func TestPreviewTellsNames(t *testing.T) {
	mapping := map[string]string{"Adresse": "email", "Stadt": "", "Status": "note"}
	p, err := NewPreview(strings.NewReader("Adresse;Stadt;Status\n"), Options{Map: mapping}, 1)
	want := []Column{
		{"Adresse", UseEmail, "", "", ColumnMeaning{UseNone, ""}},
		{"Stadt", UseNone, "", "", ColumnMeaning{UseNone, ""}},
		{"Status", UsePreference, "note", "", ColumnMeaning{UseStatus, ""}},
	}
	if err != nil || !slices.Equal(p.Columns, want) {
		t.Errorf("%+v, %v", p.Columns, err)
	}
	p, err = NewPreview(strings.NewReader("email;Stadt\n"), Options{Map: map[string]string{"Stadt": "city"}}, 1)
	one := Column{"Stadt", UsePreference, "city", "", ColumnMeaning{UsePreference, "Stadt"}}
	if err != nil || p.Columns[1] != one {
		t.Errorf("%+v, %v", p.Columns, err)
	}
}

// For every file, each line becomes a valid row or an error, and reading terminates.
func FuzzCSV(f *testing.F) {
	f.Add("email,first_name\na@b.example,Ann\n")
	f.Add("email;Stra\xdfe\na@b.example;\x84Bach\x93\n")
	f.Add("\xef\xbb\xbfemail;status;created_at;preferences\n'=a@b.example;active;;{\"\":1}\n\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := NewReader(strings.NewReader(text), Options{})
		if err != nil {
			return
		}
		for {
			row, _, err := r.Next()
			if err == nil {
				if _, bad := core.ParseEmail(string(row.Email)); bad != nil || row.Preferences.Check("") != nil {
					t.Fatalf("row %+v", row)
				}
				continue
			}
			if _, fault := errors.AsType[LineError](err); !fault && !errors.Is(err, ErrLeft) && !errors.Is(err, ErrPending) {
				return
			}
		}
	})
}
