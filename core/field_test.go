package core

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestFieldsReadAForm(t *testing.T) {
	fields := Fields{
		{Name: "first_name", Label: "First name", Type: FieldText},
		{Name: "city", Label: "City", Type: FieldChoice, Options: Strings{"Bath", "Brno"}, Required: true},
		{Name: "weekly", Label: "Weekly", Type: FieldBoolean},
		{Name: "terms", Label: "Terms", Type: FieldBoolean, Required: true},
	}
	for _, c := range []struct {
		form  map[string]string
		want  map[string]any
		fault string
	}{
		{
			map[string]string{"first_name": " Ada ", "city": "Brno", "weekly": "on", "terms": "true"},
			map[string]any{"first_name": "Ada", "city": "Brno", "weekly": true, "terms": true},
			"",
		},
		{
			map[string]string{"city": "Bath", "terms": "1"},
			map[string]any{"first_name": nil, "city": "Bath", "weekly": false, "terms": true},
			"",
		},
		{map[string]string{"terms": "1"}, nil, "city: missing"},
		{map[string]string{"city": "Rome", "terms": "1"}, nil, "city: choice"},
		{map[string]string{"city": "Bath"}, nil, "terms: unchecked"},
		{map[string]string{"city": "Bath", "terms": "no"}, nil, "terms: unchecked"},
		{map[string]string{"first_name": "a\nb", "city": "Bath", "terms": "1"}, nil, "first_name: text"},
		{
			map[string]string{"first_name": strings.Repeat("ä", 501), "city": "Bath", "terms": "1"},
			nil,
			"first_name: text",
		},
		{
			map[string]string{"first_name": strings.Repeat("ä", 500), "city": "Bath", "terms": "1"},
			map[string]any{"first_name": strings.Repeat("ä", 500), "city": "Bath", "weekly": false, "terms": true},
			"",
		},
	} {
		got, err := fields.Read(func(name string) string { return c.form[name] })
		var fault *FormFault
		if errors.As(err,
			&fault) != (c.fault != "") || fault != nil && fault.Error() != c.fault || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %v, %v; want %v, %s", c.form, got, err, c.want, c.fault)
		}
	}
}

func TestFieldNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "first_name": true, "A1": true, "": false, "_a": false, "1a": false, "a-b": false, "a b": false,
		"é": false, strings.Repeat("a", 41): false,
	} {
		if IsFieldName(name) != ok {
			t.Errorf("%q", name)
		}
	}
}

func TestPreferencesWith(t *testing.T) {
	p := Preferences(`{"n": 12345678901234567890, "city": "Bath", "x": {"a": [1]}}`)
	got := p.With(map[string]any{"city": nil, "name": "Ada <3", "on": true})
	if want := Preferences(`{"n":12345678901234567890,"name":"Ada \u003c3","on":true,"x":{"a":[1]}}`); got != want {
		t.Errorf("%s", got)
	}
	if got := Preferences("").With(nil); got != "{}" {
		t.Errorf("%s", got)
	}
}

// TestChoiceHoldsWhatItsSubscriberHas checks that a subscriber's current value stays valid even if it is no longer an
// option, but only for that subscriber.
func TestChoiceHoldsWhatItsSubscriberHas(t *testing.T) {
	fields := Fields{
		{Name: "city", Label: "City", Type: FieldChoice, Options: Strings{"Bath", "Brno"}},
		{Name: "first_name", Label: "Name", Type: FieldText},
	}
	form := map[string]string{"city": "Basle", "first_name": "Ann"}
	get := func(name string) string { return form[name] }
	held := fields.Holding(`{"city": "Basle"}`)
	if v, err := held.Read(get); err != nil || v["city"] != "Basle" || v["first_name"] != "Ann" {
		t.Error(v, err)
	}
	if len(fields[0].Options) != 2 {
		t.Error("the list itself has changed")
	}
	for _, p := range []Preferences{"", `{"city": "Bath"}`, `{"city": 7}`, `{"city": ""}`, `{"city": " Basle"}`} {
		if v, err := fields.Holding(p).Read(get); err == nil {
			t.Error(p, v)
		}
	}
}
