package core

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxJSONDepth is how deep objects and arrays may stand in each other; the text itself is 1.
const MaxJSONDepth = 32

// maxJSONKeys is how many keys an object may have. No object of ours has a hundredth of them.
const maxJSONKeys = 10_000

// JSONScanner reads one JSON text (RFC 8259) in a single pass, stricter than encoding/json: valid UTF-8
// without NUL and without lone surrogates, no duplicate keys at any level, at most maxJSONKeys keys in an object and
// MaxJSONDepth levels.
// Its errors are those of Fail.
type JSONScanner struct {
	Text    []byte
	At      int    // the byte that is read next
	What    string // begins the messages of errors: "The body"
	depth   int
	deepest int
	keys    [][]byte // of the objects that are open, innermost last
	scratch []byte   // of the last string that had escapes
}

// JSONMark is a place to go back to.
type JSONMark struct{ at, depth, keys int }

// Mark notes where the scanner stands.
func (s *JSONScanner) Mark() JSONMark { return JSONMark{s.At, s.depth, len(s.keys)} }

// Back goes back to a mark that no object has been closed after.
func (s *JSONScanner) Back(m JSONMark) { s.At, s.depth, s.keys = m.at, m.depth, s.keys[:m.keys] }

// Fail is the error, of Kind Invalid and Code invalid_json, that the text is no acceptable JSON where the scanner
// stands.
func (s *JSONScanner) Fail(format string, args ...any) error {
	args = append(slices.Insert(slices.Clone(args), 0, any(s.What)), s.At)
	return (&Error{Kind: Invalid, Code: "invalid_json"}).Sayf("%s is not valid JSON: "+format+" (byte %d).", args...)
}

// CleanText reports whether a text is UTF-8 without NUL.
func CleanText(s string) bool { return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) }

// Space passes white space.
func (s *JSONScanner) Space() {
	for s.At < len(s.Text) {
		switch s.Text[s.At] {
		case ' ', '\t', '\r', '\n':
			s.At++
		default:
			return
		}
	}
}

// Next is the first byte after white space, 0 at the end.
func (s *JSONScanner) Next() byte {
	s.Space()
	if s.At == len(s.Text) {
		return 0
	}
	return s.Text[s.At]
}

// Members walks over an object: value is called in front of each value and must pass it.
func (s *JSONScanner) Members(value func(key []byte) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	base := len(s.keys)
	var many map[string]struct{}
	for first := true; ; first = false {
		c := s.Next()
		if c == '}' && first {
			break
		}
		if c != '"' {
			return s.Fail("expected a key")
		}
		key, err := s.Quoted()
		if err != nil {
			return err
		}
		if many, err = s.once(key, base, many); err != nil {
			return err
		}
		if s.Next() != ':' {
			return s.Fail("expected a colon")
		}
		s.At++
		s.Space()
		if err := value(key); err != nil {
			return err
		}
		if c = s.Next(); c == '}' {
			break
		}
		if c != ',' {
			return s.Fail("expected a comma or the end of the object")
		}
		s.At++
	}
	s.At++
	s.depth--
	s.keys = s.keys[:base]
	return nil
}

// once refuses a key that this object has had. Few keys are compared one by one, many by a map.
func (s *JSONScanner) once(key []byte, base int, many map[string]struct{}) (map[string]struct{}, error) {
	if many != nil {
		if _, dup := many[string(key)]; dup {
			return many, s.Fail("the key %q is used twice", key)
		}
		if len(many) == maxJSONKeys {
			return many, s.Fail("an object has more than %d keys", maxJSONKeys)
		}
		many[string(key)] = struct{}{}
		return many, nil
	}
	for _, k := range s.keys[base:] {
		if bytes.Equal(k, key) {
			return nil, s.Fail("the key %q is used twice", key)
		}
	}
	if len(key) > 0 && len(s.scratch) > 0 && &key[0] == &s.scratch[0] {
		key = bytes.Clone(key)
	}
	s.keys = append(s.keys, key)
	if len(s.keys)-base == 16 {
		many = make(map[string]struct{}, 64)
		for _, k := range s.keys[base:] {
			many[string(k)] = struct{}{}
		}
	}
	return many, nil
}

// Elements walks over an array.
func (s *JSONScanner) Elements(value func(i int) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.Next() != ']' {
		for i := 0; ; i++ {
			s.Space()
			if err := value(i); err != nil {
				return err
			}
			c := s.Next()
			if c == ']' {
				break
			}
			if c != ',' {
				return s.Fail("expected a comma or the end of the array")
			}
			s.At++
		}
	}
	s.At++
	s.depth--
	return nil
}

func (s *JSONScanner) enter() error {
	s.depth++
	if s.deepest = max(s.deepest, s.depth); s.depth > MaxJSONDepth {
		return s.Fail("nested more than %d levels deep", MaxJSONDepth)
	}
	s.At++
	return nil
}

