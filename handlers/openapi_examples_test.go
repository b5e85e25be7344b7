package handlers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/members"
)

// spent maps operations whose example would need a valid token, code or secret to their status for the example.
var spent = map[string]int{
	"startFullSync":        409, // a full sync is already running
	"moveJob":              409, // the job has already started
	"publishImportedPosts": 409, // the import has no posts
	"resetPassword":        400, "refreshToken": 400, "createToken": 400, "introspectToken": 401, "unsubscribe": 400,
}

// exampleEnv returns an environment with the records to which the examples of the documents refer.
func exampleEnv(t *testing.T) *env {
	e := newEnv(t)
	tenant, err := core.NewTenant(core.TenantInput{Name: new("Acme")}, 1)
	e.must(err)
	tenant.ID = web.ExampleID
	e.must(e.store.AddTenant(t.Context(), tenant, "command"))
	list, err := core.NewList(core.ListInput{Name: new("Monthly news"), TenantID: new(web.ExampleID)}, 1)
	e.must(err)
	list.ID = web.ExampleID
	e.must(e.store.AddList(t.Context(), list, "command"))
	client, _, err := core.NewClient(core.ClientInput{Name: new("Shop"), TenantID: new(web.ExampleID)}, true, 1)
	e.must(err)
	client.ID = web.ExampleID
	e.must(e.store.AddClient(t.Context(), client, "command"))
	frame, err := core.NewTemplate(web.ExampleID, core.TemplateInput{Name: new("plain"), BodyText: new("{{content}}")},
		1)
	e.must(err)
	frame.ID = web.ExampleID
	e.must(e.store.AddTemplate(t.Context(), frame, "command"))
	_, err = e.store.Suppress(t.Context(), members.DisableRequest{
		Email: "off@example.org", TenantID: web.ExampleID, Reason: "asked by telephone", OccurredAt: 1,
	}, "command", 1)
	e.must(err)
	e.must(e.store.AddEndpoint(t.Context(), core.Endpoint{
		ID: web.ExampleID, TenantID: web.ExampleID, Name: "crm", URL: "https://crm.example.org/hook",
	}, make([]byte, 32), "command"))
	for _, step := range []string{
		"user op operator", "account pia verified tenant_admin=" + web.ExampleID,
		"account gone email=gone@example.org verified",
		`account reader email=reader@example.org verified password="a long password"`, "person ann",
		"device lamp owner=ann", "agent gateway owner=ann", "model vase owner=ann",
		"share given model=vase email=other@example.org",
		"webhook-client hook tenant=" + web.ExampleID, "provider anymail tenant=" + web.ExampleID,
		"job issue list=" + web.ExampleID, "campaign letter list=" + web.ExampleID,
		"campaign approved list=" + web.ExampleID,
		"sent-issue mails list=" + web.ExampleID + " email=ann@example.org", "campaign outgoing list=" + web.ExampleID,
		"media pic tenant=" + web.ExampleID,
		"import file list=" + web.ExampleID, "webhook-client spare tenant=" + web.ExampleID,
		"endpoint receiver tenant=" + web.ExampleID, "oauth-client shop confidential tenant=" + web.ExampleID,
		"dkim rsa tenant=",
		"theme ours tenant=" + web.ExampleID, "segment saved tenant=" + web.ExampleID,
		"subscription sub list=" + web.ExampleID + " email=reader@example.org",
		"subscriber copy list=" + web.ExampleID +
			" email=reader@example.org", "event confirmed list=" + web.ExampleID,
	} {
		e.step(step)
	}
	tag, err := core.NewTag(web.ExampleID, "VIP", 1)
	e.must(err)
	e.must(e.store.AddTag(t.Context(), tag, "command"))
	e.names["vip"] = tag.ID
	return e
}

