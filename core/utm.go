package core

import (
	"net/url"
	"strings"
	"unicode/utf8"
)

// MaxUTM is the maximum length of a UTM parameter, in characters.
const MaxUTM = 100

// UTM holds the parameters that tell website analytics where visitors come from. They are added to a campaign's links
// that have none.
type UTM struct {
	Source   string `json:"source,omitempty" about:"Traffic source (utm_source)"`
	Medium   string `json:"medium,omitempty" about:"Kind of traffic, such as email (utm_medium)"`
	Campaign string `json:"campaign,omitempty" about:"Name of the campaign (utm_campaign)"`
	Term     string `json:"term,omitempty" about:"Search term (utm_term)"`
	Content  string `json:"content,omitempty" about:"Distinguishes links or versions (utm_content)"`
}

type utmParameter struct{ name, value string }

func (u *UTM) parameters() []utmParameter {
	return []utmParameter{
		{"source", u.Source}, {"medium", u.Medium}, {"campaign", u.Campaign}, {"term", u.Term}, {"content", u.Content},
	}
}

// Query returns the parameters as a URL query, or "" if there are none.
func (u *UTM) Query() string {
	var all []string
	for _, p := range u.parameters() {
		if p.value != "" {
			all = append(all, "utm_"+p.name+"="+url.QueryEscape(p.value))
		}
	}
	return strings.Join(all, "&")
}

func (u *UTM) check() error {
	for _, p := range u.parameters() {
		field := "utm." + p.name
		switch {
		case hasControl(p.value):
			return Invalidf(field, "%s contains control characters. Remove them.", field)
		case utf8.RuneCountInString(p.value) > MaxUTM:
			return Invalidf(field, "%s must have at most %d characters.", field, MaxUTM)
		case strings.Contains(p.value, "{{") || strings.Contains(p.value, "{%"):
			return Invalidf(field, "%s contains placeholders, but is the same for all subscribers. Remove them.", field)
		}
	}
	return nil
}
