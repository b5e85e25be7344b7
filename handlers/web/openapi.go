package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"newsletterd/core"
)

// API holds the content of the OpenAPI documents that isn't in the table.
type API struct {
	Version   string
	Documents []Document
	// DocumentOf returns the name of the document that describes a route.
	DocumentOf func(*Route) string

	TypeNames map[reflect.Type]string // names of types that differ from their Go names
	Forms     map[string]Object       // forms that input tags refer to: patterns and enumerations
	// Limits that tags can't express, by type and property; the key "" holds those of the whole object
	Limits         map[reflect.Type]map[string]Object
	Twins          map[string]string // other spellings of properties, in the schemas listed in Twinned
	Twinned        []string
	TextParameters []string // path parameters that are not UUIDs and have no input type

	PathWords     map[string]string // descriptions of path parameters by name, except for id
	RecordWords   map[string]string // kinds of records by the path segment before their id, if the words differ
	FieldWords    map[string]string // descriptions of fields by name
	TagWords      map[string]string // descriptions of operation groups
	SampleTexts   map[string]string // sample values of properties by name
	SampleNumbers map[string]int
	SampleID      string
}

// Document is an OpenAPI document that describes one area's routes. All documents have the same base URL.
type Document struct {
	Name, Title     string
	Path, Operation string // path of the document; name of its operation, empty: derived from the path
	Description     string
	Extra           []any // values of types that the document describes although no operation uses them
}

// Object is a JSON object. encoding/json sorts its keys, so the generated documents are deterministic.
type Object = map[string]any

type obj = Object

// Document returns the OpenAPI 3.1 document with the given name, or nil if the name is unknown. It is generated on
// first use, because that takes longer than the rest of the startup.
func (h *Handler) Document(name string) []byte {
	if document := h.documents[name]; document != nil {
		return document()
	}
	return nil
}

// describe prepares the generation of the documents from the table.
func (h *Handler) describe() {
	h.documents = map[string]func() []byte{}
	for _, d := range h.options.API.Documents {
		h.documents[d.Name] = sync.OnceValue(func() []byte {
			b, err := json.MarshalIndent(h.documentOf(d), "", "  ")
			if err != nil {
				panic(err) // a value that can't be encoded as JSON; tests of the documents find it
			}
			return append(b, '\n')
		})
	}
}

func (h *Handler) documentOf(d Document) obj {
	paths, names := obj{}, &describer{api: &h.options.API, schemas: obj{}, responses: obj{}, security: obj{}}
	tags := []string{}
	for _, r := range h.routes {
		if h.options.API.DocumentOf(r) != d.Name {
			continue
		}
		path := OpenPath(r.Path)
		if paths[path] == nil {
			paths[path] = obj{}
		}
		op := r.operation(names)
		tag := tagOf(path)
		if !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
		op["tags"] = []string{tag}
		paths[path].(obj)[strings.ToLower(r.Method)] = op
	}
	for _, v := range d.Extra {
		names.declare(v, "json")
	}
	slices.Sort(tags)
	base := cmp.Or(h.publicURL, "/")
	components := obj{"responses": names.responses}
	if len(names.schemas) > 0 {
		components["schemas"] = names.schemas
	}
	if len(names.security) > 0 {
		components["securitySchemes"] = names.security
	}
	return obj{
		"openapi": "3.1.0",
		"info": obj{
			"title": d.Title, "version": h.options.API.Version, "description": d.Description,
			"license": obj{"name": "Apache 2.0", "identifier": "Apache-2.0"},
		},
		"servers":    []obj{{"url": base}},
		"tags":       names.tagObjects(tags),
		"paths":      paths,
		"components": components,
	}
}

// OpenPath converts a path in the table to the format of the documents, with {id} for :id.
func OpenPath(path string) string {
	parts := strings.Split(path, "/")
	for i, p := range parts {
		if name, ok := strings.CutPrefix(p, ":"); ok {
			parts[i] = "{" + name + "}"
		}
	}
	return strings.Join(parts, "/")
}

