package people

import (
	"context"
	"encoding/json"

	"newsletterd/core"
)

// coverageRows is the number of subscribers of a campaign that are checked for fields. The editor requests a check with
// every save, and reading this many rows takes a few milliseconds.
const coverageRows = 1000

// newestOfList selects the preferences of a list's newest subscribers, except those who get no email.
const newestOfList = `SELECT preferences FROM (SELECT word, block, preferences FROM subscriber WHERE list_id = ?1
	ORDER BY id DESC LIMIT +?2) WHERE word = 'active' AND block = ''`

// FieldCoverage counts, for each field, the subscribers of the given lists who have a value. It checks the newest
// subscribers of each list, coverageRows in total. readers is the number of subscribers checked, and all reports
// whether these are all subscribers of the lists. Its only error is core.ErrStorage.
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

// filled adds the names of the members that have a value to the set into, which it returns.
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
