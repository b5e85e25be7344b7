package imports

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// importReplaced represents the table import_before where SweepImports needs a kind of import_chunk.
const importReplaced = 3

// MaxReplacedBytes is the maximum number of bytes of replaced fields that are kept per import. By default, it equals
// the maximum size of a file.
var MaxReplacedBytes int64 = core.DefaultImportBytes

// keepReplaced stores the earlier field values that a row replaced. If that fails or the disk has no space beyond its
// reserve, it returns core.ErrStorage, and the import resumes later.
func (im *importing) keepReplaced(tx *db.Tx, id string, was, made core.Preferences) error {
	if im.job == "" {
		return nil
	}
	f := core.FieldsReplaced(was, made)
	if f == nil {
		return nil
	}
	const key = " WHERE import_id = ? AND subscription_id = ?"
	column := f.Column()
	if im.replacedBytes+int64(len(column)) > MaxReplacedBytes {
		im.unkept++
		return nil
	}
	if err := tx.DB().Room(2 * int64(len(column))); err != nil { // space in the WAL and in the database file
		return err
	}
	n, err := tx.Exec("INSERT INTO import_before (import_id, subscription_id, fields) VALUES (?, ?, ?) ON CONFLICT DO "+
		"NOTHING", im.job, id, column)
	if err != nil {
		return err
	}
	im.replacedBytes += int64(len(column))
	if n > 0 {
		im.replaced++
		return nil
	}
	var first core.FieldsBefore // fields that another row of the same person replaced
	if err := tx.Get(&first, "SELECT fields FROM import_before"+key, im.job, id); err != nil {
		return err
	}
	return tx.One("UPDATE import_before SET fields = ?3 WHERE import_id = ?1 AND subscription_id = ?2", im.job, id,
		first.Then(f).Column())
}

// replacedFields holds the fields of a person that an import replaced.
type replacedFields struct {
	SubscriptionID string            `db:"subscription_id"`
	Fields         core.FieldsBefore `db:"fields"`
}

// replacedBy returns the fields that an import replaced, for up to limit people whose ids are greater than after. It
// also returns the people's subscriptions by id.
func replacedBy(from db.Querier, j *core.ImportJob, after string, limit int) ([]replacedFields,
	map[string]*core.Subscription, error,
) {
	var rows []replacedFields
	err := from.All(&rows, `SELECT subscription_id, fields FROM import_before WHERE import_id = ? AND subscription_id > ?
		ORDER BY subscription_id LIMIT +?`, j.ID, after, limit)
	if err != nil {
		return nil, nil, err
	}
	ids := make(core.Strings, len(rows))
	for i := range rows {
		ids[i] = rows[i].SubscriptionID
	}
	var subs []core.Subscription
	err = from.All(&subs, "SELECT "+members.SubscriptionColumns+` FROM json_each(?2) AS j CROSS JOIN subscription AS s
		ON s.list_id = ?1 AND s.id = j.value`, j.ListID, ids.Column())
	found := make(map[string]*core.Subscription, len(subs))
	for i := range subs {
		found[subs[i].ID] = &subs[i]
	}
	return rows, found, err
}

// planReplaced adds the number of replaced fields that would be restored to the plan. It checks at most 5,000 people.
func planReplaced(from db.Querier, j *core.ImportJob, p *core.ImportUndoPlan) error {
	p.Replaced = j.Replaced
	for after := ""; p.ReplacedLooked < undoLooks; {
		rows, subs, err := replacedBy(from, j, after, ImportBatch)
		if err != nil || len(rows) == 0 {
			return err
		}
		for i := range rows {
			after = rows[i].SubscriptionID
			p.ReplacedLooked++
			sub := subs[after]
			if sub != nil && rows[i].Fields.Restore(sub.Preferences) != sub.Preferences {
				p.Restore++
			} else {
				p.Unrestored++
			}
		}
	}
	return nil
}

// restore restores the replaced fields of some people and reports whether there is more to do.
func (u *undoing) restore() (more bool, err error) {
	rows, subs, err := replacedBy(u.Tx, &u.job, "", ImportBatch)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	if u.at, err = members.Stamp(u.Tx, u.job.ListID, u.now); err != nil {
		return false, err
	}
	by := ""
	if err := u.Get(&by, "SELECT undo_by FROM import_job WHERE id = ?", u.job.ID); err != nil {
		return false, err
	}
	for i := range rows {
		sub := subs[rows[i].SubscriptionID]
		if sub == nil { // the subscription was deleted
			continue
		}
		done, err := u.restoreFields(sub, rows[i].Fields, by)
		if err != nil {
			return false, err
		}
		if done {
			u.restored++
		}
	}
	_, err = u.Exec("DELETE FROM import_before WHERE import_id = ? AND subscription_id <= ?", u.job.ID,
		rows[len(rows)-1].SubscriptionID)
	if err != nil {
		return false, err
	}
	return true, u.One(`UPDATE import_job SET undo_restored = undo_restored + ?2, undo_unrestored = undo_unrestored + ?3
		WHERE id = ?1`, u.job.ID, u.restored, int64(len(rows))-u.restored)
}

// restoreFields restores the replaced fields of a person. The same operation updates the send side.
func (u *undoing) restoreFields(sub *core.Subscription, f core.FieldsBefore, by string) (done bool, err error) {
	was := sub.Preferences
	change, done := sub.RestoreFields(f, u.at)
	if !done {
		return false, nil
	}
	if err := members.SaveSubscription(u.Tx, sub.Status, sub); err != nil {
		return true, err
	}
	err = members.NoteTracking(
		u.Tx,
		was,
		sub,
		core.Consent{At: u.at, Proof: core.ProofAdmin, Origin: core.Origin{Source: by}},
	)
	if err != nil || change == nil {
		return true, err
	}
	return true, u.hand(tenants.EventOf(u.list.TenantID, sub, change))
}

// dropReplaced deletes some of the replaced fields that are stored for an import that can no longer be undone.
func (s *Store) dropReplaced(ctx context.Context, id string) error {
	return s.Bulk(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(`DELETE FROM import_before WHERE import_id = ?1 AND subscription_id IN (SELECT subscription_id FROM
			import_before WHERE import_id = ?1 ORDER BY subscription_id LIMIT +?2)`, id, ImportBatch)
		return err
	})
}