var securitySchemes = obj{
	"bearer":      obj{"type": "http", "scheme": "bearer", "bearerFormat": "JWT"},
	"signature":   obj{"type": "apiKey", "in": "header", "name": "X-Signature"},
	"timestamp":   obj{"type": "apiKey", "in": "header", "name": "X-Timestamp"},
	"nonce":       obj{"type": "apiKey", "in": "header", "name": "X-Nonce"},
	"client_name": obj{"type": "apiKey", "in": "header", "name": "X-Client-Id"},
}

// security returns the rule's security requirements, and declares their schemes in the document.
func (a Access) security(names *describer) []obj {
	scopes := a.scopes
	if scopes == nil {
		scopes = []string{}
	}
	none := []string{}
	var out []obj
	switch {
	case a.signed:
		out = []obj{{"signature": none, "timestamp": none, "nonce": none, "client_name": none}}
	case a.proof != nil:
		names.security[a.name] = obj{"type": "apiKey", "in": "header", "name": a.proof.header}
		return []obj{{a.name: none}}
	case a.option:
		out = []obj{{}, {"bearer": scopes}}
	case a.oneOf:
		for _, scope := range scopes {
			out = append(out, obj{"bearer": []string{scope}})
		}
	case a.bearer:
		out = []obj{{"bearer": scopes}}
	default:
		return []obj{}
	}
	for _, one := range out {
		for name := range one {
			names.security[name] = securitySchemes[name]
		}
	}
	return out
}

func (r *Route) operation(names *describer) obj {
	op := obj{
		"summary":     r.Summary,
		"operationId": r.OperationID(),
		"security":    r.Who.security(names),
		"responses":   r.responses(names),
		"description": r.words(),
	}
	r.Dialect.writeRefusals(r.allRefusals(), op)
	if p := r.parameters(names); len(p) > 0 {
		op["parameters"] = p
	}
	switch e := &r.Do; e.body {
	case jsonBody, formBody:
		op["requestBody"] = obj{
			"required": !e.bodyless,
			"content":  obj{mediaTypes[e.body]: names.request(r)},
		}
	case rawBody:
		content := written(e.media)
		if e.in != nil && e.in.object != nil {
			content[mediaTypes[jsonBody]] = names.request(r)
		}
		op["requestBody"] = obj{"required": true, "content": content}
	}
	return op
}

// written returns the content of a body without a Go type, such as text or a file, by media type. If kinds is nil, any
// media type is possible.
func written(kinds []string) obj {
	if kinds == nil {
		return obj{"*/*": obj{"schema": obj{}}}
	}
	content := obj{}
	for _, media := range kinds {
		schema := obj{"type": "string", "format": "binary"}
		switch {
		case media == "application/json" || strings.HasSuffix(media, "+json"):
			schema = obj{"type": "object", "additionalProperties": true}
		case media == mediaTypes[formBody]:
			schema = obj{"type": "object", "additionalProperties": obj{"type": "string"}}
		case strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+xml"):
			schema = obj{"type": "string"}
		case media == "*/*":
			schema = obj{}
		}
		content[media] = obj{"schema": schema}
	}
	return content
}

func (r *Route) parameters(names *describer) (out []obj) {
	text := map[string]bool{}
	for _, name := range names.api.TextParameters {
		text[name] = true
	}
	if r.Do.in != nil {
		for _, f := range r.Do.in.path {
			text[f.name] = !f.uuid
		}
	}
	for part := range strings.SplitSeq(r.Path, "/") {
		if name, ok := strings.CutPrefix(part, ":"); ok {
			schema := obj{"type": "string", "format": "uuid"}
			if text[name] {
				schema = obj{"type": "string"}
			}
			out = append(out, obj{
				"name": name, "in": "path", "required": true, "schema": schema,
				"description": names.pathWords(r.Path, name),
			})
		}
	}
	in := r.Do.in
	if r.Do.described != nil {
		in = r.Do.described
	}
	if in != nil {
		for i := range in.query {
			out = append(out, in.query[i].parameter("query", names))
		}
		for i := range in.header {
			out = append(out, in.header[i].parameter("header", names))
		}
	}
	if r.Do.list {
		out = append(out,
			obj{
				"name": "limit", "in": "query", "schema": obj{"type": "integer", "minimum": 1, "maximum": listMax},
				"description": "Rows per page; without it the whole list is returned.",
			},
			obj{
				"name": "cursor", "in": "query", "schema": obj{"type": "string"},
				"description": "Cursor from the previous page's Link header.",
			})
	}
	return out
}

