package people

import (
	"context"
	"encoding/json"

	"newsletterd/core"
)

// coverageRows is how many subscribers of a campaign are looked at for their fields. A check is asked for with every
// save of an editor, and reading this many takes a few milliseconds.
const coverageRows = 1000

// newestOfList are the preferences of those who may be mailed among the newest subscribers of a list.
const newestOfList = `SELECT preferences FROM (SELECT word, block, preferences FROM subscriber WHERE list_id = ?1
	ORDER BY id DESC LIMIT +?2) WHERE word = 'active' AND block = ''`

// FieldCoverage counts which fields have a value among the readers of lists. Of each list the newest subscribers are
// looked at, coverageRows in all; readers is how many were, and all reports whether these are all that the lists have.
// Its only error is core.ErrStorage.
func (s *Store) FieldCoverage(ctx context.Context, listIDs []string) (known map[string]int64, readers int64, all bool,
	err error,
) {
	known, all = map[string]int64{}, true
	for _, id := range listIDs {
		most := max(1, coverageRows/len(listIDs))
		var rows []core.Preferences
		if err := s.All(ctx, &rows, newestOfList, id, most); err != nil {
			return nil, 0, false, err
		}
		for _, p := range rows {
			readers++
			for name := range filled(nil, "", p.Values(), 0) {
				known[name]++
			}
		}
		counts, err := s.ListCounts(ctx, []string{id})
		if err != nil {
			return nil, 0, false, err
		}
		all = all && int64(len(rows)) >= counts[id].Mailable
	}
	return known, readers, all, nil
}

// filled adds the names of members that say something.
func filled(into map[string]bool, prefix string, members map[string]json.RawMessage, depth int) map[string]bool {
	if into == nil {
		into = map[string]bool{}
	}
	for name, value := range members {
		switch text := string(value); {
		case text == "null" || text == `""`:
		case text[0] != '{':
			into[prefix+name] = true
		case depth < core.MaxPreferencesDepth:
			filled(into, prefix+name+".", core.Preferences(text).Values(), depth+1)
		}
	}
	return into
}
