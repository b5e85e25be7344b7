package core

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// Profile holds the data about a subscriber that a rule's conditions need.
type Profile struct {
	Email       Email
	Preferences Preferences
	JoinedAt    Instant // start of the current subscription
	OnList      []bool  // for each of Matcher.Lists: the address is active on it
	Received    []bool  // for each of Matcher.Campaigns: it was sent to the subscriber
	Tagged      []bool  // for each of Matcher.Tags: the subscriber has it

	// campaigns that the list sent to the subscriber and that track opens or clicks by subscriber, newest first; at
	// least those that Matcher.History describes
	Mailings  []Mailing
	Untracked bool // the subscriber's opens and clicks aren't known, because consent is missing

	ConsentedAt Instant  // newest consent for the current subscription; 0: none is recorded
	Source      string   // of the current subscription; empty: unknown
	Language    string   // of the list
	Answers     []string // for each of Matcher.Polls: the text of the chosen option; empty: no answer
	Links       []bool   // for each of Matcher.Links: the subscriber clicked it
	LinksSent   []bool   // for each of Matcher.Links: its campaign was sent to the subscriber
}

// Mailing is a campaign that was sent to a subscriber.
type Mailing struct {
	At     Instant // start of the job
	Opens  bool    // opens are tracked
	Clicks bool    // clicks are tracked
	Marks  Marks
}

// History describes which past campaigns a matcher needs to know for each subscriber: the last few, and all since an
// instant. The zero value means none.
type History struct {
	Last  int     // number of campaigns that track opens, and of those that track clicks
	Since Instant // 0: none by time
	Marks Marks   // marks that decide at least one condition
}

// truth is the result of a condition. A condition that can't be decided for a subscriber is neither true nor false, and
// neither is its opposite.
type truth int8

const (
	no truth = iota
	unknown
	yes
)

func is(holds bool) truth {
	if holds {
		return yes
	}
	return no
}

// Matcher decides which subscribers match a rule at a given time. It is safe for concurrent use.
type Matcher struct {
	Lists, Campaigns []string // ids to look up for each subscriber
	Links            []RuleLink
	Polls            []RulePoll
	Ledger           bool     // ConsentedAt and Source are needed
	Language         bool     // the language is needed
	Preferences      bool     // the preferences are needed
	Address          bool     // the email address is needed
	Joined           bool     // JoinedAt is needed
	Tags             []string // names or ids to look up
	History          History
	fields           []string
	zone             *time.Location
	today            time.Time // the current day, at midnight UTC
	root             func(*seen) truth
	early            func(*seen) possible
	cheap, costly    bool // some conditions are known early, and some are not
	leaves           []Reason
	tests            []func(*seen) truth
	unused           sync.Pool // of *seen
}

// Reason is one of a rule's conditions with its result for a subscriber.
type Reason struct {
	Path    string `json:"path" about:"JSON path of the condition, starting with rule"`
	Rule    *Rule  `json:"rule" about:"The condition"`
	Value   string `json:"value,omitempty" about:"The subscriber's value; absent if there is none"`
	Match   bool   `json:"match" about:"Whether the condition matches"`
	Unknown bool   `json:"unknown,omitempty" about:"Whether the condition can't be evaluated for this subscriber; then it never matches"`
}

// Compile returns a matcher that evaluates the rule at now. Days are in zone; nil means UTC. The rule must not refer to
// segments: see Inline.
func (r *Rule) Compile(now Instant, zone *time.Location) *Matcher {
	if zone == nil {
		zone = time.UTC
	}
	m := &Matcher{zone: zone}
	m.today = m.dayOf(now)
	m.root, m.early = m.compile(r), m.compileEarly(r)
	r.Leaves("rule", func(path string, leaf *Rule) {
		m.leaves = append(m.leaves, Reason{Path: path, Rule: leaf})
		m.tests = append(m.tests, m.compile(leaf))
	})
	return m
}

// Match reports whether a subscriber matches the rule.
func (m *Matcher) Match(p *Profile) bool {
	s := m.see(p)
	defer m.forget(s)
	return m.root(s) == yes
}

