package core

import (
	"encoding/json"
	"maps"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"
)

func zoneOf(t testing.TB, name string) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func instantOf(t testing.TB, text string) Instant {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return At(at)
}

// TestFieldConditions tests each operator with values of the field a that match and values that don't. An empty value
// means that the field is missing.
func TestFieldConditions(t *testing.T) {
	for _, c := range []struct {
		operator string
		match    []string
		no       []string
	}{
		{`"is":"pro"`, []string{`"pro"`, `"PRO"`, `" Pro "`, `["x","pro"]`}, []string{
			"", "null", `""`, `"prof"`, `{"a":"pro"}`, `[["pro"]]`, `[]`, "0", "false",
		}},
		{`"is":["pro","7"]`, []string{`"pro"`, "7", "7.0", "70e-1", `"7"`, `"7.00"`, `[7]`}, []string{
			`"007"`, "77",
			"-7",
		}},
		{`"is":"007"`, []string{`"007"`, `" 007"`}, []string{"7", `"7"`, `"0007"`}},
		{`"is":0`, []string{"0", "-0", "0.0", "0e5", `"-0.0"`}, []string{"", `""`, "false", "null", `"00"`}},
		{`"is":1e3`, []string{"1000", "1e3", "1E+3", "1000.0", `"1000"`}, []string{`"1e3"`, "1001", "100"}},
		{`"is":12345678901234567890123456789`, []string{
			"12345678901234567890123456789", "12345678901234567890123456789.0", "1.2345678901234567890123456789e28",
		}, []string{"12345678901234567890123456788", "1.2345678901234568e28"}},
		{`"is":1e999`, []string{"1e999", `"1E999"`}, []string{"1e998"}},
		{`"is":true`, []string{"true", `"true"`, `"TRUE"`}, []string{"false", "1", ""}},
		{`"is":"{…}"`, []string{`"{…}"`}, []string{`{"a":1}`, `[{}]`}},
		{`"is":"straße"`, []string{`"Straße"`, `"STRAẞE"`}, []string{`"STRASSE"`}},
		{`"is":"σίσυφος"`, []string{`"ΣΊΣΥΦΟΣ"`, `"Σίσυφοσ"`}, []string{`"ΣΙΣΥΦΟΣ"`}},
		{`"is":"istanbul"`, []string{`"İstanbul"`, `"ISTANBUL"`}, []string{`"ıstanbul"`}},
		{`"is":"kelvin"`, []string{`"\u212aelvin"`}, nil},
		{`"is":"été"`, []string{`"ÉTÉ"`, `"\u00c9t\u00e9"`}, []string{`"ete"`}},
		{`"is_not":"pro"`, []string{"", "null", `""`, `"prof"`, `{"a":"pro"}`, "[]", "7"}, []string{
			`"Pro"`,
			`["x","pro"]`,
		}},
		{`"is_not":["pro",7]`, []string{`"007"`, `"x"`}, []string{`"pro"`, "7.0"}},
		{`"contains":"rü"`, []string{`"Grün"`, `"GRÜN"`, `["a","brüh"]`}, []string{"", `"grun"`, "null", "7"}},
		{`"contains":"2"`, []string{"123", `"a2"`, "1.2e1"}, []string{"13"}},
		{`"contains":"…"`, nil, []string{`{"a":"…"}`}},
		{`"contains":"ru"`, []string{"true"}, []string{"false"}},
		{`"starts_with":"10"`, []string{"10", "10.5", `" 101"`, `"10115"`, "1e1"}, []string{`"010"`, "1", ""}},
		{`"starts_with":"ΒΕ"`, []string{`"Βερολίνο"`}, []string{`"Bερολίνο"`}},
		{`"less":10`, []string{"9", "-10", "9.999", `"9"`, `" 9 "`, "0", "1e-300", "[11,9]"}, []string{
			"10", "10.0", "11", `"ab"`, "", "null", `"09"`, "true", `"9 €"`, "{}",
		}},
		{`"less":-1.5`, []string{"-1.51", "-2", "-1e400"}, []string{"-1.5", "-1.49", "0", "1"}},
		{`"more":"9007199254740993"`, []string{"9007199254740994", "9007199254740993.1", "1e16"}, []string{
			"9007199254740993", "9007199254740992", "-1e17",
		}},
		{`"more":0`, []string{"1e-400", "0.001", `"1"`}, []string{"0", "-0", "-1", `"x"`}},
		{`"before":"2026-03-01"`, []string{`"2026-02-28"`, `"0001-01-01"`, `"2026-02-28T23:59:59Z"`}, []string{
			`"2026-03-01"`, `"2026-03-01T00:00:00Z"`, `"28.02.2026"`, `"2026-02-30"`, "20260228", "", `"soon"`,
			`"2026-2-28"`,
		}},
		{`"after":"2024-02-28"`, []string{
			`"2024-02-29"`, `" 2024-02-29 "`, `"9999-12-31"`, `"2024-02-28T23:30:00-05:00"`,
		}, []string{
			`"2024-02-28"`, `"2023-02-29"`, `"2024-02-29T00:30:00+02:00"`,
		}},
		{`"exists":true`, []string{`"x"`, "0", "false", "{}", `{"a":1}`, "[1]", "[{}]", "1e999"}, []string{
			"", "null", `""`, `" "`, "[]", "[null]", `[""]`,
		}},
		{`"missing":true`, []string{"", "null", `""`, `" \t"`, "[]", "[null,\"\"]"}, []string{
			`"x"`, "0", "false", "{}", "[{}]",
		}},
	} {
		m := parsed(t, `{"field":"a",`+c.operator+`}`).Compile(t0, nil)
		not := parsed(t, `{"not":{"field":"a",`+c.operator+`}}`).Compile(t0, nil)
		for i, value := range slices.Concat(c.match, c.no) {
			p := &Profile{Preferences: `{"A":"pro","b":{"a":"pro"}}`}
			if value != "" {
				p.Preferences = Preferences(`{"b":{"a":"pro"}, "a" : ` + value + ` ,"c":"\u00fc"}`)
			}
			want := i < len(c.match)
			if got := m.Match(p); got != want {
				t.Errorf("%s for %s: %v", c.operator, value, got)
			}
			if not.Match(p) == want {
				t.Errorf("not %s for %s: %v", c.operator, value, want)
			}
		}
	}
}

