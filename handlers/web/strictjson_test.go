package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"newsletterd/core"
)

// fuzzIn has a field of every kind that the reader supports.
type fuzzIn struct {
	S   string          `json:"s"`
	P   *string         `json:"p"`
	B   bool            `json:"b"`
	I   int64           `json:"i"`
	I3  int32           `json:"i3"`
	F   float64         `json:"f"`
	Raw json.RawMessage `json:"raw"`
	At  core.Instant    `json:"at"`
	L   []string        `json:"l"`
	O   struct {
		X string `json:"x"`
		Y []struct {
			Z int `json:"z"`
		} `json:"y"`
	} `json:"o"`
}

var fuzzObject = newObject(reflect.TypeFor[fuzzIn]())

func TestStrictJSON(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"x":`, n-1) + `{}` + strings.Repeat("}", n-1) }
	var many strings.Builder // with a hundred keys
	for i := range 100 {
		fmt.Fprintf(&many, `"k%d%s":1,`, i%10, strings.Repeat("x", i/10))
	}
	for _, tt := range []struct{ name, body, code, field string }{
		{"empty object", ` { } `, "", ""},
		{
			"every kind",
			`{"s":"\u00e9\ud83d\ude00\/","p":"x","b":true,"i":-12,"f":1.5e3,"raw":{"a":[1,2]},"at":"2026-01-31T08:00:00Z","l":["a","b"],"o":{"x":"y","y":[{"z":1}]}}`, "", "",
		},
		{"unknown keys", `{"S":1,"unknown":{"deep":[null,true,-0.5E+7,""]}}`, "", ""},
		{"null", `{"s":null,"p":null,"b":null,"i":null,"raw":null,"at":null,"l":null,"o":null}`, "", ""},
		{"two keys with escapes", `{"\u0071":1,"\u0072":2}`, "", ""},
		{"32 deep", deep(32), "", ""},
		{"the same key at different places", `{"o":{"x":"s"},"s":"o","unknown":[{"a":1},{"a":2}]}`, "", ""},

		{"as many keys as are taken", "{" + jsonKeys(78_890-8) + `"z":1}`, "", ""},
		{"more keys than are taken", "{" + jsonKeys(200_000) + `"z":1}`, "invalid_json", ""},
		{"nothing", ``, "invalid_json", ""},
		{"white space", " \n", "invalid_json", ""},
		{"two values", `{} {}`, "invalid_json", ""},
		{"text behind", `{}x`, "invalid_json", ""},
		{"byte order mark", "\ufeff{}", "invalid_json", ""},
		{"cut", `{"s":"x"`, "invalid_json", ""},
		{"comma at the end", `{"s":"x",}`, "invalid_json", ""},
		{"comma at the end of an array", `{"l":["x",]}`, "invalid_json", ""},
		{"no quotes", `{s:1}`, "invalid_json", ""},
		{"single quotes", `{'s':'x'}`, "invalid_json", ""},
		{"comment", `{/**/}`, "invalid_json", ""},
		{"NUL", "{\"s\":\"\x00\"}", "invalid_json", ""},
		{"NUL escaped", `{"s":"\u0000"}`, "invalid_json", ""},
		{"line end in a string", "{\"s\":\"a\nb\"}", "invalid_json", ""},
		{"not UTF-8", "{\"s\":\"\xff\"}", "invalid_json", ""},
		{"not UTF-8 in an unknown key", "{\"\xc3\x28\":1}", "invalid_json", ""},
		{"surrogate in UTF-8", "{\"s\":\"\xed\xa0\x80\"}", "invalid_json", ""},
		{"lone high surrogate", `{"s":"\ud800"}`, "invalid_json", ""},
		{"lone low surrogate", `{"s":"\udc00"}`, "invalid_json", ""},
		{"two high surrogates", `{"s":"\ud800\ud800"}`, "invalid_json", ""},
		{"lone surrogate in an unknown value", `{"unknown":["\ud800"]}`, "invalid_json", ""},
		{"unknown escape", `{"s":"\x41"}`, "invalid_json", ""},
		{"duplicate", `{"s":"a","s":"b"}`, "invalid_json", ""},
		{"duplicate by escape", `{"s":"a","\u0073":"b"}`, "invalid_json", ""},
		{"duplicate escapes", `{"\u0071":1,"\u0072":2,"\u0071":3}`, "invalid_json", ""},
		{
			"wrong types deep in, then deep again", `{"o":{"y":[{"z":"2"}]},"unknown":` + deep(31) + `}`, "invalid_request",
			"o.y[0].z",
		},
		{"duplicate unknown", `{"unknown":{"a":1,"b":2,"a":3}}`, "invalid_json", ""},
		{"duplicate in raw", `{"raw":{"a":1,"a":1}}`, "invalid_json", ""},
		{"duplicate among many", `{"unknown":{` + many.String() + `"k7":1}}`, "invalid_json", ""},
		{"33 deep", deep(33), "invalid_json", ""},
		{"leading zero", `{"i":01}`, "invalid_json", ""},
		{"plus", `{"i":+1}`, "invalid_json", ""},
		{"no digits", `{"f":1.}`, "invalid_json", ""},
		{"NaN", `{"f":NaN}`, "invalid_json", ""},
		{"wrong type in front of what is no JSON", `{"s":1,"i":}`, "invalid_json", ""},

		{"array", `[]`, "invalid_request", ""},
		{"string", `"x"`, "invalid_request", ""},
		{"null alone", `null`, "invalid_request", ""},
		{"number for string", `{"s":1}`, "invalid_request", "s"},
		{"string for bool", `{"b":"true"}`, "invalid_request", "b"},
		{"fraction for integer", `{"i":1.5}`, "invalid_request", "i"},
		{"fraction for integer, small", `{"i":1e-1}`, "invalid_request", "i"},
		{"too large an integer, as a fraction", `{"i":9007199254740994.0}`, "invalid_request", "i"},
		{"larger than any number", `{"i":1e400}`, "invalid_request", "i"},
		{"too large for 32 bits, as a fraction", `{"i3":2147483648.0}`, "invalid_request", "i3"},
		{"too large an integer", `{"i":9223372036854775808}`, "invalid_request", "i"},
		{"too large for 32 bits", `{"i3":2147483648}`, "invalid_request", "i3"},
		{"too large a number", `{"f":1e999}`, "invalid_request", "f"},
		{"string for array", `{"l":"a"}`, "invalid_request", "l"},
		{"number in array", `{"l":["a",1]}`, "invalid_request", "l[1]"},
		{"null in array", `{"l":[null]}`, "invalid_request", "l[0]"},
		{"deep", `{"o":{"y":[{"z":1},{"z":"2"}]}}`, "invalid_request", "o.y[1].z"},
		{"instant", `{"at":"yesterday"}`, "invalid_request", "at"},
		{"array for object", `{"o":[]}`, "invalid_request", "o"},
	} {
		var in fuzzIn
		err := decodeJSON([]byte(tt.body), fuzzObject, reflect.ValueOf(&in).Elem())
		var e *core.Error
		if tt.code == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		} else if !errors.As(err, &e) || e.Kind != core.Invalid || e.Code != tt.code || e.Field != tt.field {
			t.Errorf("%s: %#v", tt.name, err)
		}
	}
}

// TestWholeNumbers checks that a number without a fractional part is an integer, however it is written (JSON Schema,
// Validation section 6.1.1).
func TestWholeNumbers(t *testing.T) {
	for text, want := range map[string]int{"7": 7, "1.0": 1, "-2.00": -2, "1e2": 100, "12.5e1": 125, "-0.0": 0} {
		var got fuzzIn
		if err := decodeJSON([]byte(`{"i":`+text+`}`), fuzzObject, reflect.ValueOf(&got).Elem()); err != nil ||
			got.I != int64(want) {
			t.Errorf("%s: %d, %v", text, got.I, err)
		}
	}
}

// FuzzStrictJSON checks that encoding/json reads every accepted text in the same way. It excludes keys that differ only
// in case, which encoding/json reads differently.
func FuzzStrictJSON(f *testing.F) {
	for _, s := range []string{
		`{}`,
		`{"s":"\u00e9\ud83d\ude00\/","p":"x","b":true,"i":-12,"i3":7,"f":1.5e3,"raw":{"a":[1,2]},"l":["a","b"],"o":{"x":"y","y":[{"z":1}]}}`,
		`{"at":"2026-01-31T08:00:00.5+01:00"}`, `{"s":null,"raw":null,"l":[],"unknown":[[[]]]}`, `{"f":-0.0E-0}`,
		"{\"s\":\"\xf0\x9f\x98\x80\"}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var got fuzzIn
		err := decodeJSON(b, fuzzObject, reflect.ValueOf(&got).Elem())
		if err != nil {
			if core.KindOf(err) != core.Invalid {
				t.Fatalf("%v is not the caller's fault", err)
			}
			return
		}
		if !utf8.Valid(b) || !json.Valid(b) {
			t.Fatalf("takes %q, which is no JSON", b)
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(b, &keys); err != nil {
			t.Fatal(err)
		}
		if foldedKeys(b) {
			return
		}
		var want fuzzIn
		if err := json.Unmarshal(b, &want); err != nil {
			if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && strings.HasPrefix(e.Value, "number ") {
				return // an integer written as 1.0
			}
			t.Fatalf("encoding/json refuses %q: %v", b, err)
		}
		if string(want.Raw) == "null" {
			want.Raw = nil
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %+v, want %+v", b, got, want)
		}
	})
}

// foldedKeys reports whether an object has a key that differs from one of ours only in case, so that encoding/json
// would accept it.
func foldedKeys(b []byte) bool {
	var v any
	_ = json.Unmarshal(b, &v)
	known := []string{"s", "p", "b", "i", "i3", "f", "raw", "at", "l", "o", "x", "y", "z"}
	var walk func(any) bool
	walk = func(v any) bool {
		switch v := v.(type) {
		case map[string]any:
			for k, e := range v {
				for _, w := range known {
					if k != w && strings.EqualFold(k, w) {
						return true
					}
				}
				if walk(e) {
					return true
				}
			}
		case []any:
			for _, e := range v {
				if walk(e) {
					return true
				}
			}
		}
		return false
	}
	return walk(v)
}

type benchIn struct {
	ListID string          `json:"list_id" is:"required"`
	Email  core.Email      `json:"email" is:"required"`
	Prefs  json.RawMessage `json:"preferences"`
	Source string          `json:"source"`
}

var benchBody = []byte(`{"list_id":"0190163d-8694-739b-aea5-966c26f8ad90","email":"Someone.With.Name@mail.example.com",` +
	`"preferences":{"first_name":"Jane","topics":["a","b"]},"source":"landing-page-of-spring"}`)

func BenchmarkStrictJSON(b *testing.B) {
	o := newObject(reflect.TypeFor[benchIn]())
	b.SetBytes(int64(len(benchBody)))
	b.ReportAllocs()
	for b.Loop() {
		var in benchIn
		if err := decodeJSON(benchBody, o, reflect.ValueOf(&in).Elem()); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodingJSON(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var in benchIn
		if err := json.Unmarshal(benchBody, &in); err != nil {
			b.Fatal(err)
		}
	}
}
