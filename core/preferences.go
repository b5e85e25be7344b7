package core

import "encoding/json"

// Bounds of a preferences object (contract of the service, not of the specification).
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

// Check refuses what is no JSON object, is larger than MaxPreferences (TooLarge) or nests deeper than
// MaxPreferencesDepth. Absent is fine.
func (p Preferences) Check(field string) error {
	switch {
	case p == "":
		return nil
	case len(p) > MaxPreferences:
		return &Error{Kind: TooLarge, Code: "payload_too_large", Message: "The preferences are larger than 16 KiB.", Field: field}
	case p[0] != '{' || !json.Valid([]byte(p)):
		return Invalidf(field, "must be a JSON object")
	case p.depth() > MaxPreferencesDepth:
		return Invalidf(field, "must not nest deeper than %d levels", MaxPreferencesDepth)
	}
	return nil
}

// depth is the deepest nesting of a valid JSON text.
func (p Preferences) depth() int {
	depth, deepest, inString := 0, 0, false
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}
