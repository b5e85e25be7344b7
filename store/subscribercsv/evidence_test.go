package subscribercsv

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
)

func TestCSVEvidence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, header, cells, want string
		preferences               string
		unreadable, future        bool
	}{
		{
			"both of Mailchimp", "OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP",
			"2019-05-01 09:58:00,203.0.113.9,2019-05-01 10:00:00,203.0.113.7",
			"opted in 2019-05-01T09:58:00Z from 203.0.113.9; confirmed 2019-05-01T10:00:00Z from 203.0.113.7", "", false,
			false,
		},
		{
			"the address first, other spelling", "Confirm IP,Confirm Time",
			"::ffff:203.0.113.7,2019-05-01T10:00:00+02:00",
			"confirmed 2019-05-01T08:00:00Z from 203.0.113.7", "", false, false,
		},
		{
			"with a preference", "CONFIRM_TIME,city",
			"2019-05-01,Ulm", "confirmed 2019-05-01T00:00:00Z", `{"city":"Ulm"}`, false, false,
		},
		{"empty", "CONFIRM_TIME,CONFIRM_IP", ",", "", "", false, false},
		{"never", "CONFIRM_TIME,CONFIRM_IP", "0000-00-00 00:00:00,NULL", "", "", false, false},
		{
			"one of two is no time", "CONFIRM_TIME,CONFIRM_IP",
			"yesterday,203.0.113.7", `confirmed "yesterday" from 203.0.113.7`, "", true, false,
		},
		{"day or month", "CONFIRM_TIME", "5/1/2019 10:00", `confirmed "5/1/2019 10:00"`, "", true, false},
		{"a day", "CONFIRM_TIME", "5/13/2019 10:00 PM", "confirmed 2019-05-13T22:00:00Z", "", false, false},
		{"no year of a mailing", "CONFIRM_TIME", "0019-05-01 10:00:00", `confirmed "0019-05-01 10:00:00"`, "", true, false},
		{"no address", "OPTIN_IP", "203.0.113.700", "", "", true, false},
		{"an address with a zone", "OPTIN_IP", "fe80::1%eth0", "", "", true, false},
		{
			"time of a table of listmonk", "uuid,attribs,status,created_at,updated_at",
			`u,"{""a"":1}",enabled,2024-01-02 15:04:05.123456 +0000 UTC,x`, "created 2024-01-02T15:04:05Z", `{"a":1}`,
			false, false,
		},
		{
			"to come", "CONFIRM_TIME,CONFIRM_IP",
			"2031-05-01 10:00:00,203.0.113.7", "confirmed from 203.0.113.7", "", false, true,
		},
		{
			"to come in UTC", "OPTIN_TIME,CONFIRM_TIME",
			"2026-11-22T11:55:00Z,2026-11-22T12:05:01Z", "opted in 2026-11-22T11:55:00Z", "", false, true,
		},
		{
			"by a clock that is ahead", "CONFIRM_TIME",
			"2026-11-22T12:05:00Z", "confirmed 2026-11-22T12:05:00Z", "", false, false,
		},
		{
			"of today somewhere", "CONFIRM_TIME",
			"2026-11-23 02:00:00", "confirmed 2026-11-23T02:00:00Z", "", false, false,
		},
		{"of tomorrow everywhere", "CONFIRM_TIME", "2026-11-23 02:05:01", "", "", false, true},
		{"to come, and no time", "OPTIN_TIME,CONFIRM_TIME", "2031-05-01,yesterday", `confirmed "yesterday"`, "", true, false},
		{
			"created_at of any file", "created_at",
			"2024-01-02", "created 2024-01-02T00:00:00Z", "", false, false,
		},
		{
			"of two of a kind the second is a preference", "created_at,date_added",
			"2024-01-02,2024-01-03", "created 2024-01-02T00:00:00Z", `{"date_added":"2024-01-03"}`, false, false,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := NewReader(strings.NewReader("email,"+c.header+"\na@b.example,"+c.cells+"\n"), Options{})
			if err != nil {
				t.Fatal(err)
			}
			r.Now = core.At(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
			row, _, err := r.Next()
			if err != nil || row.Evidence != c.want || string(row.Preferences) != c.preferences ||
				(r.Unreadable > 0) != c.unreadable || (r.Future > 0) != c.future {
				t.Errorf("%q, preferences %q, unreadable %d, to come %d, %v; want %q", row.Evidence, row.Preferences,
					r.Unreadable, r.Future, err, c.want)
			}
		})
	}
}

func TestMappedEvidenceIsAPreference(t *testing.T) {
	t.Parallel()
	got, err := readAll("email,CONFIRM_TIME\na@b.example,2019-05-01\n", map[string]string{"CONFIRM_TIME": "since"})
	if err != nil || strings.Join(got, "|") != `a@b.example {"since":"2019-05-01"}` {
		t.Errorf("%q, %v", got, err)
	}
}

