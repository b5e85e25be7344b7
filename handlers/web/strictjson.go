package web

import (
	"errors"
	"reflect"

	"newsletterd/core"
)

// scanner reads a body into structs. core.JSONScanner parses the JSON.
type scanner struct{ core.JSONScanner }

// JSONReader returns a function that reads a JSON object as strictly as endpoints made by JSON.
func JSONReader[T any]() func(b []byte) (T, error) {
	o := newObject(reflect.TypeFor[T]())
	return func(b []byte) (v T, err error) {
		err = decodeJSON(b, o, reflect.ValueOf(&v).Elem())
		return v, err
	}
}

// decodeJSON reads b, which must be exactly one object, into the struct v.
func decodeJSON(b []byte, o *object, v reflect.Value) error {
	s := scanner{core.JSONScanner{Text: b, What: "The body"}}
	s.Space()
	if s.At == len(b) {
		return &core.Error{
			Kind: core.Invalid, Code: "invalid_json",
			Message: "The body is empty. Send a JSON object.",
		}
	}
	if c := b[s.At]; c != '{' {
		if err := s.Skip(); err != nil {
			return err
		}
		return core.Invalidf("", "The body must be a JSON object.")
	}
	if err := s.object(o, v); err != nil {
		return err
	}
	s.Space()
	if s.At < len(b) {
		return s.Fail("text after the value")
	}
	return nil
}

// object reads an object into the struct v. If o is nil, it only validates the values.
func (s *scanner) object(o *object, v reflect.Value) error {
	var seen uint64
	var unknown []string
	var wrong error // a value of the wrong type is reported only if the whole text is valid JSON
	err := s.Members(func(key []byte) error {
		i := -1
		if o != nil {
			i = o.find(key)
		}
		if i < 0 && o != nil && o.judges {
			name := string(key)
			given, err := s.given()
			if given {
				unknown = append(unknown, name)
			}
			return err
		}
		if i < 0 || wrong != nil {
			return s.Skip()
		}
		f := &o.fields[i]
		mark := s.Mark()
		set, err := f.decode(s, v.FieldByIndex(f.index), f)
		if err != nil {
			if isSyntax(err) {
				return err
			}
			wrong = onField(err, f.name)
			s.Back(mark)
			return s.Skip()
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
	if len(unknown) > 0 {
		if err := v.Addr().Interface().(keyJudge).JudgeKeys(unknown); err != nil {
			return err
		}
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

// given skips a value and reports whether it is not null.
func (s *scanner) given() (bool, error) {
	if s.Word("null") {
		return false, nil
	}
	return true, s.Skip()
}

func isSyntax(err error) bool {
	e, ok := errors.AsType[*core.Error](err)
	return ok && e.Code == "invalid_json"
}
