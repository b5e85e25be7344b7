package imports

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/members"
)

// Several files may say the same thing: that a person unsubscribed, or that an address bounced. The first import owns
// the record, and the statements of the other files wait in import_word. When the owner is undone, the import of one of
// these statements takes over the record. An undo therefore reverts only what its own file stated.
//
// A file may also list as unsubscribed a person whom a later statement in another file made active. The statement about
// the unsubscribe waits too, and applies when the other import is undone.

// WordsKept is how long the statements in import_word are stored. An import that can still be undone ended at most a
// week ago.
const WordsKept = 30 * 24 * time.Hour

// importWord is a statement in a file about a record that another import owns.
type importWord struct {
	emailKey, listID, importID string
	kind, reason               string
	at                         core.Instant
}

// addWords inserts statements. A statement about a deleted record is replaced by one about the new record.
var addWords = db.InsertMany(
	`INSERT INTO import_word (tenant_id, said_at, email_key, list_id, import_id, kind, reason, at)
	SELECT ?, ?, column1, column2, column3, column4, column5, column6 FROM `,
	6,
	` WHERE true ON CONFLICT DO UPDATE SET
	kind = iif(at = excluded.at, max(kind, excluded.kind), excluded.kind), reason = excluded.reason, at = excluded.at,
	said_at = excluded.said_at`,
)

// mayBeUndone is the SQL condition on import_job that the import can be undone, or is being undone, at an instant.
var mayBeUndone = "status <> 'deleted' AND undo_status <> 'done' AND (finished_at = 0 OR undo_status = 'running' OR finished_at + " +
	strconv.FormatInt(
		FaultsKept.Milliseconds(),
		10,
	) + " > ?)"

// owned reports whether an import can still be undone, and therefore still owns its records.
func (l *leaving) owned(importID string) (yes bool, err error) {
	if importID == "" {
		return false, nil
	}
	if yes, ok := l.owners[importID]; ok {
		return yes, nil
	}
	err = l.im.reads.Get(&yes, "SELECT EXISTS (SELECT 1 FROM import_job WHERE id = ? AND "+mayBeUndone+")", importID,
		int64(l.im.now))
	l.keepOwner(importID, yes)
	return yes, err
}

// ownedByOthers reports whether another import of the list can still be undone.
func (l *leaving) ownedByOthers() (yes bool, err error) {
	const others = "" // import id that no import has
	if yes, ok := l.owners[others]; ok {
		return yes, nil
	}
	err = l.im.reads.Get(
		&yes,
		"SELECT EXISTS (SELECT 1 FROM import_job INDEXED BY import_job_list WHERE list_id = ? AND id <> ? AND "+
			mayBeUndone+")",
		l.im.list.ID,
		l.im.job,
		int64(l.im.now),
	)
	l.keepOwner(others, yes)
	return yes, err
}

func (l *leaving) keepOwner(id string, yes bool) {
	if l.owners == nil {
		l.owners = map[string]bool{}
	}
	l.owners[id] = yes
}

// leftToo records the file's statement that a person unsubscribed, if the person has already left. It also does so if
// another file made the person active, and this import does not end the subscription.
func (l *leaving) leftToo(r *ImportRow, sub *core.Subscription) error {
	asked := sub.Status == core.SubscriptionPending && sub.Proof != core.ProofLeft
	brought := sub.Status == core.SubscriptionActive && sub.Proof == core.ProofImport
	if asked || l.im.DryRun || !sub.Left() && !brought {
		return nil
	}
	others, err := l.ownedByOthers()
	if err == nil && others {
		l.words = append(l.words, importWord{
			emailKey: r.key, listID: l.im.list.ID, importID: l.im.job, kind: core.SubscriptionUnsubscribed,
			reason: r.evidence(), at: sub.ChangedAt,
		})
	}
	return err
}

// block is an existing or new row of the suppression list.
type block struct {
	Key       string       `db:"email_key"`
	Kind      core.Status  `db:"kind"`
	Reason    string       `db:"reason"`
	CreatedAt core.Instant `db:"created_at"`
	ImportID  string       `db:"import_id"`
	fresh     bool         // whether the row is not written yet
}

// blockedToo records the file's statement about an address, if another file made the same or a stronger statement.
func (l *leaving) blockedToo(r *ImportRow, stands *block) error {
	if l.im.DryRun || stands.ImportID == l.im.job {
		return nil
	}
	owned, err := l.owned(stands.ImportID)
	if err == nil && owned {
		l.words = append(l.words, importWord{
			emailKey: r.key, importID: l.im.job, kind: string(r.Block), reason: l.im.source, at: stands.CreatedAt,
		})
	}
	return err
}

