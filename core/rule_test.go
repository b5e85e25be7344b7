package core

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func parsed(t testing.TB, text string) *Rule {
	t.Helper()
	r, err := ParseRule("rule", []byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return r
}

func TestRulesHaveOneForm(t *testing.T) {
	for text, want := range map[string]string{
		`{"field":"plan","is":"pro"}`:                            `{"field":"plan","is":["pro"]}`,
		` { "field" : " plan " , "is" : [ " pro " , "team" ] } `: `{"field":"plan","is":["pro","team"]}`,
		`{"is_not":[7,-0.50,1e3,12e-1],"field":"n"}`:             `{"field":"n","is_not":["7","-0.50","1000","1.2"]}`,
		`{"field":"n","is":[true,false]}`:                        `{"field":"n","is":["true","false"]}`,
		`{"field":"n","is":1e999}`:                               `{"field":"n","is":["1e999"]}`,
		`{"field":"n","less":2.5}`:                               `{"field":"n","less":"2.5"}`,
		`{"field":"n","more":"12345678901234567890123"}`:         `{"field":"n","more":"12345678901234567890123"}`,
		`{"field":"n","contains":"a<b"}`:                         `{"field":"n","contains":"a\u003cb"}`,
		`{"field":"n","starts_with":"\u00dc"}`:                   `{"field":"n","starts_with":"Ü"}`,
		`{"field":"n","before":"2024-02-29"}`:                    `{"field":"n","before":"2024-02-29"}`,
		`{"field":"n","within_days":0}`:                          `{"field":"n","within_days":0}`,
		`{"field":"n","on_day":"02-29"}`:                         `{"field":"n","on_day":"02-29"}`,
		`{"field":"n","on_day":"today"}`:                         `{"field":"n","on_day":"today"}`,
		`{"field":"n","exists":true}`:                            `{"field":"n","exists":true}`,
		`{"field":"n","missing":true}`:                           `{"field":"n","missing":true}`,
		`{"joined":{"before_days":36500}}`:                       `{"joined":{"before_days":36500}}`,
		`{"joined":{"after":"2026-01-01"}}`:                      `{"joined":{"after":"2026-01-01"}}`,
		`{"domain":"@Example.COM"}`:                              `{"domain":["example.com"]}`,
		`{"domain":["bücher.example","b.org"]}`:                  `{"domain":["xn--bcher-kva.example","b.org"]}`,
		`{"received":"c"}`:                                       `{"received":"c"}`,
		`{"on_list":"l"}`:                                        `{"on_list":"l"}`,
		`{"segment":"s"}`:                                        `{"segment":"s"}`,
		`{"tag":" Straße "}`:                                     `{"tag":"Straße"}`,
		`{"not":{"all":[{"on_list":"l"},{"any":[{"segment":"s"}]}]}}`: `{"not":{"all":[{"on_list":"l"},` +
			`{"any":[{"segment":"s"}]}]}}`,
	} {
		given := []byte(text)
		r, err := ParseRule("rule", given)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := r.JSON(); got != want {
			t.Errorf("%s became %s, want %s", text, got, want)
		}
		if string(given) != text {
			t.Errorf("ParseRule changed its input %s to %s", text, given)
		}
		again, err := ParseRule("rule", []byte(want))
		if err != nil || !reflect.DeepEqual(r, again) {
			t.Errorf("%s parses as %+v, %v", want, again, err)
		}
	}
}

func TestRulesThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{ // the start of the message, after the field
		``:                              "rule|must be a JSON object",
		`7`:                             "rule|must be a JSON object",
		`null`:                          "rule|must be a JSON object",
		`[]`:                            "rule|must be a JSON object",
		`{"on_list":"a"`:                "rule|is not valid JSON: expected a comma",
		`{"on_list":"a"} x`:             "rule|is not valid JSON: text after the value",
		`{"on_list":"a","on_list":"b"}`: `rule|is not valid JSON: the key "on_list" is used twice`,
		`{"joined":{"before_days":1,"before_days":2}}`: `rule|is not valid JSON: the key "before_days" is used twice`,
		"{\"on_list\":\"\xff\"}":                       "rule|is not valid JSON: not UTF-8",
		`{}`:                                           "rule|has no condition",
		`{"is":"x"}`:                                   "rule|has no condition",
		`{"all":[]}`:                                   "rule.all|must be a list with at least one condition",
		`{"any":[]}`:                                   "rule.any|must be a list",
		`{"all":null}`:                                 "rule.all|must be a list",
		`{"all":{"on_list":"a"}}`:                      "rule.all|must be a list",
		`{"all":[{}]}`:                                 "rule.all[0]|has no condition",
		`{"all":[null]}`:                               "rule.all[0]|must be a JSON object",
		`{"not":{}}`:                                   "rule.not|has no condition",
		`{"not":[{"on_list":"a"}]}`:                    "rule.not|must be a JSON object",
		`{"on_list":"a","domain":"b.org"}`:             "rule|has both on_list and domain. Put them into a group",
		`{"all":[{"on_list":"a"}],"any":[{"on_list":"a"}]}`: "rule|has both all and any",
		`{"on_list":"a","is":"b"}`:                          "rule|: is can't be combined with on_list",
		`{"recieved":"c"}`:                                  "rule|: unknown condition recieved. Did you mean received?",
		`{"fields":"a","is":"b"}`:                           "rule|: unknown condition fields. Did you mean field?",
		`{"tag":" "}`:                                       "rule.tag|must have 1 to 60 characters",
		`{"tag":["vip"]}`:                                   "rule.tag|must be a string",
		`{"tagged":"vip"}`:                                  "rule|: unknown condition tagged. Use one of all, any",
		`{"field":"a","start_with":"b"}`:                    "rule|: unknown condition start_with. Did you mean starts_with?",
		`{"field":"a","before_days":3}`:                     "rule|: unknown condition before_days.",
		`{"joined":{"whithin_days":3}}`: "rule.joined|: unknown condition whithin_days. " +
			"Did you mean within_days?",
		`{"joined":{"on_day":"today"}}`:                   "rule.joined|: unknown condition on_day.",
		`{"joined":{}}`:                                   "rule.joined|needs exactly one of within_days, before_days",
		`{"joined":7}`:                                    "rule.joined|must be a JSON object",
		`{"field":"a"}`:                                   "rule|needs exactly one of is, is_not",
		`{"field":"a","is":"b","exists":true}`:            "rule|needs exactly one of",
		`{"field":"","is":"b"}`:                           "rule.field|must have 1 to 100 characters",
		`{"field":7,"is":"b"}`:                            "rule.field|must be a string",
		`{"field":null,"is":"b"}`:                         "rule.field|must be a string",
		`{"field":"email","is":"b"}`:                      "rule.field|can't be email",
		`{"field":"a","is":[]}`:                           "rule.is|must have at least one value",
		`{"field":"a","is":""}`:                           "rule.is|must be a string of 1 to 500 characters",
		`{"field":"a","is":null}`:                         "rule.is|must be a string of",
		`{"field":"a","is":{}}`:                           "rule.is|must be a string of",
		`{"field":"a","is":["b"," "]}`:                    "rule.is[1]|must be a string of",
		`{"field":"a","is":["b",["c"]]}`:                  "rule.is[1]|must be a string of",
		`{"field":"a","is_not":["b",null]}`:               "rule.is_not[1]|must be a string of",
		`{"field":"a","contains":["b"]}`:                  "rule.contains|must be a string",
		`{"field":"a","contains":"b\nc"}`:                 "rule.contains|must have 1 to 500 characters",
		`{"field":"a","starts_with":""}`:                  "rule.starts_with|must have 1 to 500",
		`{"field":"a","less":"007"}`:                      "rule.less|must be a number",
		`{"field":"a","less":""}`:                         "rule.less|must be a number",
		`{"field":"a","less":true}`:                       "rule.less|must be a number",
		`{"field":"a","more":"1e3"}`:                      "rule.more|must be a number",
		`{"field":"a","more":1e999}`:                      "rule.more|must be a number",
		`{"field":"a","more":"+1"}`:                       "rule.more|must be a number",
		`{"field":"a","before":"2023-02-29"}`:             "rule.before|must be a date",
		`{"field":"a","after":"31.12.1990"}`:              "rule.after|must be a date",
		`{"field":"a","after":20260101}`:                  "rule.after|must be a date",
		`{"field":"a","within_days":-1}`:                  "rule.within_days|must be a number of days",
		`{"field":"a","within_days":1.5}`:                 "rule.within_days|must be a number of days",
		`{"field":"a","within_days":"3"}`:                 "rule.within_days|must be a number of days",
		`{"field":"a","within_days":null}`:                "rule.within_days|must be a number of days",
		`{"joined":{"before_days":36501}}`:                "rule.joined.before_days|must be a number of days",
		`{"joined":{"before_days":99999999999999999999}}`: "rule.joined.before_days|must be a number of days",
		`{"field":"a","on_day":"02-30"}`:                  "rule.on_day|must be \"today\" or a day",
		`{"field":"a","on_day":"2-3"}`:                    "rule.on_day|must be",
		`{"field":"a","exists":false}`:                    "rule.exists|must be true",
		`{"field":"a","missing":1}`:                       "rule.missing|must be true",
		`{"domain":"example"}`:                            `rule.domain|: "example" is not a domain`,
		`{"domain":"a@example.com"}`:                      `rule.domain|: "a@example.com" is not a domain`,
		`{"domain":[]}`:                                   "rule.domain|must have at least one value",
		`{"received":""}`:                                 "rule.received|must have 1 to 100 characters",
		`{"on_list":["a"]}`:                               "rule.on_list|must be a string",
		`{"segment":null}`:                                "rule.segment|must be a string",
		`{"all":[{"on_list":"a"},{"not":{"any":[{"field":"a","less":"x"}]}}]}`: "rule.all[1].not.any[0].less|must be a n",
	} {
		r, err := ParseRule("rule", []byte(text))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v, %v", text, r, err)
			continue
		}
		field, message, _ := strings.Cut(want, "|")
		sep := " "
		if message[0] == ':' {
			sep = ""
		}
		if e.Kind != Invalid || e.Field != field || !strings.HasPrefix(e.Message, field+sep+message) {
			t.Errorf("%s: %s: %q, want %q", text, e.Field, e.Message, want)
		}
	}
}

