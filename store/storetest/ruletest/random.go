package ruletest

import (
	"encoding/json"
	"fmt"
	"strings"

	"newsletterd/core"
)

// values are the JSON values of each field. An empty one means that the field is missing.
var values = map[string][]string{
	"plan": {
		"", "null", `""`, `"  "`, "[]", `"pro"`, `"PRO "`, `"\u00a0Pro"`, `"Team"`, `"free"`, `"FREE"`,
		`["pro", "team"]`,
		`[null, "", "team"]`, "true", "false", `"true"`, `{"pro": true}`, `[{"a": 1}]`, `["free", ["pro"]]`,
	},
	"city": {
		"", `"Köln"`, `"KÖLN"`, `"Ko\u0308ln"`, `"ΣΊΣΥΦΟΣ"`, `"σίσυφος"`, `"Straße"`, `"STRASSE"`, `"STRAẞE"`,
		`"İzmir"`, `"izmir"`, `"ızmir"`, `"\u212aiel"`, `"KIEL"`, `"ſaal"`, `"Ǆ"`, `"ǆ"`, `"東京"`, `"\ud83d\ude80 Köln"`,
		`"O'Hara \"x\" \\"`, `["Köln", "東京"]`, `"Köln am Rhein"`,
	},
	"orders": {
		"", "0", "-0", "1", "1.0", `"1"`, `"1.50"`, "1.5", "2", "10", `"10"`, `"007"`, "7", "-3", "-3.25", "1e3",
		"1E+3", "1000", "2.5e-3", "0.0025", "12345678901234567890", "12345678901234567891", `"12345678901234567890.1"`,
		"[1, 20]", `"ten"`, "true", "null", "1e300", `" 2 "`, `".5"`, `"1."`, `"+1"`,
	},
	"birthday": {
		"", `"2026-03-02"`, `"2025-12-24"`, `"1990-12-24"`, `"1988-02-29"`, `"1990-02-28"`, `"2026-02-31"`,
		`"31.12.1990"`, `"2026-02-27"`, `"2026-02-28"`, `"2026-03-01"`, `"2026-03-01T23:30:00Z"`,
		`"2026-03-01T10:30:00Z"`, `"2026-03-02T01:00:00+13:00"`, `"2026-03-02 10:00"`, `"1990-12-24T00:00:00"`,
		`["1990-12-24", "2025-01-01"]`, `"2025-03-15"`, `"2026-04-01"`, `"0001-01-01"`, `"9999-12-31"`,
		"20260302", `" 2026-03-02 "`,
	},
	"note": {
		"", `{"a": 1}`, `{}`, "[]", `[null]`, `"` + strings.Repeat("lang ", 200) + `"`,
		`"` + strings.Repeat("Ä", 500) + `"`, `"x"`, `"X y"`, `"\t x \n"`, `"\u3000x"`, "true", "12",
		`["x", 12, null, {"b": []}, "ÄÄ"]`,
	},
	"_tracking": {"", "true", "true", "true", "false", `"yes"`, "null", "1"},
}

// keys are the fields, in a fixed order.
var keys = []string{"plan", "city", "orders", "birthday", "note", "_tracking"}

func (c *Crowd) pick(all []string) string { return all[c.Random.IntN(len(all))] }

// preferences returns random fields.
func (c *Crowd) preferences() core.Preferences {
	fields := map[string]json.RawMessage{}
	for _, key := range keys {
		if v := c.pick(values[key]); v != "" && c.Random.IntN(6) > 0 {
			fields[key] = json.RawMessage(v)
		}
	}
	text, err := json.Marshal(fields)
	c.Must(err)
	return core.Preferences(text)
}

