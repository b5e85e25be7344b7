package console

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
)

func newTestFields() *segmentFields {
	p := &Page{Lang: "en", Zone: time.UTC}
	return &segmentFields{page: p, fields: []segmentField{
		{Name: "plan", Label: "Plan", Type: core.FieldChoice, Options: []string{"yearly", "monthly"}},
		{Name: "news", Label: "News", Type: core.FieldBoolean},
		{Name: "city", Label: "City", Type: core.FieldText},
	}, records: map[string][]option{
		subjectReceived: {{"C", "May"}}, subjectList: {{"L", "Weekly"}}, subjectSegment: {{"S", "Yearly"}},
		subjectTag:  {{"VIP", "VIP"}},
		subjectLink: {{"C", "May"}}, subjectPoll: {{"C", "May"}},
	}, links: map[string][]option{
		"clicked_linkC": {{"2", "https://acme.example/"}}, "pollC": {{"1", "Any answer (Which?)"}, {"1.A.b", "A.b (Which?)"}},
	}}
}

// Each condition that the form can show becomes a row, a sentence, and the same condition again. No operator is left
// out.
func TestSegmentRows(t *testing.T) {
	f, shown := newTestFields(), map[string]bool{}
	for rule, want := range map[string]string{
		`{"field":"plan","is":["gone","yearly"]}`: "Plan is gone, yearly",
		`{"field":"plan","is_not":["yearly"]}`:    "Plan is not yearly",
		`{"field":"plan","exists":true}`:          "Plan is filled in",
		`{"field":"plan","missing":true}`:         "Plan is blank",
		`{"field":"news","is":["true"]}`:          "News is yes",
		`{"field":"news","is":["false"]}`:         "News is no",
		`{"field":"news","exists":true}`:          "News is filled in",
		`{"field":"news","missing":true}`:         "News is blank",
		`{"field":"city","is":["Bonn","Köln"]}`:   "City is Bonn, Köln",
		`{"field":"other","is_not":["x"]}`:        "other is not x",
		`{"field":"city","contains":"o, n"}`:      "City contains o, n",
		`{"not":{"field":"city","contains":"o"}}`: "City doesn't contain o",
		`{"field":"city","starts_with":"B"}`:      "City starts with B",
		`{"field":"city","less":"2.5"}`:           "City is less than 2.5",
		`{"field":"city","more":"-1"}`:            "City is more than -1",
		`{"field":"city","before":"2026-01-31"}`:  "City is before Sat 31 Jan 2026",
		`{"field":"city","after":"2026-01-31"}`:   "City is after Sat 31 Jan 2026",
		`{"field":"city","within_days":0}`:        "City is within the last 0 days",
		`{"field":"city","on_day":"today"}`:       "City is today (any year)",
		`{"field":"city","on_day":"12-24"}`:       "City falls on (any year) 12-24",
		`{"field":"city","exists":true}`:          "City is filled in",
		`{"field":"city","missing":true}`:         "City is blank",
		`{"joined":{"before_days":30}}`:           "Added to list more than 30 days ago",
		`{"joined":{"within_days":7}}`:            "Added to list within the last 7 days",
		`{"joined":{"before":"2026-01-31"}}`:      "Added to list before Sat 31 Jan 2026",
		`{"joined":{"after":"2026-01-31"}}`:       "Added to list after Sat 31 Jan 2026",
		`{"consented":{"before_days":730}}`:       "Signed up more than 730 days ago",
		`{"consented":{"within_days":7}}`:         "Signed up within the last 7 days",
		`{"not":{"consented":{"within_days":7}}}`: "Signed up not within the last 7 days",
		`{"consented":{"before":"2026-01-31"}}`:   "Signed up before Sat 31 Jan 2026",
		`{"consented":{"after":"2026-01-31"}}`:    "Signed up after Sat 31 Jan 2026",
		`{"source":["Fair","form"]}`:              "Source is Fair, form",
		`{"not":{"source":["Fair"]}}`:             "Source is not Fair",
		`{"language":["de"]}`:                     "List language is Deutsch",
		`{"not":{"language":["de"]}}`:             "List language is not Deutsch",

		`{"clicked_link":{"campaign":"C","link":2}}`:                "Clicked https://acme.example/ in “May”",
		`{"not":{"clicked_link":{"campaign":"C","link":2}}}`:        "Didn't click https://acme.example/ in “May”",
		`{"poll":{"campaign":"C","number":1},"exists":true}`:        "Answered in “May”: Any answer (Which?)",
		`{"not":{"poll":{"campaign":"C","number":1},"is":["A.b"]}}`: "Didn't answer in “May”: A.b (Which?)",
		`{"opened":{"last":5}}`:                                     "Opened one of the last 5 campaigns",
		`{"not":{"opened":{"last":5}}}`:                             "Didn't open any of the last 5 campaigns",
		`{"opened":{"within_days":90}}`:                             "Opened a campaign from the last 90 days",
		`{"not":{"opened":{"within_days":90}}}`:                     "Didn't open any campaign from the last 90 days",
		`{"clicked":{"last":3}}`:                                    "Clicked a link in the last 3 campaigns",
		`{"not":{"clicked":{"last":3}}}`:                            "Didn't click any link in the last 3 campaigns",
		`{"clicked":{"within_days":7}}`:                             "Clicked a link in a campaign from the last 7 days",
		`{"not":{"clicked":{"within_days":7}}}`:                     "Didn't click any link in campaigns from the last 7 days",
		`{"domain":["gmail.com","gmx.de"]}`:                         "Email domain is gmail.com, gmx.de",
		`{"not":{"domain":["gmail.com"]}}`:                          "Email domain is not gmail.com",
		`{"received":"C"}`:                                          "Received “May”",
		`{"not":{"received":"C"}}`:                                  "Didn't receive “May”",
		`{"on_list":"L"}`:                                           "On the list “Weekly”",
		`{"not":{"on_list":"L"}}`:                                   "Not on the list “Weekly”",
		`{"tag":"VIP"}`:                                             "Has the tag “VIP”",
		`{"not":{"tag":"VIP"}}`:                                     "Doesn't have the tag “VIP”",
		`{"segment":"S"}`:                                           "In the segment “Yearly”",
		`{"not":{"segment":"S"}}`:                                   "Not in the segment “Yearly”",
	} {
		parsed, err := core.ParseRule("rule", []byte(rule))
		if err != nil {
			t.Fatal(err)
		}
		row, ok := f.rowOf(parsed)
		if !ok {
			t.Errorf("%s: the form can't show it", rule)
			continue
		}
		shown[f.kind(row.Of)+" "+row.Op.Name] = true
		if said, err := f.sayRow(row); err != nil || said != want {
			t.Errorf("%s: %q, %v; not %q", rule, said, err, want)
		}
		again, ok := f.page.ruleOf([]segmentRow{row}, true)
		var got, whole any
		if err := json.Unmarshal(again, &got); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(`{"any":[`+rule+`]}`), &whole); err != nil {
			t.Fatal(err)
		}
		if !ok || row.Wrong != "" || !sameCondition(got, whole) {
			t.Errorf("%s becomes %s: %s", rule, again, row.Wrong)
		}
	}
	for kind, ops := range segmentOps {
		for _, op := range ops {
			if !shown[kind+" "+op.Name] {
				t.Errorf("nothing tries %s of %s", op.Name, kind)
			}
		}
	}
}

