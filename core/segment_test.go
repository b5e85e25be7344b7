package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestNewSegment(t *testing.T) {
	name := " Pro plans "
	g, err := NewSegment("t", SegmentInput{Name: &name, Rule: ` {"field":"plan","is":"pro"} `}, "user:u", t0)
	want := Segment{
		ID: g.ID, TenantID: "t", Name: "Pro plans", Rule: `{"field":"plan","is":["pro"]}`, Revision: 1,
		CreatedBy: "user:u", CreatedAt: t0, ChangedBy: "user:u", UpdatedAt: t0,
	}
	if err != nil || g != want || g.ID == "" {
		t.Fatalf("%+v, %v, want %+v", g, err, want)
	}
	if err := g.Change(SegmentInput{Rule: `{"domain":"b.org"}`}, "user:v", t0+1); err != nil {
		t.Fatal(err)
	}
	want.Rule, want.Revision, want.ChangedBy, want.UpdatedAt = `{"domain":["b.org"]}`, 2, "user:v", t0+1
	if g != want {
		t.Errorf("%+v, want %+v", g, want)
	}
	if r, err := g.ParsedRule(); err != nil || r.JSON() != string(g.Rule) {
		t.Errorf("%s, %v", r.JSON(), err)
	}
	empty, long := " ", strings.Repeat("x", maxName+1)
	for _, c := range []struct {
		in    SegmentInput
		field string
	}{
		{SegmentInput{Name: &name}, "rule"},
		{SegmentInput{Rule: `{"on_list":"l"}`}, "name"},
		{SegmentInput{Name: &empty, Rule: `{"on_list":"l"}`}, "name"},
		{SegmentInput{Name: &long, Rule: `{"on_list":"l"}`}, "name"},
		{SegmentInput{Name: &name, Rule: `{"all":[{"on_list":""}]}`}, "rule.all[0].on_list"},
		{SegmentInput{Name: &name, Rule: `{}`}, "rule"},
	} {
		var e *Error
		if _, err := NewSegment("t", c.in, "user:u", t0); !errors.As(err, &e) || e.Field != c.field {
			t.Errorf("%+v: %v, want an error of %s", c.in, err, c.field)
		}
	}
}

func TestRuleTextIsJSON(t *testing.T) {
	var in struct{ A, B, C RuleText }
	if err := json.Unmarshal([]byte(`{"A":{"on_list":"l"},"B":null}`), &in); err != nil {
		t.Fatal(err)
	}
	if in.A != `{"on_list":"l"}` || in.B != "" || in.C != "" {
		t.Errorf("%+v", in)
	}
	if text := jsonOf(in); text != `{"A":{"on_list":"l"},"B":null,"C":null}` {
		t.Error(text)
	}
}

func TestCombined(t *testing.T) {
	a, b, c := parsed(t, `{"on_list":"a"}`), parsed(t, `{"on_list":"b"}`), parsed(t, `{"any":[{"on_list":"c"}]}`)
	for _, test := range []struct {
		rule     *Rule
		excluded []*Rule
		want     string
	}{
		{a, nil, `{"on_list":"a"}`},
		{nil, []*Rule{b}, `{"except":{"on_list":"b"}}`},
		{nil, []*Rule{b, c}, `{"all":[{"except":{"on_list":"b"}},{"except":{"any":[{"on_list":"c"}]}}]}`},
		{a, []*Rule{b}, `{"all":[{"on_list":"a"},{"except":{"on_list":"b"}}]}`},
	} {
		if got := Combined(test.rule, test.excluded).JSON(); got != test.want {
			t.Errorf("%s, want %s", got, test.want)
		}
	}
	if r := Combined(nil, nil); r != nil {
		t.Errorf("without rules: %s", r.JSON())
	}
}

func TestErrorsOfSegments(t *testing.T) {
	one := []SegmentUse{{Kind: "campaign", Name: "March"}}
	for _, c := range []struct {
		err           *Error
		code, message string
	}{
		{
			ErrSegmentUsed(one), "segment_in_use",
			`The campaign "March" uses this segment. Remove the segment from it first.`,
		},
		{
			ErrSegmentUsed(append(one, SegmentUse{})), "segment_in_use",
			`The campaign "March" and others use this segment. Remove the segment from them first.`,
		},
		{
			Undecided("rule.all[1]", "list l doesn't exist"), "segment_undecided",
			"The segment can't be evaluated: list l doesn't exist. Change the condition at rule.all[1].",
		},
	} {
		if c.err.Kind != Conflict || c.err.Code != c.code || c.err.Message != c.message {
			t.Errorf("%v, want %s: %s", c.err, c.code, c.message)
		}
	}
	e := Undecided("rule", "list l doesn't exist")
	if e.Field != "rule" {
		t.Errorf("field %q", e.Field)
	}
	reason := PausedFor(e)
	if reason != "segment: list l doesn't exist. Change the segment." {
		t.Error(reason)
	}
	if j := (SendJob{PausedAt: t0, PauseReason: reason}); j.PausedForHarm() {
		t.Error("a pause for a segment counts as harm")
	}
}

func TestUnsavedRule(t *testing.T) {
	for err, want := range map[error]string{
		Undecided("rule.any[1]", "list l doesn't exist"): "The rule can't be evaluated: list l doesn't exist. Change " +
			"the condition at rule.any[1].",
		Undecided("rule", "list l doesn't exist"): "The rule can't be evaluated: list l doesn't exist. Change " +
			"the rule.",
		ErrListNotFound: ErrListNotFound.Message,
	} {
		got := UnsavedRule(err).(*Error)
		if got.Message != want || got.Code != err.(*Error).Code || got.Field != err.(*Error).Field {
			t.Errorf("%+v, want %q", got, want)
		}
	}
	if UnsavedRule(nil) != nil {
		t.Error("no error became one")
	}
}

