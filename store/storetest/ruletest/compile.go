package ruletest

import (
	"encoding/json"
	"fmt"
	"strings"
)

func decoded(text string) (m map[string]any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		panic(err)
	}
	return m
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func quotedAll(all []string) string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = quoted(s)
	}
	return strings.Join(out, ", ")
}

// texts returns the values of a condition.
func texts(v any) (all []string) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			all = append(all, texts(one)...)
		}
	case json.Number:
		all = []string{plain(string(v))}
	case bool:
		all = []string{fmt.Sprint(v)}
	case string:
		all = []string{strings.TrimSpace(v)}
	}
	return all
}

// expression returns a rule as an SQL expression on a person "p". NULL means that it can't be decided for this person;
// rules use SQL's three-valued logic.
func (o *Oracle) expression(rule map[string]any) string {
	several := func(all any, operator string) string {
		var out []string
		for _, one := range all.([]any) {
			out = append(out, "("+o.expression(one.(map[string]any))+")")
		}
		return strings.Join(out, operator)
	}
	if poll, ok := rule["poll"].(map[string]any); ok {
		return o.answered(poll, rule)
	}
	for head, v := range rule {
		switch head {
		case "all":
			return several(v, " AND ")
		case "any":
			return several(v, " OR ")
		case "not":
			return "NOT (" + o.expression(v.(map[string]any)) + ")"
		case "segment":
			return o.expression(decoded(o.Segments[v.(string)]))
		case "field":
			return o.field(v.(string), rule)
		case "on_list":
			return "EXISTS (SELECT 1 FROM subscriber WHERE list_id = " + quoted(v.(string)) +
				" AND email_key = p.mail AND word = 'active')"
		case "received":
			return "EXISTS (SELECT 1 FROM temp.got WHERE mail = p.mail AND campaign = " + quoted(v.(string)) + ")"
		case "tag":
			return "EXISTS (SELECT 1 FROM tagged AS t JOIN tag ON tag.no = t.tag_no WHERE t.list_id = p.list " +
				"AND t.id = p.id AND rule_same(tag.name, " + quoted(v.(string)) + "))"
		case "domain":
			return "p.domain IN (" + strings.ToLower(quotedAll(texts(v))) + ")"
		case "language":
			return "p.language IN (" + quotedAll(texts(v)) + ")"
		case "source":
			return "p.source IS NOT NULL AND (" + o.sameAsOne("p.source", texts(v)) + ")"
		case "joined":
			return o.onDay("p.joined", v.(map[string]any))
		case "consented":
			return "p.consented IS NOT NULL AND " + o.onDay("p.consented", v.(map[string]any))
		case "opened", "clicked":
			return o.engaged(head, v.(map[string]any))
		case "clicked_link":
			l := v.(map[string]any)
			campaign := quoted(l["campaign"].(string))
			return "CASE WHEN " + o.unnamed() + " OR NOT EXISTS (SELECT 1 FROM temp.named WHERE mail = p.mail AND " +
				"campaign = " + campaign + ") THEN NULL ELSE EXISTS (SELECT 1 FROM temp.followed WHERE mail = p.mail " +
				"AND campaign = " + campaign + " AND link = " + string(l["link"].(json.Number)) + ") END"
		}
	}
	panic(fmt.Sprint("no condition: ", rule))
}

// unnamed is true for people whose opens and clicks are not stored.
func (o *Oracle) unnamed() string {
	if o.asks {
		return "NOT p.agrees"
	}
	return "0"
}

func (o *Oracle) sameAsOne(text string, all []string) string {
	var out []string
	for _, one := range all {
		out = append(out, "rule_same("+text+", "+quoted(one)+")")
	}
	return strings.Join(out, " OR ")
}

