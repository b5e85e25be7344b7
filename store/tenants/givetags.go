package tenants

import (
	"encoding/json"

	"newsletterd/core"
	"newsletterd/store/db"
)

// Tagging is a person on a list and the tags that the person gets.
type Tagging struct {
	ID       string // id of the subscription
	EmailKey string
	Tags     []core.Tag // without duplicates
}

// taggedPeople selects which of the given people have which tags. Its parameter is a JSON array of triples: list, id
// and the person's number.
const taggedPeople = `SELECT p.value->>2 AS person, t.tag_no AS tag_no FROM json_each(?) AS p
	CROSS JOIN tagged AS t ON t.list_id = p.value->>0 AND t.id = p.value->>1
	CROSS JOIN tag AS g NOT INDEXED ON g.no = t.tag_no`

// knownTriples selects the lists and ids that belong to a subscriber or a subscription. Its parameter is the same array
// of triples.
const knownTriples = `SELECT p.value->>0 AS list_id, p.value->>1 AS id, p.value->>2 AS person FROM json_each(?) AS p
	WHERE EXISTS (SELECT 1 FROM subscriber WHERE list_id = p.value->>0 AND id = p.value->>1)
	OR EXISTS (SELECT 1 FROM subscription WHERE list_id = p.value->>0 AND id = p.value->>1)`

var addTagged = db.InsertMany("INSERT INTO tagged (at, list_id, id, tag_no) SELECT ?, column1, column2, column3 FROM ",
	3, " WHERE true ON CONFLICT DO NOTHING")

// triplesOf returns triples for taggedPeople: each list of a tenant, except leaveOut, with the id of each person there.
func triplesOf(d *db.DB, q db.Querier, tenantID, listID, leaveOut string, people []Tagging) (string, error) {
	var lists []string
	err := q.All(&lists, "SELECT id FROM list INDEXED BY list_tenant WHERE tenant_id = ? AND id <> ?",
		tenantID, leaveOut)
	triples := make([][3]any, 0, len(lists)*len(people))
	for _, list := range lists {
		ids := d.SubscriptionIDs(list)
		for i := range people {
			switch {
			case len(people[i].Tags) == 0:
			case list == listID:
				triples = append(triples, [3]any{list, people[i].ID, i})
			default:
				triples = append(triples, [3]any{list, ids.Of(people[i].EmailKey), i})
			}
		}
	}
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(triples)
	return string(text), err
}

// MissingTags drops from each person's new tags those that the person already has on a list of the tenant, and those
// beyond core.MaxTagsOfOne. over counts the tags beyond that limit. The only error is core.ErrStorage.
func MissingTags(d *db.DB, q db.Querier, tenantID, listID string, people []Tagging) (over int64, err error) {
	triples, err := triplesOf(d, q, tenantID, listID, "", people)
	if err != nil {
		return 0, err
	}
	var rows []struct {
		Person int   `db:"person"`
		TagNo  int64 `db:"tag_no"`
	}
	if err := q.All(&rows, taggedPeople, triples); err != nil {
		return 0, err
	}
	had := map[int]map[int64]bool{}
	for _, r := range rows {
		if had[r.Person] == nil {
			had[r.Person] = map[int64]bool{}
		}
		had[r.Person][r.TagNo] = true
	}
	for i := range people {
		var missing []core.Tag
		for _, t := range people[i].Tags {
			switch {
			case had[i][t.No]:
			case len(had[i])+len(missing) >= core.MaxTagsOfOne:
				over++
			default:
				missing = append(missing, t)
			}
		}
		people[i].Tags = missing
	}
	return over, nil
}

// GiveTags adds tags to people on a list, and to the same people on all other lists of the tenant. people comes from
// MissingTags, and everyone in it must be on the list. at is stored as the time of the tags. The only error is
// core.ErrStorage.
func GiveTags(tx *db.Tx, tenantID, listID string, people []Tagging, at core.Instant) error {
	triples, err := triplesOf(tx.DB(), tx, tenantID, listID, listID, people)
	if err != nil {
		return err
	}
	var places []struct {
		ListID string `db:"list_id"`
		ID     string `db:"id"`
		Person int    `db:"person"`
	}
	if err := tx.All(&places, knownTriples, triples); err != nil {
		return err
	}
	var rows [][3]any
	for i := range people {
		for _, t := range people[i].Tags {
			rows = append(rows, [3]any{listID, people[i].ID, t.No})
		}
	}
	for _, p := range places {
		for _, t := range people[p.Person].Tags {
			rows = append(rows, [3]any{p.ListID, p.ID, t.No})
		}
	}
	return tx.InsertMany(&addTagged, []any{int64(at)}, len(rows), func(args []any, i int) []any {
		return append(args, rows[i][:]...)
	})
}

// UndoTag removes a tag from an address, on all lists of a tenant where the tag was given at the instant at. no is the
// tag's number. UndoTag reports whether it removed any tag. The only error is core.ErrStorage.
func UndoTag(tx *db.Tx, tenantID, emailKey string, no int64, at core.Instant) (bool, error) {
	pairs, err := IDsOf(tx, emailKey, tenantID)
	if err != nil {
		return false, err
	}
	n, err := tx.ExecPairs(pairs, db.PairsOf("tagged", "id", ""),
		"DELETE FROM tagged WHERE tag_no = ? AND at = ? AND list_id = ? AND id = ?", no, int64(at))
	return n > 0, err
}

// UnusedTag reports whether a tag was never renamed and no person or list has it. It doesn't check segments. The only
// error is core.ErrStorage.
func UnusedTag(q db.Querier, t *core.Tag) (unused bool, err error) {
	list, err := ListWithTag(q, t)
	if err != nil || list != "" || t.UpdatedAt != t.CreatedAt {
		return false, err
	}
	err = q.Get(&unused, "SELECT NOT EXISTS (SELECT 1 FROM tagged INDEXED BY tagged_tag WHERE tag_no = ?)", t.No)
	return unused, err
}