// strengthen makes this import the owner of a suppression list row, because its statement is stronger.
func (l *leaving) strengthen(r *ImportRow, stands *block) error {
	if stands.fresh || l.im.DryRun {
		stands.Kind = r.Block
		return nil
	}
	if stands.ImportID != l.im.job {
		l.words = append(l.words, importWord{
			emailKey: r.key, importID: stands.ImportID, kind: string(stands.Kind), reason: stands.Reason, at: stands.CreatedAt,
		})
		l.im.said++
	}
	stands.Kind, stands.ImportID, stands.Reason = r.Block, l.im.job, l.im.source
	l.tx.Departs(l.im.list.TenantID)
	return l.tx.One(
		"UPDATE suppression SET kind = ?3, import_id = ?4, reason = ?5 WHERE tenant_id = ?1 AND email_key = ?2",
		l.im.list.TenantID,
		r.key,
		string(r.Block),
		l.im.job,
		l.im.source,
	)
}

// writeWords writes the recorded statements.
func (l *leaving) writeWords() error {
	for i := range l.words {
		if l.words[i].importID == l.im.job {
			l.im.said++
		}
	}
	return l.tx.InsertMany(
		&addWords,
		[]any{l.im.list.TenantID, int64(l.im.now)},
		len(l.words),
		func(args []any, i int) []any {
			return l.words[i].append(args, i)
		},
	)
}

// heirWord is the statement that applies when the import that owns an unsubscribe is undone.
type heirWord struct {
	// ImportID is empty if the import can no longer be undone, so that its statement is permanent.
	ImportID string `db:"import_id"`
	Source   string `db:"source"` // source of that import
	Reason   string `db:"reason"`
}

// heir returns the statement about sub that applies when the import owner is undone. If there is none, ok is false.
func heir(from db.Querier, tenantID string, sub *core.Subscription, owner string, now core.Instant) (w heirWord, ok bool,
	err error,
) {
	err = from.Get(
		&w,
		`SELECT iif(owned, import_id, '') AS import_id, coalesce((SELECT source FROM import_job WHERE id = import_id), '') AS source,
		reason FROM (SELECT w.import_id, w.reason, EXISTS (SELECT 1 FROM import_job WHERE id =
		w.import_id AND `+mayBeUndone+`) AS owned FROM import_word AS w WHERE w.email_key = ? AND w.tenant_id = ? AND w.list_id = ?
		AND w.import_id <> ? AND w.at = ? AND w.kind <> 'resumed') ORDER BY owned, import_id LIMIT 1`,
		int64(now),
		sub.Email.Key(),
		tenantID,
		sub.ListID,
		owner,
		int64(sub.ChangedAt),
	)
	if errors.Is(err, core.ErrNotFound) {
		return w, false, nil
	}
	return w, err == nil, err
}

// resumedWord is the import_id of rows that record which event undid an import's unsubscribe.
const resumedWord = "resumed"

// resumedBy reports whether the last event of a subscription undid an import that had ended it.
func resumedBy(from db.Querier, tenantID string, sub *core.Subscription) (yes bool, err error) {
	err = from.Get(
		&yes,
		`SELECT EXISTS (SELECT 1 FROM import_word WHERE email_key = ? AND tenant_id = ? AND list_id = ? AND
		import_id = '`+resumedWord+`' AND kind = 'resumed' AND at = ?)`,
		sub.Email.Key(),
		tenantID,
		sub.ListID,
		int64(sub.EventAt),
	)
	return yes, err
}

// resumeImported restores the state that the import gave to an active subscription, except for its last event.
func (u *undoing) resumeImported(sub *core.Subscription) error {
	if sub.Proof != core.ProofImport {
		return nil
	}
	err := u.Get(&sub.ChangedAt, `SELECT coalesce(max(at), ?) FROM consent WHERE list_id = ? AND subscription_id = ? AND
		what = 'imported' AND generation = ?`, int64(sub.ChangedAt), sub.ListID, sub.ID, sub.Generation)
	if err != nil {
		return err
	}
	w := importWord{
		emailKey: sub.Email.Key(), listID: sub.ListID, importID: resumedWord, kind: "resumed", at: sub.EventAt,
	}
	return u.InsertMany(&addWords, []any{u.list.TenantID, int64(u.now)}, 1, w.append)
}

// append appends the parameters of addWords.
func (w *importWord) append(args []any, _ int) []any {
	return append(args, w.emailKey, w.listID, w.importID, w.kind, w.reason, int64(w.at))
}

// unsay deletes some of the import's statements, and reports whether there were any.
func (u *undoing) unsay() (more bool, err error) {
	n, err := u.Exec(`DELETE FROM import_word INDEXED BY import_word_import WHERE import_id = ?1 AND import_id <> '' AND
		email_key <= (SELECT max(email_key) FROM (SELECT email_key FROM import_word INDEXED BY import_word_import WHERE
		import_id = ?1 AND import_id <> '' ORDER BY email_key LIMIT +?2))`, u.job.ID, ImportBatch)
	return n > 0, err
}

// bequeath passes the ownership of an unsubscribe to another import. If no other import can own it, the unsubscribe
// becomes permanent.
func (u *undoing) bequeath(sub *core.Subscription) error {
	w, ok, err := heir(u.Tx, u.list.TenantID, sub, u.job.ID, u.now)
	if err != nil || !ok || w.ImportID == "" {
		return err
	}
	if u.heirs == nil {
		u.heirs = map[string][]string{}
	}
	u.heirs[w.ImportID] = append(u.heirs[w.ImportID], sub.ID)
	_, err = u.Exec("DELETE FROM import_word WHERE email_key = ? AND tenant_id = ? AND list_id = ? AND import_id = ?",
		sub.Email.Key(), u.list.TenantID, sub.ListID, w.ImportID)
	return err
}

