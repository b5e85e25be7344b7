package handlers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"newsletterd/core"
)

// keysOf returns the keys that core expects, from its message about a rule without one of them.
func keysOf(t *testing.T, rule string) []string {
	t.Helper()
	_, err := core.ParseRule("rule", []byte(rule))
	if err == nil {
		t.Fatalf("%s is a rule", rule)
	}
	_, keys, ok := strings.Cut(err.Error(), "one of ")
	if !ok {
		t.Fatal(err)
	}
	keys, _, _ = strings.Cut(keys, ".")
	return strings.Split(keys, ", ")
}

// The schema of rules describes what core.ParseRule accepts: each condition and test, and no more.
func TestTheSchemaOfRules(t *testing.T) {
	values := []string{
		`"a.example"`, `""`, `" "`, `0`, `5`, `-1`, `51`, `36501`, `5.5`, `true`, `false`, `null`, `"2026-01-31"`,
		`"12-24"`, `"today"`, `"1.5"`, `"01"`, `[]`, `["a.example", "b.example"]`, `["a", 1, true]`, `[""]`,
		`[["a"]]`, `{}`, `{"domain": "a.example"}`, `[{"domain": "a.example"}]`, `[{}]`,
		`"` + strings.Repeat("x", core.MaxRuleField+1) + `"`, `"` + strings.Repeat("x", core.MaxFieldText+1) + `"`,
	}
	rules := map[string]string{ // rules by the key that they test
		`{}`: "", `{"is": "a"}`: "", `{"is": "a", "is_not": "b"}`: "", `{"field": "city"}`: "", `{"unknown": 1}`: "",
		`{"field": "city", "is": "a", "is_not": "b"}`: "", `{"field": "email", "is": "a"}`: "",
		`{"domain": "a.example", "on_list": "x"}`: "", `{"domain": "a.example", "is": "x"}`: "",
		`{"joined": {"within_days": 1, "before_days": 2}}`: "", `{"joined": {"last": 2}}`: "",
		`{"field": "city", "before_days": 1}`: "", `{"opened": {"before_days": 1}}`: "",
		`{"not": {"field": "city"}}`:                             "",
		`{"all": [{"any": [{"not": {"domain": "a.example"}}]}]}`: "", `{"language": "de"}`: "language",
		`{"language": ["de", "en"]}`: "language", `{"clicked_link": {"campaign": "a", "link": 1}}`: "clicked_link",
		`{"clicked_link": {"campaign": "a", "link": 0}}`: "", `{"clicked_link": {"campaign": "a"}}`: "",
		`{"clicked_link": {"campaign": "a", "link": "1"}}`:       "",
		`{"clicked_link": {"campaign": "a", "link": 1, "x": 1}}`: "",
	}
	wanted := map[string]bool{}
	for _, head := range keysOf(t, `{}`) {
		form := `{%q: %s}`
		switch wanted[head] = true; head {
		case "field":
			for _, test := range keysOf(t, `{"field": "city"}`) {
				wanted["field."+test] = true
				for _, v := range values {
					rules[fmt.Sprintf(`{"field": "city", %q: %s}`, test, v)] = "field." + test
				}
			}
			form = `{%q: %s, "exists": true}`
		case "poll":
			const poll = `{"campaign": "a", "number": 1}`
			for _, test := range keysOf(t, fmt.Sprintf(`{"poll": %s}`, poll)) {
				wanted["poll."+test] = true
				for _, v := range values {
					rules[fmt.Sprintf(`{"poll": %s, %q: %s}`, poll, test, v)] = "poll." + test
				}
			}
			for _, wrong := range []string{
				poll, `{"campaign": "a"}`, `{"campaign": "a", "number": 11}`, `{"campaign": "a", "number": "1"}`,
				`{"campaign": "a", "number": 1, "x": 1}`,
			} {
				rules[fmt.Sprintf(`{"poll": %s}`, wrong)] = ""
				rules[fmt.Sprintf(`{"poll": %s, "contains": "a"}`, wrong)] = ""
				rules[fmt.Sprintf(`{"poll": %s, "field": "city"}`, wrong)] = ""
			}
			delete(wanted, head)
			form = `{%q: %s, "exists": true}`
		case "joined", "consented", "opened", "clicked":
			for _, test := range keysOf(t, fmt.Sprintf(`{%q: {}}`, head)) {
				wanted[head+"."+test] = true
				for _, v := range values {
					rules[fmt.Sprintf(`{%q: {%q: %s}}`, head, test, v)] = head + "." + test
				}
			}
			delete(wanted, head)
		}
		for _, v := range values {
			rules[fmt.Sprintf(form, head, v)] = head
		}
	}
	schema := described()["member"].Components.Schemas["Rule"].Value
	for rule, of := range rules {
		var v any
		if err := json.Unmarshal([]byte(rule), &v); err != nil {
			t.Fatal(rule, err)
		}
		_, refused := core.ParseRule("rule", []byte(rule))
		if said := schema.VisitJSON(v, openapi3.EnableFormatValidation()); (refused == nil) != (said == nil) {
			t.Errorf("%.100s: refused: %v; by the schema: %v", rule, refused, said)
		}
		if refused == nil {
			delete(wanted, of)
		}
	}
	if len(wanted) > 0 {
		t.Errorf("no rule has %v", wanted)
	}
}