// For every cell, the ledger gets a time in UTC, a valid IP address, a short text in quotes, or nothing.
func FuzzEvidence(f *testing.F) {
	for _, s := range []string{
		"", "0000-00-00", "2019-05-01 10:00:00", "2019-05-01T10:00:00.5+02:00",
		"2024-01-02 15:04:05.1 +0000 UTC", "203.0.113.7", "fe80::1%e", "'2019-05-01",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, cell string, address bool) {
		text, fault := evidenceCell(cell, &evidenceColumn{address: address, order: Ambiguous}, 0)
		switch {
		case fault == unreadable && text != "":
			if quoted, err := strconv.Unquote(strings.TrimPrefix(text, " ")); err != nil || len(quoted) > maxKeptCell {
				t.Fatalf("%q becomes %s", cell, text)
			}
			return
		case fault != readable || text == "":
			return
		case address:
			if _, err := netip.ParseAddr(strings.TrimPrefix(text, " from ")); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if at, err := time.Parse(time.RFC3339, strings.TrimPrefix(text, " ")); err == nil && at.Location() == time.UTC {
			return
		}
		t.Fatalf("%q becomes %q", cell, text)
	})
}

// Reading any cell as a time terminates, and returns only times from 1990 to 2100.
func FuzzTime(f *testing.F) {
	for _, s := range []string{
		"2023-05-03T10:11:12.000Z", "3/5/23 10:11 AM", "3. Mai 2023", "May 3rd, 2023 at 10:11:12 PM +0000 UTC",
		"Wed, 03 May 2023 10:11:12 GMT+0200", "Mon Jan  2 15:04:05 2006", "3 de mayo de 2023",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, cell string) {
		for _, order := range []DateOrder{DayMonth, MonthDay, Ambiguous} {
			d, ok := evidenceTime(cell, order)
			if ok && (d.at.Year() < 1989 || d.at.Year() > 2286 || d.at.Location() != time.UTC) {
				t.Fatalf("%q becomes %s", cell, d.at)
			}
		}
		var n DateCount
		n.add(cell)
		if n.Dates() > 1 {
			t.Fatalf("%q is %+v", cell, n)
		}
	})
}

// Times are read in the forms that programs and spreadsheets write.
func TestReadTime(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]string{
		"2023-05-03T10:11:12.000Z":             "2023-05-03T10:11:12Z", // Substack, Ghost
		"2023-05-03 10:11:12":                  "2023-05-03T10:11:12Z", // Mailchimp, MailPoet
		"2023-05-03 10:11:12 UTC":              "2023-05-03T10:11:12Z", // Kit
		"2023-05-03 10:11:12 -0500":            "2023-05-03T15:11:12Z",
		"2023-05-03 10:11:12+00":               "2023-05-03T10:11:12Z",
		"2024-01-02 15:04:05.123456 +0000 UTC": "2024-01-02T15:04:05Z", // listmonk
		"2023-05-03T10:11:12.123456+00:00":     "2023-05-03T10:11:12Z", // Buttondown
		"03.05.2023 10:11":                     "2023-05-03T10:11:00Z",
		"3.5.23":                               "2023-05-03T00:00:00Z",
		"3. Mai 2023":                          "2023-05-03T00:00:00Z",
		"03-05-2023 10:11":                     "2023-05-03T10:11:00Z", // Brevo
		"3/5/2023 10:11 PM":                    "2023-05-03T22:11:00Z",
		"2023/05/03":                           "2023-05-03T00:00:00Z",
		"May 3, 2023":                          "2023-05-03T00:00:00Z",
		"May 3rd, 2023 at 10:11 a.m.":          "2023-05-03T10:11:00Z",
		"3 May 2023, 12:30 AM":                 "2023-05-03T00:30:00Z",
		"03-May-2023":                          "2023-05-03T00:00:00Z",
		"3 mai 2023":                           "2023-05-03T00:00:00Z",
		"3 de mayo de 2023":                    "2023-05-03T00:00:00Z",
		"13. März 2023 10:11":                  "2023-03-13T10:11:00Z",
		"Wed, 03 May 2023 10:11:12 +0200":      "2023-05-03T08:11:12Z",
		"Wed May 03 2023 10:11:12 GMT+0200":    "2023-05-03T08:11:12Z",
		"Wed May  3 10:11:12 2023":             "2023-05-03T10:11:12Z",
		"1683108672":                           "2023-05-03T10:11:12Z",
		"1683108672000":                        "2023-05-03T10:11:12Z",
		"31/2/2023":                            "",
		"2023-13-01":                           "",
		"0000-00-00 00:00:00":                  "",
		"1970-01-01":                           "",
		"12":                                   "",
		"2023":                                 "",
		"10:11":                                "",
		"1.2.3.4":                              "",
		"203.0.113.7":                          "",
		"+49 30 1234567":                       "",
		"03/2023":                              "",
		"2023-05-03 10:11:12 CET":              "", // different countries use the name for different zones
		"2023-05-03 25:00":                     "",
		"2023-05-03x":                          "",
	} {
		d, ok := evidenceTime(cell, DayMonth)
		if got := d.at.Format(time.RFC3339); ok && got != want && strings.Split(got, ".")[0] != want || ok == (want == "") {
			t.Errorf("%q is %s (%t), want %q", cell, got, ok, want)
		}
	}
}
