package handlers

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestOpenAPIDocuments compares the documents that the table makes with those kept, and has them validated.
func TestOpenAPIDocuments(t *testing.T) {
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documents {
		t.Run(d.name, func(t *testing.T) {
			file, got := "../testdata/openapi/"+d.name+".json", h.Document(d.name)
			if *update {
				if err := os.WriteFile(file, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s is not what the table says; go test ./handlers -update, and read the difference", file)
			}
			doc, err := openapi3.NewLoader().LoadFromData(got)
			if err != nil {
				t.Fatal(err)
			}
			if err := doc.Validate(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// described holds the documents of the table, loaded once.
var described = sync.OnceValue(func() map[byte]*openapi3.T {
	h, err := New(Options{})
	if err != nil {
		panic(err)
	}
	docs := map[byte]*openapi3.T{}
	for _, d := range documents {
		doc, err := openapi3.NewLoader().LoadFromData(h.Document(d.name))
		if err != nil {
			panic(err)
		}
		for i := range d.dialects {
			docs[d.dialects[i]] = doc
		}
	}
	return docs
})

// checkDescribed holds a JSON answer against the document that describes the route.
func checkDescribed(t *testing.T, r *Route, status int, body []byte) {
	t.Helper()
	doc := described()[byte(r.Dialect)]
	if doc == nil || strings.HasPrefix(r.Path, "/.well-known/") { // outside of every area's base
		return
	}
	item := doc.Paths.Value(openPath(r.Path))
	if item == nil {
		item = doc.Paths.Value(openPath(strings.TrimPrefix(r.Path, "/api")))
	}
	if item == nil {
		t.Errorf("%s %s is not described", r.Method, r.Path)
		return
	}
	res := item.GetOperation(r.Method).Responses.Status(status)
	if res == nil {
		t.Errorf("%s %s: status %d is not described", r.Method, r.Path, status)
		return
	}
	media := res.Value.Content.Get("application/json")
	if media == nil || media.Schema == nil {
		if len(body) > 0 {
			t.Errorf("%s %s: the body of status %d is not described", r.Method, r.Path, status)
		}
		return
	}
	var v any
	if err := json.Unmarshal(body, &v); err != nil {
		t.Error(err)
	}
	if err := media.Schema.Value.VisitJSON(v, openapi3.EnableFormatValidation()); err != nil {
		t.Errorf("%s %s: the body of status %d is not as described: %v", r.Method, r.Path, status, err)
	}
}
