package campaigns

import (
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

const (
	// tagsBetween selects the tags of the subscribers of a list between two ids, both inclusive.
	tagsBetween = `SELECT id, tag_no FROM tagged AS t WHERE list_id = ?1 AND id >= ?2 AND id <= ?3
		ORDER BY id LIMIT +?4`
	// tagsAmong selects the tags, among given ones, that given subscribers of a list have. Both are JSON arrays.
	tagsAmong = `SELECT t.id, t.tag_no FROM json_each(?2) AS j CROSS JOIN json_each(?3) AS g
		CROSS JOIN tagged AS t ON t.list_id = ?1 AND t.id = j.value AND t.tag_no = g.value`
)

// tagsRead is the maximum number of rows that tagsBetween reads per subscriber. If there are more, the subscribers are
// far apart or have many tags. In that case each is looked up.
const tagsRead = 8

// decidedTag returns the tag that a condition names. If there is none, it returns an error of core.Undecided.
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
	var rows []struct {
		ID  string `db:"id"`
		Tag int64  `db:"tag_no"`
	}
	list, limit := subs[0].ListID, tagsRead*len(subs)
	err := q.All(&rows, tagsBetween, list, subs[0].ID, subs[len(subs)-1].ID, limit)
	if err == nil && len(rows) == limit {
		ids := make([]string, len(subs))
		for i := range subs {
			ids[i] = subs[i].ID
		}
		rows = rows[:0]
		err = q.All(&rows, tagsAmong, list, db.JsonOf(ids), db.JsonOf(m.tags))
	}
	if err != nil {
		return err
	}
	flags, next := make([]bool, len(subs)*len(m.tags)), 0
	for i := range subs {
		ps[i].Tagged, flags = flags[:len(m.tags)], flags[len(m.tags):]
		for ; next < len(rows) && rows[next].ID <= subs[i].ID; next++ {
			if rows[next].ID != subs[i].ID {
				continue
			}
			for at, no := range m.tags { // a rule can name one tag in several ways
				if no == rows[next].Tag {
					ps[i].Tagged[at] = true
				}
			}
		}
	}
	return nil
}

// withTagIDs replaces the names of tags in a rule with their ids, so that the rule stays the same if a tag is renamed.
// If there is no such tag, it returns an error of core.Undecided.
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
