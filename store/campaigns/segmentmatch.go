package campaigns

import (
	"errors"
	"slices"

	"newsletterd/core"
	"newsletterd/store/db"
)

// RuleMatch decides which subscribers of a tenant match a rule at a given moment.
type RuleMatch struct {
	matcher  *core.Matcher
	received [][]sentPart // recipients of each of the matcher's campaigns
	tags     []int64      // number of each of the matcher's tags
	lookups  int          // number of lists and campaigns in which each subscriber is looked up
	now      core.Instant
	asks     bool                     // opens and clicks are stored only for subscribers who agreed
	jobs     map[string][]MeasuredJob // of each list; used by one goroutine at a time
	links    [][]sentPart             // recipients of the campaign of each of the matcher's links
	language map[string]string        // of each list, as needed
}

// MatchRule returns the match of a tenant's rule at a moment. The rule may refer to segments. If the tenant has no such
// segment, list or campaign, or a campaign's recipients are no longer stored, it returns an error of core.Undecided.
func MatchRule(q db.Querier, tenantID string, rule *core.Rule, now core.Instant) (*RuleMatch, error) {
	inlined, err := inlineRule(q, tenantID, rule)
	if err != nil {
		return nil, err
	}
	var t core.Tenant
	if err := q.Get(&t, "SELECT time_zone, no_tracking, totals_only, tracking_consent FROM tenant WHERE id = ?",
		tenantID); err != nil {
		return nil, err
	}
	zone, err := core.ParseZone(t.TimeZone)
	if err != nil {
		zone = nil // use UTC for the days of the rule
	}
	m := &RuleMatch{
		matcher: inlined.Compile(now, zone), now: now, asks: t.AsksForTracking(), jobs: map[string][]MeasuredJob{},
		language: map[string]string{},
	}
	sent, tags := map[string][]sentPart{}, map[string]core.Tag{}
	seen := map[string]bool{}
	inlined.Leaves("rule", func(path string, leaf *core.Rule) {
		if err == nil && (leaf.Opened != nil || leaf.Clicked != nil || leaf.ClickedLink != nil) &&
			(t.NoTracking || t.TotalsOnly) {
			err = core.Undecided(path, "opens and clicks are not tracked per subscriber")
		}
		if err == nil && leaf.Tag != "" {
			tags[leaf.Tag], err = decidedTag(q, tenantID, path, leaf.Tag)
		}
		if id := leaf.OnList + leaf.Campaign(); err == nil && id != "" && !seen[id] {
			seen[id] = true
			sent[id], err = decided(q, tenantID, path, leaf)
		}
		if err == nil && leaf.ClickedLink != nil {
			err = linkDecided(q, path, leaf.ClickedLink, sent[leaf.ClickedLink.Campaign])
		}
	})
	if err != nil {
		return nil, err
	}
	for _, name := range m.matcher.Tags {
		m.tags = append(m.tags, tags[name].No)
	}
	m.lookups += len(m.matcher.Lists)
	if h := m.matcher.History; h != (core.History{}) {
		m.lookups += max(1, h.Last/5) // read by ranges
	}
	if m.matcher.Ledger {
		m.lookups++
	}
	for _, l := range m.matcher.Links {
		m.links = append(m.links, sent[l.Campaign])
		m.lookups += 2 * len(sent[l.Campaign])
	}
	for _, id := range m.matcher.Campaigns {
		m.received = append(m.received, sent[id])
		m.lookups += len(sent[id])
	}
	return m, nil
}

// decided returns the recipients of the campaign that a condition names, if it names one. If the condition can't be
// evaluated, it returns an error of core.Undecided.
func decided(q db.Querier, tenantID, path string, leaf *core.Rule) ([]sentPart, error) {
	known, err := refersToTenant(q, tenantID, leaf)
	switch {
	case err != nil:
		return nil, err
	case !known && leaf.OnList != "":
		return nil, core.Undecided(path, "list "+leaf.OnList+" doesn't exist")
	case !known:
		return nil, core.Undecided(path, "campaign "+leaf.Campaign()+" doesn't exist")
	case leaf.Campaign() == "":
		return nil, nil
	}
	parts, err := campaignParts(q, leaf.Campaign())
	for _, p := range parts {
		there, err := recipientsKnown(q, p)
		if err != nil {
			return nil, err
		}
		if !there {
			return nil, core.Undecided(path, "the recipients of campaign "+leaf.Campaign()+" are no longer stored")
		}
	}
	return parts, err
}

// profiles returns the data of subscribers that the rule needs.
func (m *RuleMatch) profiles(s *db.DB, q db.Querier, subs []core.Subscriber) ([]core.Profile, error) {
	lists, campaigns := len(m.matcher.Lists), len(m.received)
	ps, flags := make([]core.Profile, len(subs)), make([]bool, len(subs)*(lists+campaigns))
	for i := range subs {
		p := &ps[i]
		p.Email, p.Preferences, p.JoinedAt = subs[i].Email, subs[i].Preferences, subs[i].Joined()
		p.OnList, p.Received, flags = flags[:lists], flags[lists:lists+campaigns], flags[lists+campaigns:]
	}
	keyed := candidatesOf(subs)
	for at, list := range m.matcher.Lists {
		var places []int
		if err := q.All(&places, activeAmong, list, idsOn(s, keyed, list)); err != nil {
			return nil, err
		}
		for _, i := range places {
			ps[i].OnList[at] = true
		}
	}
	for at, parts := range m.received {
		for _, p := range parts {
			var places []int
			if err := q.All(&places, sentAmong, p.jobNo, p.After+1, p.To, idsOn(s, keyed, p.ListID)); err != nil {
				return nil, err
			}
			for _, i := range places {
				ps[i].Received[at] = true
			}
		}
	}
	if err := m.addFacts(q, subs[0].ListID, subs, ps); err != nil {
		return nil, err
	}
	if err := m.addTags(q, subs, ps); err != nil {
		return nil, err
	}
	if err := m.addLinks(s, q, keyed, ps); err != nil {
		return nil, err
	}
	return ps, m.addMailings(q, subs[0].ListID, subs, ps)
}