// sameCondition compares conditions as JSON; true and "true" are the same value of a field.
func sameCondition(a, b any) bool {
	p, _ := json.Marshal(a)
	q, _ := json.Marshal(b)
	x, err := core.ParseRule("rule", p)
	y, err2 := core.ParseRule("rule", q)
	return err == nil && err2 == nil && reflect.DeepEqual(x, y)
}

// If saving the form would change a rule, the rule is shown as text.
func TestSegmentRowsRefuse(t *testing.T) {
	f := newTestFields()
	for _, rule := range []string{
		`{"all":[{"any":[{"all":[{"domain":"a.example"}]}]}]}`,
		`{"all":[{"not":{"any":[{"domain":"a.example"}]}}]}`,
		`{"language":["de","en"]}`,
		`{"not":{"all":[{"domain":"a.example"}]}}`,
		`{"not":{"joined":{"before_days":30}}}`,
		`{"field":"plan","contains":"y"}`,
		`{"field":"news","is":["true","false"]}`,
		`{"field":"city","is":["Bonn, Berlin"]}`,
	} {
		parsed, err := core.ParseRule("rule", []byte(rule))
		if err != nil {
			t.Fatal(err)
		}
		if rows, _, ok := f.rowsOf(parsed); ok {
			t.Errorf("%s: %+v", rule, rows)
		}
		if said, err := f.say(parsed); err != nil || said.Text == "" {
			t.Errorf("%s: %+v, %v", rule, said, err)
		}
	}
}

