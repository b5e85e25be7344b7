package core

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of a rule.
const (
	MaxRuleBytes   = 32 << 10 // bytes of the JSON text, as given and as stored
	maxRuleDepth   = 4        // nested groups, including the condition inside
	MaxRuleLeaves  = 30       // conditions
	MaxRuleValues  = 200      // total values of all conditions
	MaxRuleField   = 100      // characters of a field's name
	MaxRuleDays    = 36_500   // days in a condition on a period
	MaxRuleLast    = 50       // campaigns in a condition on opens or clicks
	maxRuleSegment = 3        // levels of segments that refer to segments

	MaxInlined      = 300       // conditions once the referenced segments are inlined
	maxInlinedBytes = 256 << 10 // bytes of its JSON text
)

// Rule is a condition that each subscriber either matches or doesn't: a group (All, Any, Not) or a single condition.
// Parse one with ParseRule; the zero value is invalid.
type Rule struct {
	All []Rule `json:"all,omitempty"`
	Any []Rule `json:"any,omitempty"`
	Not *Rule  `json:"not,omitempty"`
	// set only by Combined: true for everyone who doesn't match the rule, including those for whom it can't be decided
	Except *Rule `json:"except,omitempty"`

	// has exactly one operator of Test
	Field    string    `json:"field,omitempty"`    // key of the preferences
	Poll     *RulePoll `json:"poll,omitempty"`     // answer to a poll
	Joined   *Test     `json:"joined,omitempty"`   // start of the subscription
	Domain   []string  `json:"domain,omitempty"`   // domain of the address, in lower case
	Received string    `json:"received,omitempty"` // id of a campaign that was sent to the subscriber
	OnList   string    `json:"on_list,omitempty"`  // id of a list on which the address is active
	Segment  string    `json:"segment,omitempty"`  // id of a segment whose rule holds
	Tag      string    `json:"tag,omitempty"`      // name or id of a tag; inlined rules have ids
	Opened   *Test     `json:"opened,omitempty"`   // opened a campaign of the list
	Clicked  *Test     `json:"clicked,omitempty"`  // clicked a link in one

	Consented   *Test     `json:"consented,omitempty"` // newest consent for the current subscription
	Source      []string  `json:"source,omitempty"`    // of the current subscription
	Language    []string  `json:"language,omitempty" about:"Languages of lists"`
	ClickedLink *RuleLink `json:"clicked_link,omitempty"` // clicked this link
	*Test
}

// Test compares a value with an operand. Exactly one operator is set.
type Test struct {
	Is         []string `json:"is,omitempty"`          // equal to one of the strings or numbers
	IsNot      []string `json:"is_not,omitempty"`      // missing, or equal to none of them
	Contains   string   `json:"contains,omitempty"`    // part of the text
	StartsWith string   `json:"starts_with,omitempty"` // start of the text
	Less       string   `json:"less,omitempty"`        // plain decimal
	More       string   `json:"more,omitempty"`        // plain decimal
	Before     string   `json:"before,omitempty"`      // date: the value is an earlier day
	After      string   `json:"after,omitempty"`       // date: the value is a later day
	WithinDays *int     `json:"within_days,omitempty"` // today or at most this many days ago
	BeforeDays *int     `json:"before_days,omitempty"` // more than this many days ago; of Joined and Consented only
	OnDay      string   `json:"on_day,omitempty"`      // "today" or MM-DD: the same day of any year
	Last       *int     `json:"last,omitempty"`        // of Opened and Clicked: one of this many received campaigns
	Exists     bool     `json:"exists,omitempty"`
	Missing    bool     `json:"missing,omitempty"`
}

// The heads of conditions and groups, and the operators for each kind of value.
var (
	ruleHeads = []string{
		"all", "any", "not", "field", "joined", "domain", "received", "on_list", "segment", "opened",
		"clicked", "tag", "consented", "source", "language", "clicked_link", "poll",
	}
	fieldOperators = []string{
		"is", "is_not", "contains", "starts_with", "less", "more", "before", "after", "within_days", "on_day", "exists",
		"missing",
	}
	pollOperators    = []string{"is", "is_not", "exists", "missing"}
	joinedOperators  = []string{"within_days", "before_days", "before", "after"}
	engagedOperators = []string{"last", "within_days"} // of opened and clicked
)

// Today is the value of Test.OnDay for the current day.
const Today = "today"