func (f *field) parameter(in string, names *describer) obj {
	schema := f.schema(names)
	if f.required && schema["type"] == "string" && f.enum == nil {
		schema["minLength"] = 1
	}
	schema = names.worded(f.name, f.tag, names.limited(schema, f.tag))
	p := obj{"name": f.name, "in": in, "required": f.required, "schema": schema}
	if words := schema["description"]; words != nil {
		p["description"] = words
		delete(schema, "description")
	}
	return p
}

func (r *Route) responses(names *describer) obj {
	e := &r.Do
	ok := obj{"description": http.StatusText(e.status)}
	switch e.out {
	case reflect.TypeFor[None](), nil:
	case reflect.TypeFor[Redirect]():
		ok["headers"] = obj{"Location": obj{"schema": obj{"type": "string"}}}
	case reflect.TypeFor[HTML]():
		ok["content"] = obj{"text/html": obj{"schema": obj{"type": "string"}}}
	case reflect.TypeFor[Text]():
		ok["content"] = written(e.answers)
	default:
		ok["content"] = obj{"application/json": names.example(outputSchema(e.out, names))}
	}
	out := obj{strconv.Itoa(e.status): ok}
	kinds := append(r.failures(), core.Unavailable, core.Internal)
	if e.body != noBody {
		kinds = append(kinds, core.TooLarge)
	}
	if e.body == jsonBody || e.body == formBody {
		kinds = append(kinds, core.MediaType)
	}
	for _, k := range kinds {
		status := StatusOf(r.Dialect, k)
		out[strconv.Itoa(status)] = r.Dialect.failure(status, names)
	}
	if r.asksProof() {
		out["401"] = r.Dialect.staleSignIn(names)
	}
	for _, status := range e.bare {
		out[strconv.Itoa(status)] = obj{"description": http.StatusText(status)}
	}
	if e.out == reflect.TypeFor[HTML]() {
		out["3XX"] = obj{"description": "Redirect to another page or back to the client"}
	}
	for status, description := range e.failing {
		out[strconv.Itoa(status)] = obj{"description": description, "content": ok["content"]}
	}
	return out
}

// schema returns the schema for errors in the dialect.
func (d Dialect) schema(names *describer) obj {
	text := obj{"type": "string", "description": "Like message, for OAuth libraries"}
	code := obj{"type": "string", "description": "Machine-readable code"}
	message := obj{"type": "string", "description": "Human-readable message"}
	id := obj{"type": "string", "description": "Request ID, also in the X-Request-Id header and the log"}
	field := obj{"type": "string", "description": "The invalid field"}
	props := obj{"error": code, "message": message, "request_id": id}
	required := []string{"error", "message", "request_id"}
	name := "ErrorResponse"
	switch d {
	case Send:
		props["reason"] = field
		findings := outputSchema(reflect.TypeFor[[]core.CampaignFinding](), names)
		findings["description"] = "Reasons why a campaign can't be approved or sent"
		props["findings"] = findings
		changes := outputSchema(reflect.TypeFor[[]core.ContentChange](), names)
		changes["description"] = "Changes to a campaign since it was read, and who made them"
		props["changes"] = changes
		required = []string{"error"}
	case OAuth:
		name = "OAuthErrorResponse"
		props["error_description"], props["field"] = text, field
		props["mfa_required"] = obj{
			"type": "boolean", "description": "The account has two-factor authentication: also send a code in otp",
		}
	case Device:
		props["code"], props["field"] = code, field
		required = []string{"code", "error", "message", "request_id"}
	default:
		props["field"] = field
	}
	names.schemas[name] = obj{"type": "object", "properties": props, "required": required}
	return obj{"$ref": schemaRef + name}
}