func TestConditionsOfASubscriber(t *testing.T) {
	p := &Profile{Email: "Anna@Mail.Example.com", JoinedAt: t0, Preferences: "{}"}
	for text, want := range map[string]bool{
		`{"domain":"mail.example.COM"}`:                  true,
		`{"domain":["b.org","@mail.example.com"]}`:       true,
		`{"domain":"example.com"}`:                       false,
		`{"received":"yes"}`:                             true,
		`{"received":"no"}`:                              false,
		`{"on_list":"yes"}`:                              true,
		`{"on_list":"no"}`:                               false,
		`{"all":[{"on_list":"yes"},{"on_list":"no"}]}`:   false,
		`{"any":[{"on_list":"no"},{"on_list":"yes"}]}`:   true,
		`{"any":[{"on_list":"no"},{"received":"no"}]}`:   false,
		`{"all":[{"on_list":"yes"},{"received":"yes"}]}`: true,
		`{"not":{"not":{"on_list":"yes"}}}`:              true,
		`{"all":[{"on_list":"yes"},{"not":{"any":[{"received":"no"},{"on_list":"no"}]}}]}`: true,
	} {
		m := parsed(t, text).Compile(t0, nil)
		p.OnList, p.Received = nil, nil
		for _, id := range m.Lists {
			p.OnList = append(p.OnList, id == "yes")
		}
		for _, id := range m.Campaigns {
			p.Received = append(p.Received, id == "yes")
		}
		if got := m.Match(p); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// TestDaysOfARule tests conditions at a moment in a time zone, with days or times that match and that don't.
func TestDaysOfARule(t *testing.T) {
	const berlin, apia = "Europe/Berlin", "Pacific/Apia"
	for _, c := range []struct {
		zone, now, test string
		match, no       []string
	}{
		// 00:30 on 1 July in Berlin
		{berlin, "2026-06-30T22:30:00Z", `"within_days":0`, []string{
			"2026-07-01", "2026-06-30T22:00:00Z",
			"2026-07-01T21:59:59Z",
		}, []string{"2026-06-30", "2026-07-02", "2026-06-30T21:59:59Z", "2026-07-01T22:00:00Z"}},
		{
			berlin, "2026-06-30T22:30:00Z", `"within_days":1`,
			[]string{"2026-07-01", "2026-06-30"},
			[]string{"2026-06-29"},
		},
		// the days on which clocks change have 23 and 25 hours
		{
			berlin, "2026-03-29T22:30:00Z", `"within_days":1`,
			[]string{"2026-03-28T23:00:00Z", "2026-03-30", "2026-03-29"},
			[]string{"2026-03-28T22:59:59Z", "2026-03-28"},
		},
		{
			berlin, "2026-10-25T22:59:59Z", `"within_days":0`,
			[]string{"2026-10-24T22:00:00Z", "2026-10-25T22:59:59Z"},
			[]string{"2026-10-24T21:59:59Z", "2026-10-25T23:00:00Z"},
		},
		{
			berlin, "2026-03-01T12:00:00Z", `"within_days":36500`,
			[]string{"1926-03-26", "2026-03-01"},
			[]string{"1926-03-24"},
		},
		// Apia is 13 hours ahead, and had no 30 December 2011
		{
			apia, "2026-06-30T11:00:00Z", `"within_days":0`,
			[]string{"2026-07-01", "2026-06-30T11:00:00Z"},
			[]string{"2026-06-30", "2026-06-30T10:59:59Z", "2026-07-01T11:00:00Z"},
		},
		{
			apia, "2011-12-30T10:30:00Z", `"within_days":1`,
			[]string{"2011-12-31", "2011-12-30T10:00:00Z"},
			[]string{"2011-12-30T09:59:59Z", "2011-12-29"},
		},
		{apia, "2011-12-30T10:30:00Z", `"within_days":2`, []string{"2011-12-30T09:59:59Z", "2011-12-29"}, nil},
		{
			apia, "2026-01-01T00:00:00Z", `"before":"2026-01-01"`,
			[]string{"2025-12-31T10:59:59Z"},
			[]string{"2025-12-31T11:00:00Z"},
		},
		{
			apia, "2026-01-01T00:00:00Z", `"after":"2025-12-31"`,
			[]string{"2025-12-31T11:00:00Z"},
			[]string{"2025-12-31T10:59:59Z"},
		},
		{
			"", "2026-11-29T23:59:59Z", `"on_day":"today"`,
			[]string{"1990-11-29", "2026-11-29", "2030-11-29", "2026-11-29T00:00:00Z"},
			[]string{"1990-11-30", "1990-12-29"},
		},
		{berlin, "2026-11-29T23:00:00Z", `"on_day":"today"`, []string{"1990-11-30"}, []string{"1990-11-29"}},
		{"", "2024-02-29T12:00:00Z", `"on_day":"today"`, []string{"2000-02-29"}, []string{"2000-02-28", "2000-03-01"}},
		{"", "2024-02-28T12:00:00Z", `"on_day":"today"`, []string{"2000-02-28"}, []string{"2000-02-29"}},
		{
			"", "2026-02-28T12:00:00Z", `"on_day":"today"`,
			[]string{"2000-02-28", "2000-02-29"},
			[]string{"2000-02-27", "2000-03-01"},
		},
		{"", "1900-02-28T12:00:00Z", `"on_day":"today"`, []string{"1896-02-29"}, nil},
		{"", "2026-03-01T12:00:00Z", `"on_day":"today"`, []string{"2000-03-01"}, []string{"2000-02-29"}},
		{"", "2026-01-01T12:00:00Z", `"on_day":"02-29"`, []string{"2000-02-29"}, []string{"2000-02-28"}},
		{"", "2026-02-28T12:00:00Z", `"on_day":"02-28"`, []string{"2000-02-28"}, []string{"2000-02-29"}},
		{"", "2026-01-01T12:00:00Z", `"on_day":"12-24"`, []string{"1999-12-24"}, []string{"1999-12-25", "1999-11-24"}},
	} {
		zone := (*time.Location)(nil)
		if c.zone != "" {
			zone = zoneOf(t, c.zone)
		}
		now := instantOf(t, c.now)
		m := parsed(t, `{"field":"a",`+c.test+`}`).Compile(now, zone)
		for i, value := range slices.Concat(c.match, c.no) {
			p := &Profile{Preferences: Preferences(`{"a":"` + value + `"}`)}
			if got := m.Match(p); got != (i < len(c.match)) {
				t.Errorf("%s, %s: %s for %s: %v", c.zone, c.now, c.test, value, got)
			}
			if !strings.HasSuffix(value, "Z") || strings.Contains(c.test, "on_day") {
				continue
			}
			joined := parsed(t, `{"joined":{`+c.test+`}}`).Compile(now, zone)
			if got := joined.Match(&Profile{JoinedAt: instantOf(t, value)}); got != (i < len(c.match)) {
				t.Errorf("%s, %s: joined %s for %s: %v", c.zone, c.now, c.test, value, got)
			}
		}
	}
}

func TestJoinedBefore(t *testing.T) {
	zone := zoneOf(t, "Europe/Berlin")
	m := parsed(t, `{"joined":{"before_days":30}}`).Compile(instantOf(t, "2026-03-31T10:00:00Z"), zone)
	for at, want := range map[string]bool{
		// 1 March begins at 23:00Z
		"2026-02-28T22:59:59Z": true, "2026-02-28T23:00:00Z": false, "2026-03-31T10:00:00Z": false,
		"2027-01-01T00:00:00Z": false, "1970-01-02T00:00:00Z": true,
	} {
		if got := m.Match(&Profile{JoinedAt: instantOf(t, at)}); got != want {
			t.Errorf("joined %s: %v", at, got)
		}
	}
}

// TestUnreadablePreferences checks that all fields count as missing in preferences that can't be read.
func TestUnreadablePreferences(t *testing.T) {
	missing := parsed(t, `{"field":"a","missing":true}`).Compile(t0, nil)
	for _, p := range []Preferences{
		"", "{}", " { } ", "[]", "7", "null", "{", `{"a"`, `{"a":`, `{"a":}`, `{"a":tru}`, `"a"`,
	} {
		if !missing.Match(&Profile{Preferences: p}) {
			t.Errorf("%q has a field", p)
		}
	}
}

func TestExplain(t *testing.T) {
	r := parsed(t, `{"any":[{"field":"a","is":"x"},{"not":{"field":"b","exists":true}},{"joined":{"before_days":1}},`+
		`{"domain":"b.org"},{"received":"c"},{"field":"c","missing":true},{"field":"d","exists":true}]}`)
	m := r.Compile(instantOf(t, "2026-01-02T00:00:00Z"), zoneOf(t, "Pacific/Apia"))
	got := m.Explain(&Profile{
		Email: "a@B.org", JoinedAt: instantOf(t, "2025-12-31T12:00:00Z"), Preferences: `{"a":["X","y"],"d":{"e":1}}`,
		Received: []bool{true},
	})
	want := []Reason{
		{"rule.any[0]", &r.Any[0], "X, y", true, false},
		{"rule.any[1].not", r.Any[1].Not, "", false, false},
		{"rule.any[2]", &r.Any[2], "2026-01-01", false, false},
		{"rule.any[3]", &r.Any[3], "b.org", true, false},
		{"rule.any[4]", &r.Any[4], "", true, false},
		{"rule.any[5]", &r.Any[5], "", true, false},
		{"rule.any[6]", &r.Any[6], "{…}", true, false},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	text, err := json.Marshal(got[1])
	if err != nil || string(text) != `{"path":"rule.any[1].not","rule":{"field":"b","exists":true},"match":false}` {
		t.Errorf("%s, %v", text, err)
	}
	if again := m.Explain(&Profile{Received: []bool{false}}); again[0].Value != "" || got[0].Value != "X, y" {
		t.Errorf("values of another subscriber: %+v, %+v", again, got)
	}
}

// TestFoldTextIsEqualFold checks that foldText agrees with strings.EqualFold for every rune and its case variants,
// except for the Turkish İ.
func TestFoldTextIsEqualFold(t *testing.T) {
	turkish := strings.NewReplacer("İ", "i")
	for r := range rune(unicode.MaxRune + 1) {
		for _, other := range []rune{unicode.ToLower(r), unicode.ToUpper(r), unicode.SimpleFold(r), r + 1} {
			a, b := string(r), string(other)
			same := strings.EqualFold(a, b) || strings.EqualFold(turkish.Replace(a), turkish.Replace(b))
			if got := foldText(a) == foldText(b); got != same {
				t.Errorf("%q and %q: %v", a, b, got)
			}
		}
	}
}

func TestMatchersAreShared(t *testing.T) {
	m := parsed(t, `{"all":[{"field":"a","is":"x"},{"field":"b","more":1}]}`).Compile(t0, nil)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			want := i%2 == 0
			p := &Profile{Preferences: Preferences(map[bool]string{
				true:  `{"b":2,"a":"X"}`,
				false: `{"a":"x","b":1}`,
			}[want])}
			for range 2000 {
				if m.Match(p) != want {
					t.Errorf("%s: %v", p.Preferences, !want)
					return
				}
			}
		})
	}
	wait.Wait()
}

