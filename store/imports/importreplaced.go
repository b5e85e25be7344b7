package imports

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// importReplaced stands for import_before where SweepImports looks for what nothing needs any more, as the kinds of
// import_chunk do.
const importReplaced = 3

// MaxReplacedBytes is how many bytes of replaced fields are kept of one import: as many as its file has at most.
var MaxReplacedBytes int64 = core.DefaultImportBytes

// keepReplaced keeps what a row has replaced of a person who was on the list before. It returns core.ErrStorage, also
// where the disk has no room beyond its reserve: then the import goes on later.
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
	if err := tx.DB().Room(2 * int64(len(column))); err != nil { // in the -wal, and in the file
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
	var first core.FieldsBefore // of another row of theirs
	if err := tx.Get(&first, "SELECT fields FROM import_before"+key, im.job, id); err != nil {
		return err
	}
	return tx.One("UPDATE import_before SET fields = ?3 WHERE import_id = ?1 AND subscription_id = ?2", im.job, id,
		first.Then(f).Column())
}

// replacedFields is what an import has replaced of a person.
type replacedFields struct {
	SubscriptionID string            `db:"subscription_id"`
	Fields         core.FieldsBefore `db:"fields"`
}

// replacedBy reads what an import has replaced, of the people after an id and no more than so many, with their
// subscriptions by id.
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

// planReplaced says what would become of what an import has replaced. It looks at 5,000 people at most.
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

// restore gives some people back what the import has replaced, and reports whether there is more to do.
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
		if sub == nil { // gone
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

// restoreFields gives a person back what the import has replaced. The send side knows at once.
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

// dropReplaced removes some of what is kept of an import that can't be taken back any more.
func (s *Store) dropReplaced(ctx context.Context, id string) error {
	return s.Bulk(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(`DELETE FROM import_before WHERE import_id = ?1 AND subscription_id IN (SELECT subscription_id FROM
			import_before WHERE import_id = ?1 ORDER BY subscription_id LIMIT +?2)`, id, ImportBatch)
		return err
	})
}