// send posts a body to an operation as a permitted caller, and returns the status.
func (e *env) send(r *web.Route, body web.Object) int {
	e.t.Helper()
	path, id := r.Path, web.ExampleID
	longest := ""
	for prefix, name := range map[string]string{
		"/api/campaigns": "letter", "/api/campaigns/:id/approve": "approved",
		"/api/campaigns/:id/send": "outgoing", "/api/campaigns/:id/links/": "mails.campaign",
		"/api/campaigns/:id/correction": "mails.campaign",
		"/api/send-jobs":                "issue", "/api/admin/subscribers": "sub", "/api/admin/imports": "file",
		"/api/devices": "lamp",
		"/api/agents":  "gateway", "/api/admin/users": "reader", "/api/admin/users/:id/erase": "gone",
		"/api/admin/team": "pia", "/api/models": "vase", "/api/media": "pic",
		"/api/admin/webhook-clients": "spare", "/api/admin/webhook-endpoints": "receiver",
		"/api/admin/outbox":             "confirmed",
		"/api/admin/oauth-clients/:id/": "shop", "/api/admin/dkim-keys": "rsa", "/api/admin/themes": "ours",
		"/api/segments": "saved", "/api/tags/": "vip",
	} {
		if strings.HasPrefix(path, prefix) && len(prefix) > len(longest) {
			longest, id = prefix, e.value(name)
		}
	}
	path = strings.NewReplacer(":id", id, ":share_id", e.value("given"), ":provider", "anymail",
		":version", "1", ":no", "1").Replace(path)
	head := r.Method + " " + path
	switch {
	case r.Info().Signed:
		head += "\nSigned-By: hook"
	case r.Info().Proved:
		head += "\nReported-By: anymail"
	case r.Dialect == web.Device:
		head += " as ann"
	case r.Info().TakesToken:
		head += " as op"
	}
	if strings.HasPrefix(path, "/api/campaigns/") || strings.HasPrefix(path, "/api/segments/") {
		head += "\nIf-Match: *"
	}
	var text string
	if r.Info().MediaType == formType {
		form := url.Values{}
		for k, v := range body {
			form.Set(k, fmt.Sprint(v))
		}
		text = form.Encode()
	} else {
		b, err := json.Marshal(body)
		e.must(err)
		text = string(b)
	}
	reply, _ := e.play(exchange{request: head + "\n\n" + text})
	e.answered = reply
	line, _, _ := strings.Cut(reply, "\n")
	status, err := strconv.Atoi(line)
	e.must(err)
	return status
}

// exampled calls fn for each operation with an example, with the operation's schema from the document.
func exampled(t *testing.T, fn func(t *testing.T, r *web.Route, id string, schema *openapi3.Schema,
	example web.Object),
) {
	h, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, r := range h.Routes() {
		id, example := r.OperationID(), r.Info().Example
		if example == nil {
			if d := documentOf(r); r.Info().MediaType == "application/json" || r.Info().MediaType == formType &&
				d != "pages" &&
				d != "" {
				t.Errorf("%s has no example", id)
			}
			continue
		}
		seen++
		path := web.OpenPath(r.Path)
		content := described()[documentOf(r)].Paths.Value(path).GetOperation(r.Method).RequestBody.Value.Content
		schema := content.Get(cmp.Or(r.Info().MediaType, "application/json")).Schema.Value
		t.Run(id, func(t *testing.T) { fn(t, r, id, schema, maps.Clone(example)) })
	}
	if seen < 80 {
		t.Errorf("%d examples", seen)
	}
}

// Each example works unchanged. Without any one of its required properties, it is refused.
func TestExamplesAsTheyStand(t *testing.T) {
	e := exampleEnv(t)
	exampled(t, func(t *testing.T, r *web.Route, id string, schema *openapi3.Schema, example web.Object) {
		e.t = t
		for _, name := range schema.Required {
			without := maps.Clone(example)
			delete(without, name)
			if status := e.send(r, without); status != 400 && status != 422 {
				t.Errorf("without %s it answers %d", name, status)
			}
		}
		want := r.Info().Status
		if s := spent[id]; s != 0 {
			want = s
		}
		if status := e.send(r, example); status != want {
			t.Errorf("the example is answered by %d, not %d", status, want)
		}
		if spent[id] == 400 && strings.Contains(e.answered, `"invalid_request"`) { // only the token is unknown
			t.Errorf("the example is refused for its form: %s", e.answered)
		}
	})
}