// Explain returns the result of each condition in the rule for a subscriber, in order.
func (m *Matcher) Explain(p *Profile) []Reason {
	s, out := m.see(p), slices.Clone(m.leaves)
	defer m.forget(s)
	for i := range out {
		result := m.tests[i](s)
		out[i].Match, out[i].Unknown = result == yes, result == unknown
		switch leaf := out[i].Rule; {
		case leaf.Field != "":
			out[i].Value = s.values[slices.Index(m.fields, leaf.Field)].String()
		case leaf.Joined != nil:
			out[i].Value = m.dayOf(p.JoinedAt).Format(time.DateOnly)
		case leaf.Domain != nil:
			out[i].Value = p.Email.Domain()
		case leaf.Consented != nil && p.ConsentedAt != 0:
			out[i].Value = m.dayOf(p.ConsentedAt).Format(time.DateOnly)
		case leaf.Source != nil:
			out[i].Value = p.Source
		case leaf.Language != nil:
			out[i].Value = p.Language
		case leaf.Poll != nil:
			out[i].Value = p.Answers[slices.Index(m.Polls, *leaf.Poll)]
		}
	}
	return out
}

// seen holds a subscriber's profile with the field values that the rule needs. It is reused for other subscribers.
type seen struct {
	*Profile
	values []fieldValue // of each field of the matcher
	unread int          // fields not found so far
	scan   JSONScanner
}

// see reads the field values that the rule needs from a profile. If the preferences are not an object, all fields are
// missing.
func (m *Matcher) see(p *Profile) *seen {
	s, _ := m.unused.Get().(*seen)
	if s == nil {
		s = &seen{values: make([]fieldValue, len(m.fields))}
	}
	s.Profile, s.unread = p, len(m.fields)
	for i := range s.values {
		s.values[i].clear()
	}
	if s.unread == 0 || p.Preferences == "" || p.Preferences == NoPreferences {
		return s
	}
	s.scan = JSONScanner{
		Text: append(s.scan.Text[:0], p.Preferences...), keys: s.scan.keys[:0], scratch: s.scan.scratch,
	}
	if s.scan.Next() == '{' {
		_ = s.scan.Members(func(key []byte) error { return m.member(s, key) })
	}
	return s
}

// errAllRead stops the JSON scanner once all needed preferences were read.
var errAllRead = errors.New("all fields were read")

// member reads the value under key if the rule needs it.
func (m *Matcher) member(s *seen, key []byte) error {
	at := -1
	for i, field := range m.fields {
		if field == string(key) {
			at = i
		}
	}
	start := s.scan.At
	if err := s.scan.Skip(); err != nil || at < 0 {
		return err
	}
	s.values[at].read(string(s.Preferences[start:s.scan.At]))
	if s.unread--; s.unread == 0 {
		return errAllRead
	}
	return nil
}

// forget returns s to the pool that see uses.
func (m *Matcher) forget(s *seen) {
	s.Profile = nil
	m.unused.Put(s)
}

func (m *Matcher) compile(r *Rule) func(*seen) truth {
	switch {
	case r.Not != nil:
		not := m.compile(r.Not)
		return func(s *seen) truth { return yes - not(s) }
	case r.Except != nil:
		except := m.compile(r.Except)
		return func(s *seen) truth { return is(except(s) != yes) }
	case r.All != nil:
		all := m.compileAll(r.All)
		return func(s *seen) truth {
			least := yes
			for _, holds := range all {
				if least = min(least, holds(s)); least == no {
					break
				}
			}
			return least
		}
	case r.Any != nil:
		some := m.compileAll(r.Any)
		return func(s *seen) truth {
			most := no
			for _, holds := range some {
				if most = max(most, holds(s)); most == yes {
					break
				}
			}
			return most
		}
	case r.Opened != nil:
		m.History.Marks |= MarkOpened | MarkClicked | MarkReadByPerson | MarkReadUnclear
		return m.engaged(r.Opened, Mailing.opened)
	case r.Clicked != nil:
		m.History.Marks |= MarkClicked
		return m.engaged(r.Clicked, Mailing.clicked)
	case r.ClickedLink != nil:
		return m.clickedLink(*r.ClickedLink)
	}
	holds := m.plain(r)
	return func(s *seen) truth { return is(holds(s)) }
}

