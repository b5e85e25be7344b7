package core

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The types of a field.
const (
	FieldText    = "text"
	FieldChoice  = "choice"
	FieldBoolean = "boolean"
)

// Limits of a list's fields.
const (
	MaxFields     = 30  // per list
	maxOptions    = 100 // per field
	maxFieldName  = 40  // characters
	maxFieldLabel = 200 // characters
	MaxFieldText  = 500 // characters of a value
)

// Field is a list's custom field: something that the signup form and the preference page ask subscribers for. Its value
// is stored in the preferences under Name: a string or, for a boolean, true or false.
type Field struct {
	Name     string  `json:"name" is:"required" like:"key" min:"1" max:"40" about:"Key in the preferences and input name in forms; can't be email or source"`
	Label    string  `json:"label" is:"required" like:"name" max:"200" about:"Label shown to people"`
	Type     string  `json:"type" is:"required" enum:"text|choice|boolean" about:"text: a line of text; choice: one of options; boolean: a checkbox"`
	Required bool    `json:"required" about:"Whether people must fill it in; a required checkbox must be checked"`
	SetBy    string  `json:"set_by,omitzero" enum:"subscriber|team" about:"Who can set it: subscribers and the team, or only the team"`
	Options  Strings `json:"options,omitzero" max:"100" each:"name max=200" about:"Values to choose from; required for a choice"`
}

// Fields is a list of fields, stored as a JSON column.
type Fields []Field

// Column returns the value to store in the database column.
func (f Fields) Column() string { return jsonColumn(f, len(f) == 0, "[]") }

// Scan implements sql.Scanner.
func (f *Fields) Scan(src any) error {
	err := scanJSON(src, (*[]Field)(f))
	for i := range *f {
		(*f)[i].SetBy = cmp.Or((*f)[i].SetBy, SetBySubscriber) // older ones have none
	}
	return err
}

// MarshalJSON returns a JSON array, even if f is nil.
func (f Fields) MarshalJSON() ([]byte, error) {
	if f == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]Field(f))
}

func jsonColumn(v any, empty bool, none string) string {
	if empty {
		return none
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // v contains only strings
	}
	return string(b)
}

func scanJSON(src, to any) error {
	switch v := src.(type) {
	case string:
		return json.Unmarshal([]byte(v), to)
	case []byte:
		return json.Unmarshal(v, to)
	}
	return fmt.Errorf("JSON column has the unexpected type %T", src)
}

// Check validates a list's fields and normalizes their labels and options.
func (f Fields) Check() error {
	if len(f) > MaxFields {
		return Invalidf("fields", "%s must have at most %d entries.", "fields", MaxFields)
	}
	seen := map[string]bool{}
	for i := range f {
		at := "fields[" + strconv.Itoa(i) + "]"
		if err := f[i].check(at); err != nil {
			return err
		}
		if seen[f[i].Name] {
			return Invalidf(at+".name", "%s.name is used twice. Choose another name.", at)
		}
		seen[f[i].Name] = true
	}
	return nil
}

func (f *Field) check(at string) error {
	if !IsFieldName(f.Name) || f.Name == "email" || f.Name == "source" {
		return Invalidf(at+".name",
			"%s.name must start with a letter and contain only letters, digits and _. email and source are reserved.",
			at)
	}
	if err := checkText(&f.Label, at+".label", maxFieldLabel, false); err != nil {
		return err
	}
	if f.Label == "" {
		return Invalidf(at+".label", "%s.label is empty. Enter a label.", at)
	}
	switch f.SetBy = cmp.Or(f.SetBy, SetBySubscriber); {
	case f.SetBy != SetBySubscriber && f.SetBy != SetByTeam:
		return Invalidf(at+".set_by", "%s.set_by must be subscriber or team.", at)
	case f.SetBy == SetByTeam && f.Required:
		return Invalidf(at+".required", "%s.required is only allowed for fields that subscribers set. Leave it out, "+
			"or set set_by to subscriber.", at)
	}
	switch f.Type {
	case FieldText, FieldBoolean:
		if len(f.Options) > 0 {
			return Invalidf(at+".options", "%s.options is only allowed for the type choice. Leave it out, or change "+
				"the type.", at)
		}
		return nil
	case FieldChoice:
		return f.checkOptions(at)
	}
	return Invalidf(at+".type", "%s.type must be text, choice or boolean.", at)
}

func (f *Field) checkOptions(at string) error {
	if len(f.Options) == 0 || len(f.Options) > maxOptions {
		return Invalidf(at+".options", "%s.options must have 1 to %d entries.", at, maxOptions)
	}
	for i := range f.Options {
		field := at + ".options[" + strconv.Itoa(i) + "]"
		if err := checkText(&f.Options[i], field, maxFieldLabel, false); err != nil {
			return err
		}
		if f.Options[i] == "" || slices.Contains(f.Options[:i], f.Options[i]) {
			return Invalidf(field, "%s is empty or used twice. Change or remove it.", field)
		}
	}
	return nil
}

// IsFieldName reports whether a form field with this name may become a preferences key. Names that start with an
// underscore are reserved for newsletterd.
func IsFieldName(s string) bool {
	if s == "" || len(s) > maxFieldName || s[0] == '_' || '0' <= s[0] && s[0] <= '9' {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool {
		return !(r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9')
	}) < 0
}

// The faults that a form value can have.
const (
	FaultMissing   = "missing"
	FaultUnchecked = "unchecked"
	FaultChoice    = "choice"
	FaultText      = "text"
)

// FormFault is the error for an invalid value from a form.
type FormFault struct{ Name, Label, Fault string }

func (f *FormFault) Error() string { return f.Name + ": " + f.Fault }

// Read returns the values that a form contains for the fields, by field name. For a missing value, get must return "".
// Empty texts and choices become nil, and a missing boolean is false. The error is a *FormFault.
func (f Fields) Read(get func(name string) string) (map[string]any, error) {
	values := map[string]any{}
	for i := range f {
		v, fault := f[i].read(get(f[i].Name))
		if fault != "" {
			return nil, &FormFault{f[i].Name, f[i].Label, fault}
		}
		values[f[i].Name] = v
	}
	return values, nil
}

// Holding returns the fields with the subscriber's current values added to the options. A value that was imported, or
// whose option was removed, thus stays valid for this subscriber until it is changed.
func (f Fields) Holding(p Preferences) Fields {
	said, held := p.Values(), slices.Clone(f)
	for i := range held {
		var s string
		if held[i].Type != FieldChoice || json.Unmarshal(said[held[i].Name], &s) != nil {
			continue
		}
		if s != "" && s == strings.TrimSpace(s) && IsFieldText(s) && !slices.Contains(held[i].Options, s) {
			held[i].Options = append(slices.Clone(held[i].Options), s)
		}
	}
	return held
}

func (f *Field) read(s string) (v any, fault string) {
	s = strings.TrimSpace(s)
	switch {
	case f.Type == FieldBoolean:
		on := slices.Contains([]string{"true", "on", "1", "yes"}, s)
		if f.Required && !on {
			return nil, FaultUnchecked
		}
		return on, ""
	case s == "" && f.Required:
		return nil, FaultMissing
	case s == "":
		return nil, ""
	case f.Type == FieldChoice && !slices.Contains(f.Options, s):
		return nil, FaultChoice
	case !IsFieldText(s):
		return nil, FaultText
	}
	return s, ""
}

// IsFieldText reports whether s can be the value of a field.
func IsFieldText(s string) bool {
	return utf8.RuneCountInString(s) <= MaxFieldText && strings.IndexFunc(s, unicode.IsControl) < 0
}
