package handlers

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"newsletterd/core"
)

// schemas are the named types of one document: name → JSON Schema.
type schemas map[string]any

// schemaRef is how a document refers to one of its schemas, in front of the name.
const schemaRef = "#/components/schemas/"

// typeNames are the types whose name in the documents is another than in Go.
var typeNames = map[reflect.Type]string{
	reflect.TypeFor[core.List]():    "NewsletterList",
	reflect.TypeFor[core.Client]():  "OAuthClient",
	reflect.TypeFor[clientReply]():  "OAuthClientWithSecret",
	reflect.TypeFor[modelProfile](): "ModelProfile",
	reflect.TypeFor[libraryReply](): "Library",

	// The words of the specification.
	reflect.TypeFor[pendingSubscription]():  "PendingSubscriptionResponse",
	reflect.TypeFor[disableRequest]():       "DisableSubscriptionRequest",
	reflect.TypeFor[refreshRequest]():       "RefreshTokenRequest",
	reflect.TypeFor[refreshForm]():          "RefreshRequest",
	reflect.TypeFor[sendJobRequest]():       "CreateSendJobRequest",
	reflect.TypeFor[tracking]():             "TrackingOptions",
	reflect.TypeFor[createdJob]():           "CreateSendJobResponse",
	reflect.TypeFor[jobStatus]():            "SendJobStatusResponse",
	reflect.TypeFor[core.EventSubscriber](): "SubscriberPayload",
}

func typeName(t reflect.Type) string {
	if name := typeNames[t]; name != "" {
		return name
	}
	name := t.Name()
	return strings.ToUpper(name[:1]) + name[1:]
}

// inputSchema describes the fields of a request.
func inputSchema(fields []field, names schemas) obj {
	props, required := obj{}, []string{}
	for i := range fields {
		f := &fields[i]
		props[f.name] = worded(f.name, f.schema(names))
		if f.required {
			required = append(required, f.name)
		}
	}
	s := obj{"type": "object", "properties": props}
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

func (f *field) schema(names schemas) obj {
	s := typeSchema(f.typ, true, names)
	if f.uuid {
		s["format"] = "uuid"
	}
	if f.enum != nil {
		s["enum"] = f.enum
	}
	return s
}

// outputSchema describes the answer of an operation.
func outputSchema(t reflect.Type, names schemas) obj { return typeSchema(t, false, names) }

func typeSchema(t reflect.Type, input bool, names schemas) obj {
	switch t {
	case emailType:
		return obj{"type": "string", "format": "email"}
	case instantType:
		return obj{"type": "string", "format": "date-time"}
	case rawType, preferencesType:
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
			if typeNames[t] == "" {
				return s
			}
			return names.put(t, s)
		}
		return structSchema(t, names)
	}
	panic(fmt.Sprintf("handlers: no schema for %v", t))
}

// ofNamed reports whether a field is one of an embedded struct to which JSON gives a name of its own.
func ofNamed(t reflect.Type, index []int) bool {
	for i := 1; i < len(index); i++ {
		if name, _, _ := strings.Cut(t.FieldByIndex(index[:i]).Tag.Get("json"), ","); name != "" {
			return true
		}
	}
	return false
}

// structSchema describes a struct of an answer; a named one becomes a component.
func structSchema(t reflect.Type, names schemas) obj {
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
		props[name] = worded(name, s)
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

// put makes a component of a struct that has a name, and refers to it.
func (names schemas) put(t reflect.Type, s obj) obj {
	if t.Name() == "" || strings.Contains(t.Name(), "[") {
		return s
	}
	name := typeName(t)
	s = bounded(name, s)
	if old, ok := names[name]; ok && !sameJSON(old, s) {
		panic(fmt.Sprintf("handlers: two schemas are named %s", name))
	}
	names[name] = s
	return obj{"$ref": schemaRef + name}
}

// bodySchema describes the body of a request.
func (p *plan) bodySchema(names schemas) obj {
	if p.typ == reflect.TypeFor[tokenRequest]() { // one form for each grant
		var grants []obj
		for _, grant := range []any{authorizationCodeTokenRequest{}, refreshRequest{}, clientCredentialsTokenRequest{}} {
			t := reflect.TypeOf(grant)
			grants = append(grants, names.put(t, inputSchema(fieldsOf(t, "form"), names)))
		}
		return obj{"anyOf": grants}
	}
	fields := p.form
	if p.object != nil {
		fields = p.object.fields
	}
	return names.put(p.typ, inputSchema(fields, names))
}

func sameJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
