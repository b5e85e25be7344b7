package config

import (
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a duration in the configuration: in Go's form ("90s", "1h30m"), in whole days ("400d"), or "0".
type Duration time.Duration

// UnmarshalText parses a duration. It rejects negative durations, because no key uses them.
func (d *Duration) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		if err != nil {
			return fmt.Errorf("%q is not a duration. Enter a value such as 30s, 15m, 1h30m or 400d", s)
		}
		*d = Duration(time.Duration(n) * 24 * time.Hour)
		return nil
	}
	v, err := time.ParseDuration(s)
	if err != nil || v < 0 {
		return fmt.Errorf("%q is not a duration. Enter a value such as 30s, 15m, 1h30m or 400d", s)
	}
	*d = Duration(v)
	return nil
}

// String returns the shortest form that UnmarshalText accepts.
func (d Duration) String() string {
	v := time.Duration(d)
	const day = 24 * time.Hour
	switch {
	case v == 0:
		return "0"
	case v%day == 0 && v/day <= math.MaxUint16:
		return strconv.Itoa(int(v/day)) + "d"
	}
	s := v.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// Std returns d as a time.Duration.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// Size is a number of bytes in the configuration: "512MiB", "4GiB", "100MB", or a plain number.
type Size int64

// sizeUnits lists the units of sizes, largest first. String uses the first unit that divides the size.
var sizeUnits = []struct {
	name string
	n    int64
}{
	{"TiB", 1 << 40},
	{"GiB", 1 << 30},
	{"MiB", 1 << 20},
	{"KiB", 1 << 10},
	{"GB", 1e9},
	{"MB", 1e6},
	{"kB", 1e3},
	{"B", 1},
}

// UnmarshalText parses a size. It rejects negative sizes.
func (z *Size) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	digits, unit := s, int64(1)
	for _, u := range sizeUnits {
		if d, ok := strings.CutSuffix(s, u.name); ok {
			digits, unit = strings.TrimSpace(d), u.n
			break
		}
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64/unit {
		return fmt.Errorf("%q is not a size. Enter a value such as 512MiB, 4GiB or 1000000", s)
	}
	*z = Size(n * unit)
	return nil
}

// String returns a short form that UnmarshalText accepts.
func (z Size) String() string {
	for _, u := range sizeUnits {
		if z != 0 && int64(z)%u.n == 0 && u.n > 1 {
			return strconv.FormatInt(int64(z)/u.n, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(z), 10)
}

// Percent is a percentage in the configuration: "0.3%", "5%", or "0".
type Percent float64

// UnmarshalText parses a percentage from 0 to 100.
func (p *Percent) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	v, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(s, "%")), 64)
	if err != nil || !(v >= 0 && v <= 100) || s != "0" && !strings.HasSuffix(s, "%") {
		return fmt.Errorf("%q is not a percentage. Enter a value such as 0.3%% or 5%%", s)
	}
	*p = Percent(v)
	return nil
}

// String returns the form that UnmarshalText accepts.
func (p Percent) String() string {
	if p == 0 {
		return "0"
	}
	return strconv.FormatFloat(float64(p), 'f', -1, 64) + "%"
}

// Share returns the percentage as a number between 0 and 1.
func (p Percent) Share() float64 { return float64(p) / 100 }

// Secret is a string that is never shown. Whatever way it is printed, Mask appears instead.
type Secret string

// Mask is shown instead of a secret.
const Mask = "********"

// String returns Mask, or an empty string if the secret is empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Mask
}

// GoString prevents %#v from showing the value.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// LogValue prevents slog from showing the value.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText prevents encoders from showing the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText stores the text unchanged.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret(text)
	return nil
}

// Reveal returns the secret in plain text.
func (s Secret) Reveal() string { return string(s) }
