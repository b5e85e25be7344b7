package handlers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"newsletterd/core"
	"newsletterd/handlers/page"
	"newsletterd/handlers/web"
)

// referenceDocument holds the data of an OpenAPI document for the API reference page.
type referenceDocument struct {
	Title, Words, Path string
	Operations         []referenceOperation
}

// referenceTitles maps documents to their headings on the page.
var referenceTitles = map[string]string{
	"member":  "Subscribers, accounts and settings",
	"send":    "Campaigns and sending",
	"devices": "Devices and models",
	"pages":   "Web pages and links in emails",
}

// referenceOperation is one operation; ID is its anchor on the page.
type referenceOperation struct {
	ID, Method, Path, Summary, Words string
	Fields                           []referenceField
	Answers                          []referenceAnswer
	Curl                             string

	Row, Whole template.HTML // HTML for a list, and HTML with all details
	searched   string        // text that holds searches, in lower case
}

// referenceField is a parameter, or a field of a body or a response.
type referenceField struct {
	Name, In, Type, Words string
	Required              bool
}

type referenceAnswer struct {
	Status, Words, Type string
	Fields              []referenceField
}

type referenceQuery struct {
	Q string `query:"q" about:"Words to search for in the operations"`
}

// Limits for searches on the page.
const (
	maxSearch  = 100 // bytes of the search text
	shownWhole = 20  // operations shown in full; if more are found, the page lists them with links
)

// referenceData holds the operations that the page lists (Listed), shows in full (Shown), or both.
type referenceData struct {
	Q, Origin     string
	Documents     []referenceDocument
	Found         int
	Listed, Shown bool
}

// openAPIFiles caches the documents and the page. Each is generated on the first request. Later requests, which need no
// sign-in, cost little.
type openAPIFiles struct {
	documents map[string]*web.File // by name
	page      func() (*web.File, error)
}

func (h *Handler) newOpenAPIFiles() openAPIFiles {
	f := openAPIFiles{documents: map[string]*web.File{}}
	for _, d := range documents {
		f.documents[d.Name] = web.NewLazyFile("application/json", func() []byte { return h.Document(d.Name) })
	}
	f.page = sync.OnceValues(func() (*web.File, error) {
		data, err := h.referenceOf("")
		if err != nil {
			return nil, err
		}
		page, err := page.Fill(0, "openapi", referenceView(data))
		return web.NewFile("text/html; charset=utf-8", page.Body), err
	})
	return f
}

// openAPICache lets caches keep the documents and the page for five minutes.
const openAPICache = "max-age=300"

// reference renders the API reference page, with all operations or with those that contain all words of a search.
func (h *Handler) reference(c *web.Call, in referenceQuery) (web.HTML, error) {
	page.StyleOf(c).Lang = core.Languages[0] // the page has only one language, whatever the browser prefers
	q := web.Truncate(in.Q, maxSearch)
	if strings.TrimSpace(q) != "" {
		data, err := h.referenceOf(q)
		if err != nil {
			return web.HTML{}, err
		}
		return page.Render(c, http.StatusOK, "openapi", referenceView(data))
	}
	page, err := h.openapi.page()
	if err != nil {
		return web.HTML{}, err
	}
	c.PageHeaders("", "")
	c.Header().Set("Cache-Control", openAPICache)
	return web.HTML{Body: page.For(c).Body}, nil
}

// referenceView returns the page's view, in the server's own brand and in English, the only language of its content.
func referenceView(data referenceData) page.View {
	return page.View{
		Title: "API reference", Data: data, Brand: page.OwnBrand(), Style: &page.Style{Lang: core.Languages[0]},
	}
}

