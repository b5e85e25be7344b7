package core_test

import (
	"strings"
	"testing"
	"time"

	"newsletterd/core"
)

func TestTimesAreReadInAZone(t *testing.T) {
	for _, c := range []struct{ zone, text, want string }{
		{"Europe/Berlin", "2026-12-01T08:00", "2026-12-01T07:00:00.000Z"},
		{"Europe/Berlin", "2026-07-01 08:00:30", "2026-07-01T06:00:30.000Z"},
		{"Europe/Berlin", "2026-12-01T08:00:00Z", "2026-12-01T08:00:00.000Z"},
		{"", "2026-12-01T08:00:00+02:00", "2026-12-01T06:00:00.000Z"},
		{"", "2026-12-01T08:00", "has no time zone"},
		{"Europe/Berlin", "tomorrow", "RFC 3339"},
		{"Europe/Berlin", "2026-12-01T8:00", "RFC 3339"},
		{"Europe/Berlin", "2026-12-01T08:00:00.5", "RFC 3339"},
		{"Europe/Berlin", "2026-12-01T08:00:00,5", "RFC 3339"},
		{"Europe/Berlin", "1969-12-01T08:00", "1970"},
		// Clocks are put forward on 29 March and back on 25 October.
		{"Europe/Berlin", "2026-03-29T01:59:59", "2026-03-29T00:59:59.000Z"},
		{"Europe/Berlin", "2026-03-29T02:00", "2026-03-29T02:00 does not exist in Europe/Berlin"},
		{"Europe/Berlin", "2026-03-29T02:59:59", "does not exist"},
		{"Europe/Berlin", "2026-03-29T03:00", "2026-03-29T01:00:00.000Z"},
		{"Europe/Berlin", "2026-10-25T01:59", "2026-10-24T23:59:00.000Z"},
		{"Europe/Berlin", "2026-10-25T02:00", "twice in Europe/Berlin"},
		{"Europe/Berlin", "2026-10-25T02:59", "Add the offset: +02:00 or +01:00."},
		{"Europe/Berlin", "2099-10-25T02:30", "Add the offset: +02:00 or +01:00."},
		{"Europe/Berlin", "2026-10-25T02:30:00+01:00", "2026-10-25T01:30:00.000Z"},
		{"Europe/Berlin", "2026-10-25T03:00", "2026-10-25T02:00:00.000Z"},
		{"America/St_Johns", "2026-03-08T02:30", "does not exist"},
		{"Australia/Lord_Howe", "2026-04-05T01:45", "twice"},   // by half an hour
		{"Pacific/Apia", "2011-12-30T12:00", "does not exist"}, // a day that was skipped
		{"Asia/Tokyo", "2026-01-01T00:00", "2025-12-31T15:00:00.000Z"},
		{"UTC", "2026-01-01T00:00", "2026-01-01T00:00:00.000Z"},
	} {
		zone, err := core.ParseZone(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := core.ParseTime("scheduled_at", c.text, zone)
		got := at.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s in %s is %s, want %s", c.text, c.zone, got, c.want)
		}
	}
	if at, err := core.ParseTime("scheduled_at", "", nil); at != 0 || err != nil {
		t.Errorf("no time is %v, %v", at, err)
	}
	for _, name := range []string{"Local", "Berlin", "../etc/passwd", "Europe/" + strings.Repeat("x", 100)} {
		if _, err := core.ParseZone(name); err == nil {
			t.Errorf("%q is a time zone", name)
		}
	}
}

// FuzzTimesInAZone checks that a time shown by the clocks of a zone is parsed to the instant at which they show it, and
// to no other.
func FuzzTimesInAZone(f *testing.F) {
	for _, name := range []string{"Europe/Berlin", "Australia/Lord_Howe", "America/New_York", "Africa/Casablanca", "Asia/Kathmandu"} {
		f.Add(name, int64(1_792_893_600), "2026-10-25T02:30")
		f.Add(name, int64(1_774_745_999), "")
	}
	f.Fuzz(func(t *testing.T, name string, unix int64, text string) {
		zone, err := core.ParseZone(name)
		if err != nil || zone == nil {
			return
		}
		_, _ = core.ParseTime("at", text, zone)
		when := time.Unix(unix%(1<<33), 0)
		if when.Year() < 1971 {
			return
		}
		wall := when.In(zone).Format("2006-01-02T15:04:05")
		at, err := core.ParseTime("at", wall, zone)
		if err == nil && at != core.At(when) {
			t.Errorf("%s in %s is %v, but %v shows it", wall, name, at, when)
		}
		if err != nil && !strings.Contains(err.Error(), "twice") {
			t.Errorf("%s in %s: %v", wall, name, err)
		}
	})
}