func TestRulesNameRecordsByID(t *testing.T) {
	const id = "0198f3a0-5c1e-7c3a-9d52-1f0e6a7b8c9d"
	for _, c := range []struct{ rule, noun string }{
		{`{"on_list":"%s"}`, "list"},
		{`{"received":"%s"}`, "campaign"},
		{`{"clicked_link":{"campaign":"%s","link":1}}`, "campaign"},
		{`{"segment":"%s"}`, "segment"},
		{`{"tag":"%s"}`, ""},
		{`{"field":"%s","exists":true}`, ""},
	} {
		group := func(name string) *Rule {
			return parsed(t, `{"any":[{"domain":"a.example"},`+fmt.Sprintf(c.rule, name)+`]}`)
		}
		if err := group(id).CheckIDs("rule"); err != nil {
			t.Errorf("%s: %v", c.rule, err)
		}
		err := group("Weekly").CheckIDs("rule")
		if c.noun == "" {
			if err != nil {
				t.Errorf("%s: %v", c.rule, err)
			}
			continue
		}
		want := "rule.any[1] needs the ID of a " + c.noun + ", not its name. To find the ID: newsletterd admin " +
			c.noun + " list."
		if e, ok := errors.AsType[*Error](err); !ok || e.Message != want || e.Field != "rule.any[1]" {
			t.Errorf("%s: %v, want %s", c.rule, err, want)
		}
	}
}

func TestNarrowingBySegments(t *testing.T) {
	rule := RuleText(parsed(t, `{"field":"a","is":["<b>","ü\"\u2028"]}`).JSON())
	for _, n := range []Narrowing{
		{},
		{SegmentID: "s"},
		{ExcludeSegmentIDs: []string{"s", "u"}},
		{Rule: rule},
		{ExcludeListIDs: []string{"l"}, SegmentID: "s", ExcludeSegmentIDs: []string{"u"}, Rule: rule},
	} {
		column := n.Column()
		again, err := ParseNarrowing(column)
		if err != nil || !reflect.DeepEqual(n, again) || again.Column() != column {
			t.Errorf("%s became %+v, %v", column, again, err)
		}
		segmented := n.SegmentID != "" || n.ExcludeSegmentIDs != nil || n.Rule != ""
		if n.Segmented() != segmented || (column == "") == (segmented || n.ExcludeListIDs != nil) {
			t.Errorf("%q: segmented %v", column, n.Segmented())
		}
		if want := len(n.ExcludeListIDs); n.Searches() != want {
			t.Errorf("%s: %d searches", column, n.Searches())
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a narrowing with a malformed rule has a column")
		}
	}()
	_ = (&Narrowing{Rule: "{"}).Column() // an empty column would send the campaign to everyone
}

func TestNarrowingChecksSegments(t *testing.T) {
	many := make([]string, MaxExclusions+1)
	for i := range many {
		many[i] = NewID()
	}
	for _, n := range []Narrowing{
		{ExcludeSegmentIDs: many},
		{ExcludeSegmentIDs: []string{"s", "s"}},
		{SegmentID: "s", ExcludeSegmentIDs: []string{"u", "s"}},
	} {
		var e *Error
		if err := n.check(nil); !errors.As(err, &e) || e.Field != "exclude_segment_ids" {
			t.Errorf("%+v: %v", n, err)
		}
	}
	n := Narrowing{SegmentID: "s", ExcludeSegmentIDs: many[1:]}
	if err := n.check([]string{"s"}); err != nil {
		t.Error(err)
	}
}

// covered returns the covered content of a campaign with the rule of its segments.
func covered(rule string) *Covered {
	return &Covered{
		Copy: &CampaignCopy{Name: "March"}, Frozen: &FrozenContent{}, Fields: &CampaignFields{}, Tenant: &Tenant{},
		List: &List{}, Rule: rule,
	}
}

func TestDigestCoversSegments(t *testing.T) {
	none, one, other := covered("").Digest(), covered(`{"on_list":"a"}`).Digest(), covered(`{"on_list":"b"}`).Digest()
	if none.Same(one) || one.Same(other) || !one.Same(covered(`{"on_list":"a"}`).Digest()) {
		t.Errorf("digests %s, %s, %s", none, one, other)
	}
	for _, pair := range [][2]Digest{{none, one}, {one, none}, {one, other}} {
		if parts := pair[0].Changed(pair[1]); !slices.Equal(parts, []string{ChangedSegment}) {
			t.Errorf("changed: %q", parts)
		}
	}
	// A digest from before segments existed has one part less, but identifies the same content.
	old := none[:len(none)-fingerprintLength]
	if !old.Same(none) {
		t.Error("a digest from before segments doesn't identify the same content")
	}
	if parts := old.Changed(one); !slices.Equal(parts, []string{ChangedProgram}) {
		t.Errorf("changed since a digest from before segments: %q", parts)
	}
	renamed := covered(`{"on_list":"a"}`)
	renamed.Tenant.Name = "Another"
	if parts := old.Changed(renamed.Digest()); !slices.Equal(parts, []string{ChangedSettings}) {
		t.Errorf("changed since a digest from before segments: %q", parts)
	}
}