// Rules with one level of groups become rows and the same rule again. Errors appear at the right row.
func TestSegmentGroups(t *testing.T) {
	f := newTestFields()
	for _, rule := range []string{
		`{"all":[{"any":[{"domain":["a.example"]}]}]}`,
		`{"any":[{"domain":["a.example"]},{"all":[{"field":"city","is":["Bonn"]},{"source":["x"]}]},` +
			`{"all":[{"source":["y"]}]}]}`,
		`{"all":[{"any":[{"source":["x"]},{"source":["y"]}]},{"all":[{"source":["z"]}]},{"source":["z"]}]}`,
	} {
		parsed, err := core.ParseRule("rule", []byte(rule))
		if err != nil {
			t.Fatal(err)
		}
		rows, matchAny, ok := f.rowsOf(parsed)
		again, complete := f.page.ruleOf(rows, matchAny)
		if back, err := core.ParseRule("rule", again); !ok || !complete || err != nil || back.JSON() != rule {
			t.Errorf("%s becomes %s, %v", rule, again, err)
		}
		n := 0
		parsed.Leaves("rule", func(at string, leaf *core.Rule) {
			if !blameRow(rows, at+".domain", "no") || rows[n].Wrong != "no" {
				t.Errorf("%s: %s is not on row %d", rule, at, n)
			}
			n++
		})
		if blameRow(rows, "rule.all[9]", "no") || blameRow(rows, "name", "no") {
			t.Error("an error of no row")
		}
	}
}

// Unfinished rows are marked, and don't become a rule.
func TestSegmentRowsAreComplete(t *testing.T) {
	p := &Page{Lang: "en"}
	op := func(kind, name string) segmentOp {
		for _, o := range segmentOps[kind] {
			if o.Name == name {
				return o
			}
		}
		t.Fatal(kind, name)
		return segmentOp{}
	}
	for _, row := range []segmentRow{
		{},
		{Of: "field.city", Op: op(core.FieldText, "is"), Value: " , "},
		{Of: "field.city", Op: op(core.FieldText, "more")},
		{Of: "field.city", Op: op(core.FieldText, "within_days"), Value: "some"},
		{Of: "field.plan", Op: op(core.FieldChoice, "is")},
		{Of: subjectSegment, Op: op(subjectSegment, "is")},
		{Of: subjectLink, Op: op(subjectLink, "is"), Value: "C"},
	} {
		if rule, ok := p.ruleOf([]segmentRow{row}, false); ok {
			t.Errorf("%+v: %s", row, rule)
		}
	}
	if _, ok := p.ruleOf(nil, false); ok {
		t.Error("a rule without conditions")
	}
	for said, want := range map[string]string{"24.12.": "12-24", "1.2": "02-01", "12-24": "12-24", "32.1.": "32.1."} {
		if got := isoDay(said); got != want {
			t.Errorf("%s: %s", said, got)
		}
	}
}

