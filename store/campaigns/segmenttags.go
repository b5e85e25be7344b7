package campaigns

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/polls"
	"newsletterd/store/tenants"
)

var (
	// tagsBetween selects the tags of a list's subscribers between two ids, both inclusive.
	tagsBetween = Lines(`SELECT concat(tag_no, char(31), id) AS line FROM tagged AS t WHERE list_id = ?1 AND id >= ?2
		AND id <= ?3 ORDER BY id LIMIT +?4`)
	// tagsAmong selects which of the given tags the given subscribers of a list have. Tags and subscribers are JSON
	// arrays.
	tagsAmong = Lines(`SELECT concat(t.tag_no, char(31), t.id) AS line FROM json_each(?2) AS j
		CROSS JOIN json_each(?3) AS g CROSS JOIN tagged AS t ON t.list_id = ?1 AND t.id = j.value
		AND t.tag_no = g.value`)
)

// tagsRead is the maximum number of rows that tagsBetween reads per subscriber. If there are more rows, the subscribers
// are far apart or have many tags, and each is looked up.
const tagsRead = 8

// decidedTag returns the tag in a condition. If the tag doesn't exist, it returns a core.Undecided error.
func decidedTag(q db.Querier, tenantID, path, name string) (core.Tag, error) {
	t, err := tenants.TagNamed(q, tenantID, name)
	if errors.Is(err, core.ErrTagNotFound) {
		err = core.Undecided(path, "tag "+name+" doesn't exist")
	}
	return t, err
}

// addTags adds to ps the tags that a rule needs, for subscribers of one list, sorted by id.
func (m *RuleMatch) addTags(q db.Querier, subs []core.Subscriber, ps []core.Profile) error {
	if len(m.tags) == 0 {
		return nil
	}
	var text string
	list, limit := subs[0].ListID, tagsRead*len(subs)
	err := q.Get(&text, tagsBetween, list, subs[0].ID, subs[len(subs)-1].ID, limit)
	rows := parseTagged(text)
	if err == nil && len(rows) == limit {
		err = q.Get(&text, tagsAmong, list, idsOf(subs), db.JsonOf(m.tags))
		rows = parseTagged(text)
	}
	if err != nil {
		return err
	}
	flags := make([]bool, len(subs)*len(m.tags))
	for i := range subs {
		ps[i].Tagged, flags = flags[:len(m.tags)], flags[len(m.tags):]
	}
	merged(subs, rows, func(r *tagged) string { return r.id }, func(i int, r *tagged) {
		for at, no := range m.tags { // a rule can contain the same tag in several forms
			if no == r.tag {
				ps[i].Tagged[at] = true
			}
		}
	})
	return nil
}

// tagged is a tag that a subscriber has, with the subscriber's id.
type tagged struct {
	id  string
	tag int64
}

func parseTagged(text string) (rows []tagged) {
	for text != "" {
		var line string
		line, text, _ = strings.Cut(text, lineEnd)
		tag, id, _ := strings.Cut(line, partEnd)
		rows = append(rows, tagged{id, number(tag)})
	}
	return rows
}

// withTagIDs replaces the names of tags in a rule with their ids, so that the rule stays the same if a tag is renamed.
// If a tag doesn't exist, it returns a core.Undecided error.
func withTagIDs(q db.Querier, tenantID string, rule *core.Rule) (err error) {
	rule.Leaves("rule", func(path string, leaf *core.Rule) {
		if leaf.Tag == "" || err != nil {
			return
		}
		t, e := decidedTag(q, tenantID, path, leaf.Tag)
		leaf.Tag, err = t.ID, e
	})
	return err
}

var answersBetween = Lines(polls.AnswersBetween)

const listsOfCampaign = `SELECT l.list_id FROM campaign AS c CROSS JOIN campaign_list AS l
	INDEXED BY campaign_list_campaign ON l.campaign_no = c.no WHERE c.id = ? ORDER BY l.list_id`

