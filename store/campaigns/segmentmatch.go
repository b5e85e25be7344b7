package campaigns

import (
	"errors"
	"slices"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/mailed"
)

// RuleMatch holds the data for evaluating a tenant's rule as of a given time.
type RuleMatch struct {
	matcher      *core.Matcher
	received     [][]sentPart // recipients of each of the matcher's campaigns
	tags         []int64      // number of each of the matcher's tags
	polls        []askedPoll  // each of the matcher's polls
	now          core.Instant
	asks         bool                     // whether opens and clicks are stored only for subscribers who agreed to it
	jobs         map[string][]MeasuredJob // jobs of each list; used by one goroutine at a time
	links        [][]sentPart             // recipients of the campaign of each of the matcher's links
	language     map[string]string        // language of each list, read when needed
	active       map[string]idSet         // ids on lists that the rule names; see Remember
	sent         map[onOther]idSet
	scans        map[[2]int64]scan           // by job and first recipient
	pages        map[[2]int64]*mailed.Cursor // pages of the same recipients; nil if they are not stored in pages
	rows         []Mailed                    // reused
	room         []core.Mailing              // reused
	tried, early int                         // subscribers for whom an early decision was tried, and was made
	keys         []mailed.Key                // of the subscribers who are being checked; reused
	subs         []core.Subscriber           // the subscribers who are being checked; reused
	leads        []lead                      // conditions that everyone who matches meets; see Lead
}