// ParseRule parses the JSON form of a rule. Its Invalid error's Field is the JSON path of the wrong condition, starting
// with field.
func ParseRule(field string, text []byte) (*Rule, error) {
	if len(text) > MaxRuleBytes {
		return nil, Invalidf(field, "%s must have at most %d bytes.", field, MaxRuleBytes)
	}
	p := ruleParser{}
	r := &Rule{}
	if err := p.rule(r, field, text, 1); err != nil {
		return nil, err
	}
	if p.leaves > MaxRuleLeaves {
		return nil, Invalidf(field, "%s has %d conditions, but at most %d are allowed. Remove some.",
			field, p.leaves, MaxRuleLeaves)
	}
	if len(r.JSON()) > MaxRuleBytes { // escaped strings and numbers with exponents are longer in this form
		return nil, Invalidf(field, "%s must have at most %d bytes.", field, MaxRuleBytes)
	}
	return r, nil
}

// ParseInlined parses a rule that Inline or Combined created, such as the rule stored with a job. The rule may be
// larger than ParseRule accepts, but must not refer to segments.
func ParseInlined(text RuleText) (*Rule, error) {
	p := ruleParser{inlined: true}
	r := &Rule{}
	if err := p.rule(r, "rule", []byte(text), 1); err != nil {
		return nil, err
	}
	return r, nil
}

// ruleParser parses a rule and counts its conditions and values to enforce their limits.
type ruleParser struct {
	leaves, values int
	inlined        bool // allow any size, and no references to segments
}

// members returns the keys of a JSON object in order, and their values.
func members(path string, text []byte) (keys []string, values map[string][]byte, err error) {
	s := JSONScanner{Text: text, What: path}
	if s.Next() != '{' {
		return nil, nil, Invalidf(path, "%s must be a JSON object.", path)
	}
	values = map[string][]byte{}
	err = s.Members(func(key []byte) error {
		name, start := string(key), s.At
		if err := s.Skip(); err != nil {
			return err
		}
		keys, values[name] = append(keys, name), text[start:s.At]
		return nil
	})
	if s.Space(); err == nil && s.At < len(text) {
		err = s.Fail("text after the value")
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return nil, nil, e.On(path)
	}
	return keys, values, nil
}

func (p *ruleParser) rule(r *Rule, path string, text []byte, depth int) error {
	if depth > maxRuleDepth && !p.inlined {
		return Invalidf(path, "%s is nested too deeply. Use at most %d levels.", path, maxRuleDepth)
	}
	keys, values, err := members(path, text)
	if err != nil {
		return err
	}
	head := ""
	for _, key := range keys {
		switch {
		case key == "except" && p.inlined:
			head = key
		case slices.Contains(ruleHeads, key) && head != "":
			return Invalidf(path, "%s has both %s and %s. Put them into a group: {\"all\": […]}.", path, head, key)
		case slices.Contains(ruleHeads, key):
			head = key
		case slices.Contains(keys, "poll"):
			if !slices.Contains(pollOperators, key) {
				return unknownIn(path, key, pollOperators)
			}
		case !slices.Contains(fieldOperators, key) && slices.Contains(keys, "field"):
			return unknownIn(path, key, fieldOperators)
		case !slices.Contains(fieldOperators, key):
			return unknownIn(path, key, ruleHeads)
		}
	}
	switch {
	case head == "":
		return Invalidf(path, "%s has no condition. Use one of %s.", path, strings.Join(ruleHeads, ", "))
	case head != "field" && head != "poll" && len(keys) > 1:
		return Invalidf(path, "%s: %s can't be combined with %s. Remove one of the two.", path, other(keys, head), head)
	}
	value, path := values[head], path+"."+head
	switch head {
	case "all":
		r.All, err = p.group(path, value, depth)
		return err
	case "any":
		r.Any, err = p.group(path, value, depth)
		return err
	case "not":
		r.Not = &Rule{}
		return p.rule(r.Not, path, value, depth+1)
	case "except":
		r.Except = &Rule{}
		return p.rule(r.Except, path, value, depth+1)
	}
	p.leaves++
	return p.leaf(r, head, path, value, values)
}

// other returns the first of keys that differs from head.
func other(keys []string, head string) string {
	for _, key := range keys {
		if key != head {
			return key
		}
	}
	return ""
}

func unknownIn(path, key string, known []string) error {
	if meant := MeantKey(known, key); meant != "" {
		return Invalidf(path, "%s: unknown condition %s. Did you mean %s?", path, ShownKey(key), meant)
	}
	return Invalidf(path, "%s: unknown condition %s. Use one of %s.", path, ShownKey(key), strings.Join(known, ", "))
}