// hold undoes the activation of a person whom this import activated and another file lists as unsubscribed. The person
// becomes unsubscribed or, if pends is true, pending. at is the instant of the activation.
func (u *undoing) hold(sub *core.Subscription, pends bool, at core.Instant) error {
	was := *sub
	if err := u.announce(sub); err != nil {
		return err
	}
	w, _, err := heir(u.Tx, u.list.TenantID, sub, u.job.ID, u.now)
	if err != nil {
		return err
	}
	_, err = u.Exec("DELETE FROM consent WHERE list_id = ? AND subscription_id = ? AND at = ?", sub.ListID, sub.ID,
		int64(at))
	if err != nil {
		return err
	}
	if pends {
		u.pending++
		sub.PendAgain()
		sub.Proof = core.ProofLeft
	} else {
		u.removed++
		sub.EndAgain()
		err = members.AddConsent(u.Tx, core.Consent{
			ListID: sub.ListID, SubscriptionID: sub.ID, At: sub.ChangedAt, What: core.ConsentImportedLeft,
			Proof: core.ProofImport, Origin: core.Origin{Source: w.Source}, Generation: sub.Generation, Reason: w.Reason,
		})
	}
	if err == nil {
		err = members.SaveSubscription(u.Tx, was.Status, sub)
	}
	if err == nil {
		err = moveWords(u.Tx, u.list.TenantID, sub, was.ChangedAt)
	}
	if err != nil {
		return err
	}
	return u.bequeath(sub)
}

// moveWords makes the statements about a subscription refer to its new state. at is the instant of the change.
func moveWords(tx *db.Tx, tenantID string, sub *core.Subscription, at core.Instant) error {
	if sub.ChangedAt == at {
		return nil
	}
	_, err := tx.Exec(`UPDATE import_word SET at = ? WHERE email_key = ? AND tenant_id = ? AND list_id = ? AND at = ? AND
		kind <> 'resumed'`, int64(sub.ChangedAt), sub.Email.Key(), tenantID, sub.ListID, int64(at))
	return err
}

// keepHeirs records which imports now own the subscriptions that a step changed. at is the instant of the step.
func (u *undoing) keepHeirs(at core.Instant) error {
	for _, id := range slices.Sorted(maps.Keys(u.heirs)) {
		data := binary.BigEndian.AppendUint64(nil, uint64(at))
		for _, sub := range u.heirs[id] {
			parsed, err := uuid.Parse(sub)
			if err != nil {
				return err
			}
			data = append(data, parsed[:]...)
		}
		if err := addNoted(u.Tx, id, importBrought, data); err != nil {
			return err
		}
		if err := u.One("UPDATE import_job SET brought = brought + ?2 WHERE id = ?1", id, len(u.heirs[id])); err != nil {
			return err
		}
	}
	return nil
}

// lift removes some of the import's addresses from the suppression list, and reports whether there were any. A
// statement of another file, or an earlier entry, applies again.
func (u *undoing) lift() (more bool, err error) {
	var rows []block
	err = u.All(
		&rows,
		`SELECT email_key, kind, reason, created_at, import_id FROM suppression INDEXED BY suppression_import
		WHERE import_id = ? AND import_id <> '' AND tenant_id = ? LIMIT +?`,
		u.job.ID,
		u.job.TenantID,
		ImportBatch,
	)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	for i := range rows {
		if err := u.liftOne(&rows[i]); err != nil {
			return true, err
		}
	}
	return true, u.One("UPDATE import_job SET undo_lifted = undo_lifted + ?2 WHERE id = ?1", u.job.ID, u.lifted)
}

func (u *undoing) liftOne(b *block) error {
	const key = " WHERE tenant_id = ? AND email_key = ?"
	var next block
	err := u.Get(
		&next,
		`SELECT email_key, kind, reason, import_id FROM import_word WHERE email_key = ? AND tenant_id = ? AND
		list_id = '' AND import_id <> ? AND at = ? ORDER BY kind DESC, import_id LIMIT 1`,
		b.Key,
		u.job.TenantID,
		u.job.ID,
		int64(b.CreatedAt),
	)
	if errors.Is(err, core.ErrNotFound) {
		u.lifted++
		_, err = u.Exec("DELETE FROM suppression"+key, u.job.TenantID, b.Key)
		return err
	}
	if err != nil {
		return err
	}
	err = u.One(
		"UPDATE suppression SET kind = ?, reason = ?, import_id = ?"+key,
		string(next.Kind),
		next.Reason,
		next.ImportID,
		u.job.TenantID,
		b.Key,
	)
	if err != nil {
		return err
	}
	_, err = u.Exec(
		"DELETE FROM import_word WHERE email_key = ? AND tenant_id = ? AND list_id = '' AND import_id = ?",
		b.Key,
		u.job.TenantID,
		next.ImportID,
	)
	return err
}