// nested returns a rule with the given number of levels.
func nested(levels int, leaf string) string {
	if levels == 1 {
		return leaf
	}
	return `{"all":[` + nested(levels-1, leaf) + `]}`
}

// grouped returns a group of n equal conditions.
func grouped(n int, leaf string) string {
	return `{"any":[` + strings.TrimSuffix(strings.Repeat(leaf+",", n), ",") + `]}`
}

// among returns a condition with n values.
func among(n int, value string) string {
	return `{"field":"a","is":[` + strings.TrimSuffix(strings.Repeat(value+",", n), ",") + `]}`
}

func TestLimitsOfARule(t *testing.T) {
	const leaf = `{"on_list":"a"}`
	text := func(n int, c string) string { return strconv.Quote(strings.Repeat(c, n)) }
	for _, c := range []struct{ name, most, more, field string }{
		{"depth", nested(4, leaf), nested(5, leaf), "rule.all[0].all[0].all[0].all[0]"},
		{
			"depth of not", `{"not":{"not":{"not":` + leaf + `}}}`, `{"not":{"not":{"not":{"not":` + leaf + `}}}}`,
			"rule.not.not.not.not",
		},
		{"conditions of a group", grouped(30, leaf), grouped(31, leaf), "rule.any"},
		{"conditions", grouped(3, grouped(10, leaf)), grouped(2, grouped(16, leaf)), "rule"},
		{"values", among(200, "7"), among(201, "7"), "rule.is"},
		{"values of all conditions", grouped(2, among(100, "7")), grouped(3, among(67, "7")), "rule.any[2].is"},
		{"text", among(1, text(500, "ü")), among(1, text(501, "ü")), "rule.is[0]"},
		{
			"part", `{"field":"a","contains":` + text(500, "x") + `}`, `{"field":"a","contains":` + text(501, "x") +
				`}`,
			"rule.contains",
		},
		{
			"field", `{"field":` + text(100, "x") + `,"exists":true}`, `{"field":` + text(101, "x") + `,"exists":true}`,
			"rule.field",
		},
		{
			"number", `{"field":"a","less":` + strings.Repeat("9", 500) + `}`,
			`{"field":"a","less":` + strings.Repeat("9", 501) + `}`, "rule.less",
		},
		{"bytes", leaf + strings.Repeat(" ", MaxRuleBytes-len(leaf)), leaf + strings.Repeat(" ", MaxRuleBytes), "rule"},
		{"stored bytes", among(10, text(500, "<")), among(30, text(500, "<")), "rule"},
		{"stored numbers", among(80, "1e399"), among(100, "1e399"), "rule"},
	} {
		r, err := ParseRule("rule", []byte(c.most))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if again, err := ParseRule("rule", []byte(r.JSON())); err != nil || !reflect.DeepEqual(r, again) {
			t.Errorf("%s: the stored form is refused: %v", c.name, err)
		}
		_, err = ParseRule("rule", []byte(c.more))
		var e *Error
		if !errors.As(err, &e) || e.Kind != Invalid || e.Field != c.field {
			t.Errorf("%s: beyond the limit: %v, want an error of %s", c.name, err, c.field)
		}
	}
}

