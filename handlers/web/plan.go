package web

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
)

// plan describes how to read a request into a value of one Go type. It is created once, when the table is built.
// Creating the plan of an unsupported type panics.
type plan struct {
	typ                 reflect.Type
	kind                bodyKind
	path, query, header []field
	form                []field
	object              *object // of a JSON body
}

// field is one input: a key of a JSON object, a form or query parameter, a header or a path parameter.
type field struct {
	name     string
	index    []int
	typ      reflect.Type
	required bool // must be present; null and, outside JSON, the empty string count as absent
	needed   bool // required in the documents only: a check of the whole value enforces it
	uuid     bool // a UUID, converted to lower case
	enum     []string
	decode   decoder // JSON only
	tag      reflect.StructTag
}

// object describes how to read a JSON object into a struct.
type object struct {
	fields   []field
	required uint64
	judges   bool // the struct implements keyJudge
}

// keyJudge is implemented by structs that check the unknown keys of their JSON object. Keys with the value null are
// left out. An error from JudgeKeys takes precedence over errors about missing fields.
type keyJudge interface{ JudgeKeys(unknown []string) error }

var keyJudgeType = reflect.TypeFor[keyJudge]()

func (o *object) find(key []byte) int {
	for i := range o.fields {
		if o.fields[i].name == string(key) {
			return i
		}
	}
	return -1
}

var (
	emailType   = reflect.TypeFor[core.Email]()
	instantType = reflect.TypeFor[core.Instant]()
	rawType     = reflect.TypeFor[json.RawMessage]()

	preferencesType = reflect.TypeFor[core.Preferences]()
	auditType       = reflect.TypeFor[core.AuditChanges]()
	ruleType        = reflect.TypeFor[core.Rule]()
	ruleTextType    = reflect.TypeFor[core.RuleText]()
)

func newPlan(t reflect.Type, kind bodyKind) *plan {
	p := &plan{typ: t, kind: kind}
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("web: %v is not a struct", t))
	}
	p.path = fieldsOf(t, "path")
	p.query = fieldsOf(t, "query")
	p.header = fieldsOf(t, "header")
	for i := range p.path {
		// Path parameters are UUIDs unless their tag contains text.
		f, _ := t.FieldByName(t.FieldByIndex(p.path[i].index).Name)
		p.path[i].uuid = !slices.Contains(strings.Split(f.Tag.Get("path"), ","), "text")
	}
	switch kind {
	case jsonBody:
		p.object = newObject(t)
	case formBody:
		p.form = fieldsOf(t, "form")
	}
	return p
}

// fieldsOf lists the fields of a struct that have the given tag. The tag "is" contains the words required, needed, uuid
// and value. In tags other than json, they can also follow the name. The tag enum lists the allowed values.
func fieldsOf(t reflect.Type, tag string) []field {
	var fields []field
	for _, sf := range reflect.VisibleFields(t) {
		text, ok := sf.Tag.Lookup(tag)
		name, options, _ := strings.Cut(text, ",")
		if !ok || name == "-" || name == "" || !sf.IsExported() {
			continue
		}
		f := field{name: name, index: sf.Index, typ: sf.Type, tag: sf.Tag}
		value := false
		for option := range strings.SplitSeq(options+","+sf.Tag.Get("is"), ",") {
			switch option {
			case "required":
				f.required = true
			case "needed":
				f.needed = true
			case "uuid":
				f.uuid = true
			case "value":
				value = true
			}
		}
		if e := sf.Tag.Get("enum"); e != "" {
			f.enum = strings.Split(e, "|")
		}
		if tag == "json" {
			if f.decode = decoderOf(f.typ, 0); value {
				f.decode = notNull(f.decode)
			}
		} else if !isText(f.typ) {
			panic(fmt.Sprintf("web: %v.%s can't be read from text", t, sf.Name))
		}
		fields = append(fields, f)
	}
	if len(fields) > 64 {
		panic(fmt.Sprintf("web: %v has more than 64 fields", t))
	}
	return fields
}

func newObject(t reflect.Type) *object {
	o := &object{fields: fieldsOf(t, "json"), judges: reflect.PointerTo(t).Implements(keyJudgeType)}
	for i := range o.fields {
		if o.fields[i].required {
			o.required |= 1 << i
		}
	}
	return o
}

func isText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer:
		return t.Elem().Kind() != reflect.Pointer && isText(t.Elem())
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int64:
		return true
	}
	return false
}

// check validates a string against the field's tags and returns it in normal form.
func (f *field) check(s string) (string, error) {
	if f.uuid {
		id, ok := core.ParseID(s)
		if !ok {
			return "", mustBe("a UUID")
		}
		return id, nil
	}
	if f.enum != nil && !slices.Contains(f.enum, s) {
		return "", mustBe("one of " + strings.Join(f.enum, ", "))
	}
	return s, nil
}

// setText parses s and stores the value in in's field.
func (f *field) setText(in reflect.Value, s string) error {
	v := in.FieldByIndex(f.index)
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	s, err := f.check(s)
	if err == nil {
		err = setScalar(v, s)
	}
	if err != nil {
		return onField(err, f.name)
	}
	return nil
}

// errEmail is core.ErrInvalidEmail without a field name, which onField adds.
var errEmail = &core.Error{
	Kind: core.Invalid, Code: core.ErrInvalidEmail.Code,
	Message: "is not a valid email address.",
}

func setScalar(v reflect.Value, s string) error {
	switch v.Type() {
	case emailType:
		e, err := core.ParseEmail(s)
		if err != nil {
			return errEmail
		}
		v.SetString(string(e))
		return nil
	case instantType:
		i, err := core.ParseInstant(s)
		v.SetInt(int64(i))
		return err
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(s)
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		if err != nil {
			return mustBe("true or false")
		}
		v.SetBool(b)
	default:
		n, err := strconv.ParseInt(s, 10, v.Type().Bits())
		if err != nil {
			return mustBe("a whole number")
		}
		v.SetInt(n)
	}
	return nil
}
