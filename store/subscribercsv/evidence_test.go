package subscribercsv

import (
	"net/netip"
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
			"opted in 2019-05-01 09:58:00 from 203.0.113.9; confirmed 2019-05-01 10:00:00 from 203.0.113.7", "", false,
			false,
		},
		{
			"the address first, other spelling", "Confirm IP,Confirm Time",
			"::ffff:203.0.113.7,2019-05-01T10:00:00+02:00",
			"confirmed 2019-05-01T08:00:00Z from 203.0.113.7", "", false, false,
		},
		{
			"with a preference", "CONFIRM_TIME,city",
			"2019-05-01,Ulm", "confirmed 2019-05-01", `{"city":"Ulm"}`, false, false,
		},
		{"empty", "CONFIRM_TIME,CONFIRM_IP", ",", "", "", false, false},
		{"never", "CONFIRM_TIME,CONFIRM_IP", "0000-00-00 00:00:00,NULL", "", "", false, false},
		{
			"one of two is no time", "CONFIRM_TIME,CONFIRM_IP",
			"yesterday,203.0.113.7", "confirmed from 203.0.113.7", "", true, false,
		},
		{"day or month", "CONFIRM_TIME", "5/1/2019 10:00", "", "", true, false},
		{"no year of a mailing", "CONFIRM_TIME", "0019-05-01 10:00:00", "", "", true, false},
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
			"2026-11-23 02:00:00", "confirmed 2026-11-23 02:00:00", "", false, false,
		},
		{"of tomorrow everywhere", "CONFIRM_TIME", "2026-11-23 02:05:01", "", "", false, true},
		{"to come, and no time", "OPTIN_TIME,CONFIRM_TIME", "2031-05-01,yesterday", "", "", true, false},
		{
			"created_at of no listmonk", "created_at",
			"2024-01-02", "", `{"created_at":"2024-01-02"}`, false, false,
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

// Whatever a cell holds, the ledger gets a time or an address that reads as one, or nothing.
func FuzzEvidence(f *testing.F) {
	for _, s := range []string{
		"", "0000-00-00", "2019-05-01 10:00:00", "2019-05-01T10:00:00.5+02:00",
		"2024-01-02 15:04:05.1 +0000 UTC", "203.0.113.7", "fe80::1%e", "'2019-05-01",
	} {
		f.Add(s, false)
		f.Add(s, true)
	}
	f.Fuzz(func(t *testing.T, cell string, address bool) {
		text, fault := evidenceCell(cell, address, 0)
		switch {
		case fault != readable || text == "":
			return
		case address:
			if _, err := netip.ParseAddr(strings.TrimPrefix(text, " from ")); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		for _, layout := range []string{time.RFC3339, time.DateTime, "2006-01-02 15:04", time.DateOnly} {
			if _, err := time.Parse(layout, strings.TrimPrefix(text, " ")); err == nil {
				return
			}
		}
		t.Fatalf("%q becomes %q", cell, text)
	})
}
