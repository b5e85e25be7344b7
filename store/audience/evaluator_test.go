package audience_test

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"newsletterd/core"
)

// person is a subscriber of a list, as the independent evaluator sees them.
type person struct {
	email    core.Email
	fields   map[string]any // decoded with json.Number
	joined   time.Time
	on       map[string]bool // lists by id
	received map[string]bool // campaigns by id
	tags     map[string]bool // by name in lower case
	mailable bool
}

// evaluator evaluates a decoded rule without using package core.
type evaluator struct {
	now      time.Time // in the tenant's zone
	segments map[string]map[string]any
}

var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

func decoded(text string) (m map[string]any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		panic(err)
	}
	return m
}

func (e *evaluator) match(rule map[string]any, p *person) bool {
	one := func(r any) bool { return e.match(r.(map[string]any), p) }
	for head, value := range rule {
		switch head {
		case "all":
			return !slices.ContainsFunc(value.([]any), func(r any) bool { return !one(r) })
		case "any":
			return slices.ContainsFunc(value.([]any), one)
		case "not":
			return !one(value)
		case "segment":
			return e.match(e.segments[value.(string)], p)
		case "on_list":
			return p.on[value.(string)]
		case "received":
			return p.received[value.(string)]
		case "tag":
			return p.tags[strings.ToLower(value.(string))]
		case "domain":
			_, domain, _ := strings.Cut(string(p.email), "@")
			return slices.Contains(textsOf(value), domain)
		case "joined":
			for operator, limit := range value.(map[string]any) {
				return e.onDay(operator, limit, p.joined.In(e.now.Location()).Format(time.DateOnly))
			}
		}
	}
	texts := textsOf(p.fields[rule["field"].(string)])
	for operator, limit := range rule {
		if operator == "field" {
			continue
		}
		return e.field(operator, limit, texts)
	}
	panic("no condition")
}

func textsOf(value any) (texts []string) {
	switch value := value.(type) {
	case string:
		if value != "" {
			texts = []string{value}
		}
	case json.Number:
		texts = []string{number(value)}
	case bool:
		texts = []string{map[bool]string{true: "true", false: "false"}[value]}
	case map[string]any:
		texts = []string{"an object"}
	case []any:
		for _, part := range value {
			if _, object := part.(map[string]any); !object {
				texts = append(texts, textsOf(part)...)
			}
		}
	}
	return texts
}

// number returns a number in decimal notation: 1e3 becomes 1000.
func number(n json.Number) string {
	if decimal.MatchString(string(n)) {
		return string(n)
	}
	r, _ := new(big.Rat).SetString(string(n))
	return r.RatString()
}

func (e *evaluator) field(operator string, limit any, texts []string) bool {
	has := func(test func(string) bool) bool { return slices.ContainsFunc(texts, test) }
	switch operator {
	case "exists":
		return texts != nil
	case "missing":
		return texts == nil
	case "is", "is_not":
		is := has(func(s string) bool {
			return slices.ContainsFunc(textsOf(limit), func(v string) bool { return equal(strings.TrimSpace(s), v) })
		})
		return is == (operator == "is")
	case "contains":
		return has(func(s string) bool { return containsFold(s, limit.(string)) })
	case "starts_with":
		return has(func(s string) bool { return startsFold(strings.TrimSpace(s), limit.(string)) })
	case "less", "more":
		sign := map[string]int{"less": -1, "more": 1}[operator]
		return has(func(s string) bool { return decimal.MatchString(s) && compare(s, textsOf(limit)[0]) == sign })
	}
	return has(func(s string) bool {
		s = strings.TrimSpace(s)
		if at, err := time.Parse(time.RFC3339, s); err == nil {
			s = at.In(e.now.Location()).Format(time.DateOnly)
		}
		_, err := time.Parse(time.DateOnly, s)
		return err == nil && e.onDay(operator, limit, s)
	})
}

// onDay compares days as texts, whose order is that of the days.
func (e *evaluator) onDay(operator string, limit any, is string) bool {
	ago := func() string {
		n, _ := limit.(json.Number).Int64()
		return e.now.AddDate(0, 0, -int(n)).Format(time.DateOnly)
	}
	today := e.now.Format(time.DateOnly)
	switch operator {
	case "before":
		return is < limit.(string)
	case "after":
		return is > limit.(string)
	case "within_days":
		return is >= ago() && is <= today
	case "before_days":
		return is < ago()
	}
	if limit == "today" {
		return is[5:] == today[5:]
	}
	return is[5:] == limit.(string)
}

func compare(a, b string) int {
	x, _ := new(big.Rat).SetString(a)
	y, _ := new(big.Rat).SetString(b)
	return x.Cmp(y)
}

func equal(a, b string) bool {
	return strings.EqualFold(a, b) || decimal.MatchString(a) && decimal.MatchString(b) && compare(a, b) == 0
}

func startsFold(s, start string) bool {
	n := utf8.RuneCountInString(start)
	runes := []rune(s)
	return len(runes) >= n && strings.EqualFold(string(runes[:n]), start)
}

func containsFold(s, part string) bool {
	for i := range s {
		if startsFold(s[i:], part) {
			return true
		}
	}
	return false
}
