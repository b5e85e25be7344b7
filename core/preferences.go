package core

import (
	"encoding/json"
	"errors"
)

// Bounds of a preferences object (of this program; the specification names none).
const (
	MaxPreferences      = 16 << 10 // bytes
	MaxPreferencesDepth = 8
)

// Preferences is the raw JSON text of a free-form object. It stays raw end to end: decoding would reorder
// keys, damage large numbers and cost more than everything else about a subscription. Empty: not given.
type Preferences string

// NoPreferences is the object that stands where none was given.
const NoPreferences Preferences = "{}"

// OrEmpty is the object itself, or {} where none was given.
func (p Preferences) OrEmpty() Preferences {
	if p == "" {
		return NoPreferences
	}
	return p
}

// MarshalJSON writes the object as it stands.
func (p Preferences) MarshalJSON() ([]byte, error) { return []byte(p.OrEmpty()), nil }

// UnmarshalJSON keeps the text; null means absent. Check judges it.
func (p *Preferences) UnmarshalJSON(b []byte) error {
	if string(b) != "null" {
		*p = Preferences(b)
	}
	return nil
}

// Check refuses what is no JSON object by the rules of JSONScanner, is larger than MaxPreferences (TooLarge) or nests
// deeper than MaxPreferencesDepth. Absent is fine.
func (p Preferences) Check(field string) error {
	switch {
	case p == "" || p == NoPreferences:
		return nil
	case len(p) > MaxPreferences:
		return tooLargef("%s must have at most 16 KiB.", field).On(field)
	case p[0] != '{':
		return Invalidf(field, "%s must be a JSON object.", field)
	}
	s := JSONScanner{Text: []byte(p), What: field}
	err := s.Skip()
	if s.deepest > MaxPreferencesDepth {
		return Invalidf(field, "%s must have at most %d levels of nesting.", field, MaxPreferencesDepth)
	}
	if s.Space(); err == nil && s.At < len(p) {
		err = s.Fail("text after the value")
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.On(field)
	}
	return nil
}

// Sendable is the text as a receiver takes it: absent where Check refuses it, as it did not always. The receiver then
// keeps what it has, and neither the rest of the event nor that of the batch is lost.
func (p Preferences) Sendable() Preferences {
	if p.Check("") != nil {
		return ""
	}
	return p.OrEmpty()
}

// Values reads the members of the object; none where it can't be read.
func (p Preferences) Values() map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(p.OrEmpty()), &m) != nil {
		return nil
	}
	return m
}

// With is the object with members set, or taken out where the value is nil; the others keep their text. Keys are sorted
// where anything changes.
func (p Preferences) With(values map[string]any) Preferences {
	m := p.Values()
	if m == nil {
		m = map[string]json.RawMessage{}
	}
	for k, v := range values {
		if v == nil {
			delete(m, k)
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			panic(err) // values are texts and booleans
		}
		m[k] = b
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return Preferences(b)
}
