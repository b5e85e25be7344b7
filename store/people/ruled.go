package people

import (
	"context"
	"strings"

	"newsletterd/core"
	"newsletterd/store/audience"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

const (
	// listedOfList selects the subscriptions of a list with the ids in a JSON array.
	listedOfList = "SELECT " + listedColumns + ` FROM json_each(?2) AS j CROSS JOIN list AS l ON l.id = ?1
		CROSS JOIN subscription AS s ON s.list_id = l.id AND s.id = j.value` + listedJoin
	// mirroredAmong selects the send side's records of a list with the ids in a JSON array.
	mirroredAmong = mirroredColumns + ` FROM json_each(?2) AS j CROSS JOIN list AS l ON l.id = ?1
		CROSS JOIN subscriber AS b ON b.list_id = l.id AND b.id = j.value`

	ruledRead = 500 // maximum number of a rule's matches in one read
	ruledMost = 8   // maximum number of such reads for a page
)

// ruledSubscriptions is like MatchingSubscriptions, for a filter with a rule. It returns the same people as
// audience.PeopleOf, in the same order.
func (s *Store) ruledSubscriptions(ctx context.Context, f *SubscriptionFilter, page core.Page) (
	found []ListedSubscription, next string, err error,
) {
	q := audience.Question{TenantID: f.Tenants[0], ListIDs: []string{f.ListID}, Rule: f.Rule, Now: f.Now}
	end := ""
	if f.ListID == "" {
		q.ListIDs = nil
		afterList, _, _ := strings.Cut(page.After, " ")
		searched := tenants.TenantList{All: searchedLists, Among: searchedListsOf}
		if err = s.AllOf(ctx, &q.ListIDs, &searched, f.Tenants, false, afterList, searchLists+1); err != nil {
			return nil, "", err
		}
		if len(q.ListIDs) > searchLists {
			q.ListIDs, end = q.ListIDs[:searchLists], audience.PlaceOf(q.ListIDs[searchLists], "")
		}
	}
	next = page.After
	for range ruledMost {
		limit := page.Limit - len(found)
		if f.narrows() {
			limit = ruledRead
		}
		matching, after, err := s.audience.PeopleOf(ctx, q, core.Page{After: next, Limit: limit})
		if err != nil {
			return nil, "", err
		}
		rows, err := s.listedOf(ctx, matching)
		if err != nil {
			return nil, "", err
		}
		if next = after; next == "" {
			next = end
		}
		for i := range rows {
			if !f.matches(&rows[i]) {
				continue
			}
			if found = append(found, rows[i]); len(found) == page.Limit {
				if i < len(rows)-1 {
					next = audience.PlaceOf(rows[i].ListID, rows[i].ID)
				}
				return found, next, nil
			}
		}
		if after == "" || len(matching) < limit { // no more subscribers, or the page has reached the limit of reads
			break
		}
	}
	return found, next, nil
}

// narrows reports whether the filter has a condition in addition to its rule.
func (f *SubscriptionFilter) narrows() bool {
	return f.Status != "" || f.Prefix != "" || f.Field != "" || f.Search != "" || f.Email != ""
}

// listedOf returns the subscriptions of subscribers, in the same order. For lists that another member service manages,
// it returns the send side's records. It leaves out people who were erased in the meantime.
func (s *Store) listedOf(ctx context.Context, subs []core.Subscriber) (rows []ListedSubscription, err error) {
	for from := 0; from < len(subs); {
		list, to := subs[from].ListID, from
		var ids []string
		for ; to < len(subs) && subs[to].ListID == list; to++ {
			ids = append(ids, subs[to].ID)
		}
		known := make(map[string]*ListedSubscription, len(ids))
		for _, query := range []string{mirroredAmong, listedOfList} {
			var some []ListedSubscription
			if err := s.All(ctx, &some, query, list, db.JsonOf(ids)); err != nil {
				return nil, err
			}
			for i := range some {
				known[some[i].ID] = &some[i]
			}
		}
		for _, id := range ids {
			if row := known[id]; row != nil {
				rows = append(rows, *row)
			}
		}
		from = to
	}
	return rows, nil
}
