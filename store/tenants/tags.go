package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
)

// TagTable is the table of tags.
var TagTable = db.TableOf[core.Tag]("tag", []string{"no"}, []string{"id", "tenant_id", "created_at"})

const tagColumns = "g.no, g.id, g.tenant_id, g.name, g.name_key, g.created_at, g.updated_at"

const (
	// TagsOfTenant selects a page of a tenant's tags, sorted by id.
	TagsOfTenant = "SELECT " + tagColumns + ` FROM tag AS g INDEXED BY tag_name WHERE g.tenant_id = ? AND g.id > ?
		ORDER BY g.id LIMIT +?`
	// tagsOfPerson selects the tags of a person, given as a JSON array of pairs of list and id.
	tagsOfPerson = "SELECT DISTINCT " + tagColumns + ` FROM json_each(?) AS p
		CROSS JOIN tagged AS t ON t.list_id = p.value->>0 AND t.id = p.value->>1
		CROSS JOIN tag AS g NOT INDEXED ON g.no = t.tag_no ORDER BY g.name_key`
)

// TagsOfPairs selects the tags of a person for an export. The person is given as for tagsOfPerson.
const TagsOfPairs = `SELECT g.tenant_id, g.name, min(t.at) AS at FROM json_each(?) AS p
	CROSS JOIN tagged AS t ON t.list_id = p.value->>0 AND t.id = p.value->>1
	CROSS JOIN tag AS g NOT INDEXED ON g.no = t.tag_no GROUP BY g.no ORDER BY g.tenant_id, g.name_key`

// Tags returns a page of a tenant's tags, sorted by id. The only error is core.ErrStorage.
func (s *Store) Tags(ctx context.Context, tenantID string, page core.Page) (tags []core.Tag, err error) {
	err = s.All(ctx, &tags, TagsOfTenant, tenantID, page.After, page.Limit)
	return tags, err
}

// AllTags returns all tags of a tenant, sorted by name. The only error is core.ErrStorage.
func (s *Store) AllTags(ctx context.Context, tenantID string) ([]core.Tag, error) {
	tags, err := s.Tags(ctx, tenantID, core.Page{Limit: core.MaxTags})
	slices.SortFunc(tags, func(a, b core.Tag) int { return strings.Compare(a.NameKey, b.NameKey) })
	return tags, err
}

// Tag returns a tag. If there is no tag with that id, it returns core.ErrTagNotFound.
func (s *Store) Tag(ctx context.Context, id string) (t core.Tag, err error) {
	return ReadTag(s.Reads(ctx), id)
}

// ReadTag is like Tag, inside an operation.
func ReadTag(q db.Querier, id string) (t core.Tag, err error) {
	err = q.Get(&t, "SELECT "+tagColumns+" FROM tag AS g WHERE g.id = ?", id)
	return t, db.OrNotFound(err, core.ErrTagNotFound)
}

// TagNamed returns a tenant's tag by name or id. If there is no such tag, it returns core.ErrTagNotFound.
func TagNamed(q db.Querier, tenantID, name string) (t core.Tag, err error) {
	if id, ok := core.ParseID(name); ok {
		err = q.Get(&t, "SELECT "+tagColumns+" FROM tag AS g WHERE g.id = ? AND g.tenant_id = ?", id, tenantID)
	} else {
		err = q.Get(&t, "SELECT "+tagColumns+" FROM tag AS g WHERE g.tenant_id = ? AND g.name_key = ?", tenantID,
			core.TagKey(name))
	}
	return t, db.OrNotFound(err, core.ErrTagNotFound)
}

// AddTag adds a tag. If the tenant has a tag with that name, or the maximum number of tags, it returns a Conflict.
func AddTag(tx *db.Tx, t *core.Tag) error {
	n, err := tx.Number("SELECT count(*) FROM tag INDEXED BY tag_name WHERE tenant_id = ?", t.TenantID)
	if err != nil {
		return err
	}
	if n >= core.MaxTags {
		return core.Conflictf("conflict", "A tenant can have at most %d tags. Delete one first.", core.MaxTags)
	}
	t.No, err = db.InsertRow(tx, &TagTable, t)
	tx.Kick(db.TopicRecords)
	return err
}

// DeleteTag removes a tag. If there is no such tag, it returns core.ErrNotFound. Housekeeping later removes it from
// people.
func DeleteTag(tx *db.Tx, id string) error { return tx.One("DELETE FROM tag WHERE id = ?", id) }

// TagsAt returns the tags of an address, sorted by name. A person has the same tags on all lists of a tenant. The only
// error is core.ErrStorage.
func (s *Store) TagsAt(ctx context.Context, tenantID, emailKey string) (tags []core.Tag, err error) {
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		pairs, err := IDsAmong(s.DB, r, emailKey, tenantID)
		if err != nil {
			return err
		}
		return r.All(&tags, tagsOfPerson, pairs)
	})
	return tags, err
}

