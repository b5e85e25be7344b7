package tenants

import (
	"context"
	"fmt"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

const countColumns = "active, pending, unsubscribed, bounced, complaint, suppressed, mailable"

// counting collects changes to the subscriber counts of lists, keyed by list id.
type counting map[string]core.ListCounts

// Moved records that one of a list's subscribers or subscriptions has changed from one counted state to another.
func Moved(tx *db.Tx, listID string, from, to core.CountedState) { MovedMany(tx, listID, from, to, 1) }

// MovedMany is like Moved, for n subscribers or subscriptions.
func MovedMany(tx *db.Tx, listID string, from, to core.CountedState, n int64) {
	counts := gatheredIn(tx).counts
	c := counts[listID]
	if from != to {
		c.Add(from, -n)
		c.Add(to, n)
	}
	counts[listID] = c // even without a change; see TouchCounts
}

// TouchCounts makes the commit write a list's counts even if nothing has changed. The duration of the operation then
// doesn't reveal whether a record has changed.
func TouchCounts(tx *db.Tx, listID string) { Moved(tx, listID, core.NotCounted, core.NotCounted) }

// add adds the changes of the operation op to c.
func (c counting) add(op counting) {
	for id, d := range op {
		c[id] = c[id].Plus(d)
	}
}

// countsOfDay adds changes to the latest counts of a list and writes the result to the row of a day (?2, days since
// 1970). The rows of earlier days stay as they were at the end of the day, even if the clock is set back. A deleted
// list is counted as long as its counts exist, because the list may be restored.
const countsOfDay = `INSERT INTO list_count (list_id, day, ` + countColumns + `)
	SELECT l.id, max(?2, coalesce(c.day, 0)), coalesce(c.active, 0) + ?3, coalesce(c.pending, 0) + ?4,
	coalesce(c.unsubscribed, 0) + ?5,
		coalesce(c.bounced, 0) + ?6, coalesce(c.complaint, 0) + ?7, coalesce(c.suppressed, 0) + ?8, coalesce(c.mailable, 0) + ?9
	FROM list AS l LEFT JOIN list_count AS c ON c.list_id = l.id AND c.day = (SELECT max(day) FROM list_count WHERE
	list_id = ?1)
	WHERE l.id = ?1 AND (l.deleted_at = 0 OR c.day IS NOT NULL)
	ON CONFLICT (list_id, day) DO UPDATE SET active = excluded.active, pending = excluded.pending, unsubscribed =
	excluded.unsubscribed,
		bounced = excluded.bounced, complaint = excluded.complaint, suppressed = excluded.suppressed, mailable =
		excluded.mailable`

// Commit writes the changed counts, one row per list.
func (g *gathered) Commit(tx *db.Tx, now time.Time) error {
	day := now.Unix() / (24 * 60 * 60)
	for id, d := range g.all {
		_, err := tx.Exec(countsOfDay, id, day, d.Active, d.Pending, d.Unsubscribed, d.Bounced, d.Complaint,
			d.Suppressed, d.Mailable)
		if err != nil {
			return err
		}
	}
	return nil
}

// ListCounts returns the counts of the given lists, by list id. For a list without subscribers, or one that doesn't
// exist, the counts are zero. The only error is core.ErrStorage.
func (s *Store) ListCounts(ctx context.Context, lists []string) (map[string]core.ListCounts, error) {
	var rows []struct {
		ListID string `db:"list_id"`
		core.ListCounts
	}
	err := s.All(ctx, &rows,
		"SELECT c.list_id, "+countColumns+` FROM json_each(?) AS j CROSS JOIN list_count AS c ON c.list_id = j.value
		AND c.day = (SELECT max(day) FROM list_count WHERE list_id = j.value)`, db.JsonOf(lists))
	found := make(map[string]core.ListCounts, len(rows))
	for _, r := range rows {
		found[r.ListID] = r.ListCounts
	}
	return found, err
}

// growthOfList is a query for the daily counts of a list, starting with the latest row up to a day (?2).
const growthOfList = "SELECT day, " + countColumns + ` FROM list_count WHERE list_id = ?1 AND day >= coalesce(
	(SELECT max(day) FROM list_count WHERE list_id = ?1 AND day <= ?2), ?2) ORDER BY day LIMIT +?3`

// ListGrowth returns a list's counts at the end of each day, oldest first, for the given number of days up to today.
// Days before the first count are omitted. The only error is core.ErrStorage.
func (s *Store) ListGrowth(ctx context.Context, listID string, now core.Instant, days int) ([]core.DayCounts, error) {
	var rows []struct {
		Day int64 `db:"day"`
		core.ListCounts
	}
	const secondsOfDay = 24 * 60 * 60
	today := now.Time().Unix() / secondsOfDay
	first := today - int64(days) + 1
	// If the clock was set back, there may be rows for future days.
	if err := s.All(ctx, &rows, growthOfList, listID, first, days+1); err != nil || len(rows) == 0 {
		return []core.DayCounts{}, err
	}
	all := make([]core.DayCounts, 0, days)
	for day, next := max(first, rows[0].Day), 1; day <= today; day++ {
		for next < len(rows) && rows[next].Day <= day {
			next++
		}
		at := time.Unix(day*secondsOfDay, 0).UTC()
		all = append(all, core.DayCounts{Day: at.Format(time.DateOnly), ListCounts: rows[next-1].ListCounts})
	}
	return all, nil
}

// CountedList returns a list with its counts. If no such list exists, it returns core.ErrListNotFound.
func (s *Store) CountedList(ctx context.Context, id string) (l core.CountedList, err error) {
	if l.List, err = s.List(ctx, id); err != nil {
		return l, err
	}
	counts, err := s.ListCounts(ctx, []string{id})
	l.Counts = counts[id]
	return l, err
}

// CountedLists is like Lists, but returns the lists with their counts. The only error is core.ErrStorage.
func (s *Store) CountedLists(ctx context.Context, tenants []string, all bool, page core.Page) ([]core.CountedList,
	error,
) {
	lists, err := s.Lists(ctx, tenants, all, page)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(lists))
	for i := range lists {
		ids[i] = lists[i].ID
	}
	counts, err := s.ListCounts(ctx, ids)
	counted := make([]core.CountedList, len(lists))
	for i := range lists {
		counted[i] = core.CountedList{List: lists[i], Counts: counts[lists[i].ID]}
	}
	return counted, err
}

