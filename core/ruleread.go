package core

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// RuleLink identifies a link in a campaign by its number.
type RuleLink struct {
	Campaign string `json:"campaign"` // id
	Link     int64  `json:"link"`     // number
}

// RulePoll identifies a poll in a campaign by its number.
type RulePoll struct {
	Campaign string `json:"campaign"` // id
	Number   int    `json:"number"`
}

// ruleText reads a non-empty string of at most limit characters from a rule.
func ruleText(path string, value []byte, limit int) (s string, err error) {
	if json.Unmarshal(value, &s) != nil || value[0] != '"' {
		return "", Invalidf(path, "%s must be a string.", path)
	}
	s = strings.TrimSpace(s)
	if s == "" || utf8.RuneCountInString(s) > limit || hasControl(s) {
		return "", Invalidf(path, "%s must have 1 to %d characters and no control characters.", path, limit)
	}
	return s, nil
}

// ruleNumber reads a number, or a string that is a plain decimal, from a rule.
func ruleNumber(path string, value []byte) (string, error) {
	text, ok := scalarText(string(value))
	if !ok || !isDecimal(text) || len(text) > MaxFieldText {
		return "", Invalidf(path, "%s must be a number, for example 10 or 2.5.", path)
	}
	return text, nil
}

func ruleDate(path string, value []byte) (s string, err error) {
	if json.Unmarshal(value, &s) == nil {
		if _, err = time.Parse(time.DateOnly, s); err == nil {
			return s, nil
		}
	}
	return "", Invalidf(path, "%s must be a date such as 2026-01-31.", path)
}

func ruleDays(path string, value []byte) (*int, error) {
	n, err := strconv.Atoi(string(value))
	if err != nil || n < 0 || n > MaxRuleDays {
		return nil, Invalidf(path, "%s must be a number of days from 0 to %d.", path, MaxRuleDays)
	}
	return &n, nil
}

func ruleLast(path string, value []byte) (*int, error) {
	n, err := strconv.Atoi(string(value))
	if err != nil || n < 1 || n > MaxRuleLast {
		return nil, Invalidf(path, "%s must be a number of campaigns from 1 to %d.", path, MaxRuleLast)
	}
	return &n, nil
}

func ruleDay(path string, value []byte) (s string, err error) {
	if json.Unmarshal(value, &s) == nil {
		if s == Today {
			return s, nil
		}
		if _, err = time.Parse(time.DateOnly, "2024-"+s); err == nil { // a leap year
			return s, nil
		}
	}
	return "", Invalidf(path, "%s must be \"today\" or a day such as 12-24.", path)
}

// languages reads the languages in a condition.
func (p *ruleParser) languages(path string, value []byte) ([]string, error) {
	all, err := p.texts(path, value)
	for i := range all {
		if all[i] = strings.ToLower(all[i]); !slices.Contains(Languages, all[i]) {
			return nil, Invalidf(path, "%s: the language %q is not available. Use one of %s.", path, all[i],
				strings.Join(Languages, ", "))
		}
	}
	return all, err
}

// Names returns the id of the record that a single condition refers to, and the noun for that kind of record. Both are
// empty if there is none. For a tag, the id may be its name.
func (r *Rule) Names() (noun, id string) {
	switch {
	case r.OnList != "":
		return "list", r.OnList
	case r.Campaign() != "":
		return "campaign", r.Campaign()
	case r.Segment != "":
		return "segment", r.Segment
	case r.Tag != "":
		return "tag", r.Tag
	}
	return "", ""
}

// CheckIDs returns an Invalid error if a condition refers to a list, a campaign or a segment by something other than an
// ID. The error contains the JSON path of the first such condition; path is that of the rule.
func (r *Rule) CheckIDs(path string) (err error) {
	r.Leaves(path, func(at string, leaf *Rule) {
		noun, id := leaf.Names()
		if noun == "" || noun == "tag" || err != nil {
			return
		}
		if _, ok := ParseID(id); !ok {
			err = Invalidf(at, "%s needs the ID of a %s, not its name. To find the ID: newsletterd admin %s list.", at,
				noun, noun)
		}
	})
	return err
}

// link reads the campaign and link number of a condition on clicks.
func (p *ruleParser) link(path string, value []byte) (*RuleLink, error) {
	campaign, number, err := partOfCampaign(path, value, "link")
	if err != nil {
		return nil, err
	}
	l := &RuleLink{Campaign: campaign}
	if l.Link, err = strconv.ParseInt(string(number), 10, 64); err != nil || l.Link < 1 || l.Link >= CanaryLink {
		return nil, Invalidf(path+".link", "%s must be the number of a link, for example 1.", path+".link")
	}
	return l, nil
}

// poll reads the campaign and poll number of a condition on answers.
func (p *ruleParser) poll(path string, value []byte) (*RulePoll, error) {
	campaign, number, err := partOfCampaign(path, value, "number")
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(string(number))
	if err != nil || n < 1 || n > MaxPolls {
		return nil, Invalidf(path+".number", "%s must be the number of a poll, for example 1.", path+".number")
	}
	return &RulePoll{campaign, n}, nil
}

// partOfCampaign reads an object with a campaign's id and the number of one of its parts.
func partOfCampaign(path string, value []byte, part string) (campaign string, number []byte, err error) {
	keys, parts, err := members(path, value)
	if err != nil {
		return "", nil, err
	}
	known := []string{"campaign", part}
	for _, key := range keys {
		if !slices.Contains(known, key) {
			return "", nil, unknownIn(path, key, known)
		}
	}
	if len(keys) != len(known) {
		return "", nil, Invalidf(path, "%s needs both campaign and %s.", path, part)
	}
	campaign, err = ruleText(path+".campaign", parts["campaign"], MaxRuleField)
	return campaign, parts[part], err
}
