package core

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxJSONDepth is the maximum nesting of objects and arrays. The outermost value has depth 1.
const MaxJSONDepth = 32

// maxJSONKeys is the maximum number of keys in an object. newsletterd's own objects have less than a hundredth of that.
const maxJSONKeys = 10_000

// JSONScanner reads one JSON text (RFC 8259) in a single pass. It is stricter than encoding/json: the text must be
// valid UTF-8 without NUL and lone surrogates, and have no duplicate keys at any level. An object has at most
// maxJSONKeys keys, and values are nested at most MaxJSONDepth levels deep. All errors are created by Fail.
type JSONScanner struct {
	Text    []byte
	At      int    // next byte to read
	What    string // start of error messages, for example "The body"
	depth   int
	deepest int
	keys    [][]byte // keys of the open objects, innermost last
	scratch []byte   // last string with escapes
}

// Fail returns an error with Kind Invalid and Code invalid_json for the current position.
func (s *JSONScanner) Fail(format string, args ...any) error {
	args = append(slices.Insert(slices.Clone(args), 0, any(s.What)), s.At)
	return (&Error{Kind: Invalid, Code: "invalid_json"}).Sayf("%s is not valid JSON: "+format+" (byte %d).", args...)
}

// CleanText reports whether s is valid UTF-8 without NUL.
func CleanText(s string) bool { return strings.IndexByte(s, 0) < 0 && utf8.ValidString(s) }

// Space skips white space.
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

// Next skips white space and returns the next byte without reading it, or 0 at the end.
func (s *JSONScanner) Next() byte {
	s.Space()
	if s.At == len(s.Text) {
		return 0
	}
	return s.Text[s.At]
}

// Members reads an object. It calls value at the start of each value; value must read it.
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

// once refuses a duplicate key in the object. It compares few keys one by one, and uses a map for many.
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

// Elements reads an array. It calls value at the start of each element; value must read it.
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

// Skip reads and checks one value.
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

// Word skips w if it is next in the text, and reports whether it was.
func (s *JSONScanner) Word(w string) bool {
	if bytes.HasPrefix(s.Text[s.At:], []byte(w)) {
		s.At += len(w)
		return true
	}
	return false
}

// Number reads the number that starts at the current byte and returns its bytes.
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

// Quoted reads the string that starts at the current quote and returns its unescaped content. The result is valid
// until the next string is read.
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

// escaped reads the rest of a string from its first backslash.
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

// hex4 reads four hexadecimal digits, or returns -1 if there are fewer.
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
