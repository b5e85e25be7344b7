package people

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/imports"
	"newsletterd/store/mailed"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// ErasePerson deletes all data that ExportPerson returns, in one transaction. It returns the number of affected rows,
// or 0 if there was no data. Rows of finished jobs stay, without personal data, so that totals remain correct.
//
// Blocks of the address stay as a keyed hash. An address that was on a list can't be imported again, but the person may
// subscribe again. Undelivered events about the person are deleted too. The tenant's endpoints, and a remote send
// service, are notified that the address was unsubscribed. Only that event keeps the address, until it is delivered. If
// this daemon sends the emails, the send side's row is deleted without an event. The bytes of models are deleted in
// steps soon after. Its only error is core.ErrStorage.
func (s *Store) ErasePerson(ctx context.Context, p core.Person, actor string, now core.Instant) (rows int64,
	err error,
) {
	var seen personReach // read before the operation, which blocks other writers
	err = s.SnapshotRead(ctx, func(r *db.Reader) (err error) {
		seen, err = s.reach(r, p, &personReach{})
		return err
	})
	if err != nil {
		return 0, err
	}
	files, err := s.ImportsHolding(ctx, p.Email.Key(), p.TenantID)
	if err != nil {
		return 0, err
	}
	err = s.Update(ctx, func(tx *db.Tx) error {
		at, err := s.reach(tx, p, &seen)
		if err != nil {
			return err
		}
		e := erasing{Tx: tx, personReach: at, now: now, files: files}
		if err := e.run(); err != nil || e.rows == 0 {
			return err
		}
		rows = e.rows
		tx.Tell("person", db.Masked, nil)
		return tx.Audit(now, actor, "person.erase", p.TenantID, tenants.ErasedHash(s.DB, at.key))
	})
	return rows, err
}

// erasing holds the state of one operation of ErasePerson.
type erasing struct {
	*db.Tx
	personReach
	now   core.Instant
	rows  int64
	files []string // ids of the imports that contain the address
}