// TestSegmentRowsKeepValues checks that a new operator or subject keeps the value only if its input can show it.
func TestSegmentRowsKeepValues(t *testing.T) {
	for _, c := range []struct{ was, of, op, input, value, wantOp, want string }{
		{"joined", "joined", "before", "days", "30", "before", ""},
		{"joined", "joined", "within_days", "date", "2026-01-31", "within_days", defaultDays},
		{"joined", "joined", "within_days", "days", "7", "within_days", "7"},
		{"joined", "consented", "after", "date", "2026-01-31", "after", "2026-01-31"},
		{"opened", "clicked", "none_of_last", "count", "3", "none_of_last", "3"},
		{"opened", "opened", "days", "count", "3", "days", defaultDays},
		{"field.city", "field.city", "contains", "texts", "Berlin", "contains", "Berlin"},
		{"field.city", "source", "is", "texts", "Berlin", "is", ""},
		{"joined", "field.city", "is", "days", "30", "is", ""},
	} {
		f := newTestFields()
		f.page.Form = map[string]string{
			"c1.was": c.was, "c1.of": c.of, "c1.op": c.op, "c1.input": c.input, "c1.value": c.value,
		}
		if row := f.sentRows(false)[0]; row.Op.Name != c.wantOp || row.Value != c.want || row.Wrong != "" {
			t.Errorf("%+v: %s %q %s", c, row.Op.Name, row.Value, row.Wrong)
		}
	}
}

// Counts are shown as exactly as they are known. The sum of counts is exact if all of them are.
func TestSegmentFigures(t *testing.T) {
	en, de := &Page{Lang: "en"}, &Page{Lang: "de"}
	exact := core.SegmentCount{Exact: new(int64(1234)), Of: 5000}
	about := core.SegmentCount{About: new(int64(9300)), Low: new(int64(8900)), High: new(int64(9700)), Of: 995000}
	few := core.SegmentCount{Low: new(int64(0)), High: new(int64(19)), Of: 100}
	both := sumOfCounts(&exact, &about)
	none := core.SegmentCount{Exact: new(int64(0)), Of: 1}
	for _, c := range []struct {
		got  segmentFigure
		want string
	}{
		{en.figureOf(&exact), "1,234 of 5,000 subscribers match 24.7%"},
		{de.figureOf(&exact), "1.234 von 5.000 Abonnenten 24,7\u00a0%"},
		{en.figureOf(&about), "About 9,300 of 995,000 subscribers match between 8,900 and 9,700"},
		{de.figureOf(&both), "Etwa 10.534 von 1.000.000 Abonnenten zwischen 10.134 und 10.934"},
		{en.figureOf(&few), "Fewer than 20 of 100 subscribers match "},
		{en.figureOf(&none), "0 of 1 subscriber matches "},
	} {
		if got := strings.Join([]string{c.got.Figure, c.got.Of, c.got.Share}, " "); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
	if sum := sumOfCounts(&exact, &exact); sum.Exact == nil || *sum.Exact != 2468 || sum.Of != 10000 {
		t.Errorf("%+v", sum)
	}
}

// The page of a job that paused because of its segment says so.
func TestPausedSegment(t *testing.T) {
	j := &core.JobView{}
	j.Status, j.PauseReason = core.JobRunning, core.PauseSegment+": list L doesn't exist."
	for lang, want := range map[string]string{
		"en": "the segment no longer works", "de": "Segment nicht mehr funktioniert",
	} {
		if got := (&Page{Lang: lang}).waitOf(j); !strings.Contains(got, want) || strings.Contains(got, "list L") {
			t.Error(got)
		}
	}
}

// In German, days after a number are in the dative, and so is the text before the number.
func TestGermanDaysAreInTheDative(t *testing.T) {
	de := &Page{Lang: "de"}
	for kind, ops := range segmentOps {
		for _, op := range ops {
			text, unit := de.T(op.Text), de.T(op.Unit)
			if op.Input == inputDays && (unit != "Tagen" || strings.HasSuffix(text, " der letzten")) {
				t.Errorf("%s: %s … %s", kind, text, unit)
			}
		}
	}
}
