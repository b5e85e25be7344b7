package people

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// Sorting reads all subscriptions, because no index has the requested order, and an index would make each subscription
// 10% larger. Sorting is therefore limited to a number of subscriptions that takes a few milliseconds.
const (
	// sortable counts the subscriptions of lists, up to a limit: one more than can be sorted.
	sortable = `SELECT count(*) FROM (SELECT 1 FROM json_each(?1) AS j CROSS JOIN subscription AS s
		ON s.list_id = j.value LIMIT +?2)`
	// sortedIDs is a statement that first selects the keys of a page, and then reads the details of only those rows.
	sortedIDs = `WITH top AS (SELECT s.list_id, s.id, %[1]s AS sort_key FROM json_each(?1) AS j
			CROSS JOIN list AS o ON o.id = j.value CROSS JOIN subscription AS s ON s.list_id = o.id
		WHERE (?2 = '' OR substr(s.email_key, 1, length(?2)) = ?2)
			AND (?3 = '' OR CAST(s.preferences ->> ?3 AS TEXT) = ?4)
			AND (?5 = '' OR s.status = iif(?5 IN ('pending', 'unsubscribed'), ?5, 'active')
				OR ?5 = 'suppressed' AND s.status = 'unsubscribed')
			AND (?5 = '' OR iif(s.status = 'active' OR ?5 = 'suppressed',
				coalesce(nullif((SELECT b.block FROM subscriber AS b
				WHERE b.list_id = s.list_id AND b.id = s.id), ''), (SELECT p.kind FROM suppression AS p
				WHERE p.tenant_id = o.tenant_id AND p.email_key = s.email_key), s.status), s.status) = ?5)
			AND (?6 = 0 OR (%[1]s, s.list_id, s.id) %[2]s (?7, ?8, ?9))
			AND %[4]s
		ORDER BY sort_key%[3]s, s.list_id%[3]s, s.id%[3]s LIMIT +?10)
		SELECT ` + listedColumns + ` FROM top CROSS JOIN list AS l ON l.id = top.list_id
			CROSS JOIN subscription AS s ON s.list_id = top.list_id AND s.id = top.id` + listedJoin + `
		ORDER BY top.sort_key%[3]s, top.list_id%[3]s, top.id%[3]s`
)

// sortKeys holds the SQL expression of each sort order.
var sortKeys = map[string]string{
	"email": "s.email_key", "created_at": "s.created_at",
	"status_at": "iif(s.changed_at = 0, s.created_at, s.changed_at)",
}

// sortedStatements holds the statement of each sort order.
var sortedStatements = func() map[string]string {
	all := map[string]string{}
	for _, sort := range SubscriptionSorts {
		name, down := strings.CutPrefix(sort, "-")
		than, order := ">", ""
		if down {
			than, order = "<", " DESC"
		}
		all[sort] = fmt.Sprintf(sortedIDs, sortKeys[name], than, order, db.ByName("s.email_key", 11))
	}
	return all
}()

// sortedSubscriptions is like MatchingSubscriptions, for a filter with a sort order.
func (s *Store) sortedSubscriptions(ctx context.Context, f *SubscriptionFilter, page core.Page) (
	found []ListedSubscription, next string, err error,
) {
	statement := sortedStatements[f.Sort]
	if statement == "" {
		return nil, "", core.Invalidf("sort", "sort must be one of %s.", strings.Join(SubscriptionSorts, ", "))
	}
	lists := []string{f.ListID}
	if f.ListID == "" {
		lists = nil
		searched := tenants.TenantList{All: searchedLists, Among: searchedListsOf}
		if err = s.AllOf(ctx, &lists, &searched, f.Tenants, f.All, "", searchLists+1); err != nil {
			return nil, "", err
		}
	}
	var n int
	if err = s.Get(ctx, &n, sortable, db.JsonOf(lists), core.MaxSorted+1); err != nil {
		return nil, "", err
	}
	if n > core.MaxSorted || len(lists) > searchLists {
		return nil, "", core.ErrTooManyToSort
	}
	var after struct {
		some     int
		key      any
		list, id string
	}
	if page.After != "" {
		id, list, key := cutLast(page.After)
		if after.some, after.list, after.id, after.key = 1, list, id, key; !strings.HasSuffix(f.Sort, "email") {
			if after.key, err = strconv.ParseInt(key, 10, 64); err != nil {
				return nil, "", core.ErrInvalidCursor
			}
		}
	}
	named := db.NewNameSearch(f.Search)
	err = s.All(ctx, &found, statement, append([]any{
		db.JsonOf(lists), f.Prefix, memberPath(f.Field), f.Value, f.Status, after.some, after.key, after.list, after.id,
		page.Limit,
	}, named.Args()...)...)
	if len(found) == page.Limit {
		next = sortPlace(f.Sort, &found[len(found)-1])
	}
	return found, next, err
}

// sortPlace returns the position of a subscription in a sort order, as a string of key, list and id.
func sortPlace(sort string, l *ListedSubscription) string {
	key := l.Email.Key()
	switch strings.TrimPrefix(sort, "-") {
	case "created_at":
		key = strconv.FormatInt(int64(l.CreatedAt), 10)
	case "status_at":
		key = strconv.FormatInt(int64(l.StatusAt()), 10)
	}
	return key + " " + l.ListID + " " + l.ID
}

// StatusAt returns when the subscription got its status.
func (l *ListedSubscription) StatusAt() core.Instant {
	if l.ChangedAt == 0 {
		return l.CreatedAt
	}
	return l.ChangedAt
}

// cutLast splits a position from sortPlace into its last two words (list and id) and the key before them.
func cutLast(place string) (id, list, key string) {
	i := strings.LastIndexByte(place, ' ')
	place, id = place[:max(i, 0)], place[i+1:]
	i = strings.LastIndexByte(place, ' ')
	return id, place[i+1:], place[:max(i, 0)]
}