func TestLeavesOfARule(t *testing.T) {
	r := parsed(t, `{"all":[{"on_list":"a"},{"any":[{"not":{"on_list":"b"}},{"on_list":"c"}]}]}`)
	var got []string
	r.Leaves("rule", func(path string, leaf *Rule) { got = append(got, path+" "+leaf.OnList) })
	want := []string{"rule.all[0] a", "rule.all[1].any[0].not b", "rule.all[1].any[1] c"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// inlined inlines a rule with some segments.
func inlined(t *testing.T, text string, segments map[string]string) (*Rule, error) {
	return parsed(t, text).Inline("rule", func(path, id string) (*Rule, error) {
		if segments[id] == "" {
			return nil, Undecided(path, "segment "+id+" doesn't exist")
		}
		return parsed(t, segments[id]), nil
	})
}

func TestInline(t *testing.T) {
	segments := map[string]string{
		"a": `{"all":[{"segment":"b"},{"not":{"segment":"c"}}]}`, "b": `{"any":[{"on_list":"1"},{"segment":"c"}]}`,
		"c": `{"on_list":"2"}`, "d": `{"segment":"a"}`, "self": `{"not":{"segment":"self"}}`,
		"ping": `{"segment":"pong"}`, "pong": `{"segment":"ping"}`,
		"gone": `{"all":[{"segment":"c"},{"segment":"no"}]}`,
		"30":   grouped(30, `{"on_list":"1"}`), "big": among(60, strconv.Quote(strings.Repeat("x", 500))),
	}
	for text, want := range map[string]string{
		`{"on_list":"1"}`: `{"on_list":"1"}`,
		`{"segment":"c"}`: `{"on_list":"2"}`,
		`{"not":{"segment":"a"}}`: `{"not":{"all":[{"any":[{"on_list":"1"},{"on_list":"2"}]},` +
			`{"not":{"on_list":"2"}}]}}`,
		`{"segment":"d"}`:              "rule.all[0].any[1]: segments can refer to each other at most 3 levels deep.",
		`{"any":[{"segment":"self"}]}`: "rule.any[0].not: segment self refers to itself.",
		`{"segment":"ping"}`:           "rule: segment ping refers to itself.",
		`{"not":{"segment":"gone"}}`: "The segment can't be evaluated: segment no doesn't exist. " +
			"Change the condition at rule.not.all[1].",
		grouped(11, `{"segment":"30"}`):   "rule.any[10].any[0] has more than 300 conditions",
		grouped(10, `{"segment":"big"}`):  "rule has more than 262144 bytes",
		grouped(10, `{"segment":"30"}`):   grouped(10, segments["30"]),
		grouped(30, `{"segment":"none"}`): "The segment can't be evaluated: segment none doesn't exist.",
	} {
		r, err := inlined(t, text, segments)
		switch {
		case err == nil && r.JSON() != want:
			t.Errorf("%s became %s, want %s", text, r.JSON(), want)
		case err == nil:
			if again, err := ParseInlined(RuleText(r.JSON())); err != nil || !reflect.DeepEqual(r, again) {
				t.Errorf("%s doesn't parse: %v", r.JSON(), err)
			}
		case !strings.HasPrefix(err.(*Error).Message, want):
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestInlineKeepsItsRules checks that Inline changes neither the rule nor the rules of the segments.
func TestInlineKeepsItsRules(t *testing.T) {
	segment := parsed(t, `{"any":[{"on_list":"1"},{"field":"a","is":"b"}]}`)
	r := parsed(t, `{"all":[{"segment":"s"},{"not":{"segment":"s"}}]}`)
	was, of := r.JSON(), segment.JSON()
	if _, err := r.Inline("rule", func(string, string) (*Rule, error) { return segment, nil }); err != nil {
		t.Fatal(err)
	}
	if r.JSON() != was || segment.JSON() != of {
		t.Errorf("%s and %s, want %s and %s", r.JSON(), segment.JSON(), was, of)
	}
}

func TestParseInlined(t *testing.T) {
	// The deepest rule that a campaign can have excludes a segment that refers to others.
	level := 0
	deepest, err := parsed(t, nested(4, `{"segment":"0"}`)).Inline("rule", func(string, string) (*Rule, error) {
		if level++; level < maxRuleSegment {
			return parsed(t, nested(4, fmt.Sprintf(`{"segment":"%d"}`, level))), nil
		}
		return parsed(t, nested(4, among(2, `"v"`))), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r := Combined(parsed(t, `{"on_list":"a"}`), []*Rule{deepest})
	again, err := ParseInlined(RuleText(r.JSON()))
	if err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("%s: %v", r.JSON(), err)
	}
	for _, text := range []RuleText{
		"", "null", "{}", `{"all":[]}`, `{"all":[{"segment":"s"}]}`, `{"not":{"all":null}}`, `{"field":"a"}`,
	} {
		if r, err := ParseInlined(text); err == nil || r != nil {
			t.Errorf("%q: %v, %v", text, r, err)
		}
	}
}

func FuzzRule(f *testing.F) {
	for _, seed := range []string{
		`{"field":"a","is":["b",7,true]}|{"a":"B"}`,
		`{"all":[{"field":"a","less":1e3},{"not":{"on_list":"l"}}]}|{"a":[7,"x"]}`,
		`{"joined":{"within_days":3}}|{}`, `{"field":"a","on_day":"02-29"}|{"a":"2024-02-29T23:00:00-05:00"}`,
		`{"domain":"b.org"}|{"a":{"b":1}}`, `{"any":[{"received":"c"},{"segment":"s"}]}|{"a":null}`,
		`{"field":"a","contains":"İ\u003c"}|{"a":"\ud83d\ude00"}`, `{"field":"a","more":"-0.0"}|{"a":-1.5e-7}`,
	} {
		rule, preferences, _ := strings.Cut(seed, "|")
		f.Add([]byte(rule), preferences)
	}
	f.Fuzz(func(t *testing.T, text []byte, preferences string) {
		given := bytes.Clone(text)
		r, err := ParseRule("rule", text)
		if !bytes.Equal(text, given) {
			t.Fatalf("ParseRule changed %s to %s", given, text)
		}
		var e *Error
		if err != nil {
			if !errors.As(err, &e) || e.Kind != Invalid || !strings.HasPrefix(e.Field, "rule") {
				t.Fatalf("%s: %v", text, err)
			}
			return
		}
		if again, err := ParseRule("rule", []byte(r.JSON())); err != nil || !reflect.DeepEqual(r, again) {
			t.Fatalf("%s: %s parses as %+v, %v", text, r.JSON(), again, err)
		}
		r, err = r.Inline("rule", func(string, string) (*Rule, error) { return &Rule{OnList: "s"}, nil })
		if err != nil {
			t.Fatal(err)
		}
		if again, err := ParseInlined(RuleText(r.JSON())); err != nil || !reflect.DeepEqual(r, again) {
			t.Fatalf("%s: %s parses as %+v, %v", text, r.JSON(), again, err)
		}
		m := r.Compile(t0, nil)
		p := &Profile{
			Email: "a@b.org", Preferences: Preferences(preferences), JoinedAt: t0 - 1,
			OnList: make([]bool, len(m.Lists)), Received: make([]bool, len(m.Campaigns)),
		}
		not := (&Rule{Not: r}).Compile(t0, nil)
		if m.Match(p) == not.Match(p) {
			t.Fatalf("%s: a rule and its negation are both %v for %s", r.JSON(), m.Match(p), preferences)
		}
		if reasons := m.Explain(p); len(reasons) == 0 {
			t.Fatalf("%s: no reasons", r.JSON())
		} else if len(reasons) == 1 && r.Not == nil && r.All == nil && r.Any == nil && reasons[0].Match != m.Match(p) {
			t.Fatalf("%s: %v, but %v", r.JSON(), m.Match(p), reasons[0].Match)
		}
	})
}