// askedPoll is a poll that a condition names, with the data needed to evaluate the condition.
type askedPoll struct {
	no    int64
	texts []string // its options
	lists []string // lists through which people got it
}

// decidedPoll returns the poll that a condition names. If it was not sent, or has no such option, it returns a
// core.Undecided error.
func decidedPoll(q db.Querier, tenantID, path string, leaf *core.Rule) (a askedPoll, err error) {
	known, err := refersToTenant(q, tenantID, leaf)
	switch {
	case err != nil:
		return a, err
	case !known:
		return a, core.Undecided(path, "campaign "+leaf.Poll.Campaign+" doesn't exist")
	}
	p, err := polls.Numbered(q, leaf.Poll.Campaign, leaf.Poll.Number)
	if errors.Is(err, core.ErrPollNotFound) {
		return a, core.Undecided(path, fmt.Sprintf("campaign %s wasn't sent with a poll %d", leaf.Poll.Campaign,
			leaf.Poll.Number))
	}
	a.no = p.No
	if err == nil {
		a.texts, err = p.Texts(q)
	}
	if err == nil {
		err = q.All(&a.lists, listsOfCampaign, leaf.Poll.Campaign)
	}
	if err != nil {
		return a, err
	}
	for _, text := range append(leaf.Is[:len(leaf.Is):len(leaf.Is)], leaf.IsNot...) {
		if !slices.ContainsFunc(a.texts, func(known string) bool { return core.SameText(known, text) }) {
			return a, core.Undecided(path, "the poll has no option "+text)
		}
	}
	return a, nil
}

// addAnswers adds to ps the poll answers of a list's subscribers, ordered by id. Answers given as subscribers of this
// list come first, followed by those given through other lists.
func (m *RuleMatch) addAnswers(s *db.DB, q db.Querier, subs []core.Subscriber, keyed []candidate,
	ps []core.Profile,
) error {
	n := len(m.polls)
	if n == 0 {
		return nil
	}
	texts := make([]string, n*len(ps))
	for i := range ps {
		ps[i].Answers, texts = texts[:n], texts[n:]
	}
	own := subs[0].ListID
	for at, p := range m.polls {
		give := func(i, option int) {
			if ps[i].Answers[at] == "" && option >= 1 && option <= len(p.texts) {
				ps[i].Answers[at] = p.texts[option-1]
			}
		}
		if slices.Contains(p.lists, own) {
			if err := answersOn(q, p.no, subs, give); err != nil {
				return err
			}
		}
		for _, list := range p.lists {
			if list == own {
				continue
			}
			if err := answersAmong(q, p.no, list, idsOn(s, keyed, list), give); err != nil {
				return err
			}
		}
	}
	return nil
}

// answersRead is the maximum number of rows that answersBetween reads per subscriber. If there are more, the
// subscribers are far apart, and each is looked up.
const answersRead = 8

// answersOn calls give for each of a list's subscribers who answered a poll through this list.
func answersOn(q db.Querier, poll int64, subs []core.Subscriber, give func(i, option int)) error {
	var text string
	limit := answersRead * len(subs)
	err := q.Get(&text, answersBetween, poll, subs[0].ListID, subs[0].ID, subs[len(subs)-1].ID, limit)
	if err != nil {
		return err
	}
	rows := parseTagged(text)
	if len(rows) == limit {
		return answersAmong(q, poll, subs[0].ListID, idsOf(subs), give)
	}
	merged(subs, rows, func(r *tagged) string { return r.id }, func(i int, r *tagged) { give(i, int(r.tag)) })
	return nil
}

// answersAmong is like answersOn, for the subscribers of a list with the ids in a JSON array.
func answersAmong(q db.Querier, poll int64, list, ids string, give func(i, option int)) error {
	var rows []struct {
		Place  int `db:"place"`
		Option int `db:"option"`
	}
	err := q.All(&rows, polls.AnswersAmong, poll, list, ids)
	for _, r := range rows {
		give(r.Place, r.Option)
	}
	return err
}
