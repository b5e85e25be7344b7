package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
)

// TestOpenAPIDocuments compares the documents that the table generates with the stored ones, and validates them.
func TestOpenAPIDocuments(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector")
	}
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range documents {
		t.Run(d.Name, func(t *testing.T) {
			file, got := "../testdata/openapi/"+d.Name+".json", h.Document(d.Name)
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
var described = sync.OnceValue(func() map[string]*openapi3.T {
	h, err := New(Options{})
	if err != nil {
		panic(err)
	}
	docs := map[string]*openapi3.T{}
	for _, d := range documents {
		doc, err := openapi3.NewLoader().LoadFromData(h.Document(d.Name))
		if err != nil {
			panic(err)
		}
		docs[d.Name] = doc
	}
	return docs
})

// checkDescribed checks a JSON response against the document that describes the route.
func checkDescribed(t *testing.T, r *web.Route, status int, body []byte) {
	t.Helper()
	doc := described()[documentOf(r)]
	path := web.OpenPath(r.Path)
	item := doc.Paths.Value(path)
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

// declared lists the schemas that the specification declares.
var declared = map[string][]string{
	"member": {
		"TokenResponse", "UserProfile", "Subscription", "PendingSubscriptionResponse", "ErrorResponse", "Tenant",
		"NewsletterList", "OAuthClient",
		"DisableSubscriptionRequest", "AuthorizationCodeTokenRequest", "RefreshTokenRequest", "RefreshRequest",
	},
	"send": {
		"CreateSendJobRequest", "TrackingOptions", "CreateSendJobResponse", "SendJob", "SendJobStatusResponse",
		"SubscriberPayload",
		"SubscriptionEvent", "FullSyncBatch", "ProviderEvent", "ErrorResponse",
	},
}

// Every route is in exactly one document, every schema of the specification is a component, and every operation and
// example has a description.
func TestDocumentsAreComplete(t *testing.T) {
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	operations := 0
	for _, d := range documents {
		doc := described()[d.Name]
		for _, name := range declared[d.Name] {
			if doc.Components.Schemas[name] == nil {
				t.Errorf("%s: %s is no component", d.Name, name)
			}
		}
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				operations++
				if op.Summary == "" || op.Description == "" || len(op.Tags) != 1 {
					t.Errorf("%s: %s %s says too little", d.Name, method, path)
				}
				if op.RequestBody == nil {
					continue
				}
				if m := op.RequestBody.Value.Content["application/json"]; m != nil &&
					m.Schema.Value.VisitJSON(plain(t, m.Example)) != nil {
					t.Errorf("%s: the example of %s %s does not fit: %v", d.Name, method, path,
						m.Schema.Value.VisitJSON(plain(t, m.Example)))
				}
			}
		}
	}
	routes := slices.DeleteFunc(slices.Clone(h.Routes()), func(r *web.Route) bool { return r.Dialect == web.Console })
	if operations != len(routes) {
		t.Errorf("%d operations in the documents, %d routes", operations, len(routes))
	}
}

// saysNothing reports whether a description only repeats the name of what it describes.
func saysNothing(words, name string) bool {
	words = strings.ToLower(strings.Trim(words, "."))
	for _, article := range []string{"the ", "a ", "an "} {
		words = strings.TrimPrefix(words, article)
	}
	return words == "" || words == strings.ToLower(strings.ReplaceAll(name, "_", " "))
}

// Every parameter and every property of a request or response has a description in short sentences that says more than
// its name.
func TestDocumentsDescribeEachProperty(t *testing.T) {
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	check := func(where string, of map[string]any) {
		seen++
		words, _ := of["description"].(string)
		if saysNothing(words, where[strings.LastIndexAny(where, ".?")+1:]) {
			t.Errorf("%s has no description but %q: add the tag about, or a word for all fields of this name", where, words)
		}
		for sentence := range strings.SplitSeq(strings.ReplaceAll(words, "; ", ". "), ". ") {
			if n := len(strings.Fields(sentence)); n > 20 {
				t.Errorf("%s: a sentence of %d words: %s", where, n, sentence)
			}
		}
	}
	var visit func(where string, v any)
	visit = func(where string, v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				visit(where, one)
			}
		case map[string]any:
			if props, ok := v["properties"].(map[string]any); ok {
				for name, p := range props {
					check(where+"."+name, p.(map[string]any))
				}
			}
			if params, ok := v["parameters"].([]any); ok {
				for _, p := range params {
					p := p.(map[string]any)
					check(where+"?"+p["name"].(string), p)
				}
			}
			for key, one := range v {
				if key != "example" && key != "not" {
					visit(where+"."+key, one)
				}
			}
		}
	}
	for _, d := range documents {
		var doc map[string]any
		if err := json.Unmarshal(h.Document(d.Name), &doc); err != nil {
			t.Fatal(err)
		}
		visit(d.Name, doc)
	}
	if seen < 2000 {
		t.Errorf("%d properties", seen)
	}
}

