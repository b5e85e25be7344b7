package imports

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/google/uuid"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// importTagged is the kind of import_chunk for the tags that an import assigned. A chunk contains the instant of a step
// in milliseconds, followed by pairs of a subscription id and a tag's number.
const importTagged = 5

// importEveryone is the kind of import_chunk with the names of the tags for everyone in an import, as a JSON array.
const importEveryone = 10

// tagEveryone stores the names of the tags for everyone in an import.
func tagEveryone(tx *db.Tx, id string, names core.Strings) error {
	_, err := tx.Exec("DELETE FROM import_chunk WHERE import_id = ? AND kind = ? AND no = 0", id, importEveryone)
	if err != nil || len(names) == 0 {
		return err
	}
	return addImportChunk(tx, id, importEveryone, 0, []byte(names.Column()))
}

// taggedAtOnce is the maximum number of pairs in a chunk, which an undo handles in one operation.
const taggedAtOnce = 500

// TagSeparator separates the names in ImportRow.Tags. Names of tags can't contain it.
const TagSeparator = ";"

// wants records that a row's subscriber gets the row's tags.
func (im *importing) wants(r *ImportRow) {
	if r.Tags != "" {
		im.wanted = append(im.wanted, r)
	}
}

// giveTags assigns the tags of a step. In a dry run, tx is nil, and giveTags only counts them.
func (im *importing) giveTags(tx *db.Tx) error {
	if len(im.wanted) == 0 {
		return nil
	}
	rows := im.wanted
	im.wanted = nil
	slices.SortStableFunc(rows, func(a, b *ImportRow) int { return strings.Compare(a.id, b.id) })
	var people []tenants.Tagging
	for _, r := range rows {
		if n := len(people); n == 0 || people[n-1].ID != r.id {
			people = append(people, tenants.Tagging{ID: r.id, EmailKey: r.key})
		}
		if err := im.name(tx, &people[len(people)-1], r.Tags); err != nil {
			return err
		}
	}
	over, err := tenants.MissingTags(im.store.DB, im.reads, im.list.TenantID, im.list.ID, people)
	if err != nil {
		return err
	}
	im.counts.TagsSkipped += over
	people = slices.DeleteFunc(people, func(p tenants.Tagging) bool { return len(p.Tags) == 0 })
	im.counts.Tagged += int64(len(people))
	if im.DryRun || len(people) == 0 {
		return nil
	}
	if err := tenants.GiveTags(tx, im.list.TenantID, im.list.ID, people, im.at); err != nil {
		return err
	}
	return im.noteTags(tx, people)
}

// name adds the named tags to those that a person gets, and creates tags that don't exist.
func (im *importing) name(tx *db.Tx, p *tenants.Tagging, names string) error {
	if im.tags == nil {
		var all []core.Tag
		if err := im.reads.All(&all, tenants.TagsOfTenant, im.list.TenantID, "", core.MaxTags); err != nil {
			return err
		}
		im.tags = make(map[string]core.Tag, len(all))
		for i := range all {
			im.tags[all[i].NameKey] = all[i]
		}
	}
	for name := range strings.SplitSeq(names, TagSeparator) {
		t, known := im.tags[core.TagKey(name)]
		if !known {
			if len(im.tags) >= core.MaxTags {
				im.counts.TagsSkipped++
				continue
			}
			var err error
			if t, err = core.NewTag(im.list.TenantID, name, im.now); err != nil {
				im.counts.TagsSkipped++
				continue
			}
			if t.No = -int64(len(im.tags)) - 1; !im.DryRun { // in a dry run, no person has this tag
				if err := im.makeTag(tx, &t); err != nil {
					return err
				}
			}
			im.counts.NewTags++
			im.tags[t.NameKey] = t
		}
		if !slices.Contains(p.Tags, t) {
			p.Tags = append(p.Tags, t)
		}
	}
	return nil
}