// plain compiles a condition that can be decided for every subscriber.
func (m *Matcher) plain(r *Rule) func(*seen) bool {
	switch {
	case r.Field != "":
		m.Preferences = true
		at, test := indexIn(&m.fields, r.Field), m.test(r.Test)
		return func(s *seen) bool { return test(&s.values[at]) }
	case r.Poll != nil:
		return m.answered(*r.Poll, r.Test)
	case r.Joined != nil:
		return m.joined(r.Joined)
	case r.Consented != nil:
		m.Ledger = true
		test := m.dayTest(r.Consented)
		return func(s *seen) bool { return s.ConsentedAt != 0 && test(m.dayOf(s.ConsentedAt)) }
	case r.Source != nil:
		m.Ledger = true
		is := oneOf(r.Source)
		return func(s *seen) bool { return s.Source != "" && is(s.Source) }
	case r.Language != nil:
		m.Language = true
		return func(s *seen) bool { return slices.Contains(r.Language, s.Language) }
	case r.Domain != nil:
		m.Address = true
		return func(s *seen) bool { return slices.Contains(r.Domain, s.Email.Domain()) }
	case r.Received != "":
		at := indexIn(&m.Campaigns, r.Received)
		return func(s *seen) bool { return s.Received[at] }
	case r.OnList != "":
		at := indexIn(&m.Lists, r.OnList)
		return func(s *seen) bool { return s.OnList[at] }
	case r.Tag != "":
		at := indexIn(&m.Tags, r.Tag)
		return func(s *seen) bool { return s.Tagged[at] }
	}
	panic("rule: " + r.JSON() + " has no condition, or refers to a segment")
}

// opened returns whether a person opened the email or clicked a link in it, and whether opens are tracked. The result
// is unknown if the email was opened, but possibly only by a program.
func (l Mailing) opened() (t truth, tracked bool) {
	switch clicked, _ := l.clicked(); {
	case clicked == yes || l.Marks.Opens() == ClassPerson:
		return yes, l.Opens
	case l.Marks.Opens() == ClassUnclear:
		return unknown, l.Opens
	}
	return no, l.Opens
}

// clicked returns whether a person clicked a link in the email, and whether clicks are tracked.
func (l Mailing) clicked() (t truth, tracked bool) {
	return is(l.Marks.Clicked()), l.Clicks
}

// engaged compiles a condition on opens or clicks. The result is unknown for subscribers who received none of the
// campaigns.
func (m *Matcher) engaged(t *Test, result func(Mailing) (truth, bool)) func(*seen) truth {
	m.Joined = true // campaigns before the subscription don't count
	last, since := math.MaxInt, Instant(0)
	if t.Last != nil {
		last = *t.Last
		m.History.Last = max(m.History.Last, last)
	} else {
		first := m.today.AddDate(0, 0, -*t.WithinDays)
		since = At(time.Date(first.Year(), first.Month(), first.Day(), 0, 0, 0, 0, m.zone))
		if m.History.Since == 0 || since < m.History.Since {
			m.History.Since = max(since, 1)
		}
	}
	return func(s *seen) truth {
		if s.Untracked {
			return unknown
		}
		received, most := 0, no
		for _, l := range s.Mailings {
			one, tracked := result(l)
			if !tracked {
				continue
			}
			if received == last || l.At < since {
				break
			}
			received++
			most = max(most, one)
		}
		if received == 0 {
			return unknown
		}
		return most
	}
}

// clickedLink compiles a condition on a link. The result is unknown for subscribers who didn't
// receive the campaign.
func (m *Matcher) clickedLink(l RuleLink) func(*seen) truth {
	at := slices.Index(m.Links, l)
	if at < 0 {
		at, m.Links = len(m.Links), append(m.Links, l)
	}
	return func(s *seen) truth {
		if s.Untracked || !s.LinksSent[at] {
			return unknown
		}
		return is(s.Links[at])
	}
}

