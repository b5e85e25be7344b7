package web

import (
	"cmp"
	"reflect"

	"newsletterd/core"
)

// scanner decodes JSON into structs. core.JSONScanner parses the JSON.
type scanner struct{ core.JSONScanner }

// JSONReader returns a function that reads a JSON object as strictly as endpoints created by JSON.
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
		s = scanner{core.JSONScanner{Text: b, What: s.What}}
		return cmp.Or(s.Skip(), err) // a field's value is refused only if the whole text is valid JSON
	}
	s.Space()
	if s.At < len(b) {
		return s.Fail("text after the value")
	}
	return nil
}

// object reads an object into the struct v.
func (s *scanner) object(o *object, v reflect.Value) error {
	var seen uint64
	var unknown []string
	err := s.Members(func(key []byte) error {
		i := o.find(key)
		if i < 0 {
			if o.judges && s.Next() != 'n' { // not null
				unknown = append(unknown, string(key))
			}
			return s.Skip()
		}
		f := &o.fields[i]
		set, err := f.decode(s, v.FieldByIndex(f.index), f)
		if set {
			seen |= 1 << i
		}
		return onField(err, f.name)
	})
	if err != nil {
		return err
	}
	if len(unknown) > 0 {
		if err := v.Addr().Interface().(keyJudge).JudgeKeys(unknown); err != nil {
			return err
		}
	}
	if seen&o.required != o.required {
		for i := range o.fields {
			if f := &o.fields[i]; f.required && seen&(1<<i) == 0 {
				return core.Invalidf(f.name, "%s is missing.", f.name)
			}
		}
	}
	return nil
}
