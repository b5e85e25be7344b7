package core

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
)

// FieldsBefore is what an import has replaced of a subscriber's preferences, by name.
type FieldsBefore map[string]FieldBefore

// FieldBefore is a member of the preferences before an import.
type FieldBefore struct {
	Was  json.RawMessage `json:"was,omitempty"`  // absent: there was none
	Made string          `json:"made,omitempty"` // digest of what the import made of it; empty: it was taken out
}

// digestBytes is how much of a digest is kept: it tells two values of one field apart.
const digestBytes = 8

// valueDigest returns the digest of a member's value; empty where there is none.
func valueDigest(value json.RawMessage) string {
	if len(value) == 0 {
		return ""
	}
	b, err := json.Marshal(value) // without spaces
	if err != nil {
		b = value
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:digestBytes])
}

// FieldsReplaced returns what an import has replaced that made preferences of others; nil: nothing.
func FieldsReplaced(was, made Preferences) FieldsBefore {
	if was == made {
		return nil
	}
	before, after := was.Values(), made.Values()
	f := FieldsBefore{}
	for name, value := range before {
		if d := valueDigest(after[name]); d != valueDigest(value) {
			f[name] = FieldBefore{Was: value, Made: d}
		}
	}
	for name, value := range after {
		if _, there := before[name]; !there {
			f[name] = FieldBefore{Made: valueDigest(value)}
		}
	}
	if len(f) == 0 {
		return nil
	}
	return f
}

// Then returns what two rows of one import have replaced, of which f was the first.
func (f FieldsBefore) Then(second FieldsBefore) FieldsBefore {
	both := maps.Clone(f)
	if both == nil {
		both = FieldsBefore{}
	}
	for name, b := range second {
		if first, again := f[name]; again {
			b.Was = first.Was
		}
		both[name] = b
	}
	return both
}

// Restore returns preferences with the members that are as the import has made them as they were before. What was
// changed since stays, and so does what no longer has room. An agreement to tracking does not come back: its withdrawal
// may have been repeated since.
func (f FieldsBefore) Restore(p Preferences) Preferences {
	values, back := p.Values(), map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		b := f[name]
		if valueDigest(values[name]) != b.Made || name == TrackingMember && !p.AgreesToTracking() {
			continue
		}
		if back[name] = nil; len(b.Was) > 0 {
			back[name] = b.Was
		}
	}
	if len(back) == 0 {
		return p
	}
	if restored := p.With(back); len(restored) <= MaxPreferences {
		return restored
	}
	return p
}

// Column is how it is stored.
func (f FieldsBefore) Column() string { return jsonColumn(f, len(f) == 0, "{}") }

// Scan implements sql.Scanner.
func (f *FieldsBefore) Scan(src any) error { return scanJSON(src, f) }

// RestoreFields gives a subscription back what an import has replaced, and returns the event of an active one. changed
// reports whether anything was restored.
func (s *Subscription) RestoreFields(f FieldsBefore, now Instant) (c *Change, changed bool) {
	p := f.Restore(s.Preferences)
	if p == s.Preferences {
		return nil, false
	}
	if s.Preferences = p; s.Status == SubscriptionActive {
		c = s.change(EventPreferences, now)
	}
	return c, true
}
