package core

import (
	"encoding/json"
	"errors"
)

// Limits of a preferences object. The specification has none.
const (
	MaxPreferences      = 16 << 10 // bytes
	MaxPreferencesDepth = 8        // levels of nested objects and arrays
)

// Preferences is a free-form JSON object as raw text. It is never decoded in transit, because that would reorder keys,
// damage large numbers and cost more than all other work on a subscription. An empty value means that no preferences
// were given.
type Preferences string

// NoPreferences is the empty preferences object.
const NoPreferences Preferences = "{}"

// OrEmpty returns p, or {} if p is empty.
func (p Preferences) OrEmpty() Preferences {
	if p == "" {
		return NoPreferences
	}
	return p
}

// MarshalJSON returns the raw object.
func (p Preferences) MarshalJSON() ([]byte, error) { return []byte(p.OrEmpty()), nil }

// UnmarshalJSON stores the raw text. It treats null as absent; Check validates the text.
func (p *Preferences) UnmarshalJSON(b []byte) error {
	if string(b) != "null" {
		*p = Preferences(b)
	}
	return nil
}

// Check returns an error if p is not a JSON object by the rules of JSONScanner, exceeds MaxPreferences (TooLarge) or
// nests deeper than MaxPreferencesDepth. An absent object is valid.
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

// Sendable returns p if Check accepts it. Otherwise it returns an absent object, because p may have been stored before
// the check existed: the receiver then keeps its own value, and still gets the rest of the event or batch.
func (p Preferences) Sendable() Preferences {
	if p.Check("") != nil {
		return ""
	}
	return p.OrEmpty()
}

// Values returns the members of the object, or nil if it can't be parsed.
func (p Preferences) Values() map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(p.OrEmpty()), &m) != nil {
		return nil
	}
	return m
}

// With returns a copy of p with the given members set. A nil value removes a member; all other members keep their text.
// The keys of the result are sorted.
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
			panic(err) // values are strings and booleans
		}
		m[k] = b
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return Preferences(b)
}
