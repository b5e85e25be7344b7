package handlers

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/mail"
)

// apiVersion is the version of the three APIs.
const apiVersion = "0.1.0"

// document is one OpenAPI description: the routes of some dialects, below one base.
type document struct {
	name, title, base, path string
	dialects                string
}

// documents are the OpenAPI descriptions that the table makes, and where they are served.
var documents = []document{
	{"member", "newsletterd member service", "/api", "/api/openapi.json", "mo"},
	{"send", "newsletterd send service", "", "/openapi/send.json", "s"},
	{"devices", "newsletterd devices and models", "", "/openapi/devices.json", "d"},
}

// obj is a JSON object; encoding/json sorts its keys, so a document has one form.
type obj = map[string]any

// Document is the OpenAPI 3.1 description member, send or devices, nil for another name.
func (h *Handler) Document(name string) []byte { return h.documents[name] }

// openAPI answers a document.
func (h *Handler) openAPI(name string) func(*Call) (Text, error) {
	return func(c *Call) (Text, error) {
		c.Header().Set("Cache-Control", "max-age=300")
		return Text{"application/json", h.Document(name)}, nil
	}
}

// describe makes the documents out of the table.
func (h *Handler) describe() error {
	h.documents = map[string][]byte{}
	for _, d := range documents {
		b, err := json.MarshalIndent(h.document(d), "", "  ")
		if err != nil {
			return err
		}
		h.documents[d.name] = append(b, '\n')
	}
	return nil
}

func (h *Handler) document(d document) obj {
	paths, names := obj{}, schemas{}
	for _, r := range h.routes {
		path, ok := strings.CutPrefix(r.Path, d.base)
		if !ok || strings.IndexByte(d.dialects, byte(r.Dialect)) < 0 {
			continue
		}
		path = openPath(path)
		if paths[path] == nil {
			paths[path] = obj{}
		}
		paths[path].(obj)[strings.ToLower(r.Method)] = r.operation(names)
	}
	base := h.publicURL + d.base
	if base == "" {
		base = "/"
	}
	components := obj{"securitySchemes": securitySchemes}
	if len(names) > 0 {
		components["schemas"] = names
	}
	return obj{
		"openapi":    "3.1.0",
		"info":       obj{"title": d.title, "version": apiVersion},
		"servers":    []obj{{"url": base}},
		"paths":      paths,
		"components": components,
	}
}

// openPath writes :id as {id}.
func openPath(path string) string {
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
	"provider":    obj{"type": "apiKey", "in": "header", "name": mail.HeaderProviderSignature},
}

func (a Access) security() []obj {
	scopes := a.scopes
	if scopes == nil {
		scopes = []string{}
	}
	none := []string{}
	switch {
	case a.signed:
		return []obj{{"signature": none, "timestamp": none, "nonce": none, "client_name": none}}
	case a.provider:
		return []obj{{"provider": none}}
	case a.option:
		return []obj{{}, {"bearer": scopes}}
	case a.bearer:
		return []obj{{"bearer": scopes}}
	}
	return []obj{}
}

func (r *Route) operation(names schemas) obj {
	op := obj{
		"summary":     r.Summary,
		"operationId": operationID(r),
		"security":    r.Who.security(),
		"responses":   r.responses(names),
	}
	if p := r.parameters(names); len(p) > 0 {
		op["parameters"] = p
	}
	switch e := &r.Do; e.body {
	case jsonBody, formBody:
		fields := e.in.form
		if e.body == jsonBody {
			fields = e.in.object.fields
		}
		op["requestBody"] = obj{"required": true, "content": obj{mediaTypes[e.body]: obj{"schema": inputSchema(fields, names)}}}
	case rawBody:
		content := obj{"*/*": obj{"schema": obj{}}}
		if e.in != nil && e.in.object != nil {
			content[mediaTypes[jsonBody]] = obj{"schema": inputSchema(e.in.object.fields, names)}
		}
		op["requestBody"] = obj{"required": true, "content": content}
	}
	return op
}

