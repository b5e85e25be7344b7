package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"newsletterd/core"
)

// decoder reads one JSON value into v. For null, which counts as absent, set is false. f holds the constraints from the
// field's tags.
type decoder func(s *scanner, v reflect.Value, f *field) (set bool, err error)

func decoderOf(t reflect.Type, depth int) decoder {
	if depth > core.MaxJSONDepth {
		panic(fmt.Sprintf("web: %v stands in itself", t))
	}
	switch t {
	case rawType:
		return decodeRaw
	case emailType:
		return orNull(decodeEmail)
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return orNull(decodeOwn)
	}
	switch t.Kind() {
	case reflect.String:
		return orNull(decodeString)
	case reflect.Bool:
		return orNull(decodeBool)
	case reflect.Int, reflect.Int64, reflect.Int32:
		return orNull(decodeInt)
	case reflect.Float64:
		return orNull(decodeFloat)
	case reflect.Pointer:
		return decodePointer(decoderOf(t.Elem(), depth+1))
	case reflect.Struct:
		return orNull(decodeStruct(newObject(t)))
	case reflect.Slice:
		return orNull(decodeSlice(decoderOf(t.Elem(), depth+1)))
	}
	panic(fmt.Sprintf("web: no JSON becomes a %v", t))
}

func orNull(d func(*scanner, reflect.Value, *field) error) decoder {
	return func(s *scanner, v reflect.Value, f *field) (bool, error) {
		if s.Word("null") {
			return false, nil
		}
		return true, d(s, v, f)
	}
}

// notNull rejects null, for fields that decide who gets an email.
func notNull(d decoder) decoder {
	return func(s *scanner, v reflect.Value, f *field) (bool, error) {
		set, err := d(s, v, f)
		if err == nil && !set {
			err = core.Invalidf("", "can't be null. Leave it out.")
		}
		return set, err
	}
}

func mustBe(what string) error { return core.Invalidf("", "must be %s.", what) }

func (s *scanner) text(what string) ([]byte, error) {
	if s.Next() != '"' {
		return nil, mustBe(what)
	}
	return s.Quoted()
}

func decodeString(s *scanner, v reflect.Value, f *field) error {
	b, err := s.text("a string")
	if err != nil {
		return err
	}
	text, err := f.check(string(b))
	if err != nil {
		return err
	}
	v.SetString(text)
	return nil
}

func decodeEmail(s *scanner, v reflect.Value, _ *field) error {
	b, err := s.text("a string")
	if err != nil {
		return err
	}
	return setScalar(v, string(b))
}

func decodeBool(s *scanner, v reflect.Value, _ *field) error {
	switch {
	case s.Word("true"):
		v.SetBool(true)
	case s.Word("false"):
		v.SetBool(false)
	default:
		return mustBe("true or false")
	}
	return nil
}

func (s *scanner) numeral() (string, bool, error) {
	if c := s.Next(); c != '-' && (c < '0' || c > '9') {
		return "", false, nil
	}
	b, err := s.Number()
	return string(b), true, err
}

func decodeInt(s *scanner, v reflect.Value, _ *field) error {
	text, ok, err := s.numeral()
	if err != nil {
		return err
	}
	n, bad := strconv.ParseInt(text, 10, v.Type().Bits())
	if bad != nil { // JSON Schema counts 1.0 and 1e2 as integers
		var whole float64
		whole, bad = strconv.ParseFloat(text, 64)
		n = int64(whole)
		ok = ok && float64(n) == whole && math.Abs(whole) <= 1<<53 && !v.OverflowInt(n)
	}
	if !ok || bad != nil {
		return mustBe("a whole number")
	}
	v.SetInt(n)
	return nil
}

func decodeFloat(s *scanner, v reflect.Value, _ *field) error {
	text, ok, err := s.numeral()
	if err != nil {
		return err
	}
	n, bad := strconv.ParseFloat(text, 64)
	if !ok || bad != nil {
		return mustBe("a number")
	}
	v.SetFloat(n)
	return nil
}

// decodeRaw stores a value's JSON text unchanged. For null, set is false.
func decodeRaw(s *scanner, v reflect.Value, _ *field) (bool, error) {
	s.Space()
	start := s.At
	if err := s.Skip(); err != nil {
		return false, err
	}
	raw := s.Text[start:s.At]
	if string(raw) == "null" {
		return false, nil
	}
	v.SetBytes(append(make([]byte, 0, len(raw)), raw...))
	return true, nil
}

// decodeOwn decodes types that implement json.Unmarshaler, such as core.Instant.
func decodeOwn(s *scanner, v reflect.Value, _ *field) error {
	s.Space()
	start := s.At
	if err := s.Skip(); err != nil {
		return err
	}
	err := v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(s.Text[start:s.At])
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*core.Error](err); ok {
		return e
	}
	return core.Invalidf("", "has the wrong format.").With(err)
}

func decodePointer(elem decoder) decoder {
	return func(s *scanner, v reflect.Value, f *field) (bool, error) {
		p := reflect.New(v.Type().Elem())
		set, err := elem(s, p.Elem(), f)
		if set && err == nil {
			v.Set(p)
		}
		return set, err
	}
}

func decodeStruct(o *object) func(*scanner, reflect.Value, *field) error {
	return func(s *scanner, v reflect.Value, _ *field) error {
		if s.Next() != '{' {
			return mustBe("an object")
		}
		return s.object(o, v)
	}
}

// decodeSlice reads an array and refuses null elements.
func decodeSlice(elem decoder) func(*scanner, reflect.Value, *field) error {
	return func(s *scanner, v reflect.Value, f *field) error {
		if s.Next() != '[' {
			return mustBe("an array")
		}
		out := reflect.MakeSlice(v.Type(), 0, 4)
		err := s.Elements(func(i int) error {
			if i == out.Len() {
				out = reflect.Append(out, reflect.Zero(v.Type().Elem()))
			}
			set, err := elem(s, out.Index(i), f)
			if err == nil && !set {
				err = mustBe("given")
			}
			if err != nil {
				return onField(err, "["+strconv.Itoa(i)+"]")
			}
			return nil
		})
		v.Set(out)
		return err
	}
}

// onField prepends name to the field path in an error. If the error has no field path yet, it also prepends name to the
// message.
func onField(err error, name string) error {
	e, ok := errors.AsType[*core.Error](err)
	if !ok {
		return err
	}
	return e.Under(name)
}