// evaluator is a second, simple implementation of rules that works on decoded JSON.
type evaluator struct {
	now  time.Time
	zone *time.Location
	p    *Profile
	of   map[string]any
}

func (e *evaluator) holds(r *Rule) bool {
	switch {
	case r.All != nil:
		all := true
		for i := range r.All {
			all = e.holds(&r.All[i]) && all
		}
		return all
	case r.Any != nil:
		some := false
		for i := range r.Any {
			some = e.holds(&r.Any[i]) || some
		}
		return some
	case r.Not != nil:
		return !e.holds(r.Not)
	case r.Field != "":
		return e.field(r.Test, e.of[r.Field])
	case r.Joined != nil:
		return e.day(r.Joined, e.p.JoinedAt.Time().In(e.zone).Format("2006-01-02"))
	case r.Domain != nil:
		_, domain, _ := strings.Cut(strings.ToLower(string(e.p.Email)), "@")
		return slices.Contains(r.Domain, domain)
	case r.OnList != "":
		return e.p.OnList[0]
	}
	return e.p.Received[0]
}

func (e *evaluator) field(t *Test, value any) bool {
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	exists, holds, is := false, false, false
	for _, v := range list {
		var text string
		number := new(big.Rat)
		numeric := false
		switch v := v.(type) {
		case map[string]any:
			exists = true
			continue
		case bool:
			text = map[bool]string{true: "true", false: "false"}[v]
		case json.Number:
			text = string(v)
			_, numeric = number.SetString(text)
			if strings.ContainsAny(text, "eE") {
				text = strings.TrimRight(strings.TrimRight(number.FloatString(30), "0"), ".")
			}
		case string:
			text = strings.TrimSpace(v)
			whole := strings.TrimLeft(strings.Split(text, ".")[0], "-")
			if n, ok := number.SetString(text); ok && !strings.ContainsAny(text, "eE/+_xXbBoOpP") && (whole == "0" ||
				!strings.HasPrefix(whole, "0")) && whole != "" && !strings.HasSuffix(text, ".") {
				number, numeric = n, true
			}
		}
		if text == "" {
			continue
		}
		exists = true
		for _, want := range slices.Concat(t.Is, t.IsNot) {
			n, ok := new(big.Rat).SetString(want)
			is = is || strings.EqualFold(text, want) || numeric && ok && want != "007" && n.Cmp(number) == 0
		}
		lower, limit := strings.ToLower(text), new(big.Rat)
		switch {
		case t.Contains != "":
			holds = holds || strings.Contains(lower, strings.ToLower(t.Contains))
		case t.StartsWith != "":
			holds = holds || strings.HasPrefix(lower, strings.ToLower(t.StartsWith))
		case t.Less != "":
			limit.SetString(t.Less)
			holds = holds || numeric && number.Cmp(limit) < 0
		case t.More != "":
			limit.SetString(t.More)
			holds = holds || numeric && number.Cmp(limit) > 0
		default:
			day := text
			if at, err := time.Parse(time.RFC3339, text); err == nil {
				day = at.In(e.zone).Format("2006-01-02")
			}
			holds = holds || e.day(t, day)
		}
	}
	switch {
	case t.Exists:
		return exists
	case t.Missing:
		return !exists
	case t.Is != nil:
		return is
	case t.IsNot != nil:
		return !is
	}
	return holds
}

