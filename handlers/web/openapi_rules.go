package web

import (
	"maps"
	"slices"
	"strings"

	"newsletterd/core"
)

// ruleName is the name of the schema for segment rules.
const ruleName = "Rule"

// rule adds the schema for segment rules to the components and returns a reference to it. It is a single object without
// alternatives, because client generators don't support those. Instead, it excludes invalid combinations of keys. A
// test compares it with core.ParseRule, which also limits the rule as a whole.
func (names *describer) rule() obj {
	ref := obj{"$ref": schemaRef + ruleName}
	if names.schemas[ruleName] != nil {
		return ref
	}
	text := obj{"type": "string", "minLength": 1, "maxLength": core.MaxFieldText, "pattern": `\S`}
	blank := obj{"type": "string", "pattern": `^\s*$`}
	scalar := butNot(obj{"minLength": 1, "maxLength": core.MaxFieldText}, blank, "array", "object", "null")
	values := butNot(obj{
		"minLength": 1, "maxLength": core.MaxFieldText, "items": scalar, "minItems": 1, "maxItems": core.MaxRuleValues,
	}, blank, "object", "null")
	number := butNot(obj{"pattern": `^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`}, nil, "boolean", "array", "object", "null")
	const domain = `^\s*@?([^\s@.]+\.)+[^\s@.]*[^\s@.0-9][^\s@.]*\s*$`
	date := obj{"type": "string", "format": "date"}
	days := func(words string) obj {
		return obj{"type": "integer", "minimum": 0, "maximum": core.MaxRuleDays, "description": words}
	}
	yes := obj{"type": "boolean", "enum": []any{true}}
	id := obj{"type": "string", "minLength": 1, "maxLength": core.MaxRuleField, "pattern": `\S`}
	engaged := testSchema(obj{
		"last": obj{
			"type": "integer", "minimum": 1, "maximum": core.MaxRuleLast,
			"description": "The campaign is one of this many newest that the subscriber received",
		},
		"within_days": days("The subscriber received the campaign today or at most this many days ago"),
	})
	moment := testSchema(obj{
		"within_days": days("Today, or at most this many days ago"), "before_days": days("More than this many days ago"),
		"before": about(date, "Before this day"), "after": about(date, "After this day"),
	})
	tag := obj{"type": "string", "minLength": 1, "maxLength": core.MaxTagName, "pattern": `\S`}
	language := butNot(obj{
		"pattern": "^(" + strings.Join(core.Languages, "|") + ")$",
		"items":   obj{"type": "string", "enum": core.Languages}, "minItems": 1, "maxItems": core.MaxRuleValues,
	}, nil, "number", "boolean", "object", "null")
	link := partOfCampaign(id, "link", obj{"type": "integer", "minimum": 1, "description": "Number of the link, from 1"})
	poll := partOfCampaign(id, "number", obj{
		"type": "integer", "minimum": 1, "maximum": core.MaxPolls, "description": "Number of the poll, from 1",
	})
	group := obj{"type": "array", "items": ref, "minItems": 1, "maxItems": core.MaxRuleLeaves}
	tests := obj{
		"is": values, "is_not": values, "contains": text, "starts_with": text, "less": number, "more": number,
		"before": date, "after": date, "within_days": days(""), "exists": yes, "missing": yes,
		"on_day": obj{"type": "string", "pattern": "^(today|(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]))$"},
	}
	props := obj{
		"all": group, "any": group, "not": ref,
		"field": obj{
			"type": "string", "minLength": 1, "maxLength": core.MaxRuleField, "pattern": `\S`,
			"not": obj{"enum": []any{"email"}},
		},
		"joined": moment, "consented": moment, "source": values, "tag": tag, "language": language, "clicked_link": link,
		"poll":   poll,
		"opened": engaged, "clicked": engaged,
		"domain": butNot(obj{
			"pattern": domain, "minItems": 1, "maxItems": core.MaxRuleValues,
			"items": obj{"type": "string", "pattern": domain},
		}, nil, "number", "boolean", "object", "null"),
		"received": id, "on_list": id, "segment": id,
	}
	wrong := wrongRules(props, tests)
	maps.Copy(props, tests)
	for name, schema := range props {
		props[name] = about(schema.(obj), ruleWords[name])
	}
	names.schemas[ruleName] = obj{
		"type": "object", "properties": props, "additionalProperties": false, "maxProperties": 2,
		"not": obj{"anyOf": wrong}, "examples": []any{obj{"field": "city", "is": []any{"Berlin"}}},
		"description": "A condition such as {field: city, is: [Berlin]}, or a group with all, any or not. A field " +
			"or a poll has exactly one test, such as is or contains",
	}
	return maps.Clone(ref) // the caller adds a description
}

