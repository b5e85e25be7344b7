package core

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
)

// FieldsBefore holds the members of a subscriber's preferences that an import replaced, by name.
type FieldsBefore map[string]FieldBefore

// FieldBefore holds the value that one member of the preferences had before an import.
type FieldBefore struct {
	Was  json.RawMessage `json:"was,omitempty"`  // absent: none
	Made string          `json:"made,omitempty"` // digest of the value that the import set; empty: removed
}

// digestBytes is the stored length of a digest, which only has to distinguish two values of one field.
const digestBytes = 8

// valueDigest returns the digest of a member's value, or "" if there is none.
func valueDigest(value json.RawMessage) string {
	if len(value) == 0 {
		return ""
	}
	b, err := json.Marshal(value) // removes spaces
	if err != nil {
		b = value
	}
	sum := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(sum[:digestBytes])
}

// FieldsReplaced returns the members that differ between was and made, or nil if there are none.
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

// Then combines the replacements that two rows of the same import made, first f and later second.
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

// Restore returns p with earlier values for the members that still have the imported ones. Later changes are kept. If
// the result would exceed MaxPreferences, p is returned unchanged. Withdrawn consent to tracking is not restored,
// because the withdrawal may have been repeated since.
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

// Column returns the value to store in the database column.
func (f FieldsBefore) Column() string { return jsonColumn(f, len(f) == 0, "{}") }

// Scan implements sql.Scanner.
func (f *FieldsBefore) Scan(src any) error { return scanJSON(src, f) }

// RestoreFields restores the preferences of a subscription that an import replaced. changed reports whether anything
// was restored. For an active subscription, RestoreFields also returns the event for the change.
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
