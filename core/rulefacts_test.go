package core

import (
	"errors"
	"testing"
)

// TestRulesOnFacts checks that conditions on the ledger, the language and links keep their form, and that errors in
// them name the field.
func TestRulesOnFacts(t *testing.T) {
	for _, text := range []string{
		`{"consented":{"before_days":730}}`, `{"consented":{"after":"2026-01-31"}}`, `{"source":["Fair","form"]}`,
		`{"language":["de","en"]}`, `{"clicked_link":{"campaign":"c","link":2}}`,
	} {
		if got := parsed(t, text).JSON(); got != text {
			t.Errorf("%s became %s", text, got)
		}
	}
	if got := parsed(t, `{"language":"DE"}`).JSON(); got != `{"language":["de"]}` {
		t.Error(got)
	}
	for text, field := range map[string]string{
		`{"consented":{}}`:                                   "rule.consented",
		`{"consented":{"missing":true}}`:                     "rule.consented",
		`{"source":[]}`:                                      "rule.source",
		`{"language":"xx"}`:                                  "rule.language",
		`{"clicked_link":"c"}`:                               "rule.clicked_link",
		`{"clicked_link":{"campaign":"c"}}`:                  "rule.clicked_link",
		`{"clicked_link":{"campaign":"","link":1}}`:          "rule.clicked_link.campaign",
		`{"clicked_link":{"campaign":"c","link":0}}`:         "rule.clicked_link.link",
		`{"clicked_link":{"campaign":"c","link":"1"}}`:       "rule.clicked_link.link",
		`{"clicked_link":{"campaign":"c","url":1}}`:          "rule.clicked_link",
		`{"clicked_link":{"campaign":"c","link":1,"x":"y"}}`: "rule.clicked_link",
	} {
		_, err := ParseRule("rule", []byte(text))
		if e, ok := errors.AsType[*Error](err); !ok || e.Field != field {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestMatchOfFacts checks that missing consent and an unknown source match only the opposite condition. If a subscriber
// didn't receive the campaign or its clicks are unknown, neither a condition on its link nor the opposite matches.
func TestMatchOfFacts(t *testing.T) {
	p := &Profile{
		ConsentedAt: instantOf(t, "2026-01-10T12:00:00Z"), Source: "Trade Fair", Language: "de",
		Links: []bool{true}, LinksSent: []bool{true},
	}
	none := &Profile{Language: "en", Links: []bool{false}, LinksSent: []bool{false}}
	at := instantOf(t, "2026-02-01T12:00:00Z")
	for text, want := range map[string][2]bool{
		`{"consented":{"before_days":20}}`:                       {true, false},
		`{"consented":{"within_days":20}}`:                       {false, false},
		`{"not":{"consented":{"within_days":20}}}`:               {true, true},
		`{"source":"trade fair"}`:                                {true, false},
		`{"not":{"source":"trade fair"}}`:                        {false, true},
		`{"language":["fr","de"]}`:                               {true, false},
		`{"clicked_link":{"campaign":"c","link":1}}`:             {true, false},
		`{"not":{"clicked_link":{"campaign":"c","link":1}}}`:     {false, false},
		`{"any":[{"source":"x"},{"not":{"language":["de"]}}]}`:   {false, true},
		`{"all":[{"source":"Trade Fair"},{"language":["de"]}]} `: {true, false},
	} {
		m := parsed(t, text).Compile(at, nil)
		if got := [2]bool{m.Match(p), m.Match(none)}; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	m := parsed(t, `{"all":[{"consented":{"within_days":30}},{"source":"x"},{"language":"de"}]}`).Compile(at, nil)
	values := []string{"2026-01-10", "Trade Fair", "de"}
	for i, r := range m.Explain(p) {
		if r.Value != values[i] {
			t.Errorf("%s: %q", r.Path, r.Value)
		}
	}
}
