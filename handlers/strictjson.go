package handlers

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"unicode/utf16"
	"unicode/utf8"

	"newsletterd/core"
)

// maxDepth is how deep objects and arrays may stand in each other; the body itself is 1.
const maxDepth = 32

// scanner reads one JSON text (RFC 8259) in a single pass, stricter than encoding/json: valid UTF-8
// without NUL and without lone surrogates, no duplicate keys at any level, bounded depth.
type scanner struct {
	b       []byte
	at      int
	depth   int
	keys    [][]byte // of the objects that are open, innermost last
	scratch []byte   // of the last string that had escapes
}

// decodeJSON reads b, which must be exactly one object, into the struct v.
func decodeJSON(b []byte, o *object, v reflect.Value) error {
	s := scanner{b: b}
	s.space()
	if s.at == len(b) {
		return &core.Error{Kind: core.Invalid, Code: "invalid_json", Message: "The body is empty; it must be a JSON object."}
	}
	if c := b[s.at]; c != '{' {
		if err := s.skip(); err != nil {
			return err
		}
		return core.Invalidf("", "The body must be a JSON object.")
	}
	if err := s.object(o, v); err != nil {
		return err
	}
	s.space()
	if s.at < len(b) {
		return s.fail("text after the value")
	}
	return nil
}

func (s *scanner) fail(format string, args ...any) error {
	return &core.Error{
		Kind: core.Invalid, Code: "invalid_json",
		Message: fmt.Sprintf("The body is not acceptable JSON: "+format+fmt.Sprintf(" (byte %d).", s.at), args...),
	}
}