// answered compiles a condition on the answer to a poll.
func (m *Matcher) answered(p RulePoll, t *Test) func(*seen) bool {
	at := slices.Index(m.Polls, p)
	if at < 0 {
		at, m.Polls = len(m.Polls), append(m.Polls, p)
	}
	switch {
	case t.Missing:
		return func(s *seen) bool { return s.Answers[at] == "" }
	case t.Exists:
		return func(s *seen) bool { return s.Answers[at] != "" }
	case t.Is != nil:
		is := oneOf(t.Is)
		return func(s *seen) bool { return s.Answers[at] != "" && is(s.Answers[at]) }
	}
	is := oneOf(t.IsNot)
	return func(s *seen) bool { return s.Answers[at] == "" || !is(s.Answers[at]) }
}

func (m *Matcher) compileAll(rules []Rule) (all []func(*seen) truth) {
	for i := range rules {
		all = append(all, m.compile(&rules[i]))
	}
	return all
}

// indexIn returns the index of s in all. If s is missing, indexIn appends it first.
func indexIn(all *[]string, s string) int {
	if i := slices.Index(*all, s); i >= 0 {
		return i
	}
	*all = append(*all, s)
	return len(*all) - 1
}

func (m *Matcher) joined(t *Test) func(*seen) bool {
	m.Joined = true
	test := m.dayTest(t)
	return func(s *seen) bool { return test(m.dayOf(s.JoinedAt)) }
}

// test returns a function that compares a preference value with the operand of t.
func (m *Matcher) test(t *Test) func(*fieldValue) bool {
	some := func(test func(string) bool) func(*fieldValue) bool {
		return func(v *fieldValue) bool { return slices.ContainsFunc(v.texts, test) }
	}
	switch {
	case t.Missing:
		return func(v *fieldValue) bool { return !v.exists }
	case t.Exists:
		return func(v *fieldValue) bool { return v.exists }
	case t.Is != nil:
		return some(oneOf(t.Is))
	case t.IsNot != nil:
		is := some(oneOf(t.IsNot))
		return func(v *fieldValue) bool { return !is(v) }
	case t.Contains != "":
		part := foldText(t.Contains)
		return some(func(s string) bool { return strings.Contains(foldText(s), part) })
	case t.StartsWith != "":
		start := foldText(t.StartsWith)
		return some(func(s string) bool { return strings.HasPrefix(foldText(s), start) })
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
	}
	day := t.OnDay
	if day == Today {
		day = m.today.Format("01-02")
	}
	on, _ := time.Parse(time.DateOnly, "2024-"+day) // a leap year
	month, first, last := on.Month(), on.Day(), on.Day()
	if t.OnDay == Today && day == "02-28" && m.today.AddDate(0, 0, 1).Day() == 1 {
		last = 29 // birthdays of 29 Feb are on 28 Feb in other years
	}
	return func(day time.Time) bool { return day.Month() == month && first <= day.Day() && day.Day() <= last }
}

// dayOf returns the day of an instant in the matcher's zone, at midnight UTC.
func (m *Matcher) dayOf(at Instant) time.Time {
	return m.civil(at.Time())
}

func (m *Matcher) civil(at time.Time) time.Time {
	y, month, d := at.In(m.zone).Date()
	return time.Date(y, month, d, 0, 0, 0, 0, time.UTC)
}

// date returns the day of an ISO 8601 date or an RFC 3339 time.
func (m *Matcher) date(s string) (time.Time, bool) {
	if len(s) < len(time.DateOnly) || s[4] != '-' || s[7] != '-' { // avoids the cost of creating an error
		return time.Time{}, false
	}
	if len(s) == len(time.DateOnly) {
		day, err := time.Parse(time.DateOnly, s)
		return day, err == nil
	}
	at, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}, false
	}
	return m.civil(at), true
}