// LargestLists returns up to limit lists, starting with the one that has the most mailable subscribers.
func (s *Store) LargestLists(ctx context.Context, limit int) ([]ListState, error) {
	lists := []ListState{}
	err := s.All(ctx, &lists, `SELECT l.id, l.name, c.active AS "counts.active", c.pending AS "counts.pending",
		c.unsubscribed AS "counts.unsubscribed",
		c.bounced AS "counts.bounced", c.complaint AS "counts.complaint", c.suppressed AS "counts.suppressed", c.mailable AS "counts.mailable"
		FROM list AS l JOIN list_count AS c ON c.list_id = l.id AND c.day = (SELECT max(day) FROM list_count WHERE
		list_id = l.id)
		WHERE l.deleted_at = 0 ORDER BY c.mailable DESC, c.active DESC, l.id LIMIT +?`, limit)
	return lists, err
}

// BlockedAmong returns the blocks that keep subscriptions of a list from getting email, regardless of consent. It reads
// the ids after afterID up to toID. The result maps each id to the kind of its block, from the list's subscriber or
// from the tenant's suppression list. The only error is core.ErrStorage.
func (s *Store) BlockedAmong(ctx context.Context, listID, afterID, toID string) (map[string]string, error) {
	var rows []struct {
		ID   string `db:"id"`
		Kind string `db:"kind"`
	}
	err := s.All(ctx, &rows, `SELECT m.id, coalesce(nullif(s.block, ''), p.kind) AS kind FROM list AS l
		CROSS JOIN subscription AS m ON m.list_id = l.id AND m.id > ?2 AND m.id <= ?3
		LEFT JOIN subscriber AS s ON s.list_id = l.id AND s.id = m.id
		LEFT JOIN suppression AS p ON p.tenant_id = l.tenant_id AND p.email_key = m.email_key
		WHERE l.id = ?1 AND (s.block <> '' OR p.kind <> '')`, listID, afterID, toID)
	kinds := make(map[string]string, len(rows))
	for _, r := range rows {
		kinds[r.ID] = r.Kind
	}
	return kinds, err
}