func (s *scanner) space() {
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// next is the first byte behind white space, 0 at the end.
func (s *scanner) next() byte {
	s.space()
	if s.at == len(s.b) {
		return 0
	}
	return s.b[s.at]
}

// object reads an object into the struct v; with o == nil its values are only checked.
func (s *scanner) object(o *object, v reflect.Value) error {
	var seen uint64
	var wrong error // a value of the wrong type is told only when the text as a whole is JSON
	err := s.members(func(key []byte) error {
		i := -1
		if o != nil {
			i = o.find(key)
		}
		if i < 0 || wrong != nil {
			return s.skip()
		}
		f := &o.fields[i]
		start, depth, keys := s.at, s.depth, len(s.keys)
		set, err := f.decode(s, v.FieldByIndex(f.index), f)
		if err != nil {
			if isSyntax(err) {
				return err
			}
			wrong = onField(err, f.name)
			s.at, s.depth, s.keys = start, depth, s.keys[:keys]
			return s.skip()
		}
		if set {
			seen |= 1 << i
		}
		return nil
	})
	if err != nil {
		return err
	}
	if wrong != nil {
		return wrong
	}
	if o != nil && seen&o.required != o.required {
		for i := range o.fields {
			if f := &o.fields[i]; f.required && seen&(1<<i) == 0 {
				return core.Invalidf(f.name, "%s is missing.", f.name)
			}
		}
	}
	return nil
}

func isSyntax(err error) bool {
	e, ok := errors.AsType[*core.Error](err)
	return ok && e.Code == "invalid_json"
}

// members walks over an object: value is called in front of each value and must pass it.
func (s *scanner) members(value func(key []byte) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	base := len(s.keys)
	var many map[string]struct{}
	for first := true; ; first = false {
		c := s.next()
		if c == '}' && first {
			break
		}
		if c != '"' {
			return s.fail("a key is expected")
		}
		key, err := s.string()
		if err != nil {
			return err
		}
		if many, err = s.once(key, base, many); err != nil {
			return err
		}
		if s.next() != ':' {
			return s.fail("a colon is expected")
		}
		s.at++
		s.space()
		if err := value(key); err != nil {
			return err
		}
		if c = s.next(); c == '}' {
			break
		}
		if c != ',' {
			return s.fail("a comma or the end of the object is expected")
		}
		s.at++
	}
	s.at++
	s.depth--
	s.keys = s.keys[:base]
	return nil
}

// once refuses a key that this object has had. Few keys are compared one by one, many by a map.
func (s *scanner) once(key []byte, base int, many map[string]struct{}) (map[string]struct{}, error) {
	if many != nil {
		if _, dup := many[string(key)]; dup {
			return many, s.fail("the key %q stands twice", key)
		}
		many[string(key)] = struct{}{}
		return many, nil
	}
	for _, k := range s.keys[base:] {
		if bytes.Equal(k, key) {
			return nil, s.fail("the key %q stands twice", key)
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

// elements walks over an array.
func (s *scanner) elements(value func(i int) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.next() != ']' {
		for i := 0; ; i++ {
			s.space()
			if err := value(i); err != nil {
				return err
			}
			c := s.next()
			if c == ']' {
				break
			}
			if c != ',' {
				return s.fail("a comma or the end of the array is expected")
			}
			s.at++
		}
	}
	s.at++
	s.depth--
	return nil
}

func (s *scanner) enter() error {
	if s.depth++; s.depth > maxDepth {
		return s.fail("it is more than %d levels deep", maxDepth)
	}
	s.at++
	return nil
}

// skip passes one value and checks it.
func (s *scanner) skip() error {
	switch c := s.next(); {
	case c == '{':
		return s.members(func([]byte) error { return s.skip() })
	case c == '[':
		return s.elements(func(int) error { return s.skip() })
	case c == '"':
		_, err := s.string()
		return err
	case c == '-' || '0' <= c && c <= '9':
		_, err := s.number()
		return err
	case s.word("true"), s.word("false"), s.word("null"):
		return nil
	}
	return s.fail("a value is expected")
}

func (s *scanner) word(w string) bool {
	if bytes.HasPrefix(s.b[s.at:], []byte(w)) {
		s.at += len(w)
		return true
	}
	return false
}

func (s *scanner) number() ([]byte, error) {
	start := s.at
	if s.b[s.at] == '-' {
		s.at++
	}
	lead := s.at
	n := s.digits()
	ok := n == 1 || n > 1 && s.b[lead] != '0'
	if ok && s.at < len(s.b) && s.b[s.at] == '.' {
		s.at++
		ok = s.digits() > 0
	}
	if ok && s.at < len(s.b) && s.b[s.at]|0x20 == 'e' {
		s.at++
		if s.at < len(s.b) && (s.b[s.at] == '+' || s.b[s.at] == '-') {
			s.at++
		}
		ok = s.digits() > 0
	}
	if !ok {
		return nil, s.fail("a number is malformed")
	}
	return s.b[start:s.at], nil
}

func (s *scanner) digits() int {
	start := s.at
	for s.at < len(s.b) && '0' <= s.b[s.at] && s.b[s.at] <= '9' {
		s.at++
	}
	return s.at - start
}

// string reads a string at the opening quote and returns what it means. The result is valid until the
// next string is read.
func (s *scanner) string() ([]byte, error) {
	s.at++
	start := s.at
	for s.at < len(s.b) {
		switch c := s.b[s.at]; {
		case c == '"':
			s.at++
			return s.b[start : s.at-1], nil
		case c == '\\':
			return s.escaped(start)
		case c < 0x20:
			return nil, s.fail("a control character stands in a string")
		case c < utf8.RuneSelf:
			s.at++
		default:
			if err := s.rune(); err != nil {
				return nil, err
			}
		}
	}
	return nil, s.fail("a string does not end")
}

func (s *scanner) rune() error {
	r, n := utf8.DecodeRune(s.b[s.at:])
	if r == utf8.RuneError && n == 1 {
		return s.fail("it is not UTF-8")
	}
	s.at += n
	return nil
}

// escaped goes on with a string at its first backslash.
func (s *scanner) escaped(start int) ([]byte, error) {
	out := append(s.scratch[:0], s.b[start:s.at]...)
	for s.at < len(s.b) {
		c := s.b[s.at]
		switch {
		case c == '"':
			s.at++
			s.scratch = out
			return out, nil
		case c == '\\':
			r, err := s.escape()
			if err != nil {
				return nil, err
			}
			out = utf8.AppendRune(out, r)
		case c < 0x20:
			return nil, s.fail("a control character stands in a string")
		case c < utf8.RuneSelf:
			out = append(out, c)
			s.at++
		default:
			from := s.at
			if err := s.rune(); err != nil {
				return nil, err
			}
			out = append(out, s.b[from:s.at]...)
		}
	}
	return nil, s.fail("a string does not end")
}

func (s *scanner) escape() (rune, error) {
	s.at++
	if s.at == len(s.b) {
		return 0, s.fail("a string does not end")
	}
	c := s.b[s.at]
	s.at++
	if i := bytes.IndexByte([]byte(`"\/bfnrt`), c); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), nil
	}
	if c != 'u' {
		return 0, s.fail("an escape is unknown")
	}
	r := s.hex4()
	if utf16.IsSurrogate(r) {
		if !s.word(`\u`) {
			return 0, s.fail("a surrogate stands alone")
		}
		if r = utf16.DecodeRune(r, s.hex4()); r == utf8.RuneError {
			return 0, s.fail("a surrogate stands alone")
		}
	}
	if r <= 0 {
		return 0, s.fail("an escape is malformed, or NUL")
	}
	return r, nil
}

// hex4 reads four hexadecimal digits; -1 when they are none.
func (s *scanner) hex4() rune {
	if len(s.b)-s.at < 4 {
		return -1
	}
	var r rune
	for _, c := range s.b[s.at : s.at+4] {
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
	s.at += 4
	return r
}
