package store

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"time"

	"newsletterd/core"
)

const (
	importBatch = 500  // rows in one operation
	maxSingle   = 1000 // changed rows of an import that are announced one by one; more ask for a full sync
	// syncAfter is how long after the last batch an import's full sync is planned if the import never says that it has
	// ended: its process may have been killed.
	syncAfter = 5 * time.Second
)

// ImportRow is one row of an operator's file.
type ImportRow struct {
	Email       core.Email
	Preferences core.Preferences // empty: not in the file
	Left        bool             // the file says that they have left: no other row of theirs brings them back
	// when and from where they consented in another system, for the ledger; empty: nothing is known
	Evidence string
	Line     int // of the file, for Import.OnContradicted
	id, key  string
}

func newImportRow(id, email, preferences string, left bool) ImportRow {
	e := core.Email(email)
	return ImportRow{Email: e, Preferences: core.Preferences(preferences), Left: left, id: id, key: e.Key()}
}

// Import is a running import. Make it with NewImport; it is for one goroutine. Either Put every row, then Write and
// Close, which costs a sort and writes each page of the database once; or Add them as they come.
type Import struct {
	store  *Store
	list   *core.ListWithTenant
	status string
	proof  string // of those who become active
	source string
	spool  spool
	single int // changes announced one by one
	synced bool
	held   int64 // rows that were put in
	Counts core.ImportCounts
	DryRun bool // nothing is kept: Counts says what would become of the rows
	// OnContradicted, if not nil, is called by Write for each row that is left out since another row of the file says
	// that the subscriber has left, with the lines of both, in no order. An error of it ends Write.
	OnContradicted func(line, left int) error

	job      string            // id of the core.ImportJob that it is the run of; empty: none
	position importPosition    // of the row that Write has come to
	from     importPosition    // up to where a process before this one has come
	before   core.ImportCounts // of that process
}

// NewImport begins an import into a list; status is that of new rows: active, or pending, which sends each of them a
// confirmation mail. source goes into the ledger. core.ErrListNotFound, and a Conflict where another member service
// keeps the list.
func (s *Store) NewImport(ctx context.Context, listID, status, source string) (*Import, error) {
	if status != core.SubscriptionActive && status != core.SubscriptionPending {
		return nil, core.Invalidf("status", "status must be active or pending.")
	}
	list, err := s.ListWithTenant(ctx, listID)
	if err != nil {
		return nil, err
	}
	if s.opts.MemberElsewhere {
		return nil, core.Conflictf("conflict", "Another member service keeps this list: import there.")
	}
	return &Import{
		store: s, list: list, status: status, proof: core.ProofImport,
		source: core.Origin{Source: source}.Trim().Source, spool: spool{dir: filepath.Dir(s.path)},
	}, nil
}

// Put takes a row in. Memory stays bounded: rows beyond some megabytes go into files without a name next to the
// database. It returns an error of the file system.
func (im *Import) Put(r ImportRow) error {
	rows := [1]ImportRow{r}
	im.prepare(rows[:])
	im.held++
	return im.spool.add(rows[0])
}

// Resumed reports whether a process before this one has done a part of it.
func (im *Import) Resumed() bool { return im.from.id != "" }

// Held is how many rows were put in.
func (im *Import) Held() int64 { return im.held }

// Write imports what was put in, by ids, in operations of 500 rows, and announces it. written, if not nil, is told the
// number of rows so far. now is asked for each operation. It returns core.ErrStorage, or an error of the file system.
func (im *Import) Write(ctx context.Context, now func() core.Instant, written func(rows int64)) error {
	batch, n := make([]ImportRow, 0, importBatch), int64(0)
	flush := func() error {
		if err := im.Add(ctx, batch, now()); err != nil {
			return err
		}
		if n += int64(len(batch)); written != nil {
			written(n)
		}
		batch = batch[:0]
		return nil
	}
	if im.from.id != "" {
		im.Counts = im.before // of the lines that were read, too: they are the same
	}
	var left ImportRow // the latest that says that its subscriber has left: it comes before the others of theirs
	err := im.spool.each(func(r ImportRow) error {
		done := im.position.reach(r.id, im.from)
		switch {
		case r.Left:
			if r.id != left.id {
				left = r
			}
			if !done {
				im.Counts.Kept++
			}
			n++
			return nil
		case r.id == left.id:
			n++
			return im.contradicted(r.Line, left.Line, done)
		case done:
			n++
			return nil
		}
		if batch = append(batch, r); len(batch) < importBatch {
			return nil
		}
		return flush()
	})
	if err == nil && len(batch) > 0 {
		err = flush()
	}
	if err != nil {
		return err
	}
	if written != nil {
		written(n)
	}
	return im.End(ctx, now())
}