// ScannedCounts is a query that scans and counts the records of every list that is not deleted.
const ScannedCounts = `SELECT l.id AS list_id, coalesce(m.active, 0) AS active, coalesce(m.pending, 0) AS pending,
	coalesce(m.unsubscribed, 0) AS unsubscribed,
		coalesce(s.bounced, 0) AS bounced, coalesce(s.complaint, 0) AS complaint, coalesce(s.suppressed, 0) AS suppressed, coalesce(s.mailable, 0) AS mailable
	FROM list AS l
	LEFT JOIN (SELECT list_id, count(*) FILTER (WHERE status = 'active') AS active, count(*) FILTER (WHERE status =
	'pending') AS pending,
		count(*) FILTER (WHERE status = 'unsubscribed') AS unsubscribed FROM subscription GROUP BY list_id) AS m ON
		m.list_id = l.id
	LEFT JOIN (SELECT list_id, count(*) FILTER (WHERE block = 'bounced') AS bounced, count(*) FILTER (WHERE block =
	'complaint') AS complaint,
		count(*) FILTER (WHERE block = 'suppressed') AS suppressed, count(*) FILTER (WHERE block = '' AND word =
		'active') AS mailable
		FROM subscriber GROUP BY list_id) AS s ON s.list_id = l.id
	WHERE l.deleted_at = 0`

// countsNextToScan is a query for the lists whose stored counts differ from the result of a scan. Its rows contain
// both.
const countsNextToScan = `SELECT r.list_id, coalesce(c.active, 0) AS active, coalesce(c.pending, 0) AS pending,
	coalesce(c.unsubscribed, 0) AS unsubscribed, coalesce(c.bounced, 0) AS bounced, coalesce(c.complaint, 0) AS complaint,
	coalesce(c.suppressed, 0) AS suppressed, coalesce(c.mailable, 0) AS mailable,
	r.active AS "there.active", r.pending AS "there.pending", r.unsubscribed AS "there.unsubscribed",
	r.bounced AS "there.bounced", r.complaint AS "there.complaint", r.suppressed AS "there.suppressed",
	r.mailable AS "there.mailable"
	FROM (` + ScannedCounts + `) AS r
	LEFT JOIN list_count AS c ON c.list_id = r.list_id AND c.day = (SELECT max(day) FROM list_count WHERE list_id =
	r.list_id)
	WHERE (r.active, r.pending, r.unsubscribed, r.bounced, r.complaint, r.suppressed, r.mailable) IS NOT
		(coalesce(c.active, 0), coalesce(c.pending, 0), coalesce(c.unsubscribed, 0), coalesce(c.bounced, 0), coalesce(c.complaint, 0),
			coalesce(c.suppressed, 0), coalesce(c.mailable, 0))
	ORDER BY r.list_id LIMIT 100`

// WrongCounts returns one string for each list whose stored counts differ from its records, at most 100. Each string
// describes the differences.
func (s *Store) WrongCounts(ctx context.Context) ([]string, error) {
	var rows []struct {
		ListID string `db:"list_id"`
		core.ListCounts
		There core.ListCounts `db:"there"`
	}
	if err := s.Long(ctx, &rows, countsNextToScan); err != nil {
		return nil, err
	}
	lines := make([]string, len(rows))
	for i, r := range rows {
		lines[i] = fmt.Sprintf("the counts of list %s differ from its records: %s", r.ListID,
			r.ListCounts.Against(r.There))
	}
	return lines, nil
}

// ListState is a list with its counts.
type ListState struct {
	ID     string          `db:"id" json:"id"`
	Name   string          `db:"name" json:"name"`
	Counts core.ListCounts `db:"counts" json:"counts" about:"Numbers of subscriptions and subscribers by status"`
}