// choosy lists the properties that have further rules besides length or size, such as a known number or zone, or a
// unique slug.
var choosy = map[string]bool{
	"time_zone": true, "id": true, "months": true, "batch_no": true, "batch_total": true, "slug": true,
}

// The lengths and bounds in the documents are no looser than the rules: values at the limits are accepted.
func TestDocumentedLimitsAreReached(t *testing.T) {
	e := exampleEnv(t)
	reached := 0
	exampled(t, func(t *testing.T, r *web.Route, id string, schema *openapi3.Schema, example web.Object) {
		e.t = t
		for name, p := range schema.Properties {
			for what, good := range atEnds(p.Value) {
				if spent[id] != 0 || choosy[name] || p.Value.VisitJSON(plain(t, good)) != nil {
					continue
				}
				reached++
				with := maps.Clone(example)
				with[name] = good
				if status := e.send(r, with); status == 400 || status == 422 {
					t.Errorf("%s at its %s is answered by %d", name, what, status)
				}
			}
		}
	})
	if reached < 50 {
		t.Errorf("%d ends", reached)
	}
}

// atEnds returns the values at the limits of a schema, by keyword of the schema.
func atEnds(p *openapi3.Schema) map[string]any {
	good := map[string]any{}
	if p.MaxLength != nil {
		good["maxLength"] = strings.Repeat("x", int(*p.MaxLength))
	}
	if p.Min != nil {
		good["minimum"] = *p.Min
	}
	if p.Max != nil {
		good["maximum"] = *p.Max
	}
	return good
}

// The lengths, bounds, enumerations and formats in the documents are no stricter than the rules: values beyond them are
// refused.
func TestDocumentedLimits(t *testing.T) {
	e := exampleEnv(t)
	exampled(t, func(t *testing.T, r *web.Route, _ string, schema *openapi3.Schema, example web.Object) {
		e.t = t
		for name, p := range schema.Properties {
			for what, bad := range beyond(p.Value, example[name]) {
				with := maps.Clone(example)
				with[name] = bad
				if status := e.send(r, with); status < 400 || status >= 500 {
					t.Errorf("%s beyond its %s is answered by %d", name, what, status)
				}
			}
		}
	})
}

// beyond returns values that a schema does not allow, by keyword of the schema.
func beyond(p *openapi3.Schema, example any) map[string]any {
	bad := map[string]any{}
	if p.MaxLength != nil {
		bad["maxLength"] = strings.Repeat("x", int(*p.MaxLength)+1)
	}
	if p.MinLength > 0 {
		bad["minLength"] = ""
	}
	if p.Enum != nil {
		bad["enum"] = "nonsense"
	}
	if p.Min != nil {
		bad["minimum"] = *p.Min - 1
	}
	if p.Format == "uuid" || p.Format == "date-time" || p.Format == "email" {
		bad["format"] = "nonsense"
	}
	if p.Max != nil {
		bad["maximum"] = *p.Max + 1
	}
	if p.Pattern != "" {
		bad["pattern"] = "no name"
		if regexp.MustCompile(p.Pattern).MatchString("no name") {
			bad["pattern"] = "bell\a"
		}
	}
	var item any = "https://app.example.org/many"
	if items, ok := example.([]web.Object); ok {
		item = items[0]
	}
	if p.MaxItems != nil {
		bad["maxItems"] = slices.Repeat([]any{item}, int(*p.MaxItems)+1)
	}
	if p.Items != nil && example != nil {
		for what, worse := range beyond(p.Items.Value, item) {
			bad["item's "+what] = []any{worse}
		}
	}
	if object, ok := example.(web.Object); ok {
		for name, inner := range p.Properties {
			for what, worse := range beyond(inner.Value, object[name]) {
				with := maps.Clone(object)
				with[name] = worse
				bad[name+"'s "+what] = with
			}
		}
	}
	return bad
}