func (e *erasing) run() error {
	e.Departs("")
	for _, step := range []func() error{e.keepBlocks, e.sendSide, e.memberSide, e.imports, e.account} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// do runs statements with the same parameters and counts the affected rows.
func (e *erasing) do(args []any, queries ...string) error {
	for _, q := range queries {
		n, err := e.Exec(q, args...)
		if err != nil {
			return err
		}
		e.rows += n
	}
	return nil
}

// doPairs is like do, but runs ExecPairs with the person's pairs of list and id.
func (e *erasing) doPairs(find, query string) error {
	n, err := e.ExecPairs(e.pairs, find, query)
	e.rows += n
	return err
}

// keepBlocks stores the hashes of the address's blocks before their rows are deleted. If another tenant has the address
// on a list, blocks for all tenants stay unchanged, because they still apply to that tenant's emails.
func (e *erasing) keepBlocks() error {
	elsewhere, err := e.knownElsewhere()
	if err != nil {
		return err
	}
	also := "" // tenant id of the rows that apply to all tenants
	if elsewhere {
		also = e.TenantID
	}
	var kept []struct {
		TenantID string `db:"tenant_id"`
		Kind     string `db:"kind"`
	}
	err = e.All(&kept,
		`SELECT tenant_id, 'disabled' AS kind FROM disabled WHERE email_key = ?1 AND (?2 = '' OR tenant_id IN (?2, ?4))
		UNION SELECT tenant_id, kind FROM suppression INDEXED BY suppression_email WHERE email_key = ?1 AND
		email_key > '' AND (?2 = '' OR tenant_id = ?2)
		UNION SELECT tenant_id, 'disabled' FROM disable_request WHERE lower(email) = ?1 AND list_id = '' AND (?2 = ''
		OR tenant_id = ?2)
		UNION SELECT l.tenant_id, s.block FROM json_each(?3) AS p CROSS JOIN subscriber AS s ON s.list_id = p.value->>0
		AND s.id = p.value->>1
			CROSS JOIN list AS l ON l.id = s.list_id WHERE s.block <> ''
		UNION SELECT l.tenant_id, 'left' FROM json_each(?3) AS p CROSS JOIN subscription AS s ON s.list_id =
		p.value->>0 AND s.id = p.value->>1
			CROSS JOIN list AS l ON l.id = s.list_id WHERE s.status <> 'pending' OR s.generation > 1 OR s.means = 'left'
		UNION SELECT l.tenant_id, 'left' FROM json_each(?3) AS p CROSS JOIN subscriber AS s ON s.list_id = p.value->>0
		AND s.id = p.value->>1
			CROSS JOIN list AS l ON l.id = s.list_id`,
		e.key, e.TenantID, e.pairs, also)
	for _, k := range kept {
		if err == nil {
			err = tenants.KeepErased(e.Tx, e.key, k.TenantID, k.Kind, e.now)
		}
	}
	if err != nil {
		return err
	}
	return e.do([]any{e.key, e.TenantID, also},
		"DELETE FROM disabled WHERE email_key = ?1 AND (?2 = '' OR tenant_id IN (?2, ?3))",
		"DELETE FROM suppression INDEXED BY suppression_email WHERE email_key = ?1 AND email_key > '' AND (?2 = "+
			"'' OR tenant_id = ?2)",
		"DELETE FROM import_word WHERE email_key = ?1 AND (?2 = '' OR tenant_id = ?2)",
		"DELETE FROM disable_request WHERE lower(email) = ?1 AND list_id = '' AND (?2 = '' OR tenant_id = ?2)",
		"DELETE FROM provider_event INDEXED BY provider_event_stranger WHERE job_no = 0 AND email_key = ?1 AND "+
			"(?2 = '' OR tenant_id = ?2)")
}

// knownElsewhere reports whether the address is on a list of a tenant other than the one that erases it.
func (e *erasing) knownElsewhere() (known bool, err error) {
	if e.TenantID == "" {
		return false, nil
	}
	pairs, err := tenants.IDsOf(e.Tx, e.key, "")
	if err == nil {
		err = e.Get(&known, `SELECT EXISTS (SELECT 1 FROM json_each(?1) AS p CROSS JOIN list AS l ON l.id = p.value->>0
			WHERE l.tenant_id <> ?2 AND (EXISTS (SELECT 1 FROM subscription WHERE list_id = p.value->>0 AND id =
			p.value->>1)
				OR EXISTS (SELECT 1 FROM subscriber WHERE list_id = p.value->>0 AND id = p.value->>1)))`, pairs,
			e.TenantID)
	}
	return known, err
}

func (e *erasing) sendSide() error {
	for _, place := range e.places {
		if err := e.recipient(place); err != nil {
			return err
		}
	}
	var gone []core.Subscriber
	err := e.All(&gone, campaigns.SubscribersByPairs, e.pairs)
	for i := range gone {
		tenants.Moved(e.Tx, gone[i].ListID, gone[i].Counted(), core.NotCounted)
	}
	if err != nil {
		return err
	}
	return e.doPairs(db.PairsOf("subscriber", "id", ""), "DELETE FROM subscriber WHERE list_id = ? AND id = ?")
}

// recipient anonymizes a row of a job's recipients, which stays in the counts. It keeps the part of the subscriber id
// that determines the order of the rows, because searches depend on it.
func (e *erasing) recipient(place personPlace) error {
	var id, before string
	err := e.Get(&id, "SELECT subscriber_id FROM recipient WHERE job_no = ? AND seq = ?", place.jobNo, place.seq)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	err = e.Get(&before, `SELECT subscriber_id FROM recipient WHERE job_no = ?1 AND seq = ?2 AND NOT EXISTS (
		SELECT 1 FROM further_list INDEXED BY sqlite_autoindex_further_list_1 WHERE job_no = ?1 AND after_seq =
		?2)`, place.jobNo, place.seq-1)
	if err != nil && !errors.Is(err, core.ErrNotFound) {
		return err
	}
	keep := 1
	for keep < len(id) && id[:keep] <= before {
		keep++
	}
	err = e.do([]any{place.jobNo, place.seq, id[:keep], e.key},
		"UPDATE recipient SET subscriber_id = ?3, email_key = '', reason = iif(instr(lower(reason), ?4), '', "+
			"reason) WHERE job_no = ?1 AND seq = ?2")
	if err == nil {
		err = mailed.Erase(e.Tx, place.jobNo, place.seq, id[:keep])
	}
	if err != nil {
		return err
	}
	return e.do([]any{place.jobNo, place.seq},
		"UPDATE attempt SET reply = '' WHERE job_no = ? AND seq = ?",
		"DELETE FROM engagement WHERE job_no = ? AND seq = ?",
		"DELETE FROM provider_event WHERE job_no = ? AND seq = ? AND job_no > 0")
}

func (e *erasing) memberSide() error {
	var left []members.TenantSubscription
	err := e.All(
		&left,
		"SELECT "+members.SubscriptionColumns+", l.tenant_id"+campaigns.PersonPairs+`subscription AS s ON s.list_id =
		p.value->>0 AND s.id = p.value->>1
		CROSS JOIN list AS l ON l.id = s.list_id WHERE s.status <> 'pending' OR s.generation > 1 OR s.means = 'left'`,
		e.pairs,
	)
	if err != nil {
		return err
	}
	if err := e.subscriptions(); err != nil {
		return err
	}
	err = e.doPairs(db.PairsOf("consent", "subscription_id", ""), "DELETE FROM consent WHERE list_id = ? AND "+
		"subscription_id = ?")
	if err == nil {
		err = e.doPairs(`SELECT i.id AS a, p.value->>1 AS b FROM json_each(?1) AS p CROSS JOIN import_job AS i
			INDEXED BY
			import_job_list ON i.list_id = p.value->>0`, "DELETE FROM import_before WHERE import_id = ? AND "+
			"subscription_id = ?")
	}
	if err == nil {
		err = e.doPairs(members.BulkPairs, members.DeleteBulkPerson)
	}
	if err == nil {
		err = e.do([]any{db.JsonOf(e.tokens)}, "DELETE FROM confirm_token WHERE id IN (SELECT value FROM json_each(?))")
	}
	told := make(core.Strings, len(left))
	for i := range left {
		told[i] = left[i].ID
	}
	if err == nil { // except events of an earlier erasure that receivers have not received yet
		err = e.removeEvents(told)
	}
	for i := range left {
		if err == nil {
			err = e.tellOthers(&left[i])
		}
	}
	if err != nil {
		return err
	}
	return e.do([]any{e.key, e.TenantID},
		"DELETE FROM mail INDEXED BY mail_email WHERE email_key = ?1 AND state != "+tenants.SQLMailLeftOut+" AND list_id "+
			"<> '' AND "+
			"(?2 = '' OR tenant_id = ?2)",
		"DELETE FROM mail INDEXED BY mail_left_out WHERE email_key = ?1 AND state = "+tenants.SQLMailLeftOut+" AND "+
			"list_id <> '' AND "+
			"(?2 = '' OR tenant_id = ?2)",
		"DELETE FROM throttle WHERE key = 'unsubscribe-token:' || ?1")
}

// removeEvents deletes the events about the person. It keeps unsubscribe events of an earlier erasure, unless they
// concern a subscription in told.
func (e *erasing) removeEvents(told core.Strings) error {
	for _, id := range e.events {
		var gone []struct {
			EndpointID string `db:"endpoint_id"`
			Dead       bool   `db:"dead"`
			Bytes      int64  `db:"bytes"`
		}
		err := e.All(&gone, `DELETE FROM outbox WHERE id = CAST(?1 AS INTEGER)
			AND NOT (event_type = 'subscription.unsubscribed' AND dead_at = 0 AND (endpoint_id <> '' OR ?3)
				AND subscription_id NOT IN (SELECT value FROM json_each(?2)))
			RETURNING endpoint_id, dead_at > 0 AS dead, octet_length(body) AS bytes`,
			id, told.Column(), e.Store.Options().SendElsewhere)
		if err != nil {
			return err
		}
		for _, g := range gone {
			if !g.Dead {
				tenants.WaitsNoMore(e.Tx, g.EndpointID, g.Bytes)
			}
		}
		e.rows += int64(len(gone))
	}
	return nil
}

// subscriptions deletes the person's subscriptions.
func (e *erasing) subscriptions() error {
	var gone []core.Subscription
	err := e.All(&gone, "SELECT s.list_id, s.status"+campaigns.PersonPairs+`subscription AS s ON s.list_id = p.value->>0
		AND s.id = p.value->>1`, e.pairs)
	for i := range gone {
		tenants.Moved(e.Tx, gone[i].ListID, core.CountedSubscription(gone[i].Status), core.NotCounted)
	}
	if err != nil {
		return err
	}
	return e.doPairs(db.PairsOf("subscription", "id", ""), "DELETE FROM subscription WHERE list_id = ? AND id = ?")
}

// tellOthers notifies a tenant's endpoints and a remote send service that a subscription has ended, even if they were
// notified before.
func (e *erasing) tellOthers(sub *members.TenantSubscription) error {
	at, err := members.Stamp(e.Tx, sub.ListID, e.now)
	if err != nil {
		return err
	}
	sub.Status, sub.Preferences = core.SubscriptionUnsubscribed, core.NoPreferences
	change := core.Change{EventType: core.EventUnsubscribed, OccurredAt: max(at, sub.EventAt+1)}
	event := tenants.EventOf(sub.TenantID, &sub.Subscription, &change)
	if err := tenants.LeftAt(e.Tx, e.key, sub.TenantID, change.OccurredAt); err != nil {
		return err
	}
	if e.Store.Options().SendElsewhere {
		if err := tenants.PutEvent(e.Tx, event, "", e.now); err != nil {
			return err
		}
	}
	return tenants.AddToEndpoints(e.Tx, event, e.now)
}

// account deletes the user and everything that refers to it.
func (e *erasing) account() error {
	if !e.Account {
		return nil
	}
	err := e.do(
		[]any{e.key},
		"DELETE FROM mail INDEXED BY mail_email WHERE email_key = ? AND state != "+tenants.SQLMailLeftOut+" AND list_id = ''",
		"DELETE FROM mail INDEXED BY mail_left_out WHERE email_key = ? AND state = "+tenants.SQLMailLeftOut+" AND list_id = ''",
		"DELETE FROM throttle WHERE key IN ('login ' || ?1, 'forgot ' || ?1, 'verify ' || ?1, 'change ' || ?1, "+
			"'change-to ' || ?1, 'invited ' || ?1)",
		"DELETE FROM throttle WHERE key > 'login ' || ?1 || ' ' AND key < 'login ' || ?1 || '!'",
		"DELETE FROM throttle WHERE key >= 'register ' || ?1 AND key < 'register ' || ?1 || '!'",
		"DELETE FROM share WHERE email_key = ? AND email_key <> ''",
		"DELETE FROM email_change WHERE email_key = ?",
		"DELETE FROM invitation WHERE email_key = ?",
	)
	if err != nil || e.userID == "" {
		return err
	}
	e.Kick(db.TopicIdentity)
	return e.do([]any{e.userID},
		"DELETE FROM code WHERE user_id = ?",
		"DELETE FROM family WHERE user_id = ? AND user_id <> ''",
		"UPDATE audit SET origin = '' WHERE actor = 'user:' || ? AND origin <> ''",
		"UPDATE client SET created_by = '' WHERE id IN (SELECT record FROM keeper INDEXED BY keeper_actor WHERE actor = 'user:' || ?1) "+
			"AND created_by = 'user:' || ?1",
		"UPDATE webhook_endpoint SET created_by = '' WHERE id IN (SELECT record FROM keeper INDEXED BY keeper_actor WHERE actor = 'user:' || ?1) "+
			"AND created_by = 'user:' || ?1",
		"UPDATE segment SET created_by = '' WHERE created_by = 'user:' || ? AND created_by <> ''",
		"UPDATE segment SET changed_by = '' WHERE changed_by = 'user:' || ? AND changed_by <> ''",
		"DELETE FROM keeper INDEXED BY keeper_actor WHERE actor = 'user:' || ?",
		"UPDATE deleted_endpoint SET created_by = '' WHERE created_by = 'user:' || ? AND created_by <> ''",
		"DELETE FROM user WHERE id = ?")
}

// imports removes the files that contain the person's address. An import that has not ended is canceled. The chunks
// are deleted in steps soon after.
func (e *erasing) imports() error {
	if len(e.files) == 0 {
		return nil
	}
	e.Kick(db.TopicImports)
	for _, id := range e.files {
		j, err := imports.ImportJob(e.Tx, id)
		if err == nil && !j.Ended() {
			err = imports.AnnounceImport(e.Tx, &j, core.ImportCancelled, e.now)
		}
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return err
		}
	}
	return e.do([]any{db.JsonOf(e.files), int64(e.now)},
		`UPDATE import_job SET failure_reason = '`+core.ImportErased+`',
			status = iif(status IN ('completed', 'failed', 'cancelled', 'deleted'), status, 'cancelled'),
			finished_at = iif(finished_at > 0, finished_at, ?2)
			WHERE id IN (SELECT value FROM json_each(?1))`)
}
