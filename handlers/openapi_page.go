package handlers

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// referenceDocument is an OpenAPI document as the page shows it.
type referenceDocument struct {
	Title, Words, Path string
	Routes             []referenceRoute
}

// referenceRoute is one operation.
type referenceRoute struct {
	Method, Path, Summary, Words string
	Fields                       []referenceField
	Statuses                     string
}

type referenceField struct {
	Name, Words string
	Required    bool
}

// reference is the page that tells of every operation, for people; programs read the documents.
func (h *Handler) reference(c *Call) (HTML, error) {
	var all []referenceDocument
	for _, d := range documents {
		one := referenceDocument{Title: d.title, Words: d.words, Path: d.path}
		for _, r := range h.routes {
			if r.document() == d.name {
				one.Routes = append(one.Routes, r.reference())
			}
		}
		all = append(all, one)
	}
	return c.render(http.StatusOK, "openapi", view{Title: "The APIs", Data: all})
}

func (r *Route) reference() referenceRoute {
	out := referenceRoute{Method: r.Method, Path: r.Path, Summary: r.Summary, Words: r.words()}
	in := r.Do.in
	if r.Do.told != nil {
		in = r.Do.told
	}
	if in != nil {
		fields := slices.Concat(in.path, in.query, in.header, in.form)
		if in.object != nil {
			fields = append(fields, in.object.fields...)
		}
		for _, f := range fields {
			words := fieldWords[f.name]
			if f.enum != nil {
				words = strings.Join(f.enum, ", ")
			}
			out.Fields = append(out.Fields, referenceField{f.name, words, f.required})
		}
	}
	statuses := []string{}
	for _, s := range r.statuses() {
		statuses = append(statuses, strconv.Itoa(s))
	}
	out.Statuses = strings.Join(statuses, ", ")
	return out
}