// The description of a path parameter names the kind of record or what the text means. Only ids are UUIDs.
func TestDocumentsDescribePaths(t *testing.T) {
	seen := map[string]bool{}
	for name, doc := range described() {
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				for _, p := range op.Parameters {
					if p.Value.In != "path" {
						continue
					}
					words := p.Value.Description
					seen[words] = true
					if saysNothing(words, p.Value.Name) || strings.HasSuffix(words, " record") {
						t.Errorf("%s: %s %s: {%s} has the description %q", name, method, path, p.Value.Name, words)
					}
					if isID := strings.HasPrefix(words, "ID of the "); isID != (p.Value.Schema.Value.Format == "uuid") {
						t.Errorf("%s: %s %s: {%s} has the format %q, but is described as %q", name, method, path, p.Value.Name,
							p.Value.Schema.Value.Format, words)
					}
				}
			}
		}
	}
	for _, words := range []string{"ID of the campaign", "ID of the OAuth client", "Number of the link, from 1"} {
		if !seen[words] {
			t.Errorf("no parameter has the description %q", words)
		}
	}
}

// Responses leave out empty values of optional properties, so their descriptions say what it means if they are absent.
func TestDocumentsDescribeAbsence(t *testing.T) {
	seen, absent, ofEmpty := map[*openapi3.Schema]bool{}, 0, regexp.MustCompile("if empty|empty(:| means)")
	var visit func(where string, s *openapi3.SchemaRef)
	visit = func(where string, s *openapi3.SchemaRef) {
		if s == nil || seen[s.Value] {
			return
		}
		seen[s.Value] = true
		visit(where, s.Value.Items)
		for name, p := range s.Value.Properties {
			words := p.Value.Description
			if p.Ref != "" {
				words, _ = p.Extensions["description"].(string)
			}
			optional := !slices.Contains(s.Value.Required, name)
			if optional && ofEmpty.MatchString(words) {
				t.Errorf("%s.%s is left out, but described as %q", where, name, words)
			}
			if optional && strings.Contains(words, "absent") {
				absent++
			}
			visit(where+"."+name, p)
		}
	}
	for _, doc := range described() {
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				for status, res := range op.Responses.Map() {
					for _, m := range res.Value.Content {
						visit(method+" "+path+" "+status, m.Schema)
					}
				}
			}
		}
	}
	if absent < 50 {
		t.Errorf("%d optional properties", absent)
	}
}

// plain returns a value in the form in which JSON would be decoded.
func plain(t *testing.T, v any) (out any) {
	t.Helper()
	b, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(b, &out)
	}
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every operation from which clients are generated has a unique name, which doesn't collide with the names that
// generators derive from schemas (CreateTokenResponse).
func TestOperationNames(t *testing.T) {
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen, short := map[string]bool{}, regexp.MustCompile(`/./`)
	for _, r := range h.Routes() {
		id := r.OperationID()
		if r.Dialect == web.Console {
			continue
		}
		if seen[documentOf(r)+id] {
			t.Errorf("two operations of %s are named %s", documentOf(r), id)
		}
		seen[documentOf(r)+id] = true
		if documentOf(r) == "pages" {
			if short.MatchString(r.Path) && !r.Info().Named {
				t.Errorf("the path of %s %s says too little for a name: its row is not Named", r.Method, r.Path)
			}
			continue
		}
		if !r.Info().Named {
			t.Errorf("the row of %s %s is not Named", r.Method, r.Path)
		}
		if name := strings.ToUpper(id[:1]) + id[1:] + "Response"; described()[documentOf(r)].Components.Schemas[name] != nil {
			t.Errorf("generators would name the answer of %s as the schema %s", id, name)
		}
	}
}