// SetTags replaces the tags of an address on all lists of a tenant that have the address. names contains names or ids
// of tags. If a tag does not exist, or there are too many, it returns an Invalid error on tags. If no list has the
// address, it returns core.ErrNotFound.
func (s *Store) SetTags(ctx context.Context, tenantID string, email core.Email, names []string, actor string,
	now core.Instant,
) ([]core.Tag, error) {
	return s.ChangeTags(ctx, tenantID, email, func([]string) []string { return names }, nil, actor, now)
}

// ChangeTags is like SetTags, but sets the tags that the function change returns and those in add. change gets the ids
// of the address's tags, and returns ids or names. If the address already has a tag in add, that tag gets the time now,
// so that undoing the import that assigned the tag keeps it. add may be nil.
func (s *Store) ChangeTags(ctx context.Context, tenantID string, email core.Email, change func(ids []string) []string,
	add []string, actor string, now core.Instant,
) (tags []core.Tag, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		pairs, err := IDsOf(tx, email.Key(), tenantID)
		if err != nil {
			return err
		}
		var had []core.Tag
		if err := tx.All(&had, tagsOfPerson, pairs); err != nil {
			return err
		}
		ids := make([]string, len(had))
		for i := range had {
			ids[i] = had[i].ID
		}
		tags, err = tagsNamed(tx, tenantID, append(slices.Clone(change(ids)), add...))
		if err != nil {
			return err
		}
		same := slices.Equal(had, tags)
		for i := range had {
			if slices.Contains(tags, had[i]) {
				continue
			}
			if _, err := takeTag(tx, pairs, &had[i]); err != nil {
				return err
			}
		}
		for i := range tags {
			again := slices.ContainsFunc(add, tags[i].Named)
			if same && !again {
				continue
			}
			n, err := giveTag(tx, pairs, &tags[i], again, now)
			if err == nil && n == 0 {
				err = core.ErrNotFound
			}
			if err != nil {
				return err
			}
		}
		if same {
			return nil
		}
		tx.Tell("tags", namesOfTags(had), namesOfTags(tags))
		return tx.Audit(now, actor, "subscription.tag", tenantID, email.Mask())
	})
	return tags, err
}

// knownPairs selects the pairs of list and id that belong to a subscriber or a subscription.
const knownPairs = `SELECT p.value->>0 AS a, p.value->>1 AS b FROM json_each(?1) AS p
	WHERE EXISTS (SELECT 1 FROM subscriber WHERE list_id = p.value->>0 AND id = p.value->>1)
	OR EXISTS (SELECT 1 FROM subscription WHERE list_id = p.value->>0 AND id = p.value->>1)`

// tagsNamed returns the tags of a tenant with the given names or ids, sorted by name and without duplicates.
func tagsNamed(tx *db.Tx, tenantID string, names []string) (tags []core.Tag, err error) {
	for _, name := range names {
		t, err := TagNamed(tx, tenantID, name)
		if errors.Is(err, core.ErrTagNotFound) {
			return nil, core.Invalidf("tags", "Tag %q not found. Create it first.", name)
		}
		if err != nil {
			return nil, err
		}
		tags = append(tags, t)
	}
	slices.SortFunc(tags, func(a, b core.Tag) int { return strings.Compare(a.NameKey, b.NameKey) })
	if tags = slices.Compact(tags); len(tags) > core.MaxTagsOfOne {
		return nil, core.Invalidf("tags", "A person can have at most %d tags. Remove one first.", core.MaxTagsOfOne)
	}
	return tags, nil
}

func namesOfTags(tags []core.Tag) string {
	names := make([]string, len(tags))
	for i := range tags {
		names[i] = tags[i].Name
	}
	return strings.Join(names, ", ")
}

// TagSubscriber adds a tag to a subscriber of a list, on all lists of the tenant that have the address. changed is true
// if the person got the tag. If the person already had it, only its time changes. A person who is unknown or has
// core.MaxTagsOfOne tags stays unchanged.
func TagSubscriber(tx *db.Tx, t *core.Tag, listID, id string, now core.Instant) (changed bool, err error) {
	pairs, err := pairsOfSubscriber(tx, t.TenantID, listID, id)
	if err != nil {
		return false, err
	}
	var had []core.Tag
	err = tx.All(&had, tagsOfPerson, pairs)
	if err == nil && slices.Contains(had, *t) {
		_, err = giveTag(tx, pairs, t, true, now)
		return false, err
	}
	if err != nil || len(had) >= core.MaxTagsOfOne {
		return false, err
	}
	n, err := giveTag(tx, pairs, t, false, now)
	return n > 0, err
}

// UntagSubscriber removes a tag from a subscriber of a list, on all lists of the tenant. It reports whether the person
// had it.
func UntagSubscriber(tx *db.Tx, t *core.Tag, listID, id string) (changed bool, err error) {
	pairs, err := pairsOfSubscriber(tx, t.TenantID, listID, id)
	if err != nil {
		return false, err
	}
	n, err := takeTag(tx, pairs, t)
	return n > 0, err
}

