package campaigns

import (
	"errors"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

var (
	// tagsBetween selects the tags of the subscribers of a list between two ids, both inclusive.
	tagsBetween = Lines(`SELECT concat(tag_no, char(31), id) AS line FROM tagged AS t WHERE list_id = ?1 AND id >= ?2
		AND id <= ?3 ORDER BY id LIMIT +?4`)
	// tagsAmong selects the tags, among given ones, that given subscribers of a list have. Both are JSON arrays.
	tagsAmong = Lines(`SELECT concat(t.tag_no, char(31), t.id) AS line FROM json_each(?2) AS j
		CROSS JOIN json_each(?3) AS g CROSS JOIN tagged AS t ON t.list_id = ?1 AND t.id = j.value
		AND t.tag_no = g.value`)
)

// tagsRead is the maximum number of rows that tagsBetween reads per subscriber. If there are more, the subscribers are
// far apart or have many tags. In that case each is looked up.
const tagsRead = 8

// decidedTag returns the tag that a condition names. If there is none, it returns a core.Undecided error.
func decidedTag(q db.Querier, tenantID, path, name string) (core.Tag, error) {
	t, err := tenants.TagNamed(q, tenantID, name)
	if errors.Is(err, core.ErrTagNotFound) {
		err = core.Undecided(path, "tag "+name+" doesn't exist")
	}
	return t, err
}

// addTags fills in the tags that a rule needs for subscribers of one list, who are ordered by id.
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
		for at, no := range m.tags { // a rule can name one tag in several ways
			if no == r.tag {
				ps[i].Tagged[at] = true
			}
		}
	})
	return nil
}

// tagged is a tag of a subscriber.
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
// If there is no such tag, it returns a core.Undecided error.
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