// answered compiles a condition on the answer to a poll.
func (o *Oracle) answered(poll, rule map[string]any) string {
	some := func(test string) string {
		return "EXISTS (SELECT 1 FROM temp.answered AS a WHERE a.mail = p.mail AND a.campaign = " +
			quoted(poll["campaign"].(string)) + " AND a.number = " + string(poll["number"].(json.Number)) + test + ")"
	}
	for operator, v := range rule {
		switch operator {
		case "exists":
			return some("")
		case "missing":
			return "NOT " + some("")
		case "is":
			return some(" AND (" + o.sameAsOne("a.text", texts(v)) + ")")
		case "is_not":
			return "NOT " + some(" AND ("+o.sameAsOne("a.text", texts(v))+")")
		}
	}
	panic("no operator")
}

// field compiles a condition on a field. It holds if one of the values passes.
func (o *Oracle) field(key string, rule map[string]any) string {
	some := func(test string) string {
		return "EXISTS (SELECT 1 FROM temp.value AS v WHERE v.list = p.list AND v.id = p.id AND v.key = " +
			quoted(key) + " AND " + test + ")"
	}
	for operator, v := range rule {
		switch operator {
		case "field":
			continue
		case "exists":
			return some("1")
		case "missing":
			return "NOT " + some("1")
		case "is":
			return some("(" + o.sameAsOne("v.text", texts(v)) + ")")
		case "is_not":
			return "NOT " + some("("+o.sameAsOne("v.text", texts(v))+")")
		case "contains":
			return some("rule_has(v.text, " + quoted(texts(v)[0]) + ")")
		case "starts_with":
			return some("rule_starts(v.text, " + quoted(texts(v)[0]) + ")")
		case "less":
			return some("iif(v.number, rule_compare(v.text, " + quoted(texts(v)[0]) + ") < 0, 0)")
		case "more":
			return some("iif(v.number, rule_compare(v.text, " + quoted(texts(v)[0]) + ") > 0, 0)")
		}
		return some(o.onDay("v.day", map[string]any{operator: v}))
	}
	panic("no operator")
}

// onDay compares a day, which is a string such as 2026-01-31.
func (o *Oracle) onDay(of string, test map[string]any) string {
	for operator, v := range test {
		text := texts(v)[0]
		ago := fmt.Sprintf("date('%s', '-%s days')", o.today, text)
		switch operator {
		case "before":
			return of + " < " + quoted(text)
		case "after":
			return of + " > " + quoted(text)
		case "before_days":
			return of + " < " + ago
		case "within_days":
			return of + " BETWEEN " + ago + " AND '" + o.today + "'"
		case "on_day":
			if text != "today" {
				return "substr(" + of + ", 6) = " + quoted(text)
			}
			return fmt.Sprintf("(substr(%[1]s, 6) = substr('%[2]s', 6) OR substr(%[1]s, 6) = '02-29' AND "+
				"substr('%[2]s', 6) = '02-28' AND substr(date('%[2]s', '+1 day'), 6) = '03-01')", of, o.today)
		}
	}
	panic("no operator")
}

// engaged compiles a condition on opens or clicks in the last campaigns, or in those of the last days.
func (o *Oracle) engaged(head string, test map[string]any) string {
	which, limit := "", ""
	for operator, v := range test {
		if operator == "last" {
			limit = " LIMIT " + texts(v)[0]
		} else {
			which = fmt.Sprintf(" AND h.day >= date('%s', '-%s days')", o.today, texts(v)[0])
		}
	}
	tracked := map[string]string{"opened": "opens", "clicked": "clicks"}[head]
	return fmt.Sprintf(`CASE WHEN %s THEN NULL ELSE (SELECT CASE WHEN count(*) = 0 THEN NULL WHEN max(did) = 1 THEN 1
		WHEN count(*) > count(did) THEN NULL ELSE 0 END FROM (SELECT h.%s AS did FROM temp.reading AS h
		WHERE h.list = p.list AND h.id = p.id AND h.%s%s ORDER BY h.at DESC, h.job DESC%s)) END`, o.unnamed(), head,
		tracked, which, limit)
}