// day compares days as texts.
func (e *evaluator) day(t *Test, day string) bool {
	if _, err := time.Parse("2006-01-02", day); err != nil {
		return false
	}
	ago := func(days int) string {
		y, m, d := e.now.In(e.zone).Date()
		return time.Date(y, m, d-days, 12, 0, 0, 0, time.UTC).Format("2006-01-02")
	}
	switch {
	case t.Before != "":
		return day < t.Before
	case t.After != "":
		return day > t.After
	case t.WithinDays != nil:
		return day >= ago(*t.WithinDays) && day <= ago(0)
	case t.BeforeDays != nil:
		return day < ago(*t.BeforeDays)
	case t.OnDay == Today:
		return day[4:] == ago(0)[4:] || day[4:] == "-02-29" && ago(0)[4:] == "-02-28" && ago(-1)[4:] == "-03-01"
	case t.OnDay != "":
		return day[5:] == t.OnDay
	}
	return false
}

var (
	drawnTexts = []string{
		"pro", "Pro", " PRO ", "team", "Ünal", "ÜNAL", "straße", "7", "7.0", "007", "-1.50", "12", "true", "2026-11-29",
		"1990-02-28", "2000-02-29", "2026-11-01", "2026-11-29T22:30:00Z", "2026-11-28T23:30:00-11:00", "1.", ".5",
		"+7", "",
	}
	drawnNumbers = []string{"7", "7.0", "-1.5", "12", "1e3", "0", "-0", "12.5e-1", "123456789012345678901", "1.2E+1"}
)