// The reference page has an anchor, the responses with their types, and a curl command for every operation in the
// documents. A search by words works without scripts.
func TestReferencePage(t *testing.T) {
	e := newPageEnv(t, "https://news.example.org")
	get := func(path string) string {
		w := browse(e.handler, "GET", "news.example.org", path, browserAccept, "")
		if w.Code != 200 || strings.Contains(w.Header().Get("Content-Security-Policy"), "script") {
			t.Fatalf("%s: %d %s", path, w.Code, w.Header())
		}
		return w.Body.String()
	}
	page, operations := get("/openapi"), 0
	for _, d := range documents {
		all, err := e.handler.operations(d)
		if err != nil {
			t.Fatal(err)
		}
		operations += len(all)
		for _, o := range all {
			if !strings.Contains(page, `<article id="`+o.ID+`">`) || !strings.Contains(page, `href="#`+o.ID+`"`) ||
				strings.Count(page, `id="`+o.ID+`"`) != 1 {
				t.Errorf("%s %s: no anchor %q of its own", o.Method, o.Path, o.ID)
			}
			if len(o.Answers) == 0 || !strings.Contains(o.Curl, "https://news.example.org"+o.Path) {
				t.Errorf("%s %s: %d answers, %s", o.Method, o.Path, len(o.Answers), o.Curl)
			}
		}
	}
	if n := strings.Count(page, "<pre><code>curl "); n != operations || n < 100 {
		t.Errorf("%d commands for %d operations", n, operations)
	}
	found := get("/openapi?q=SEND-jobs+cancel")
	if strings.Count(found, "<article") != 1 || !strings.Contains(found, "/api/send-jobs/{id}/cancel") ||
		!strings.Contains(found, `value="SEND-jobs cancel"`) {
		t.Error(found)
	}
	german := browse(e.handler, "GET", "news.example.org", "/openapi", browserAccept, "de").Body.String()
	if !strings.Contains(german, `<html lang="en">`) {
		t.Errorf("an English page is said to be in another language: %.200s", german)
	}
	if none := get("/openapi?q=%3Cscript%3E"); strings.Contains(none, "<article") || strings.Contains(none, "<script>") {
		t.Error(none)
	}
}

// Anyone can request the page, searches and documents repeatedly, because they are generated only once. Browsers that
// accept compression get small responses.
func TestReferenceIsMadeOnce(t *testing.T) {
	e := newPageEnv(t, "https://news.example.org")
	get := func(path string) *httptest.ResponseRecorder {
		req := httptest.NewRequest("GET", path, nil)
		req.Header.Set("Accept-Encoding", "gzip")
		rec := httptest.NewRecorder()
		e.handler.ServeHTTP(rec, req)
		if rec.Code != 200 {
			t.Fatalf("%s: %d", path, rec.Code)
		}
		return rec
	}
	for _, tt := range []struct {
		path          string
		packed, shown bool // packed means compressed; shown means with whole operations
	}{
		{"/openapi", true, true},
		{"/openapi?q=+", true, true},
		{"/openapi?q=e", false, false},
		{"/openapi?q=send-jobs+cancel", false, true},
		{"/api/openapi.json", true, false},
		{"/openapi/send.json", true, false},
	} {
		first := get(tt.path)
		if packed := first.Header().Get("Content-Encoding") == "gzip"; packed != tt.packed ||
			packed && (first.Body.Len() > 100_000 || first.Header().Get("Cache-Control") != openAPICache) {
			t.Errorf("%s: %d bytes, %v", tt.path, first.Body.Len(), first.Header())
		}
		if shown := tt.packed || strings.Contains(first.Body.String(), "<article"); !tt.packed && shown != tt.shown {
			t.Errorf("%s: operations as a whole: %v", tt.path, shown)
		}
		if n := testing.AllocsPerRun(3, func() { get(tt.path) }); n > 3000 {
			t.Errorf("%s allocates %.0f times: it is made again", tt.path, n)
		}
	}
}