// wrongRules returns schemas that match invalid combinations of conditions and tests.
func wrongRules(conditions, tests obj) []obj {
	// A field and a poll have one test. Every other key must be the only one.
	heads, wrong := []obj{}, []obj{
		{"required": []string{"field"}, "maxProperties": 1}, {"required": []string{"poll"}, "maxProperties": 1},
	}
	for _, name := range slices.Sorted(maps.Keys(conditions)) {
		heads = append(heads, obj{"required": []string{name}})
		if name != "field" && name != "poll" {
			wrong = append(wrong, obj{"required": []string{name}, "minProperties": 2})
		}
	}
	wrong = append(wrong, obj{"not": obj{"anyOf": heads}})
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		if !slices.Contains([]string{"is", "is_not", "exists", "missing"}, name) {
			wrong = append(wrong, obj{"required": []string{"poll", name}})
		}
	}
	return append(wrong, obj{"required": []string{"field", "poll"}})
}

// ruleWords maps the conditions and tests in a rule to their descriptions.
var ruleWords = map[string]string{
	"all":          "Matches subscribers who match every one of these conditions",
	"any":          "Matches subscribers who match at least one of these conditions",
	"not":          "Matches subscribers who don't match this condition",
	"field":        "Key of a custom field; the same object has one test, which its value must pass",
	"poll":         "Poll in a campaign; the same object has one test, which the subscriber's answer must pass",
	"joined":       "When the subscriber was added to the list; for imported people, by the import",
	"consented":    "When the subscriber signed up, by the newest consent of the current subscription",
	"source":       "Source of the current subscription in the consent history, or several, one of which it has",
	"language":     "Language of the list, or several, one of which it has",
	"tag":          "Name or ID of a tag that the person has",
	"domain":       "Domain of the address, or several, one of which it has; a subdomain is another domain",
	"received":     "ID of a campaign that was sent to the subscriber",
	"on_list":      "ID of a list to which the address is also subscribed",
	"segment":      "ID of a segment to which the subscriber belongs",
	"opened":       "The subscriber opened a campaign of the list that passes this test; a click counts as an open",
	"clicked":      "The subscriber clicked a link in a campaign of the list that passes this test",
	"clicked_link": "Link in a campaign that the subscriber clicked",
	"is":           "The value equals this one, or one of these; case is ignored",
	"is_not":       "The value is missing or differs from this one, or from all of these; case is ignored",
	"contains":     "The value contains this text; case is ignored",
	"starts_with":  "The value starts with this text; case is ignored",
	"less":         "The value is a number below this one",
	"more":         "The value is a number above this one",
	"before":       "The value is a date before this day",
	"after":        "The value is a date after this day",
	"within_days":  "The value is a date, today or at most this many days ago",
	"on_day":       "The value is a date on this day of any year: today, or a day such as 12-24",
	"exists":       "The value is present",
	"missing":      "The value is missing or blank",
}

// about returns a copy of a schema with a description.
func about(schema obj, words string) obj {
	schema = maps.Clone(schema)
	schema["description"] = words
	return schema
}

// partOfCampaign returns the schema of an object with a campaign's id and the number of one of the campaign's parts.
func partOfCampaign(id obj, part string, number obj) obj {
	return obj{
		"type": "object", "properties": obj{"campaign": about(id, "ID of the campaign"), part: number},
		"required": []string{"campaign", part}, "additionalProperties": false,
	}
}

// butNot makes a schema reject values of the given types, and values that match but. The schema doesn't list the
// allowed types, because client generators support only one.
func butNot(schema, but obj, types ...string) obj {
	var wrong []obj
	if but != nil {
		wrong = append(wrong, but)
	}
	for _, name := range types {
		wrong = append(wrong, obj{"type": name})
	}
	schema["not"] = obj{"anyOf": wrong}
	return schema
}

// testSchema returns the schema of an object that has exactly one of tests.
func testSchema(tests obj) obj {
	return obj{
		"type": "object", "properties": tests, "additionalProperties": false, "minProperties": 1, "maxProperties": 1,
	}
}
