package core

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Profile is what a rule sees of a subscriber.
type Profile struct {
	Email       Email
	Preferences Preferences
	JoinedAt    Instant // start of the present subscription
	OnList      []bool  // for each of Matcher.Lists: the address is active on it
	Received    []bool  // for each of Matcher.Campaigns: it was sent to the subscriber
}

// Matcher decides which subscribers match a rule at one moment. Any goroutine may use it.
type Matcher struct {
	Lists, Campaigns []string // ids to look up for each subscriber
	fields           []string
	zone             *time.Location
	today            time.Time // date of the moment, at midnight UTC
	root             func(*seen) bool
	leaves           []Reason
	tests            []func(*seen) bool
}

// Reason says whether a subscriber matches one condition of a rule.
type Reason struct {
	Path  string `json:"path"`            // JSON path, starting with rule
	Rule  *Rule  `json:"rule"`            // the condition
	Value string `json:"value,omitempty"` // value of the field, or day; empty: missing, or the condition has no value
	Match bool   `json:"match"`
}

// seen is a profile with the values that the rule needs.
type seen struct {
	*Profile
	values [][]string // texts of each field; nil: missing
}

// Compile returns a matcher of the rule at a moment. The days of the rule are those of zone; nil means UTC. The rule
// must not refer to segments: see Inline.
func (r *Rule) Compile(now Instant, zone *time.Location) *Matcher {
	if zone == nil {
		zone = time.UTC
	}
	m := &Matcher{zone: zone}
	m.today = m.dayOf(now)
	m.root = m.compile(r)
	r.Leaves("rule", func(path string, leaf *Rule) {
		m.leaves = append(m.leaves, Reason{Path: path, Rule: leaf})
		m.tests = append(m.tests, m.compile(leaf))
	})
	return m
}

// Match reports whether a subscriber matches the rule.
func (m *Matcher) Match(p *Profile) bool { return m.root(m.see(p)) }

// Explain returns, for each condition in order, whether a subscriber matches it.
func (m *Matcher) Explain(p *Profile) []Reason {
	s, out := m.see(p), slices.Clone(m.leaves)
	for i := range out {
		out[i].Match = m.tests[i](s)
		switch leaf := out[i].Rule; {
		case leaf.Field != "":
			out[i].Value = strings.Join(s.values[slices.Index(m.fields, leaf.Field)], ", ")
		case leaf.Joined != nil:
			out[i].Value = m.dayOf(p.JoinedAt).Format(time.DateOnly)
		case leaf.Domain != nil:
			out[i].Value = p.Email.Domain()
		}
	}
	return out
}

// see reads the fields that the rule needs. Preferences that are not an object have none.
func (m *Matcher) see(p *Profile) *seen {
	s := &seen{Profile: p, values: make([][]string, len(m.fields))}
	if len(m.fields) == 0 || p.Preferences == "" || p.Preferences == NoPreferences {
		return s
	}
	scan := JSONScanner{Text: []byte(p.Preferences)}
	if scan.Next() != '{' {
		return s
	}
	_ = scan.Members(func(key []byte) error {
		at, start := slices.Index(m.fields, string(key)), scan.At
		err := scan.Skip()
		if at >= 0 && err == nil {
			s.values[at] = valueTexts(scan.Text[start:scan.At])
		}
		return err
	})
	return s
}

// objectText stands for a JSON object, which exists but equals no text.
const objectText = "{…}"

// valueTexts returns the texts of a JSON value: one for a text, number or boolean, and one for each entry of a list.
// null, an empty text and an empty list are missing (nil).
func valueTexts(raw []byte) (texts []string) {
	switch raw[0] {
	case '{':
		return []string{objectText}
	case '[':
		var parts []json.RawMessage
		if json.Unmarshal(raw, &parts) != nil {
			return nil
		}
		for _, part := range parts {
			if text, ok := scalarText(part); ok && text != "" {
				texts = append(texts, text)
			}
		}
		return texts
	}
	if text, ok := scalarText(raw); ok && text != "" {
		return []string{text}
	}
	return nil
}