func (p *ruleParser) group(path string, text []byte, depth int) (rules []Rule, err error) {
	var parts []json.RawMessage
	if json.Unmarshal(text, &parts) != nil || len(parts) == 0 {
		return nil, Invalidf(path, "%s must be a list with at least one condition.", path)
	}
	if len(parts) > MaxRuleLeaves && !p.inlined {
		return nil, Invalidf(path, "%s has %d conditions, but at most %d are allowed. Remove some.",
			path, len(parts), MaxRuleLeaves)
	}
	rules = make([]Rule, len(parts))
	for i := range parts {
		if err := p.rule(&rules[i], path+"["+strconv.Itoa(i)+"]", parts[i], depth+1); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

func (p *ruleParser) leaf(r *Rule, head, path string, value []byte, all map[string][]byte) (err error) {
	switch head {
	case "field":
		if r.Field, err = ruleText(path, value, MaxRuleField); err != nil {
			return err
		}
		if r.Field == "email" {
			return Invalidf(path, "%s can't be email. Use domain instead.", path)
		}
		delete(all, "field")
		r.Test = &Test{}
		return p.test(r.Test, strings.TrimSuffix(path, ".field"), all, fieldOperators)
	case "poll":
		if r.Poll, err = p.poll(path, value); err != nil {
			return err
		}
		delete(all, "poll")
		r.Test = &Test{}
		return p.test(r.Test, strings.TrimSuffix(path, ".poll"), all, pollOperators)
	case "joined", "consented":
		_, tests, err := members(path, value)
		if err != nil {
			return err
		}
		t := &Test{}
		if r.Joined = t; head == "consented" {
			r.Joined, r.Consented = nil, t
		}
		return p.test(t, path, tests, joinedOperators)
	case "source":
		r.Source, err = p.texts(path, value)
		return err
	case "language":
		r.Language, err = p.languages(path, value)
		return err
	case "clicked_link":
		r.ClickedLink, err = p.link(path, value)
		return err
	case "opened", "clicked":
		_, tests, err := members(path, value)
		if err != nil {
			return err
		}
		t := &Test{}
		if r.Opened = t; head == "clicked" {
			r.Opened, r.Clicked = nil, t
		}
		return p.test(t, path, tests, engagedOperators)
	case "domain":
		if r.Domain, err = p.texts(path, value); err != nil {
			return err
		}
		for i, d := range r.Domain {
			domain, ok := ParseDomain(strings.TrimPrefix(d, "@"))
			if !ok {
				return Invalidf(path, "%s: %q is not a domain. Use one such as example.com.", path, d)
			}
			r.Domain[i] = domain
		}
		return nil
	}
	if head == "segment" && p.inlined {
		return Invalidf(path, "%s is not allowed here. Remove it.", path)
	}
	if head == "tag" {
		r.Tag, err = ruleText(path, value, MaxTagName)
		return err
	}
	id, err := ruleText(path, value, MaxRuleField)
	switch head {
	case "received":
		r.Received = id
	case "on_list":
		r.OnList = id
	default:
		r.Segment = id
	}
	return err
}

// test reads the single operator of a condition into t.
func (p *ruleParser) test(t *Test, path string, given map[string][]byte, known []string) (err error) {
	if len(given) != 1 {
		return Invalidf(path, "%s needs exactly one of %s.", path, strings.Join(known, ", "))
	}
	for key, value := range given {
		if !slices.Contains(known, key) {
			return unknownIn(path, key, known)
		}
		path = path + "." + key
		switch key {
		case "is":
			t.Is, err = p.texts(path, value)
		case "is_not":
			t.IsNot, err = p.texts(path, value)
		case "contains":
			t.Contains, err = ruleText(path, value, MaxFieldText)
		case "starts_with":
			t.StartsWith, err = ruleText(path, value, MaxFieldText)
		case "less":
			t.Less, err = ruleNumber(path, value)
		case "more":
			t.More, err = ruleNumber(path, value)
		case "before":
			t.Before, err = ruleDate(path, value)
		case "after":
			t.After, err = ruleDate(path, value)
		case "within_days":
			t.WithinDays, err = ruleDays(path, value)
		case "before_days":
			t.BeforeDays, err = ruleDays(path, value)
		case "on_day":
			t.OnDay, err = ruleDay(path, value)
		case "last":
			t.Last, err = ruleLast(path, value)
		default:
			if string(value) != "true" {
				return Invalidf(path, "%s must be true.", path)
			}
			t.Exists, t.Missing = key == "exists", key == "missing"
		}
	}
	return err
}

// texts reads a string, number or boolean, or a list of these, and returns them as strings.
func (p *ruleParser) texts(path string, value []byte) (texts []string, err error) {
	parts, list := []json.RawMessage(nil), value[0] == '['
	if !list {
		parts = []json.RawMessage{value}
	} else if json.Unmarshal(value, &parts) != nil || len(parts) == 0 {
		return nil, Invalidf(path, "%s must have at least one value.", path)
	}
	if p.values += len(parts); p.values > MaxRuleValues && !p.inlined {
		return nil, Invalidf(path, "%s: the rule has more than %d values. Remove some.", path, MaxRuleValues)
	}
	for i, part := range parts {
		at := path
		if list {
			at += "[" + strconv.Itoa(i) + "]"
		}
		text, ok := scalarText(string(part))
		text = strings.TrimSpace(text)
		if !ok || text == "" || utf8.RuneCountInString(text) > MaxFieldText {
			return nil, Invalidf(at, "%s must be a string of 1 to %d characters, a number, true or false.", at,
				MaxFieldText)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// Leaves calls f with each single condition and its JSON path in order.
func (r *Rule) Leaves(path string, f func(path string, leaf *Rule)) {
	switch {
	case r.Not != nil:
		r.Not.Leaves(path+".not", f)
	case r.Except != nil:
		r.Except.Leaves(path+".except", f)
	case r.All != nil, r.Any != nil:
		rules, name := r.All, ".all"
		if r.All == nil {
			rules, name = r.Any, ".any"
		}
		for i := range rules {
			rules[i].Leaves(path+name+"["+strconv.Itoa(i)+"]", f)
		}
	default:
		f(path, r)
	}
}

// Inline returns the rule with each reference to a segment replaced by that segment's rule. The function rule returns a
// segment's rule; Inline returns its errors unchanged. Inline returns an Invalid error if a segment refers to itself,
// if there are more than maxRuleSegment levels or MaxInlined conditions, or if the result is too long.
func (r *Rule) Inline(path string, rule func(path, id string) (*Rule, error)) (*Rule, error) {
	n := 0
	out, err := r.inline(path, nil, &n, rule)
	if err != nil {
		return nil, err
	}
	if len(out.JSON()) > maxInlinedBytes {
		return nil, Invalidf(path, "%s has more than %d bytes, including the segments that it refers to. Shorten it.",
			path,
			maxInlinedBytes)
	}
	return &out, nil
}

func (r *Rule) inline(path string, within []string, n *int, rule func(path, id string) (*Rule, error)) (Rule, error) {
	several := func(rules []Rule, name string) (out []Rule, err error) {
		for i := range rules {
			one, err := rules[i].inline(path+name+"["+strconv.Itoa(i)+"]", within, n, rule)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		return out, nil
	}
	out := *r
	var err error
	switch {
	case r.All != nil:
		out.All, err = several(r.All, ".all")
		return out, err
	case r.Any != nil:
		out.Any, err = several(r.Any, ".any")
		return out, err
	case r.Not != nil:
		one, err := r.Not.inline(path+".not", within, n, rule)
		out.Not = &one
		return out, err
	case r.Except != nil:
		one, err := r.Except.inline(path+".except", within, n, rule)
		out.Except = &one
		return out, err
	case r.Segment == "":
		if *n++; *n > MaxInlined {
			return out, Invalidf(path, "%s has more than %d conditions, including those of the segments that it "+
				"refers to. Remove some.", path,
				MaxInlined)
		}
		return out, nil
	case slices.Contains(within, r.Segment):
		return out, Invalidf(path, "%s: segment %s refers to itself. Remove that condition.", path, r.Segment)
	case len(within) == maxRuleSegment:
		return out, Invalidf(path, "%s: segments can refer to each other at most %d levels deep. Remove a reference.",
			path, maxRuleSegment)
	}
	of, err := rule(path, r.Segment)
	if err != nil {
		return out, err
	}
	return of.inline(path, append(slices.Clone(within), r.Segment), n, rule)
}

// Campaign returns the id of the campaign that a single condition refers to, or an empty string if it refers to none.
func (r *Rule) Campaign() string {
	switch {
	case r.ClickedLink != nil:
		return r.ClickedLink.Campaign
	case r.Poll != nil:
		return r.Poll.Campaign
	}
	return r.Received
}

// JSON returns the rule in the JSON form that ParseRule reads.
func (r *Rule) JSON() string {
	b, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprint("rule: ", err)) // strings, numbers and booleans always encode
	}
	return string(b)
}