// Skip passes one value and checks it.
func (s *JSONScanner) Skip() error {
	switch c := s.Next(); {
	case c == '{':
		return s.Members(func([]byte) error { return s.Skip() })
	case c == '[':
		return s.Elements(func(int) error { return s.Skip() })
	case c == '"':
		_, err := s.Quoted()
		return err
	case c == '-' || '0' <= c && c <= '9':
		_, err := s.Number()
		return err
	case s.Word("true"), s.Word("false"), s.Word("null"):
		return nil
	}
	return s.Fail("expected a value")
}

// Word passes w, and reports whether it stands there.
func (s *JSONScanner) Word(w string) bool {
	if bytes.HasPrefix(s.Text[s.At:], []byte(w)) {
		s.At += len(w)
		return true
	}
	return false
}

// Number reads a number at its first byte and returns its text.
func (s *JSONScanner) Number() ([]byte, error) {
	start := s.At
	if s.Text[s.At] == '-' {
		s.At++
	}
	lead := s.At
	n := s.digits()
	ok := n == 1 || n > 1 && s.Text[lead] != '0'
	if ok && s.At < len(s.Text) && s.Text[s.At] == '.' {
		s.At++
		ok = s.digits() > 0
	}
	if ok && s.At < len(s.Text) && s.Text[s.At]|0x20 == 'e' {
		s.At++
		if s.At < len(s.Text) && (s.Text[s.At] == '+' || s.Text[s.At] == '-') {
			s.At++
		}
		ok = s.digits() > 0
	}
	if !ok {
		return nil, s.Fail("malformed number")
	}
	return s.Text[start:s.At], nil
}

func (s *JSONScanner) digits() int {
	start := s.At
	for s.At < len(s.Text) && '0' <= s.Text[s.At] && s.Text[s.At] <= '9' {
		s.At++
	}
	return s.At - start
}

// Quoted reads a string at the opening quote and returns what it means. The result is valid until the next
// string is read.
func (s *JSONScanner) Quoted() ([]byte, error) {
	s.At++
	start := s.At
	for s.At < len(s.Text) {
		switch c := s.Text[s.At]; {
		case c == '"':
			s.At++
			return s.Text[start : s.At-1], nil
		case c == '\\':
			return s.escaped(start)
		case c < 0x20:
			return nil, s.Fail("control character in a string")
		case c < utf8.RuneSelf:
			s.At++
		default:
			if err := s.rune(); err != nil {
				return nil, err
			}
		}
	}
	return nil, s.Fail("unterminated string")
}

func (s *JSONScanner) rune() error {
	r, n := utf8.DecodeRune(s.Text[s.At:])
	if r == utf8.RuneError && n == 1 {
		return s.Fail("not UTF-8")
	}
	s.At += n
	return nil
}

// escaped goes on with a string at its first backslash.
func (s *JSONScanner) escaped(start int) ([]byte, error) {
	out := append(s.scratch[:0], s.Text[start:s.At]...)
	for s.At < len(s.Text) {
		c := s.Text[s.At]
		switch {
		case c == '"':
			s.At++
			s.scratch = out
			return out, nil
		case c == '\\':
			r, err := s.escape()
			if err != nil {
				return nil, err
			}
			out = utf8.AppendRune(out, r)
		case c < 0x20:
			return nil, s.Fail("control character in a string")
		case c < utf8.RuneSelf:
			out = append(out, c)
			s.At++
		default:
			from := s.At
			if err := s.rune(); err != nil {
				return nil, err
			}
			out = append(out, s.Text[from:s.At]...)
		}
	}
	return nil, s.Fail("unterminated string")
}

func (s *JSONScanner) escape() (rune, error) {
	s.At++
	if s.At == len(s.Text) {
		return 0, s.Fail("unterminated string")
	}
	c := s.Text[s.At]
	s.At++
	if i := bytes.IndexByte([]byte(`"\/bfnrt`), c); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	if c != 'u' {
		return 0, s.Fail("unknown escape")
	}
	r := s.hex4()
	if utf16.IsSurrogate(r) {
		if !s.Word(`\u`) {
			return 0, s.Fail("unpaired surrogate")
		}
		if r = utf16.DecodeRune(r, s.hex4()); r == utf8.RuneError {
			return 0, s.Fail("unpaired surrogate")
		}
	}
	if r <= 0 {
		return 0, s.Fail("malformed escape, or NUL")
	}
	return r, nil
}

// hex4 reads four hexadecimal digits; -1 when they are none.
func (s *JSONScanner) hex4() rune {
	if len(s.Text)-s.At < 4 {
		return -1
	}
	var r rune
	for _, c := range s.Text[s.At : s.At+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	s.At += 4
	return r
}
