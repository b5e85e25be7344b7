package core

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Instant is a point in time in integer milliseconds since 1970 UTC. All columns with names ending in _at have this
// form. The wire form is RFC 3339 in UTC with milliseconds. The zero Instant means "never".
type Instant int64

// InstantLayout is the wire form of an Instant (RFC 3339 section 5.6, always Z).
const InstantLayout = "2006-01-02T15:04:05.000Z"

// At converts a time, truncated to milliseconds. The zero time becomes the zero Instant.
func At(t time.Time) Instant {
	if t.IsZero() {
		return 0
	}
	return Instant(t.UnixMilli())
}

// Time returns the instant in UTC. For the zero Instant, it returns the zero time.
func (i Instant) Time() time.Time {
	if i == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(i)).UTC()
}

// Add returns the instant i+d, with d truncated to milliseconds.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d/time.Millisecond) }

// Sub returns the duration i-o.
func (i Instant) Sub(o Instant) time.Duration { return time.Duration(i-o) * time.Millisecond }

func (i Instant) String() string { return i.Time().Format(InstantLayout) }

// MarshalJSON returns the wire form in quotes, or null for the zero Instant.
func (i Instant) MarshalJSON() ([]byte, error) {
	if i == 0 {
		return []byte("null"), nil
	}
	b := make([]byte, 0, len(InstantLayout)+2)
	b = append(b, '"')
	b = i.Time().AppendFormat(b, InstantLayout)
	return append(b, '"'), nil
}

// UnmarshalJSON parses RFC 3339 with any offset and precision. It leaves i unchanged for null.
func (i *Instant) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	s, err := strconv.Unquote(string(b))
	if err != nil {
		return fmt.Errorf("instant: not a string")
	}
	v, err := ParseInstant(s)
	if err != nil {
		return err
	}
	*i = v
	return nil
}

// rfc3339 is the form of a date and time in RFC 3339 section 5.6. time.Parse also accepts one-digit hours, a comma
// before the fraction, and offsets of a day or more.
var rfc3339 = regexp.MustCompile(`^[0-9-]{10}T[0-9]{2}:[0-9:]{5}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)

// ParseInstant parses an RFC 3339 date and time. It refuses years outside 1970–9999, so that no instant equals
// "never" or breaks the wire form.
func ParseInstant(s string) (Instant, error) {
	s = strings.ToUpper(s) // the letters T and Z may be lowercase
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || !rfc3339.MatchString(s) {
		return 0, Invalidf("", "must be an RFC 3339 date and time, for example 2026-01-31T08:00:00Z.")
	}
	u := t.UTC()
	if u.Year() < 1970 || u.Year() > 9999 || u.UnixMilli() <= 0 {
		return 0, Invalidf("", "must be a date between 1970 and 9999.")
	}
	return Instant(u.UnixMilli()), nil
}