// The server reads all parameters of authorization and logout in the documents: each is refused if it is given twice.
func TestDocumentedParametersAreRead(t *testing.T) {
	e := newPageEnv(t, "https://news.example.org")
	names := func(path string) (all []string) {
		for _, p := range described()["member"].Paths.Value(path).Get.Parameters {
			all = append(all, p.Value.Name)
			if p.Value.Description == "" {
				t.Errorf("%s: %s is not described", path, p.Value.Name)
			}
		}
		return all
	}
	const uri = "https://app.example.org/callback"
	authorize := names("/api/oauth/authorize")
	if len(authorize) != 15 || !slices.Contains(authorize, "claims") {
		t.Errorf("%d: %s", len(authorize), authorize)
	}
	for _, name := range authorize {
		q := url.Values{"client_id": {"c"}, "redirect_uri": {uri}}
		q[name] = []string{"x", "x"}
		_, err := auth.ParseAuthorization(q, func(string) (core.Client,
			error,
		) {
			return core.Client{ID: "c", RedirectURIs: []string{uri}}, nil
		})
		if fault, ok := errors.AsType[*auth.AuthorizeError](err); !ok || fault.Parameter != name {
			t.Errorf("%s twice: %v", name, err)
		}
	}
	logout := names("/api/oauth/logout")
	if len(logout) != 4 {
		t.Errorf("%d: %s", len(logout), logout)
	}
	for _, name := range logout {
		page := textOf(browse(e.handler, "GET", "news.example.org", "/api/oauth/logout?"+name+"=x&"+name+"=x",
			browserAccept,
			"").Body.String())
		if !strings.Contains(page, name+" is sent more than once") {
			t.Errorf("%s twice:\n%s", name, page)
		}
	}
}

// Client generators find in each document what to send and what to expect: one base URL for all operations, no JSON or
// text described as any type, and, for CSV bodies, the same body as a file without a type.
func TestDocumentsFitGenerators(t *testing.T) {
	const any, file, csv = "*/*", "application/octet-stream", "text/csv"
	h, err := New(Options{PublicURL: "https://news.example.org"})
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]*web.Route{}
	for _, r := range h.Routes() {
		of[r.Method+" "+web.OpenPath(r.Path)] = r
	}
	for _, d := range documents {
		doc, err := openapi3.NewLoader().LoadFromData(h.Document(d.Name))
		if err != nil {
			t.Fatal(err)
		}
		if len(doc.Servers) != 1 || doc.Servers[0].URL != "https://news.example.org" {
			t.Errorf("%s: servers %v", d.Name, doc.Servers)
		}
		for path, item := range doc.Paths.Map() {
			for method, o := range item.Operations() {
				if of[method+" "+path] == nil {
					t.Errorf("%s: %s %s is no address of ours", d.Name, method, path)
				}
				contents := map[string]openapi3.Content{}
				if o.RequestBody != nil {
					contents["body"] = o.RequestBody.Value.Content
				}
				for status, res := range o.Responses.Map() {
					contents[status] = res.Value.Content
				}
				for where, content := range contents {
					// a body of any type is also described as a file, or as the JSON that it usually is
					if content[any] != nil && content[file] == nil && content[jsonType] == nil {
						t.Errorf("%s %s, %s: a generator is told of %s alone", method, path, where, any)
					}
					if where == "body" && content[csv] != nil && content[file] == nil {
						t.Errorf("%s %s: a body of %s alone", method, path, csv)
					}
					for media, m := range content {
						if s := m.Schema; media != any && (s == nil || s.Value == nil || s.Value.Type == nil && s.Value.OneOf == nil &&
							s.Value.AnyOf == nil && s.Value.AllOf == nil) {
							t.Errorf("%s %s, %s: %s has no type", method, path, where, media)
						}
					}
				}
			}
		}
	}
}