// pairsOfSubscriber is like IDsOf, for the address of a subscriber of a list. For an unknown subscriber, it returns
// pairs that no row has.
func pairsOfSubscriber(tx *db.Tx, tenantID, listID, id string) (string, error) {
	key, err := KeyOf(tx, listID, id)
	if err != nil {
		return "", err
	}
	return IDsOf(tx, key, tenantID)
}

// KeyOf returns the folded address of a subscriber of a list, or an empty string if the list has no such subscriber.
func KeyOf(q db.Querier, listID, id string) (key string, err error) {
	err = q.Get(&key, `SELECT coalesce((SELECT email_key FROM subscriber WHERE list_id = ?1 AND id = ?2),
		(SELECT email_key FROM subscription WHERE list_id = ?1 AND id = ?2), '')`, listID, id)
	return key, err
}

// giveTag adds a tag to an address, given by its pairs of list and id, on the lists that have it. If the address
// already has the tag and again is true, the time of the tag becomes now. giveTag returns the number of lists changed.
func giveTag(tx *db.Tx, pairs string, t *core.Tag, again bool, now core.Instant) (int64, error) {
	return tx.ExecPairs(pairs, knownPairs, `INSERT INTO tagged (tag_no, at, list_id, id) VALUES (?1, ?2, ?4, ?5)
		ON CONFLICT DO UPDATE SET at = iif(?3, excluded.at, at)`, t.No, int64(now), again)
}

// takeTag removes a tag from an address, which is given as for giveTag. It returns the number of lists where the
// address had the tag.
func takeTag(tx *db.Tx, pairs string, t *core.Tag) (int64, error) {
	return tx.ExecPairs(pairs, db.PairsOf("tagged", "id", ""),
		"DELETE FROM tagged WHERE tag_no = ? AND list_id = ? AND id = ?", t.No)
}

// TakeTags gives a new subscriber of a list the tags that the address has on the tenant's other lists.
func TakeTags(tx *db.Tx, listID, id, emailKey string) error {
	var tenantID string
	err := tx.Get(&tenantID, `SELECT l.tenant_id FROM list AS l WHERE l.id = ?
		AND EXISTS (SELECT 1 FROM tag INDEXED BY tag_name WHERE tenant_id = l.tenant_id)`, listID)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	pairs, err := IDsOf(tx, emailKey, tenantID)
	if err == nil {
		_, err = tx.Exec(`INSERT INTO tagged (list_id, id, tag_no, at) SELECT ?2, ?3, t.tag_no, t.at
			FROM json_each(?1) AS p CROSS JOIN tagged AS t ON t.list_id = p.value->>0 AND t.id = p.value->>1
			WHERE true ON CONFLICT DO NOTHING`, pairs, listID, id)
	}
	return err
}

// TagSignup gives the list's signup tag, if it has one, to a person who has confirmed a signup. The only error is
// core.ErrStorage.
func TagSignup(tx *db.Tx, l *core.List, id string, now core.Instant) error {
	if l.SignupTagID == "" {
		return nil
	}
	t, err := ReadTag(tx, l.SignupTagID)
	if errors.Is(err, core.ErrTagNotFound) { // the tag was deleted while the list was deleted
		return nil
	}
	if err == nil {
		_, err = TagSubscriber(tx, &t, l.ID, id, now)
	}
	return err
}

// ListWithTag returns the name of a list that gives a tag to signups, or an empty string. The only error is
// core.ErrStorage.
func ListWithTag(q db.Querier, t *core.Tag) (name string, err error) {
	err = q.Get(&name, `SELECT coalesce((SELECT name FROM list INDEXED BY list_tenant WHERE tenant_id = ? AND
		signup_tag_id = ? AND deleted_at = 0 ORDER BY name LIMIT 1), '')`, t.TenantID, t.ID)
	return name, err
}

const tagNames = `SELECT p.value->>0 AS list_id, p.value->>1 AS id, g.name AS name FROM json_each(?) AS p
	CROSS JOIN tagged AS t ON t.list_id = p.value->>0 AND t.id = p.value->>1
	CROSS JOIN tag AS g NOT INDEXED ON g.no = t.tag_no ORDER BY g.name_key`

// TagNames returns the sorted names of people's tags. The argument and the keys of the result are pairs of list and id.
// People without tags are left out.
func (s *Store) TagNames(ctx context.Context, people [][2]string) (map[[2]string][]string, error) {
	pairs, err := json.Marshal(people)
	if err != nil {
		return nil, err
	}
	var rows []struct {
		ListID string `db:"list_id"`
		ID     string `db:"id"`
		Name   string `db:"name"`
	}
	err = s.All(ctx, &rows, tagNames, string(pairs))
	names := map[[2]string][]string{}
	for i := range rows {
		who := [2]string{rows[i].ListID, rows[i].ID}
		names[who] = append(names[who], rows[i].Name)
	}
	return names, err
}
