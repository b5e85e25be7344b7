package handlers

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/mail"
)

// apiVersion is the version of the three APIs.
const apiVersion = "0.1.0"

// document is one OpenAPI description: the routes of an area, below one base.
type document struct {
	name, title, base, path string
	words                   string
}

// documents are the OpenAPI descriptions that the table makes, and where they are served.
var documents = []document{
	{
		"member", "newsletterd member service", "/api", "/api/openapi.json",
		"Identity (OAuth 2.0, OpenID Connect), users, newsletter subscriptions with double opt-in, and their administration.",
	},
	{
		"send", "newsletterd send service", "", "/openapi/send.json",
		"Send jobs, the signed webhooks of the member service, and the events of mail providers.",
	},
	{"devices", "newsletterd devices and models", "", "/openapi/devices.json", "Devices, agents, models (files) and their shares."},
	{
		"pages", "newsletterd pages", "", "/openapi/pages.json",
		"What people see in a browser: pages, the links of mails, tracking; and documents at the root of the host.",
	},
}

// document is the name of the one document that describes the route.
func (r *Route) document() string {
	switch {
	case r.Dialect == send:
		return "send"
	case r.Dialect == device:
		return "devices"
	case strings.HasPrefix(r.Path, "/api/"):
		return "member"
	default:
		return "pages"
	}
}

// obj is a JSON object; encoding/json sorts its keys, so a document has one form.
type obj = map[string]any

// Document is the OpenAPI 3.1 description of a name in documents, nil for another name.
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
	paths, names := obj{}, describer{schemas: schemas{}, responses: obj{}, security: obj{}}
	tags := []string{}
	for _, r := range h.routes {
		if r.document() != d.name {
			continue
		}
		path := openPath(strings.TrimPrefix(r.Path, d.base))
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
	if d.name == "member" {
		names.declare(refreshForm{}, "json")
	}
	slices.Sort(tags)
	base := h.publicURL + d.base
	if base == "" {
		base = "/"
	}
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
			"title": d.title, "version": apiVersion, "description": d.words,
			"license": obj{"name": "Apache 2.0", "identifier": "Apache-2.0"},
		},
		"servers":    []obj{{"url": base}},
		"tags":       tagObjects(tags),
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

// security names what a caller must bring, and declares it in the document.
func (a Access) security(names describer) []obj {
	scopes := a.scopes
	if scopes == nil {
		scopes = []string{}
	}
	none := []string{}
	var out []obj
	switch {
	case a.signed:
		out = []obj{{"signature": none, "timestamp": none, "nonce": none, "client_name": none}}
	case a.provider:
		out = []obj{{"provider": none}}
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

func (r *Route) operation(names describer) obj {
	id := operationID(r)
	op := obj{
		"summary":     r.Summary,
		"operationId": id,
		"security":    r.Who.security(names),
		"responses":   r.responses(names),
		"description": r.words(),
	}
	if p := r.parameters(names.schemas); len(p) > 0 {
		op["parameters"] = p
	}
	switch e := &r.Do; e.body {
	case jsonBody, formBody:
		op["requestBody"] = obj{"required": !e.bodyless, "content": obj{mediaTypes[e.body]: names.request(id, e.in.bodySchema(names.schemas))}}
	case rawBody:
		content := obj{"*/*": obj{"schema": obj{}}}
		if e.in != nil && e.in.object != nil {
			content[mediaTypes[jsonBody]] = names.request(id, e.in.bodySchema(names.schemas))
		}
		op["requestBody"] = obj{"required": true, "content": content}
	}
	return op
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
			out = append(out, obj{"name": name, "in": "path", "required": true, "schema": schema, "description": pathWords(name)})
		}
	}
	in := r.Do.in
	if r.Do.told != nil {
		in = r.Do.told
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
				"description": "Rows of a page; without it the whole list is answered.",
			},
			obj{"name": "cursor", "in": "query", "schema": obj{"type": "string"}, "description": "From the Link header of the page before."})
	}
	return out
}

func (f *field) parameter(in string, names schemas) obj {
	p := obj{"name": f.name, "in": in, "required": f.required, "schema": f.schema(names)}
	if words := fieldWords[f.name]; words != "" {
		p["description"] = words
	}
	return p
}

func (r *Route) responses(names describer) obj {
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
		ok["content"] = obj{"application/json": names.example(outputSchema(e.out, names.schemas))}
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
		status := statusOf(r.Dialect, k)
		out[strconv.Itoa(status)] = r.Dialect.failure(status, names)
	}
	for _, status := range e.also {
		out[strconv.Itoa(status)] = obj{"description": http.StatusText(status)}
	}
	if e.out == reflect.TypeFor[HTML]() {
		out["3XX"] = obj{"description": "On to another page, or back to the client"}
	}
	if r.Path == "/healthz" { // a failing part is told in the form of success
		out["503"] = obj{"description": "A part of the daemon does not work", "content": ok["content"]}
	}
	return out
}

// schema of the errors of a dialect.
func (d Dialect) schema(names schemas) obj {
	text := obj{"type": "string"}
	code := obj{"type": "string", "description": "A word for programs"}
	message := obj{"type": "string", "description": "A sentence for people"}
	id := obj{"type": "string", "description": "Also in the header X-Request-Id and in the log"}
	field := obj{"type": "string", "description": "The field at fault"}
	props := obj{"error": code, "message": message, "request_id": id}
	required := []string{"error", "message", "request_id"}
	name := "ErrorResponse"
	switch d {
	case send:
		props["reason"] = field
		required = []string{"error"}
	case oauth:
		name = "OAuthErrorResponse"
		props["error_description"], props["field"] = text, field
	case device:
		props["code"], props["field"] = code, field
		required = []string{"code", "error", "message", "request_id"}
	default:
		props["field"] = field
	}
	names[name] = obj{"type": "object", "properties": props, "required": required}
	return obj{"$ref": schemaRef + name}
}