func drawValue(t *rapid.T, depth int) string {
	switch rapid.IntRange(0, 9+depth).Draw(t, "kind") {
	case 0:
		return "null"
	case 1, 2, 3, 4:
		return jsonOf(rapid.SampledFrom(drawnTexts).Draw(t, "text"))
	case 5, 6, 7, 8:
		return rapid.SampledFrom(drawnNumbers).Draw(t, "number")
	case 9:
		return rapid.SampledFrom([]string{"true", "false", "{}", `{"a":"pro"}`}).Draw(t, "word")
	}
	parts := make([]string, rapid.IntRange(0, 3).Draw(t, "entries"))
	for i := range parts {
		parts[i] = drawValue(t, 0)
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func drawRule(t *rapid.T, depth int) string {
	if depth < maxRuleDepth {
		switch group := rapid.SampledFrom([]string{"all", "any", "not", "", "", ""}).Draw(t, "group"); group {
		case "":
		case "not":
			return `{"not":` + drawRule(t, depth+1) + `}`
		default:
			parts := make([]string, rapid.IntRange(1, 3).Draw(t, "conditions"))
			for i := range parts {
				parts[i] = drawRule(t, depth+1)
			}
			return `{"` + group + `":[` + strings.Join(parts, ",") + `]}`
		}
	}
	text := func() string {
		texts := []string{"pro", "team", "ünal", "STRASSE", "7", "007", "-1.5", "12", "true"}
		return jsonOf(rapid.SampledFrom(texts).Draw(t, "is"))
	}
	date := func() string {
		return jsonOf(rapid.SampledFrom([]string{"2026-11-29", "2026-11-28", "2000-02-29", "1990-12-31"}).Draw(t,
			"date"))
	}
	number := func() string { return rapid.SampledFrom(drawnNumbers).Draw(t, "limit") }
	days := func() string { return jsonOf(rapid.IntRange(0, 40).Draw(t, "days")) }
	operators := map[string]func() string{
		"is": func() string { return "[" + text() + "," + number() + "]" }, "is_not": text,
		"contains": text, "starts_with": text, "less": number, "more": number, "before": date, "after": date,
		"within_days": days, "on_day": func() string {
			return jsonOf(rapid.SampledFrom([]string{"today", "02-28", "02-29", "11-29"}).Draw(t, "day"))
		},
		"exists": func() string { return "true" }, "missing": func() string { return "true" }, "before_days": days,
	}
	if rapid.IntRange(0, 3).Draw(t, "leaf") > 0 {
		op := rapid.SampledFrom(fieldOperators).Draw(t, "operator")
		return `{"field":` + jsonOf(rapid.SampledFrom([]string{"a", "b", "ü"}).Draw(t, "field")) + `,"` + op + `":` +
			operators[op]() + `}`
	}
	op := rapid.SampledFrom(joinedOperators).Draw(t, "operator")
	return rapid.SampledFrom([]string{
		`{"on_list":"l"}`, `{"received":"c"}`, `{"domain":["b.org","c.org"]}`,
		`{"joined":{"` + op + `":` + operators[op]() + `}}`,
	}).Draw(t, "condition")
}

// TestMatchAgainstASimpleEvaluator compares the matcher with the evaluator for random rules and subscribers.
func TestMatchAgainstASimpleEvaluator(t *testing.T) {
	zones := []*time.Location{time.UTC, zoneOf(t, "Europe/Berlin"), zoneOf(t, "Pacific/Apia")}
	moments := []time.Time{
		time.Date(2026, 11, 29, 10, 59, 0, 0, time.UTC), time.Date(2026, 2, 28, 23, 30, 0, 0, time.UTC),
	}
	keys := rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b", "ü", "A", "z"}), rapid.ID[string])
	results := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		text := drawRule(t, 1)
		r, err := ParseRule("rule", []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		e := &evaluator{
			now:  rapid.SampledFrom(moments).Draw(t, "now"),
			zone: rapid.SampledFrom(zones).Draw(t, "zone"),
		}
		m := r.Compile(At(e.now), e.zone)
		for range 10 {
			values := map[string]string{}
			for _, key := range keys.Draw(t, "keys") {
				values[key] = drawValue(t, 1)
			}
			var members []string
			for _, key := range slices.Sorted(maps.Keys(values)) {
				members = append(members, jsonOf(key)+": "+values[key])
			}
			e.p = &Profile{
				Email:       Email(rapid.SampledFrom([]string{"a@b.org", "x@B.ORG", "a@d.b.org"}).Draw(t, "email")),
				Preferences: Preferences("{" + strings.Join(members, ", ") + "}"),
				JoinedAt: At(e.now.Add(-time.Duration(rapid.IntRange(-3000, 60*1440).Draw(t,
					"minutes")) * time.Minute)),
				OnList: []bool{rapid.Bool().Draw(t, "on list")}, Received: []bool{rapid.Bool().Draw(t,
					"received")},
			}
			decoder := json.NewDecoder(strings.NewReader(string(e.p.Preferences)))
			decoder.UseNumber()
			if e.of = nil; decoder.Decode(&e.of) != nil {
				t.Fatal(e.p.Preferences)
			}
			want := e.holds(r)
			if results[want]++; m.Match(e.p) != want {
				t.Fatalf("%s at %s in %s for %+v: %v, want %v", r.JSON(), e.now, e.zone, e.p, !want, want)
			}
		}
	})
	if least, all := min(results[true], results[false]), results[true]+results[false]; least*10 < all {
		t.Errorf("the rules matched %v", results)
	}
}