func (im *Import) contradicted(line, left int, counted bool) error {
	if !counted {
		im.Counts.Contradicted++
	}
	if im.OnContradicted == nil {
		return nil
	}
	return im.OnContradicted(line, left)
}

var errDryRun = errors.New("a dry run")

// Close lets go of the files. It may be called at any time, and again.
func (im *Import) Close() { im.spool.close() }

// Add imports rows, at most 500, in one operation. Repeating it changes nothing. Its only error is core.ErrStorage.
func (im *Import) Add(ctx context.Context, rows []ImportRow, now core.Instant) error {
	im.prepare(rows)
	var add importing
	err := im.store.bulk(ctx, func(tx *Tx) (err error) {
		add = importing{Import: im, now: now, counts: im.Counts, single: im.single}
		if err := add.run(tx, rows); err != nil || !im.DryRun {
			return err
		}
		return errDryRun // and with it nothing has happened
	})
	if errors.Is(err, errDryRun) {
		im.Counts = add.counts
		return nil
	}
	if err == nil {
		im.Counts, im.single = add.counts, add.single
		im.synced = im.synced || add.sync
	}
	return err
}

// prepare derives the ids outside the operation.
func (im *Import) prepare(rows []ImportRow) {
	for i := range rows {
		if r := &rows[i]; r.id == "" {
			r.key = r.Email.Key()
			r.id = im.store.SubscriptionID(im.list.ID, r.key)
		}
	}
}

// End announces what Add did not announce one by one. Where another member service feeds the list too, the full sync
// ends no one of theirs. Its only error is core.ErrStorage.
func (im *Import) End(ctx context.Context, now core.Instant) (err error) {
	if !im.synced {
		return nil
	}
	im.Counts.SyncID, err = im.store.syncList(ctx, im.list, now)
	return err
}

// importing is one operation of an import; its counts hold only if it commits.
type importing struct {
	*Import
	now    core.Instant
	at     core.Instant // stamp of the changes
	counts core.ImportCounts
	single int
	sync   bool
	latest core.Instant // of the changes that a sync is to announce
	agreed core.Strings // ids of those who are active in their first generation by this operation
	proved [][2]string  // ids of further ones, with the evidence of their consent
}

func (im *importing) run(tx *Tx, rows []ImportRow) (err error) {
	if _, err := tx.list(im.list.ID); err != nil { // it may have been deleted since the import began
		return err
	}
	if im.at, err = tx.stamp(im.list.ID, im.now); err != nil {
		return err
	}
	disabled, err := tx.disabledAmong(im.list.TenantID, rows)
	if err != nil {
		return err
	}
	erased, err := tx.erasedAmong(im.list.TenantID, len(rows), func(i int) string { return rows[i].key })
	if err != nil {
		return err
	}
	for i := range rows {
		if disabled[rows[i].key] || erased[rows[i].key] != "" {
			im.counts.Kept++
			continue
		}
		if err := im.row(tx, &rows[i]); err != nil {
			return err
		}
	}
	if err := im.addConsents(tx); err != nil {
		return err
	}
	if err := im.progress(tx); err != nil {
		return err
	}
	if im.sync {
		_, err = tx.requestSync(im.list.TenantID, im.list.ID, im.now.Add(syncAfter), im.latest)
	}
	return err
}

// row tries a new record first: it mostly is one, and then nothing has to be read.
func (im *importing) row(tx *Tx, r *ImportRow) error {
	sub := core.Subscription{ID: r.id, ListID: im.list.ID}
	change, _ := sub.Import(r.Email, im.status, im.proof, r.Preferences, im.at)
	n, err := tx.exec(addSubscription, subscriptionValues(&sub, r.key)...)
	if err != nil {
		return err
	}
	if n == 0 {
		return im.known(tx, r)
	}
	im.counts.Added++
	tx.moved(sub.ListID, core.NotCounted, core.CountedSubscription(sub.Status))
	return im.record(tx, r, &sub, change, true)
}

// known applies a row to a record that is there.
func (im *importing) known(tx *Tx, r *ImportRow) error {
	sub, err := tx.subscription(im.list.ID, r.id)
	if err != nil {
		return err
	}
	was, left := sub.Status, sub.Left()
	change, changed := sub.Import(r.Email, im.status, im.proof, r.Preferences, im.at)
	switch {
	case left:
		im.counts.Kept++
		return nil
	case !changed:
		im.counts.Unchanged++
		return im.prove(tx, r, &sub)
	}
	im.counts.Updated++
	if err := tx.saveSubscription(was, &sub); err != nil {
		return err
	}
	if sub.Status == was {
		if err := im.prove(tx, r, &sub); err != nil {
			return err
		}
	}
	return im.record(tx, r, &sub, change, sub.Status != was)
}

