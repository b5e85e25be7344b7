package web

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// schemaRef is the prefix of a reference to a schema in the document.
const schemaRef = "#/components/schemas/"

// fromYear1970 is the pattern for the years that core.Instant allows.
const fromYear1970 = "^(19[7-9]|[2-9][0-9][0-9])[0-9]-"

// typeName returns the name of a type in the documents.
func (names *describer) typeName(t reflect.Type) string {
	if name := names.api.TypeNames[t]; name != "" {
		return name
	}
	name := t.Name()
	return strings.ToUpper(name[:1]) + name[1:]
}

// inputSchema returns the schema for a request's fields.
func inputSchema(fields []field, names *describer) obj {
	props, required := obj{}, []string{}
	for i := range fields {
		f := &fields[i]
		props[f.name] = names.worded(f.name, f.tag, names.limited(f.schema(names), f.tag))
		if f.required || f.needed {
			required = append(required, f.name)
		}
	}
	s := obj{"type": "object", "properties": props}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// limited adds the limits from an input's tags to its schema.
func (names *describer) limited(s obj, tag reflect.StructTag) obj {
	names.like(s, tag.Get("like"))
	if each := tag.Get("each"); each != "" {
		names.like(s["items"].(obj), each)
	}
	for _, end := range []string{"min", "max"} {
		if n := tag.Get(end); n != "" {
			bound(s, end, n)
		}
	}
	if words := tag.Get("oneof"); words != "" {
		s["enum"] = strings.Split(words, "|")
	}
	return s
}

// like adds the forms that a tag names, and limits such as max=60, to a schema.
func (names *describer) like(s obj, tag string) {
	for word := range strings.FieldsSeq(tag) {
		if end, n, ok := strings.Cut(word, "="); ok {
			bound(s, end, n)
			continue
		}
		form := names.api.Forms[word]
		if form == nil {
			panic("web: no form is named " + word)
		}
		maps.Copy(s, form)
	}
}

// bound sets the minimum or maximum of a string's length, an array's length or a number.
func bound(s obj, end, number string) {
	n, err := strconv.Atoi(number)
	if err != nil {
		panic(fmt.Sprintf("web: %s of a field is no number: %s", end, number))
	}
	switch s["type"] {
	case "string":
		s[end+"Length"] = n
	case "array":
		s[end+"Items"] = n
	default:
		s[end+"imum"] = n
	}
}

func (f *field) schema(names *describer) obj {
	s := typeSchema(f.typ, true, names)
	if f.uuid {
		s["format"] = "uuid"
	}
	if f.enum != nil {
		s["enum"] = f.enum
	}
	return s
}

// outputSchema returns the schema of an operation's response.
func outputSchema(t reflect.Type, names *describer) obj { return typeSchema(t, false, names) }

func typeSchema(t reflect.Type, input bool, names *describer) obj {
	switch t {
	case emailType:
		return obj{"type": "string", "format": "email"}
	case instantType:
		if input {
			return obj{"type": "string", "format": "date-time", "pattern": fromYear1970}
		}
		return obj{"type": "string", "format": "date-time"}
	case ruleType, ruleTextType:
		return names.rule()
	case rawType, preferencesType, auditType:
		return obj{"type": "object", "additionalProperties": true}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeSchema(t.Elem(), input, names)
	case reflect.String:
		return obj{"type": "string"}
	case reflect.Bool:
		return obj{"type": "boolean"}
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		return obj{"type": "integer"}
	case reflect.Float64:
		return obj{"type": "number"}
	case reflect.Slice:
		return obj{"type": "array", "items": typeSchema(t.Elem(), input, names)}
	case reflect.Map, reflect.Interface:
		return obj{"type": "object", "additionalProperties": true}
	case reflect.Struct:
		if input {
			s := inputSchema(fieldsOf(t, "json"), names)
			if names.api.TypeNames[t] == "" {
				return s
			}
			return names.put(t, s)
		}
		return structSchema(t, names)
	}
	panic(fmt.Sprintf("web: no schema for %v", t))
}

// ofNamed reports whether a field belongs to an embedded struct that has its own JSON name.
func ofNamed(t reflect.Type, index []int) bool {
	for i := 1; i < len(index); i++ {
		if name, _, _ := strings.Cut(t.FieldByIndex(index[:i]).Tag.Get("json"), ","); name != "" {
			return true
		}
	}
	return false
}

// structSchema returns the schema of a struct in a response. A named struct becomes a component.
func structSchema(t reflect.Type, names *describer) obj {
	props, required := obj{}, []string{}
	for _, sf := range reflect.VisibleFields(t) {
		tag, ok := sf.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		if !ok || name == "-" || name == "" || !sf.IsExported() || ofNamed(t, sf.Index) {
			continue
		}
		s := typeSchema(sf.Type, false, names)
		if e := sf.Tag.Get("enum"); e != "" {
			s["enum"] = strings.Split(e, "|")
		}
		optional := strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero")
		nullable := sf.Type.Kind() == reflect.Pointer && !optional || sf.Tag.Get("is") == "nullable"
		if nullable && s["type"] != nil {
			s["type"] = []any{s["type"], "null"}
		}
		props[name] = names.worded(name, sf.Tag, s)
		if words, ok := s["description"].(string); ok && optional {
			s["description"] = strings.ReplaceAll(words, "; empty: ", "; absent: ") // an empty value is left out
		}
		if !optional {
			required = append(required, name)
		}
	}
	s := obj{"type": "object", "properties": props}
	if len(required) > 0 {
		slices.Sort(required)
		s["required"] = required
	}
	return names.put(t, s)
}

// put adds the schema of a named struct to the components and returns a reference to it.
func (names *describer) put(t reflect.Type, s obj) obj {
	if t.Name() == "" || strings.Contains(t.Name(), "[") {
		return s
	}
	name := names.typeName(t)
	s = names.bounded(t, name, s)
	if old, ok := names.schemas[name]; ok && !sameJSON(old, s) {
		panic(fmt.Sprintf("web: two schemas are named %s", name))
	}
	names.schemas[name] = s
	return obj{"$ref": schemaRef + name}
}

// bodySchema returns the schema for a request's body. limits are added to those of the body's type.
func (e *Endpoint) bodySchema(names *describer, limits obj) obj {
	if len(e.bodies) > 0 {
		forms := make([]obj, len(e.bodies))
		for i, t := range e.bodies {
			forms[i] = names.put(t, filledForm(inputSchema(fieldsOf(t, "form"), names)))
		}
		return obj{"anyOf": forms}
	}
	if e.in.object != nil {
		s := inputSchema(e.in.object.fields, names)
		maps.Copy(s, limits)
		return names.put(e.in.typ, s)
	}
	return names.put(e.in.typ, filledForm(inputSchema(e.in.form, names)))
}

// filledForm states in the schema of a form that a parameter without a value counts as left out.
func filledForm(s obj) obj {
	props := s["properties"].(obj)
	required, _ := s["required"].([]string)
	for _, name := range required {
		if p := props[name].(obj); p["type"] == "string" && p["enum"] == nil {
			p["minLength"] = 1
		}
	}
	return s
}

func sameJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