// MatchRule returns a RuleMatch for a tenant's rule at now. The rule may refer to segments. If the tenant has no such
// segment, list or campaign, or a campaign's recipients are no longer stored, it returns a core.Undecided error.
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
		zone = nil // days in the rule are UTC days
	}
	m := &RuleMatch{
		matcher: inlined.Compile(now, zone), now: now, asks: t.AsksForTracking(), jobs: map[string][]MeasuredJob{},
		language: map[string]string{}, active: map[string]idSet{}, sent: map[onOther]idSet{},
		scans: map[[2]int64]scan{}, pages: map[[2]int64]*mailed.Cursor{},
	}
	sent, tags, asked := map[string][]sentPart{}, map[string]core.Tag{}, map[core.RulePoll]askedPoll{}
	seen := map[string]bool{}
	inlined.Leaves("rule", func(path string, leaf *core.Rule) {
		if err == nil && (leaf.Opened != nil || leaf.Clicked != nil || leaf.ClickedLink != nil) &&
			(t.NoTracking || t.TotalsOnly) {
			err = core.Undecided(path, "opens and clicks are not tracked per subscriber")
		}
		if err == nil && leaf.Tag != "" {
			tags[leaf.Tag], err = decidedTag(q, tenantID, path, leaf.Tag)
		}
		if err == nil && leaf.Poll != nil {
			asked[*leaf.Poll], err = decidedPoll(q, tenantID, path, leaf)
			return
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
	for _, p := range m.matcher.Polls {
		m.polls = append(m.polls, asked[p])
	}
	for _, l := range m.matcher.Links {
		m.links = append(m.links, sent[l.Campaign])
	}
	for _, id := range m.matcher.Campaigns {
		m.received = append(m.received, sent[id])
	}
	m.addLeads(inlined, tags, sent)
	return m, nil
}

// decided returns the jobs and lists that reached the recipients of the campaign in a condition, if it names one. If
// the condition can't be evaluated, it returns a core.Undecided error.
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

// profiles returns the subscriber data that the rule needs.
func (m *RuleMatch) profiles(s *db.DB, q db.Querier, subs []core.Subscriber) ([]core.Profile, error) {
	lists, campaigns := len(m.matcher.Lists), len(m.received)
	ps, flags := make([]core.Profile, len(subs)), make([]bool, len(subs)*(lists+campaigns))
	for i := range subs {
		p := &ps[i]
		p.Email, p.Preferences, p.JoinedAt = subs[i].Email, subs[i].Preferences, subs[i].Joined()
		p.OnList, p.Received, flags = flags[:lists], flags[lists:lists+campaigns], flags[lists+campaigns:]
	}
	m.setKeys(subs)
	keyed := candidatesOf(subs)
	for at, list := range m.matcher.Lists {
		if err := m.on(s, q, list, keyed, func(i int) { ps[i].OnList[at] = true }); err != nil {
			return nil, err
		}
	}
	for at, parts := range m.received {
		for _, p := range parts {
			if err := m.got(s, q, p, subs, keyed, func(i int) { ps[i].Received[at] = true }); err != nil {
				return nil, err
			}
		}
	}
	if err := m.addFacts(q, subs[0].ListID, subs, ps); err != nil {
		return nil, err
	}
	if err := m.addTags(q, subs, ps); err != nil {
		return nil, err
	}
	if err := m.addAnswers(s, q, subs, keyed, ps); err != nil {
		return nil, err
	}
	if err := m.addLinks(s, q, subs, keyed, ps); err != nil {
		return nil, err
	}
	return ps, m.addMailings(q, subs[0].ListID, subs, ps)
}

// on calls found with the index of each subscriber whose address is active on a list.
func (m *RuleMatch) on(s *db.DB, q db.Querier, list string, keyed []candidate, found func(i int)) error {
	if known := m.active[list]; known != nil {
		known.among(s, list, keyed, found)
		return nil
	}
	return each(found, func(places *[]int) error { return q.All(places, activeAmong, list, idsOn(s, keyed, list)) })
}

// each runs query and calls found with each of the indexes that it returns.
func each(found func(i int), query func(places *[]int) error) error {
	var places []int
	err := query(&places)
	for _, i := range places {
		found(i)
	}
	return err
}

// got calls found with the index of each subscriber who got the email of a job, may have got it or will get it. The
// subscribers are ordered by id.
func (m *RuleMatch) got(s *db.DB, q db.Querier, p sentPart, subs []core.Subscriber, keyed []candidate,
	found func(i int),
) error {
	if known := m.sent[p.onOther(0)]; known != nil {
		known.among(s, p.ListID, keyed, found)
		return nil
	}
	if p.ListID != subs[0].ListID {
		return each(found, func(places *[]int) error {
			return q.All(places, sentAmong, p.jobNo, p.After+1, p.To, idsOn(s, keyed, p.ListID))
		})
	}
	all := make([]int, len(subs))
	for i := range all {
		all[i] = i
	}
	return m.mailed(q, p.measured(), subs, all, 0, func(i int, r *Mailed) {
		if r.Got {
			found(i)
		}
	})
}

// measured returns the recipients of p in the form that mailed reads.
func (p sentPart) measured() *MeasuredJob {
	return &MeasuredJob{No: p.jobNo, Low: p.After + 1, High: p.To}
}

func candidatesOf(subs []core.Subscriber) []candidate {
	cs := make([]candidate, len(subs))
	for i := range subs {
		cs[i] = candidate{subs[i].ID, subs[i].EmailKey}
	}
	return cs
}

// Among reports, for each of the subscribers, whether they match. The subscribers must contain the columns that the
// rule reads. Other data is read from q and s.
func (m *RuleMatch) Among(s *db.DB, q db.Querier, subs []core.Subscriber) (matches []bool, err error) {
	if len(subs) == 0 {
		return nil, nil
	}
	if _, err := m.jobsOf(q, subs[0].ListID); err != nil { // even if no one needs them: the rule is undecided then
		return nil, err
	}
	matches = make([]bool, len(subs))
	rest, places := subs, []int(nil)
	if m.triesEarly() {
		rest, places = m.undecided(subs, matches)
		if len(rest) == 0 {
			return matches, nil
		}
	}
	ps, err := m.profiles(s, q, rest)
	if err != nil {
		return nil, err
	}
	for i := range ps {
		at := i
		if places != nil {
			at = places[i]
		}
		matches[at] = m.matcher.Match(&ps[i])
	}
	return matches, nil
}

// triesEarly reports whether to try to decide the next subscribers early. If few could be decided early so far, trying
// rarely pays off.
func (m *RuleMatch) triesEarly() bool {
	return m.matcher.HasEarly() && (m.tried < 1000 || m.early*8 > m.tried)
}

// undecided sets matches for each subscriber whose known data is enough to decide. It returns the other subscribers and
// their indexes.
func (m *RuleMatch) undecided(subs []core.Subscriber, matches []bool) (rest []core.Subscriber, places []int) {
	for i := range subs {
		p := core.Profile{Email: subs[i].Email, Preferences: subs[i].Preferences, JoinedAt: subs[i].Joined()}
		match, decided := m.matcher.Early(&p)
		if matches[i] = match; !decided {
			rest, places = append(rest, subs[i]), append(places, i)
		}
	}
	m.tried, m.early = m.tried+len(subs), m.early+len(subs)-len(rest)
	return rest, places
}

// Explain reports, for each condition of the rule, whether a subscriber matches it. match reports whether the
// subscriber matches the rule.
func (m *RuleMatch) Explain(s *db.DB, q db.Querier, sub *core.Subscriber) (reasons []core.Reason, match bool,
	err error,
) {
	ps, err := m.profiles(s, q, []core.Subscriber{*sub})
	if err != nil {
		return nil, false, err
	}
	return m.matcher.Explain(&ps[0]), m.matcher.Match(&ps[0]), nil
}

// Step returns the number of subscribers that one read of a list checks, which is at most the parameter most. The more
// lookups on other lists each subscriber needs, the fewer subscribers a read checks.
func (m *RuleMatch) Step(list string, most int) int {
	return max(fewestExpanded, most/(1+m.lookups(list)))
}

// lookups returns how often each subscriber of a list is looked up on other lists and among the recipients of their
// campaigns. Sets that Remember has read need no lookup.
func (m *RuleMatch) lookups(list string) (n int) {
	for _, l := range m.matcher.Lists {
		n += count(m.active[l] == nil)
	}
	add := func(parts []sentPart, link int64) {
		for _, p := range parts {
			n += count(p.ListID != list && m.sent[p.onOther(link)] == nil)
		}
	}
	for _, p := range m.polls {
		for _, l := range p.lists {
			n += count(l != list)
		}
	}
	for _, parts := range m.received {
		add(parts, 0)
	}
	for at, parts := range m.links { // one lookup for who got the link, and one for who clicked it
		add(parts, 0)
		add(parts, m.matcher.Links[at].Link)
	}
	return n
}

// profilesOf selects the subscribers of a list with the ids in a JSON array, in the order of the array.
var profilesOf = linesOf(" FROM json_each(?2) AS j CROSS JOIN subscriber AS s ON s.list_id = ?1 AND s.id = j.value")

// judge returns whether each candidate of a list matches, keyed by id.
func (m *RuleMatch) judge(s *db.DB, q db.Querier, list string, found []candidate) (judged, error) {
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].ID
	}
	lines, err := readLines(q, &profilesOf, m.needs(), list, db.JsonOf(ids), nil, nil, nil, nil)
	if err != nil {
		return nil, err
	}
	subs := lines.subscribers()
	if len(subs) != len(found) {
		return nil, core.ErrStorage.With(errors.New("a candidate is not a subscriber"))
	}
	return m.judgeAll(s, q, subs)
}

// judgeAll returns whether each of a list's subscribers matches, keyed by id.
func (m *RuleMatch) judgeAll(s *db.DB, q db.Querier, subs []core.Subscriber) (judged, error) {
	each, err := m.Among(s, q, subs)
	if err != nil {
		return nil, err
	}
	matches := make(judged, len(subs))
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

// countedMatch returns a RuleMatch for the approved rule of a campaign's segments. If n has no approved rule, it uses
// the current segments. If the campaign names no segment, it returns nil.
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

// notJudged drops the candidates whom an earlier list of a job with a rule could have reached. The rule is therefore
// evaluated only once for each person, with the fields of the first list that may email them. A person who joined the
// earlier list after the job started is kept, because that list may have missed them.
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