func candidatesOf(subs []core.Subscriber) []candidate {
	cs := make([]candidate, len(subs))
	for i := range subs {
		cs[i] = candidate{subs[i].ID, subs[i].EmailKey}
	}
	return cs
}

// NotOn drops the subscribers whose addresses may be emailed through any of the given lists.
func NotOn(s *db.DB, q db.Querier, subs []core.Subscriber, lists []string) ([]core.Subscriber, error) {
	for _, list := range lists {
		if len(subs) == 0 {
			break
		}
		var places []int
		if err := q.All(&places, mailableAmong, list, idsOn(s, candidatesOf(subs), list)); err != nil {
			return nil, err
		}
		subs = dropped(subs, places)
	}
	return subs, nil
}

// Among reports, for each of the subscribers, whether they match. They need the fields of ProfileColumns.
func (m *RuleMatch) Among(s *db.DB, q db.Querier, subs []core.Subscriber) (matches []bool, err error) {
	if len(subs) == 0 {
		return nil, nil
	}
	ps, err := m.profiles(s, q, subs)
	if err != nil {
		return nil, err
	}
	matches = make([]bool, len(subs))
	for i := range ps {
		matches[i] = m.matcher.Match(&ps[i])
	}
	return matches, nil
}

// Explain reports, for each condition of the rule, whether a subscriber matches it. match reports whether they match
// the rule.
func (m *RuleMatch) Explain(s *db.DB, q db.Querier, sub *core.Subscriber) (reasons []core.Reason, match bool,
	err error,
) {
	ps, err := m.profiles(s, q, []core.Subscriber{*sub})
	if err != nil {
		return nil, false, err
	}
	return m.matcher.Explain(&ps[0]), m.matcher.Match(&ps[0]), nil
}

// Step returns the number of subscribers that one read or write checks, at most most. The more lookups each subscriber
// needs, the fewer it checks.
func (m *RuleMatch) Step(most int) int { return max(fewestExpanded, most/(1+m.lookups)) }

// ProfileColumns are the columns of a subscriber "s" that a rule needs.
const ProfileColumns = "s.list_id, s.id, s.email_key, s.email, s.preferences, s.joined_at, s.created_at, s.word_at"

// profilesOf selects the subscribers of a list with the ids in a JSON array, in that order.
const profilesOf = "SELECT " + ProfileColumns + ` FROM json_each(?2) AS j CROSS JOIN subscriber AS s ON s.list_id = ?1
	AND s.id = j.value`

// judge reports, by id, whether each candidate of a list matches.
func (m *RuleMatch) judge(s *db.DB, q db.Querier, list string, found []candidate) (map[string]bool, error) {
	matches := make(map[string]bool, len(found))
	if len(found) == 0 {
		return matches, nil
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	var subs []core.Subscriber
	if err := q.All(&subs, profilesOf, list, db.JsonOf(ids)); err != nil {
		return nil, err
	}
	if len(subs) != len(found) {
		return nil, core.ErrStorage.With(errors.New("a candidate is no subscriber"))
	}
	each, err := m.Among(s, q, subs)
	if err != nil {
		return nil, err
	}
	for i := range subs {
		matches[subs[i].ID] = each[i]
	}
	return matches, nil
}

// keep drops the candidates of a list who don't match. A nil match drops no one.
func (m *RuleMatch) keep(s *db.DB, q db.Querier, list string, found []candidate) ([]candidate, error) {
	if m == nil {
		return found, nil
	}
	matches, err := m.judge(s, q, list, found)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(c candidate) bool { return !matches[c.ID] }), nil
}

// countedMatch returns the match of the segments of a campaign: of the approved rule if n has one, otherwise of the
// current segments. If the campaign names no segment, it returns nil.
func countedMatch(q db.Querier, tenantID string, n *core.Narrowing, now core.Instant) (*RuleMatch, error) {
	read := func() (*core.Rule, error) { return ruleOf(q, tenantID, n) }
	if n.Rule != "" {
		read = func() (*core.Rule, error) { return core.ParseInlined(n.Rule) }
	}
	rule, err := read()
	if rule == nil || err != nil {
		return nil, err
	}
	return MatchRule(q, tenantID, rule, now)
}

// notJudged drops the candidates whom an earlier list of a job with a rule could have reached. Each person is therefore
// judged once, by the fields of the first list that may email them. A person who joined the earlier list after the job
// started is kept, because that list may have missed them.
func notJudged(tx *db.Tx, found []candidate, parts []jobPart, j *core.SendJob, n *core.Narrowing) (_ []candidate,
	err error,
) {
	if !n.Segmented() || len(parts) == 0 {
		return found, nil
	}
	at, err := ruleMoment(tx, j)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if found, err = without(tx.DB(), found, p.ListID, func(ids string) (places []int, err error) {
			return places, tx.All(&places, judgedAmong, p.ListID, ids, int64(at))
		}); err != nil {
			return nil, err
		}
	}
	return found, nil
}