// operand returns a value of a field as JSON that a condition accepts: not too long, and neither empty nor a group.
func (c *Crowd) operand(key string) string {
	for {
		v := c.pick(values[key])
		if v == "" || len(v) > 400 || strings.ContainsAny(v[:1], "[{n") {
			continue
		}
		if v[0] == '"' {
			var text string
			c.Must(json.Unmarshal([]byte(v), &text))
			if strings.TrimSpace(text) == "" {
				continue
			}
		}
		return v
	}
}

// piece returns a part of a value of a field, as a JSON string.
func (c *Crowd) piece(key string) string {
	for {
		var text string
		if json.Unmarshal([]byte(c.operand(key)), &text) != nil {
			continue
		}
		runes := []rune(text)
		start := c.Random.IntN(len(runes))
		if c.Random.IntN(3) == 0 {
			start = 0
		}
		text = strings.TrimSpace(string(runes[start : start+1+c.Random.IntN(len(runes)-start)]))
		if c.Random.IntN(3) == 0 {
			text = strings.ToUpper(text)
		}
		if text != "" && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' && r < 0xa0 }) {
			b, err := json.Marshal(text)
			c.Must(err)
			return string(b)
		}
	}
}

// date returns a day near now, or one of the birthdays, as text.
func (c *Crowd) date() string {
	if c.Random.IntN(3) > 0 {
		return c.ago(400).Time().Format("2006-01-02")
	}
	return c.pick([]string{"2025-12-24", "1990-12-24", "2026-03-02", "2026-02-28", "0001-01-01", "9999-12-31"})
}

// days returns a number of days.
func (c *Crowd) days() int {
	if c.Random.IntN(10) == 0 {
		return c.Random.IntN(core.MaxRuleDays + 1)
	}
	return c.Random.IntN([]int{3, 40, 400}[c.Random.IntN(3)])
}

// list returns one value, or an array of some.
func (c *Crowd) list(most int, one func() string) string {
	if c.Random.IntN(3) == 0 {
		return one()
	}
	all := make([]string, 1+c.Random.IntN(most))
	for i := range all {
		all[i] = one()
	}
	return "[" + strings.Join(all, ", ") + "]"
}

func jsonText(s string) string {
	b, _ := json.Marshal(s) // strings always encode
	return string(b)
}

// Leaves are the kinds of conditions. RandomLeaf creates conditions of each kind.
var Leaves = []string{
	"is", "is_not", "contains", "starts_with", "less", "more", "before", "after", "within_days", "on_day", "exists",
	"missing", "joined", "consented", "domain", "source", "language", "received", "on_list", "tag", "segment", "opened",
	"clicked", "clicked_link", "poll",
}

// RandomLeaf returns a random condition of the given kind, with at most most values to compare with.
func (c *Crowd) RandomLeaf(kind string, most int) string {
	key := c.pick(keys[:5])
	switch kind {
	case "is", "is_not":
		return fmt.Sprintf(`{"field": %q, %q: %s}`, key, kind, c.list(most, func() string { return c.operand(key) }))
	case "contains", "starts_with":
		key = c.pick([]string{"plan", "city", "orders", "birthday", "note"})
		return fmt.Sprintf(`{"field": %q, %q: %s}`, key, kind, c.piece(key))
	case "less", "more":
		for n := ""; ; {
			if n = c.operand("orders"); decimal.MatchString(strings.Trim(n, `"`)) || n[0] != '"' && n != "true" {
				return fmt.Sprintf(`{"field": "orders", %q: %s}`, kind, n)
			}
		}
	case "before", "after":
		return fmt.Sprintf(`{"field": "birthday", %q: %q}`, kind, c.date())
	case "within_days":
		return fmt.Sprintf(`{"field": "birthday", "within_days": %d}`, c.days())
	case "on_day":
		return fmt.Sprintf(`{"field": "birthday", "on_day": %q}`, c.pick([]string{"today", "12-24", "02-28", "02-29"}))
	case "exists", "missing":
		return fmt.Sprintf(`{"field": %q, %q: true}`, key, kind)
	}
	return c.otherLeaf(kind, most)
}