// scalarText returns a JSON text, number or boolean as a text, and numbers as plain decimals.
func scalarText(raw []byte) (string, bool) {
	if len(raw) == 0 {
		return "", false
	}
	switch raw[0] {
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return s, err == nil
	case 't', 'f':
		return string(raw), true
	case 'n', '{', '[':
		return "", false
	}
	if !strings.ContainsAny(string(raw), "eE") {
		return string(raw), true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	return strconv.FormatFloat(f, 'f', -1, 64), err == nil
}

func (m *Matcher) compile(r *Rule) func(*seen) bool {
	switch {
	case r.Not != nil:
		not := m.compile(r.Not)
		return func(s *seen) bool { return !not(s) }
	case r.All != nil:
		all := m.compileAll(r.All)
		return func(s *seen) bool {
			return !slices.ContainsFunc(all, func(f func(*seen) bool) bool { return !f(s) })
		}
	case r.Any != nil:
		all := m.compileAll(r.Any)
		return func(s *seen) bool {
			return slices.ContainsFunc(all, func(f func(*seen) bool) bool { return f(s) })
		}
	case r.Field != "":
		at, test := indexIn(&m.fields, r.Field), m.test(r.Test)
		return func(s *seen) bool { return test(s.values[at]) }
	case r.Joined != nil:
		return m.joined(r.Joined)
	case r.Domain != nil:
		return func(s *seen) bool { return slices.Contains(r.Domain, s.Email.Domain()) }
	case r.Received != "":
		at := indexIn(&m.Campaigns, r.Received)
		return func(s *seen) bool { return s.Received[at] }
	case r.OnList != "":
		at := indexIn(&m.Lists, r.OnList)
		return func(s *seen) bool { return s.OnList[at] }
	}
	panic("rule: " + r.JSON() + " has no condition, or refers to a segment")
}

func (m *Matcher) compileAll(rules []Rule) (all []func(*seen) bool) {
	for i := range rules {
		all = append(all, m.compile(&rules[i]))
	}
	return all
}

// indexIn returns the index of s in a list, which it appends if needed.
func indexIn(all *[]string, s string) int {
	if i := slices.Index(*all, s); i >= 0 {
		return i
	}
	*all = append(*all, s)
	return len(*all) - 1
}

func (m *Matcher) joined(t *Test) func(*seen) bool {
	test := m.dayTest(t)
	return func(s *seen) bool { return test(m.dayOf(s.JoinedAt)) }
}

// test returns a function that tests the texts of a value.
func (m *Matcher) test(t *Test) func([]string) bool {
	some := func(test func(string) bool) func([]string) bool {
		return func(texts []string) bool { return slices.ContainsFunc(texts, test) }
	}
	switch {
	case t.Missing:
		return func(texts []string) bool { return texts == nil }
	case t.Exists:
		return func(texts []string) bool { return texts != nil }
	case t.Is != nil:
		return some(oneOf(t.Is))
	case t.IsNot != nil:
		is := some(oneOf(t.IsNot))
		return func(texts []string) bool { return !is(texts) }
	case t.Contains != "":
		part := foldText(t.Contains)
		return some(func(s string) bool { return strings.Contains(foldText(s), part) })
	case t.StartsWith != "":
		start := foldText(t.StartsWith)
		return some(func(s string) bool { return strings.HasPrefix(foldText(strings.TrimSpace(s)), start) })
	case t.Less != "":
		return some(func(s string) bool { return isDecimal(s) && compareDecimals(s, t.Less) < 0 })
	case t.More != "":
		return some(func(s string) bool { return isDecimal(s) && compareDecimals(s, t.More) > 0 })
	}
	day := m.dayTest(t)
	return some(func(s string) bool {
		at, ok := m.date(s)
		return ok && day(at)
	})
}

func (m *Matcher) dayTest(t *Test) func(day time.Time) bool {
	switch {
	case t.Before != "":
		limit, _ := time.Parse(time.DateOnly, t.Before) // ParseRule checked it
		return limit.After
	case t.After != "":
		limit, _ := time.Parse(time.DateOnly, t.After)
		return limit.Before
	case t.WithinDays != nil:
		first := m.today.AddDate(0, 0, -*t.WithinDays)
		return func(day time.Time) bool { return !day.Before(first) && !day.After(m.today) }
	case t.BeforeDays != nil:
		first := m.today.AddDate(0, 0, -*t.BeforeDays)
		return first.After
	case t.OnDay == Today:
		want, leap := m.today.Format("01-02"), m.today.AddDate(0, 0, 1).Format("01-02")
		return func(day time.Time) bool {
			is := day.Format("01-02")
			return is == want || want == "02-28" && leap == "03-01" && is == "02-29"
		}
	}
	return func(day time.Time) bool { return day.Format("01-02") == t.OnDay }
}

// dayOf returns the day of an instant in the matcher's zone, at midnight UTC.
func (m *Matcher) dayOf(at Instant) time.Time {
	y, month, d := at.Time().In(m.zone).Date()
	return time.Date(y, month, d, 0, 0, 0, 0, time.UTC)
}

// date returns the day of an ISO 8601 date, or of a time in RFC 3339.
func (m *Matcher) date(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if len(s) == len(time.DateOnly) {
		day, err := time.Parse(time.DateOnly, s)
		return day, err == nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, false
	}
	y, month, d := at.In(m.zone).Date()
	return time.Date(y, month, d, 0, 0, 0, 0, time.UTC), true
}

// oneOf reports whether a text equals one of the values, regardless of case, or has the same decimal value.
func oneOf(values []string) func(string) bool {
	folded := make([]string, len(values))
	for i, v := range values {
		folded[i] = foldText(v)
	}
	return func(s string) bool {
		s = strings.TrimSpace(s)
		number, text := isDecimal(s), foldText(s)
		for i, v := range values {
			if text == folded[i] || number && isDecimal(v) && compareDecimals(s, v) == 0 {
				return true
			}
		}
		return false
	}
}

// foldText removes differences of case by Unicode's simple folding.
func foldText(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return strings.Map(foldRune, s)
		}
	}
	return strings.ToLower(s)
}