// record writes what goes with a changed subscription: the ledger if it moved, the event or the wish for a sync, the
// confirmation mail of a new pending one.
func (im *importing) record(tx *Tx, r *ImportRow, sub *core.Subscription, c *core.Change, moved bool) error {
	if c != nil {
		im.single++
		if im.single > maxSingle {
			im.sync, im.latest = true, max(im.latest, c.OccurredAt, im.at)
			if err := tx.addToEndpoints(eventOf(im.list.TenantID, sub, c), im.now); err != nil { // no sync goes there
				return err
			}
		} else if err := tx.addEvent(im.list.TenantID, sub, c, im.now); err != nil {
			return err
		}
	}
	if !moved {
		return nil
	}
	if r.Evidence != "" {
		im.counts.Evidence++
	}
	if sub.Status == core.SubscriptionPending {
		rowID := core.NewID()
		asked := &SubscribeRequest{Origin: core.Origin{Source: im.source}, evidence: core.TrimText(r.Evidence)}
		if err := tx.addConfirmToken(sub, rowID, false, asked, im.now); err != nil {
			return err
		}
		return tx.addMail(core.Mail{
			Kind: core.MailConfirm, TenantID: im.list.TenantID, ListID: sub.ListID,
			Email: sub.Email, TokenID: rowID,
		}, im.now)
	}
	switch {
	case sub.Generation == 1 && r.Evidence != "":
		im.proved = append(im.proved, [2]string{sub.ID, core.TrimText(r.Evidence)})
		return nil
	case sub.Generation == 1:
		im.agreed = append(im.agreed, sub.ID)
		return nil
	}
	return tx.addConsent(core.Consent{
		ListID: sub.ListID, SubscriptionID: sub.ID, At: im.at, What: core.ConsentImported,
		Proof: im.proof, Origin: core.Origin{Source: im.source}, Generation: sub.Generation,
		Reason: core.TrimText(r.Evidence),
	})
}

// prove adds the evidence of a row to the consent of a subscription that an earlier import made without any.
func (im *importing) prove(tx *Tx, r *ImportRow, sub *core.Subscription) error {
	if r.Evidence == "" || sub.Proof != core.ProofImport {
		return nil
	}
	n, err := tx.exec(`UPDATE consent SET reason = ?
		WHERE list_id = ? AND subscription_id = ? AND what = ? AND generation = ? AND reason = ''`,
		core.TrimText(r.Evidence), sub.ListID, sub.ID, core.ConsentImported, sub.Generation)
	if n > 0 {
		im.counts.Evidence++
	}
	return err
}

// addConsents writes the ledger for all of the operation's rows at once: one statement costs a third of five hundred.
func (im *importing) addConsents(tx *Tx) error {
	if len(im.agreed) > 0 {
		_, err := tx.exec(`INSERT INTO consent (list_id, subscription_id, at, what, means, source, generation)
			SELECT ?, value, ?, 'imported', ?, ?, 1 FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`,
			im.list.ID, int64(im.at), im.proof, im.source, im.agreed.Column())
		if err != nil {
			return err
		}
	}
	if len(im.proved) == 0 {
		return nil
	}
	pairs, err := json.Marshal(im.proved)
	if err != nil {
		return err
	}
	_, err = tx.exec(`INSERT INTO consent (list_id, subscription_id, at, what, means, source, generation, reason)
		SELECT ?, value ->> 0, ?, 'imported', ?, ?, 1, value ->> 1 FROM json_each(?) WHERE true ON CONFLICT DO NOTHING`,
		im.list.ID, int64(im.at), im.proof, im.source, string(pairs))
	return err
}

// disabledAmong returns the keys of those rows whose address is switched off, or gets no mail of the tenant since it
// has bounced or complained.
func (tx *Tx) disabledAmong(tenantID string, rows []ImportRow) (map[string]bool, error) {
	var any bool
	err := tx.get(&any, "SELECT EXISTS (SELECT 1 FROM disabled) OR EXISTS (SELECT 1 FROM suppression WHERE "+
		"tenant_id = ?)",
		tenantID)
	if err != nil || !any {
		return nil, err
	}
	keys := make(core.Strings, len(rows))
	for i := range rows {
		keys[i] = rows[i].key
	}
	var found []string
	err = tx.all(&found, `SELECT email_key FROM disabled WHERE tenant_id IN ('', ?1) AND email_key IN (SELECT value FROM
		json_each(?2)) UNION SELECT email_key FROM suppression WHERE tenant_id = ?1 AND email_key IN (SELECT value FROM
		json_each(?2))`, tenantID, keys.Column())
	set := make(map[string]bool, len(found))
	for _, k := range found {
		set[k] = true
	}
	return set, err
}