func (c *Crowd) otherLeaf(kind string, most int) string {
	switch kind {
	case "joined", "consented":
		if c.Random.IntN(2) == 0 {
			return fmt.Sprintf(`{%q: {%q: %d}}`, kind, c.pick([]string{"within_days", "before_days"}), c.days())
		}
		return fmt.Sprintf(`{%q: {%q: %q}}`, kind, c.pick([]string{"before", "after"}), c.date())
	case "domain":
		return `{"domain": ` + c.list(min(most, 3), func() string { return jsonText(c.pick(domains)) }) + "}"
	case "source":
		return `{"source": ` + c.list(min(most, 4), func() string { return jsonText(c.pick(sources[:7])) }) + "}"
	case "language":
		one := func() string { return c.pick([]string{`"de"`, `"en"`, `"fr"`}) }
		return `{"language": ` + c.list(min(most, 2), one) + "}"
	case "received":
		return fmt.Sprintf(`{"received": %q}`, c.pick(c.Campaigns))
	case "on_list":
		return fmt.Sprintf(`{"on_list": %q}`, c.Lists[c.Random.IntN(len(c.Lists))].ID)
	case "tag":
		return fmt.Sprintf(`{"tag": %q}`, c.pick(append([]string{"vip", "STRAẞE", "izmir"}, TagNames...)))
	case "segment":
		return fmt.Sprintf(`{"segment": %q}`, c.pick(c.saved))
	case "poll":
		test := c.pick([]string{"is", "is_not", "exists", "missing"})
		value := "true"
		if strings.HasPrefix(test, "is") {
			values := []string{`"ÄPFEL"`, "7", `"7.0"`, `" pears "`}
			value = c.list(min(most, 3), func() string { return c.pick(values) })
		}
		return fmt.Sprintf(`{"poll": {"campaign": %q, "number": 1}, %q: %s}`, c.pick(c.Campaigns), test, value)
	case "clicked_link":
		l := c.Links[c.Random.IntN(len(c.Links))]
		return fmt.Sprintf(`{"clicked_link": {"campaign": %q, "link": %d}}`, l.Campaign, l.Link)
	}
	if c.Random.IntN(2) == 0 {
		return fmt.Sprintf(`{%q: {"last": %d}}`, kind, 1+c.Random.IntN([]int{6, core.MaxRuleLast}[c.Random.IntN(2)]))
	}
	return fmt.Sprintf(`{%q: {"within_days": %d}}`, kind, c.days())
}

// RandomRule returns a rule within the limits of depth, conditions and values.
func (c *Crowd) RandomRule() string {
	switch c.Random.IntN(40) {
	case 0: // as wide as allowed
		leaves := make([]string, core.MaxRuleLeaves)
		for i := range leaves {
			leaves[i] = c.RandomLeaf(c.pick(Leaves), 5)
		}
		return fmt.Sprintf(`{"%s": [%s]}`, c.pick([]string{"all", "any"}), strings.Join(leaves, ", "))
	case 1:
		return c.RandomLeaf(c.pick([]string{"is", "is_not"}), core.MaxRuleValues)
	}
	left := core.MaxRuleLeaves
	return c.rule(1+c.Random.IntN(4), &left)
}

// rule returns a rule with at most this many levels.
func (c *Crowd) rule(levels int, left *int) string {
	if levels == 1 || *left < 6 || c.Random.IntN(6) == 0 {
		*left--
		return c.RandomLeaf(c.pick(Leaves), 5)
	}
	if c.Random.IntN(4) == 0 {
		return `{"not": ` + c.rule(levels-1, left) + "}"
	}
	parts := make([]string, 1+c.Random.IntN(3))
	for i := range parts {
		parts[i] = c.rule(levels-1, left)
	}
	return fmt.Sprintf(`{"%s": [%s]}`, c.pick([]string{"all", "any"}), strings.Join(parts, ", "))
}