// referenceOf returns the operations that contain all words in q.
func (h *Handler) referenceOf(q string) (referenceData, error) {
	data := referenceData{Q: q, Origin: h.publicURL}
	words := strings.Fields(strings.ToLower(q))
	for _, d := range documents {
		one := referenceDocument{Title: referenceTitles[d.Name], Words: d.Description, Path: d.Path}
		all, err := h.operations(d)
		if err != nil {
			return data, err
		}
		for _, o := range all {
			if o.holds(words) {
				one.Operations = append(one.Operations, o)
			}
		}
		data.Found += len(one.Operations)
		data.Documents = append(data.Documents, one)
	}
	data.Listed, data.Shown = q == "" || data.Found > shownWhole, q == "" || data.Found <= shownWhole
	return data, nil
}

// holds reports whether the operation's searched text contains every word.
func (o *referenceOperation) holds(words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(o.searched, w) })
}

// write renders Row and Whole once, so that requests needn't.
func (o *referenceOperation) write() error {
	for block, to := range map[string]*template.HTML{"row": &o.Row, "whole": &o.Whole} {
		var b strings.Builder
		if err := page.Block(&b, "openapi", block, o); err != nil {
			return err
		}
		*to = template.HTML(b.String()) // the template has escaped everything
	}
	return nil
}

// searchedText returns the text that a search covers, in lower case.
func (o *referenceOperation) searchedText() string {
	all := []string{o.Method, o.Path, o.ID, o.Summary, o.Words}
	for _, f := range o.Fields {
		all = append(all, f.Name)
	}
	return strings.ToLower(strings.Join(all, " "))
}

// openAPISchema, openAPIContent and openAPIOperation are the parts of a document (OpenAPI 3.1) that the page uses.
type openAPISchema struct {
	Ref         string                    `json:"$ref"`
	Type        any                       `json:"type"`
	Format      string                    `json:"format"`
	Enum        []any                     `json:"enum"`
	Items       *openAPISchema            `json:"items"`
	Properties  map[string]*openAPISchema `json:"properties"`
	Required    []string                  `json:"required"`
	Description string                    `json:"description"`
	AnyOf       []*openAPISchema          `json:"anyOf"`
	OneOf       []*openAPISchema          `json:"oneOf"`
}

type openAPIContent map[string]struct {
	Schema  *openAPISchema  `json:"schema"`
	Example json.RawMessage `json:"example"`
}

type openAPIAnswer struct {
	Ref         string         `json:"$ref"`
	Description string         `json:"description"`
	Content     openAPIContent `json:"content"`
}

type openAPIOperation struct {
	OperationID string `json:"operationId"`
	Summary     string `json:"summary"`
	Description string `json:"description"`
	Parameters  []struct {
		Name, In, Description string
		Required              bool
		Schema                *openAPISchema
	} `json:"parameters"`
	RequestBody *struct {
		Content openAPIContent `json:"content"`
	} `json:"requestBody"`
	Responses map[string]openAPIAnswer `json:"responses"`
	Security  []map[string]any         `json:"security"`
}

type openAPIDocument struct {
	Paths      map[string]map[string]openAPIOperation `json:"paths"`
	Components struct {
		Schemas   map[string]*openAPISchema `json:"schemas"`
		Responses map[string]openAPIAnswer  `json:"responses"`
	} `json:"components"`
}

// operations returns a document's operations, sorted by path. It caches the result.
func (h *Handler) operations(d web.Document) (all []referenceOperation, err error) {
	if kept, ok := h.operationCache.Load(d.Name); ok {
		return kept.([]referenceOperation), nil
	}
	var doc openAPIDocument
	if err := json.Unmarshal(h.Document(d.Name), &doc); err != nil {
		return nil, fmt.Errorf("read the document %s: %w", d.Name, err)
	}
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		for _, method := range []string{"get", "post", "put", "patch", "delete"} {
			if o, ok := doc.Paths[path][method]; ok {
				one := doc.operation(&o, h.publicURL, strings.ToUpper(method), path)
				one.ID = d.Name + "-" + one.ID
				one.searched = one.searchedText()
				if err := one.write(); err != nil {
					return nil, err
				}
				all = append(all, one)
			}
		}
	}
	h.operationCache.Store(d.Name, all)
	return all, nil
}

