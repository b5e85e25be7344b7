package imports

import (
	"errors"
	"slices"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// importing holds the state of one operation of an import. Its counts are valid only if the operation commits.
type importing struct {
	*Import
	reads     db.Querier // the operation, or a snapshot in a dry run
	now       core.Instant
	at        core.Instant // time stored with the changes
	counts    core.ImportCounts
	position  importPosition // position of the last row
	single    int
	summaries map[string]int64
	sync      bool
	latest    core.Instant // time of the latest change that a sync has to announce
	endpoints bool         // whether the tenant has endpoints, which get the first changes as single events
	noted     []byte       // see keepNoted
	brought   int64
	stayed    []byte // see keepStayed

	replaced, unkept, replacedBytes int64 // see keepReplaced

	barred int64 // addresses added to the suppression list
	said   int64 // number of statements in the file that take effect only if another import is undone

	wanted []*ImportRow        // rows whose tags must be assigned
	tags   map[string]core.Tag // tags of the tenant by TagKey; nil if not read yet

	consents [][2]string // ids and evidence of activated subscriptions in their first generation
}

// addSubscriptions and addConsents write many rows per statement. Writing each row separately takes twice as long.
var (
	addSubscriptions = db.InsertMany(`INSERT INTO subscription (list_id, id, email, email_key, preferences, status,
		generation, means, created_at, changed_at, event_at)
		SELECT ?, column1, column2, column3, column4, ?, ?, ?, ?, ?, ? FROM `, 4, "")
	addConsents = db.InsertMany(
		`INSERT INTO consent (list_id, at, what, means, source, generation, subscription_id, reason)
		SELECT ?, ?, ?, ?, ?, 1, column1, column2 FROM `,
		2,
		" WHERE true ON CONFLICT DO NOTHING",
	)
)

// run imports steps. While no other operation waits, it also imports steps from the channel more, if they are ready. It
// returns all steps that it imported. If the operation is repeated, run must be called with these steps.
func (im *importing) run(tx *db.Tx, steps []importStep, more <-chan importStep) ([]importStep, error) {
	if err := im.there(tx); err != nil { // the list may have been deleted since the import started
		return steps, err
	}
	var err error
	if im.at, err = members.Stamp(tx, im.list.ID, im.now); err != nil {
		return steps, err
	}
	im.reads = tx
	endpoints, err := tenants.EndpointsOf(tx, im.list.TenantID)
	if err != nil {
		return steps, err
	}
	im.endpoints = len(endpoints) > 0
	for i := 0; ; i++ {
		if i == len(steps) {
			s, ok := importStep{}, false
			if i < ImportSteps && !tx.Awaited() {
				select {
				case s, ok = <-more:
				default:
				}
			}
			if !ok {
				break
			}
			steps = append(steps, s)
		}
		if err := im.step(tx, &steps[i]); err != nil {
			return steps, err
		}
	}
	if err := im.progress(tx); err != nil {
		return steps, err
	}
	if err := im.announceLater(tx); err != nil {
		return steps, err
	}
	if im.sync {
		_, err = members.RequestSync(tx, im.list.TenantID, im.list.ID, im.now.Add(syncAfter), im.latest)
	}
	return steps, err
}

// step imports the rows of s, which are sorted by id. In a dry run, tx is nil, and step only counts what would happen.
func (im *importing) step(tx *db.Tx, s *importStep) error {
	im.position = s.position
	im.counts.Kept += s.kept
	im.counts.Contradicted += s.contradicted
	rows, left := splitLeft(s.rows)
	if err := im.leave(tx, left); err != nil {
		return err
	}
	disabled, err := disabledAmong(im.reads, im.list.TenantID, rows)
	if err != nil {
		return err
	}
	erased, err := im.erasedAmong(rows)
	if err != nil {
		return err
	}
	admitted := rows
	if len(disabled) > 0 || len(erased) > 0 {
		there := map[string]*core.Subscription{}
		if len(erased) > 0 {
			if there, err = im.recordsOf(rows); err != nil {
				return err
			}
		}
		admitted = slices.DeleteFunc(slices.Clone(rows), func(r ImportRow) bool {
			return disabled[r.key] || tenants.ErasedFrom(erased[r.key], there[r.id])
		})
		im.counts.Kept += int64(len(rows) - len(admitted))
	}
	tried := im.tried
	if err := im.apply(tx, admitted); err != nil {
		return err
	}
	if err := im.giveTags(tx); err != nil {
		return err
	}
	if im.DryRun {
		if len(left) > 0 && s.rows[len(s.rows)-1].Left {
			im.tried = tried
		}
		return nil
	}
	if err := im.addConsents(tx); err != nil {
		return err
	}
	return errors.Join(im.keepNoted(tx), im.keepStayed(tx))
}

// erasedAmong returns the result of tenants.ErasedAmong for the addresses of rows.
func (im *importing) erasedAmong(rows []ImportRow) (map[string]string, error) {
	return tenants.ErasedAmong(im.store.DB, im.reads, im.list.TenantID, len(rows),
		func(i int) string { return rows[i].key })
}

// apply adds subscriptions for the rows that have none, then applies the other rows one by one.
func (im *importing) apply(tx *db.Tx, rows []ImportRow) error {
	there, err := im.recordsOf(rows)
	if err != nil {
		return err
	}
	added, others := make([]*ImportRow, 0, len(rows)), []*ImportRow(nil)
	if im.DryRun && im.tried != nil { // an earlier step may contain rows of the same subscriber
		there[im.tried.ID] = im.tried
	}
	for i := range rows {
		r := &rows[i]
		if there[r.id] != nil || i > 0 && rows[i-1].id == r.id {
			others = append(others, r)
		} else {
			added = append(added, r)
		}
	}
	if im.DryRun {
		im.tryAdding(added, there)
	} else if err := im.add(tx, added); err != nil {
		return err
	}
	for _, r := range others {
		sub := there[r.id]
		if sub == nil { // another row has just added it
			s, err := members.Subscription(tx, im.list.ID, r.id)
			if err != nil {
				return err
			}
			sub = &s
			there[r.id] = sub
		}
		if err := im.known(tx, r, sub); err != nil {
			return err
		}
	}
	if im.DryRun && len(rows) > 0 {
		im.tried = there[rows[len(rows)-1].id]
	}
	return nil
}

// recordsOf returns the existing subscriptions of rows, keyed by id. In most imports, either no row or every row has a
// subscription. The records between the first and the last id are then exactly those of the rows.
func (im *importing) recordsOf(rows []ImportRow) (map[string]*core.Subscription, error) {
	found := map[string]*core.Subscription{}
	if len(rows) == 0 {
		return found, nil
	}
	var subs []core.Subscription
	limit := 2 * len(rows)
	err := im.reads.All(
		&subs,
		"SELECT "+members.SubscriptionColumns+` FROM subscription AS s WHERE s.list_id = ? AND s.id BETWEEN ? AND ?
		LIMIT +?`,
		im.list.ID,
		rows[0].id,
		rows[len(rows)-1].id,
		limit,
	)
	if err == nil && len(subs) == limit {
		ids := make(core.Strings, len(rows))
		for i := range rows {
			ids[i] = rows[i].id
		}
		subs = subs[:0]
		err = im.reads.All(&subs, "SELECT "+members.SubscriptionColumns+` FROM json_each(?2) AS j CROSS JOIN subscription AS s
			ON s.list_id = ?1 AND s.id = j.value`, im.list.ID, ids.Column())
	}
	for i := range subs {
		found[subs[i].ID] = &subs[i]
	}
	return found, err
}

// add writes new subscriptions for rows.
func (im *importing) add(tx *db.Tx, rows []*ImportRow) error {
	if len(rows) == 0 {
		return nil
	}
	blank := core.Subscription{ListID: im.list.ID}
	_, _ = blank.Import("", im.status, im.proof, "", im.at) // values that all rows share
	same := []any{
		blank.ListID, blank.Status, blank.Generation, blank.Proof, int64(blank.CreatedAt), int64(blank.ChangedAt),
		int64(blank.EventAt),
	}
	err := tx.InsertMany(&addSubscriptions, same, len(rows), func(args []any, i int) []any {
		r := rows[i]
		return append(args, r.id, string(r.Email), r.key, string(r.Preferences.OrEmpty()))
	})
	if err != nil {
		return err
	}
	im.counts.Added += int64(len(rows))
	tenants.MovedMany(tx, im.list.ID, core.NotCounted, core.CountedSubscription(blank.Status), int64(len(rows)))
	for _, r := range rows {
		im.note(r.id)
		im.wants(r)
		sub := core.Subscription{ID: r.id, ListID: im.list.ID}
		change, _ := sub.Import(r.Email, im.status, im.proof, r.Preferences, im.at)
		if err := im.record(tx, r, &sub, change, true); err != nil {
			return err
		}
		if err := im.noteTracking(tx, "", &sub); err != nil {
			return err
		}
	}
	return nil
}

// noteTracking adds a ledger entry if, according to the file, the subscriber agrees to tracking.
func (im *importing) noteTracking(tx *db.Tx, was core.Preferences, sub *core.Subscription) error {
	if sub.Status != core.SubscriptionActive {
		return nil
	}
	return members.NoteTracking(tx, was, sub, core.Consent{
		At: im.at, Proof: im.proof, Origin: core.Origin{Source: im.source},
	})
}

// known applies a row to an existing subscription.
func (im *importing) known(tx *db.Tx, r *ImportRow, sub *core.Subscription) error {
	was, left, said, fields := sub.Status, sub.Left(), sub.Preferences, r.Preferences
	if im.KeepFields {
		fields = ""
	}
	change, changed := sub.Import(r.Email, im.status, im.proof, fields, im.at)
	if left {
		im.counts.Kept++
		return nil
	}
	im.wants(r)
	switch {
	case sub.Vouch(im.status, im.proof, im.at):
		im.counts.Updated++
		return im.vouched(tx, sub)
	case !changed:
		im.counts.Unchanged++
		return im.prove(tx, r, sub)
	}
	im.counts.Updated++
	if im.DryRun {
		return im.tryUpdating(r, sub, was)
	}
	if err := im.keepReplaced(tx, sub.ID, said, sub.Preferences); err != nil {
		return err
	}
	if sub.Status != was {
		im.note(sub.ID)
	}
	if err := members.SaveSubscription(tx, was, sub); err != nil {
		return err
	}
	if sub.Status == was {
		if err := im.prove(tx, r, sub); err != nil {
			return err
		}
	}
	if was != core.SubscriptionActive {
		said = "" // the requested preferences were never confirmed
	}
	if err := im.noteTracking(tx, said, sub); err != nil {
		return err
	}
	return im.record(tx, r, sub, change, sub.Status != was)
}

// vouched saves an imported subscription and adds a consent with the import's proof to the ledger.
func (im *importing) vouched(tx *db.Tx, sub *core.Subscription) error {
	if err := members.SaveSubscription(tx, sub.Status, sub); err != nil {
		return err
	}
	return members.AddConsent(tx, core.Consent{
		ListID: sub.ListID, SubscriptionID: sub.ID, At: im.at, What: core.ConsentImported, Proof: im.proof,
		Origin: core.Origin{Source: im.source}, Generation: sub.Generation,
	})
}

// record stores the results of a change to a subscription: the event or the request for a sync and, if moved is true,
// the consent. A new pending subscription gets a confirmation email.
func (im *importing) record(tx *db.Tx, r *ImportRow, sub *core.Subscription, c *core.Change, moved bool) error {
	if err := im.tell(tx, sub, c); err != nil {
		return err
	}
	if !moved {
		return nil
	}
	if r.Evidence != "" {
		im.counts.Evidence++
	}
	if sub.Status == core.SubscriptionPending {
		rowID := core.NewID()
		asked := &members.SubscribeRequest{Origin: core.Origin{Source: im.source}, Evidence: core.TrimText(r.Evidence)}
		if err := members.AddConfirmToken(tx, sub, rowID, false, asked, im.now); err != nil {
			return err
		}
		return tenants.AddMail(tx, core.Mail{
			Kind: core.MailConfirm, TenantID: im.list.TenantID, ListID: sub.ListID,
			Email: sub.Email, TokenID: rowID,
		}, im.now)
	}
	if sub.Generation == 1 {
		im.consents = append(im.consents, [2]string{sub.ID, core.TrimText(r.Evidence)})
		return nil
	}
	return members.AddConsent(tx, core.Consent{
		ListID: sub.ListID, SubscriptionID: sub.ID, At: im.at, What: core.ConsentImported,
		Proof: im.proof, Origin: core.Origin{Source: im.source}, Generation: sub.Generation,
		Reason: core.TrimText(r.Evidence),
	})
}

// tell announces a change as a single event, or leaves it to the full sync and the event at the end of the import.
func (im *importing) tell(tx *db.Tx, sub *core.Subscription, c *core.Change) error {
	if c == nil {
		return nil
	}
	im.single++
	var event *core.Event
	if im.single > MaxSingle {
		im.sync, im.latest = true, max(im.latest, c.OccurredAt, im.at)
	} else {
		event = tenants.EventOf(im.list.TenantID, sub, c)
		if err := tenants.PutEvent(tx, event, "", im.now); err != nil {
			return err
		}
	}
	if !im.endpoints || int64(im.single) > im.store.Options().ImportEvents {
		return nil
	}
	if event == nil {
		event = tenants.EventOf(im.list.TenantID, sub, c)
	}
	return tenants.AddToEndpoints(tx, event, im.now)
}

// prove adds a row's evidence to the consent of a subscription that was imported without evidence.
func (im *importing) prove(tx *db.Tx, r *ImportRow, sub *core.Subscription) error {
	if r.Evidence == "" || sub.Proof != core.ProofImport {
		return nil
	}
	if im.DryRun {
		return im.tryProving(sub)
	}
	n, err := tx.Exec(`UPDATE consent SET reason = ?
		WHERE list_id = ? AND subscription_id = ? AND what = ? AND generation = ? AND reason = ''`,
		core.TrimText(r.Evidence), sub.ListID, sub.ID, core.ConsentImported, sub.Generation)
	if n > 0 {
		im.counts.Evidence++
	}
	return err
}

// addConsents writes the consents for all rows of a step.
func (im *importing) addConsents(tx *db.Tx) error {
	same := []any{im.list.ID, int64(im.at), core.ConsentImported, im.proof, im.source}
	err := tx.InsertMany(&addConsents, same, len(im.consents), func(args []any, i int) []any {
		return append(args, im.consents[i][0], im.consents[i][1])
	})
	im.consents = im.consents[:0]
	return err
}

// disabledAmong returns the folded addresses of rows that are disabled or on the tenant's suppression list.
func disabledAmong(from db.Querier, tenantID string, rows []ImportRow) (map[string]bool, error) {
	var any bool
	err := from.Get(&any, "SELECT EXISTS (SELECT 1 FROM disabled) OR EXISTS (SELECT 1 FROM suppression WHERE "+
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
	err = from.All(&found, `SELECT email_key FROM disabled WHERE +tenant_id IN ('', ?1) AND email_key IN (SELECT
		value FROM
		json_each(?2)) UNION SELECT email_key FROM suppression WHERE tenant_id = ?1 AND email_key IN (SELECT value FROM
		json_each(?2))`, tenantID, keys.Column())
	set := make(map[string]bool, len(found))
	for _, k := range found {
		set[k] = true
	}
	return set, err
}