// makeTag creates a tag, and notes that the import created it.
func (im *importing) makeTag(tx *db.Tx, t *core.Tag) error {
	if im.job != "" {
		err := tx.One(`UPDATE import_job SET made_tags = (SELECT json_group_array(value) FROM (SELECT value FROM
			json_each(made_tags) UNION ALL SELECT ?2)) WHERE id = ?1`, im.job, t.ID)
		if err != nil {
			return err
		}
	}
	return tx.Aside(func() error {
		if err := tx.Watch("tag", t.ID); err != nil {
			return err
		}
		if err := tenants.AddTag(tx, t); err != nil {
			return err
		}
		return tx.Audit(im.now, im.By, "tag.create", t.TenantID, t.ID)
	})
}

// noteTags records which tags a step assigned, so that an undo can remove them.
func (im *importing) noteTags(tx *db.Tx, people []tenants.Tagging) error {
	if im.job == "" {
		return nil
	}
	var data []byte
	n := 0
	for i := range people {
		id, err := uuid.Parse(people[i].ID)
		if err != nil {
			return err
		}
		for _, t := range people[i].Tags {
			if n%taggedAtOnce == 0 {
				if err := im.keepTagged(tx, data); err != nil {
					return err
				}
				data = binary.BigEndian.AppendUint64(data[:0], uint64(im.at))
			}
			n++
			data = binary.BigEndian.AppendUint64(append(data, id[:]...), uint64(t.No))
		}
	}
	return im.keepTagged(tx, data)
}

func (im *importing) keepTagged(tx *db.Tx, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	return addNoted(tx, im.job, importTagged, data)
}

// untag removes some of the tags that the import assigned, and reports whether there were any. A tag that was removed
// and assigned again has a different time, and stays.
func (u *undoing) untag() (more bool, err error) {
	var c broughtChunk
	err = u.Get(&c, "SELECT no, data FROM import_chunk WHERE import_id = ? AND kind = ? ORDER BY no LIMIT 1", u.job.ID,
		importTagged)
	if errors.Is(err, core.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	at := core.Instant(binary.BigEndian.Uint64(c.Data))
	const size = len(uuid.UUID{}) + 8
	for b := c.Data[instantBytes:]; len(b) >= size; b = b[size:] {
		id, no := uuid.UUID(b[:len(uuid.UUID{})]).String(), binary.BigEndian.Uint64(b[len(uuid.UUID{}):])
		key, err := tenants.KeyOf(u.Tx, u.job.ListID, id)
		if err != nil {
			return false, err
		}
		done, err := tenants.UndoTag(u.Tx, u.job.TenantID, key, int64(no), at)
		if err != nil {
			return false, err
		}
		if done {
			u.untagged++
		}
	}
	_, err = u.Exec("DELETE FROM import_chunk WHERE import_id = ? AND kind = ? AND no = ?",
		u.job.ID, importTagged, c.No)
	if err != nil {
		return false, err
	}
	return true, u.One("UPDATE import_job SET undo_untagged = undo_untagged + ?2 WHERE id = ?1", u.job.ID, u.untagged)
}

// dropTags deletes the tags that the import created, unless they are used or were renamed.
func (u *undoing) dropTags(by string) error {
	var ids []string
	err := u.All(&ids, "SELECT j.value FROM import_job AS i, json_each(i.made_tags) AS j WHERE i.id = ?", u.job.ID)
	for _, id := range ids {
		var t core.Tag
		if err == nil {
			t, err = tenants.ReadTag(u.Tx, id)
		}
		if errors.Is(err, core.ErrTagNotFound) {
			err = nil
			continue
		}
		if err != nil {
			return err
		}
		unused, err := tenants.UnusedTag(u.Tx, &t)
		if err != nil {
			return err
		}
		if !unused {
			continue
		}
		using, err := campaigns.SegmentsWith(u.Tx, &t)
		if err != nil {
			return err
		}
		if len(using) > 0 {
			continue
		}
		err = u.Aside(func() error {
			if err := u.Watch("tag", t.ID); err != nil {
				return err
			}
			if err := tenants.DeleteTag(u.Tx, t.ID); err != nil {
				return err
			}
			return u.Audit(u.now, by, "tag.delete", t.TenantID, t.ID)
		})
		if err != nil {
			return err
		}
	}
	return err
}
