package members

import (
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// UnsubscribeRequest is what an unsubscribe token or an operator asks for.
type UnsubscribeRequest struct {
	ListID         string
	SubscriptionID string
	Email          core.Email // as the token spells it
	Proof          string     // core.ProofMailed, core.ProofResponse for a token that was asked for, or core.ProofAdmin
	Actor          string     // the operator, for the audit trail; empty: the leaver
	Reason         string     // in the leaver's own words; may be empty, or come later
	JobNo          int64      // of the mail that the token stood in; 0: none
	Origin         core.Origin
}

// NoticeUnsubscribed queues the notice. As many statements run in any case, so that the time of the answer tells
// nothing. The row carries the instant of the unsubscribe, which the undo token is made of. Statements are counted by
// difference, not padded to one total: what the caches hold differs from call to call.
func NoticeUnsubscribed(tx *db.Tx, l UnsubscribeRequest, sub *core.Subscription, change *core.Change,
	now core.Instant,
) error {
	m := core.Mail{Kind: core.MailUnsubscribed, ListID: l.ListID, Email: l.Email, DueAt: now.Add(tenants.MailDelay)}
	state := tenants.MailLeftOut
	fewer, wrote := 3, true // statements than an unsubscribe: leaveUndone or leaveAgain has looked
	if sub.ID != "" && l.Reason != "" {
		fewer-- // so has addReason
	}
	switch {
	case change != nil:
		m.Email, now, state, fewer = sub.Email, sub.ChangedAt, tenants.MailQueued, 0
		m.DueAt = now.Add(tenants.MailDelay)
	case sub.ChangedAt >= now: // it was pending, or a file had said so: no event
		fewer = 1
	default:
		wrote = false
	}
	if !wrote {
		if err := pretendEvent(tx, l, now); err != nil {
			return err
		}
		fewer -= 2
	}
	if err := tenants.PadTo(tx, tx.Ran()+fewer); err != nil {
		return err
	}
	tx.Kick(db.TopicOutbox)
	if list, err := tenants.ListWithTenant(tx, l.ListID); err == nil {
		m.TenantID = list.TenantID
	}
	over, err := undosOver(tx, l.ListID, m.Email, now)
	if err != nil {
		return err
	}
	if over || state == tenants.MailLeftOut {
		return tenants.LeaveOut(tx, m, now)
	}
	return tenants.WriteMail(tx, m, state, now)
}

// undosOver reports whether an address has had as many undo links as it gets: who may confirm by the answer could have
// one sent each second. It is asked whether or not there is one to send, since the time of the answer tells nothing.
func undosOver(tx *db.Tx, listID string, email core.Email, now core.Instant) (over bool, err error) {
	err = tx.Get(&over, `SELECT count(*) >= ?4 OR count(*) FILTER (WHERE list_id = ?1) >= ?5 FROM mail
		WHERE email_key = ?2 AND kind = 'unsubscribed' AND created_at > ?3 AND state != `+tenants.SQLMailLeftOut,
		listID, email.Key(), int64(now.Add(-tenants.MailPeriod)), tenants.UndosPerEmail, tenants.UndosPerListEmail)
	return over, err
}

// pretendEvent writes an event and takes it back, so that the commit has pages to write as that of an unsubscribe has.
// 2 statements.
func pretendEvent(tx *db.Tx, l UnsubscribeRequest, now core.Instant) error {
	err := tenants.PutEvent(tx, &core.Event{
		ID: core.NewID(), Type: core.EventUnsubscribed, ListID: l.ListID, OccurredAt: now,
		Subscriber: core.EventSubscriber{
			ID: l.SubscriptionID, Email: l.Email, Status: core.SubscriptionUnsubscribed,
			Preferences: core.NoPreferences,
		},
	}, "", now)
	if err != nil {
		return err
	}
	_, err = tx.Exec("DELETE FROM outbox WHERE id = last_insert_rowid()")
	return err
}

// LeaveUndone keeps the word of a subscriber who leaves by a mail from before the import that has brought them was
// taken back: without a record the right file would bring them again. A token that anyone could ask for makes no
// record.
func LeaveUndone(tx *db.Tx, l UnsubscribeRequest, known *core.Subscriber, now core.Instant) error {
	if l.Proof == core.ProofResponse || tx.DB().Options().MemberElsewhere {
		return nil
	}
	undone := false
	err := tx.Get(&undone, "SELECT EXISTS (SELECT 1 FROM list WHERE id = ? AND import_undone = 1)", l.ListID)
	if err != nil || !undone {
		return err
	}
	tenantID, err := tenants.TenantOfList(tx, l.ListID)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if now, err = Stamp(tx, l.ListID, now); err != nil {
		return err
	}
	sub := core.LeftUnlisted(l.ListID, known, now)
	if err := SaveSubscription(tx, "", &sub); err != nil {
		return err
	}
	if err := AuditLeaving(tx, l, tenantID, sub.Email, string(known.MemberStatus), now); err != nil {
		return err
	}
	return AddConsent(tx, core.Consent{
		ListID: sub.ListID, SubscriptionID: sub.ID, At: now, What: core.ConsentUnsubscribed,
		Proof: l.Proof, Origin: l.Origin, JobNo: l.JobNo, Reason: l.Reason, Generation: sub.Generation,
	})
}

// Unsubscribe ends a subscription, and returns the change, nil where there was none, and the subscription.
func Unsubscribe(tx *db.Tx, l UnsubscribeRequest, now core.Instant) (*core.Change, core.Subscription, error) {
	sub, err := Subscription(tx, l.ListID, l.SubscriptionID)
	if err != nil {
		return nil, sub, err
	}
	if sub.Status == core.SubscriptionUnsubscribed {
		err := leaveAgain(tx, l, &sub, now)
		return nil, sub, err
	}
	tenantID, err := tenants.TenantOfList(tx, l.ListID)
	if err != nil {
		return nil, sub, db.OrNotFound(err, core.ErrSubscriptionNotFound)
	}
	tx.Departs()
	if now, err = Stamp(tx, l.ListID, now); err != nil {
		return nil, sub, err
	}
	was := sub.Status
	change, due := sub.Unsubscribe(now), now
	if l.Proof == core.ProofResponse { // anyone may have asked: no work of the outbox during the answer
		due = now.Add(tenants.MailDelay)
	}
	if err := SaveChange(tx, tenantID, was, &sub, change, due); err != nil {
		return nil, sub, err
	}
	if l.JobNo > 0 && change != nil {
		if _, err := tx.Exec("UPDATE send_job SET unsubscribed = unsubscribed + 1 WHERE no = ?", l.JobNo); err != nil {
			return nil, sub, err
		}
	}
	if err := AuditLeaving(tx, l, tenantID, sub.Email, was, now); err != nil {
		return nil, sub, err
	}
	return change, sub, AddConsent(tx, core.Consent{
		ListID: sub.ListID, SubscriptionID: sub.ID, At: now, What: core.ConsentUnsubscribed,
		Proof: l.Proof, Origin: l.Origin, JobNo: l.JobNo, Reason: l.Reason, Generation: sub.Generation,
	})
}

// addReason keeps the reason of a person who had left by one click and tells why on the page. One that was given stays,
// and who may have asked for the token puts no words into the mouth of who left by the link of a mail.
func addReason(tx *db.Tx, l UnsubscribeRequest, leftAt core.Instant) error {
	if l.Reason == "" {
		return nil
	}
	_, err := tx.Exec(`UPDATE consent SET reason = ? WHERE list_id = ? AND subscription_id = ? AND at = ? AND what = ?
		AND means = ? AND reason = ''`,
		l.Reason, l.ListID, l.SubscriptionID, int64(leftAt), core.ConsentUnsubscribed, l.Proof)
	return err
}

// AuditLeaving notes what an operator has ended. was is the status before.
func AuditLeaving(tx *db.Tx, l UnsubscribeRequest, tenantID string, email core.Email, was string,
	now core.Instant,
) error {
	if l.Actor == "" {
		return nil
	}
	tx.Tell("status", was, core.SubscriptionUnsubscribed)
	return tx.Audit(now, l.Actor, "subscription.delete", tenantID, email.Mask())
}
