package core

import (
	"encoding/json"
	"testing"
	"time"
)

func TestParseInstant(t *testing.T) {
	for text, want := range map[string]string{
		"2026-01-31T08:00:00Z":           "2026-01-31T08:00:00.000Z",
		"2026-01-31T08:00:00.1239+02:00": "2026-01-31T06:00:00.123Z",
		"9999-12-31T23:59:59.999Z":       "9999-12-31T23:59:59.999Z", "1970-01-01T00:00:00Z": "",
		"1969-12-31T23:59:59Z":      "",
		"9999-12-31T23:59:59-01:00": "", "2026-02-30T00:00:00Z": "", "2026-01-31": "", "2026-01-31 08:00:00Z": "",
		"": "", "2026-01-31t08:00:00.5z": "2026-01-31T08:00:00.500Z",
		"2026-01-31T8:00:00Z": "", "2026-01-31T08:00:00,5Z": "", "2026-01-31T08:00:00.Z": "",
		"2026-01-31T08:00:00+24:00": "", "2026-01-31T08:00:00-23:60": "", "2026-01-31T08:00:00+0100": "",
	} {
		i, err := ParseInstant(text)
		if (err == nil) != (want != "") || err == nil && i.String() != want {
			t.Errorf("%q: %v, %v", text, i, err)
		}
	}
	if At(time.Time{}) != 0 || !Instant(0).Time().IsZero() {
		t.Error("never is not never")
	}
}

// FuzzInstant checks that every accepted instant has a wire form that parses to the same instant.
func FuzzInstant(f *testing.F) {
	for _, s := range []string{
		`"2026-01-31T08:00:00Z"`, `"2026-01-31T08:00:00.1239+23:59"`,
		`"9999-12-31T23:59:59-00:01"`, "null", `"1970-01-01T00:00:00.001Z"`, "`x`", "'x'",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var i, again Instant
		if i.UnmarshalJSON(text) != nil {
			return
		}
		b, err := json.Marshal(i)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.UnmarshalJSON(b); err != nil || again != i || i < 0 {
			t.Errorf("%q is %d, and %q is %d, %v", text, i, b, again, err)
		}
	})
}