// foldRune returns the lower case of a rune, or the least rune that differs from it only in case.
func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	return unicode.ToLower(least)
}

// isDecimal reports whether s is a plain decimal: digits without leading zeros, a sign and a fraction at most. So
// "007" is none: post codes and phone numbers are texts.
func isDecimal(s string) bool {
	s = strings.TrimPrefix(s, "-")
	whole, fraction, point := strings.Cut(s, ".")
	return isDigits(whole) && (whole == "0" || whole[0] != '0') && (!point || isDigits(fraction))
}

func isDigits(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}

// compareDecimals compares two plain decimals exactly.
func compareDecimals(a, b string) int {
	aNegative, aWhole, aFraction := splitDecimal(a)
	bNegative, bWhole, bFraction := splitDecimal(b)
	if aNegative != bNegative {
		if aNegative {
			return -1
		}
		return 1
	}
	order := cmp.Or(cmp.Compare(len(aWhole), len(bWhole)), strings.Compare(aWhole, bWhole),
		strings.Compare(aFraction, bFraction))
	if aNegative {
		return -order
	}
	return order
}

// splitDecimal returns the parts of a plain decimal. Zero has no sign, and the fraction no zeros at its end.
func splitDecimal(s string) (negative bool, whole, fraction string) {
	s, negative = strings.CutPrefix(s, "-")
	whole, fraction, _ = strings.Cut(s, ".")
	fraction = strings.TrimRight(fraction, "0")
	return negative && (whole != "0" || fraction != ""), whole, fraction
}