// operationID is the method and the words of the path: getAdminTenantsId.
func operationID(r *Route) string {
	id := strings.ToLower(r.Method)
	words := strings.FieldsFunc(strings.TrimPrefix(r.Path, "/api/"), func(c rune) bool { return strings.ContainsRune("/:-._", c) })
	for _, w := range words {
		id += strings.ToUpper(w[:1]) + w[1:]
	}
	return id
}

func (r *Route) parameters(names schemas) (out []obj) {
	text := map[string]bool{"provider": true}
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
			out = append(out, obj{"name": name, "in": "path", "required": true, "schema": schema})
		}
	}
	if r.Do.in != nil {
		for i := range r.Do.in.query {
			out = append(out, r.Do.in.query[i].parameter("query", names))
		}
		for i := range r.Do.in.header {
			out = append(out, r.Do.in.header[i].parameter("header", names))
		}
	}
	if r.Do.list {
		out = append(out,
			obj{
				"name": "limit", "in": "query", "schema": obj{"type": "integer", "minimum": 1, "maximum": listMax},
				"description": "Rows of a page; without it the whole list is answered.",
			},
			obj{"name": "cursor", "in": "query", "schema": obj{"type": "string"}, "description": "From the Link header of the page before."})
	}
	return out
}

func (f *field) parameter(in string, names schemas) obj {
	return obj{"name": f.name, "in": in, "required": f.required, "schema": f.schema(names)}
}

func (r *Route) responses(names schemas) obj {
	e := &r.Do
	ok := obj{"description": http.StatusText(e.status)}
	switch e.out {
	case reflect.TypeFor[None](), nil:
	case reflect.TypeFor[Redirect]():
		ok["headers"] = obj{"Location": obj{"schema": obj{"type": "string"}}}
	case reflect.TypeFor[HTML]():
		ok["content"] = obj{"text/html": obj{"schema": obj{"type": "string"}}}
	case reflect.TypeFor[Text]():
		ok["content"] = obj{"*/*": obj{"schema": obj{}}}
	default:
		ok["content"] = obj{"application/json": obj{"schema": outputSchema(e.out, names)}}
	}
	status := e.status
	if e.out == reflect.TypeFor[Redirect]() {
		status = http.StatusFound
	}
	out := obj{strconv.Itoa(status): ok}
	kinds := append(r.failures(), core.Unavailable, core.Internal)
	if e.body != noBody {
		kinds = append(kinds, core.TooLarge)
	}
	if e.body == jsonBody || e.body == formBody {
		kinds = append(kinds, core.MediaType)
	}
	for _, k := range kinds {
		status := statusOf(r.Dialect, k)
		out[strconv.Itoa(status)] = obj{
			"description": http.StatusText(status),
			"content":     obj{"application/json": obj{"schema": r.Dialect.schema(names)}},
		}
	}
	for _, status := range e.also {
		out[strconv.Itoa(status)] = obj{"description": http.StatusText(status)}
	}
	if r.Path == "/healthz" { // a failing part is told in the form of success
		out["503"] = obj{"description": "A part of the daemon does not work", "content": ok["content"]}
	}
	return out
}

// schema of the errors of a dialect.
func (d Dialect) schema(names schemas) obj {
	text := obj{"type": "string"}
	props := obj{"error": text, "message": text, "request_id": text}
	required := []string{"error", "message", "request_id"}
	name := "ErrorResponse"
	switch d {
	case send:
		props["reason"] = text
		required = []string{"error"}
	case oauth:
		name = "OAuthErrorResponse"
		props["error_description"], props["field"] = text, text
	case device:
		props["code"], props["field"] = text, text
		required = []string{"code", "error", "message", "request_id"}
	default:
		props["field"] = text
	}
	names[name] = obj{"type": "object", "properties": props, "required": required}
	return obj{"$ref": "#/components/schemas/" + name}
}