func (d *openAPIDocument) operation(o *openAPIOperation, origin, method, path string) referenceOperation {
	out := referenceOperation{ID: o.OperationID, Method: method, Path: path, Summary: o.Summary, Words: o.Description}
	for _, p := range o.Parameters {
		out.Fields = append(out.Fields, referenceField{p.Name, p.In, d.typeOf(p.Schema), p.Description, p.Required})
	}
	curl := "curl "
	if method != http.MethodGet {
		curl += "-X " + method + " "
	}
	curl += "'" + origin + path + "'"
	if slices.ContainsFunc(o.Security, func(s map[string]any) bool { return s["bearer"] != nil }) {
		curl += ` \` + "\n  " + `-H "Authorization: Bearer $TOKEN"`
	}
	if o.RequestBody != nil {
		for _, kind := range slices.Sorted(maps.Keys(o.RequestBody.Content)) {
			body := o.RequestBody.Content[kind]
			out.Fields = append(out.Fields, d.fields(body.Schema, "body")...)
			curl += curlBody(kind, body.Example)
			break
		}
	}
	out.Curl = curl
	for _, status := range slices.Sorted(maps.Keys(o.Responses)) {
		out.Answers = append(out.Answers, d.answer(status, o.Responses[status]))
	}
	return out
}

func curlBody(kind string, example json.RawMessage) string {
	out := ` \` + "\n  -H 'Content-Type: " + kind + "'"
	var flat bytes.Buffer
	if len(example) == 0 || json.Compact(&flat, example) != nil {
		return out
	}
	var form map[string]any
	if kind == "application/x-www-form-urlencoded" && json.Unmarshal(example, &form) == nil {
		for _, name := range slices.Sorted(maps.Keys(form)) {
			out += ` \` + "\n  --data-urlencode " + shellQuote(fmt.Sprintf("%s=%v", name, form[name]))
		}
		return out
	}
	return out + ` \` + "\n  -d " + shellQuote(flat.String())
}

func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func (d *openAPIDocument) answer(status string, a openAPIAnswer) referenceAnswer {
	errorForm := a.Ref != ""
	if errorForm {
		a = d.Components.Responses[a.Ref[strings.LastIndexByte(a.Ref, '/')+1:]]
	}
	out := referenceAnswer{Status: status, Words: a.Description}
	if kinds := slices.Sorted(maps.Keys(a.Content)); len(kinds) > 0 {
		s := a.Content[kinds[0]].Schema
		if out.Type = kinds[0]; s != nil {
			out.Type = d.typeOf(s) + " (" + kinds[0] + ")"
		}
		if !errorForm {
			out.Fields = d.fields(s, "")
		}
	}
	return out
}

// typeOf describes the type that a schema allows.
func (d *openAPIDocument) typeOf(s *openAPISchema) string {
	if s == nil {
		return "any"
	}
	if s.Ref != "" {
		return s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]
	}
	var of []string
	for _, one := range slices.Concat(s.AnyOf, s.OneOf) {
		of = append(of, d.typeOf(one))
	}
	switch v := s.Type.(type) {
	case string:
		of = append(of, v)
	case []any:
		for _, one := range v {
			of = append(of, fmt.Sprint(one))
		}
	}
	out := strings.Join(of, " or ")
	switch {
	case s.Items != nil:
		return out + " of " + d.typeOf(s.Items)
	case len(s.Enum) > 0:
		for i, one := range s.Enum {
			out += map[bool]string{true: ": ", false: ", "}[i == 0] + fmt.Sprint(one)
		}
	case s.Format != "":
		out += " (" + s.Format + ")"
	case out == "":
		return "any"
	}
	return out
}

// fields returns the fields of an object, or of the objects in an array.
func (d *openAPIDocument) fields(s *openAPISchema, in string) (all []referenceField) {
	for range 3 { // a reference to an array of references at most
		switch {
		case s == nil:
			return nil
		case s.Ref != "":
			s = d.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
		case s.Items != nil:
			s = s.Items
		}
	}
	if s == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		all = append(all, referenceField{name, in, d.typeOf(p), p.Description, slices.Contains(s.Required, name)})
	}
	return all
}
