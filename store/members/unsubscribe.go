package members

import (
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// UnsubscribeRequest is a request to unsubscribe, made with a token or by someone other than the subscriber.
type UnsubscribeRequest struct {
	ListID         string
	SubscriptionID string
	Email          core.Email // as spelled in the token
	Proof          string     // core.ProofMailed, core.ProofResponse for a requested token, or core.ProofAdmin
	Actor          string     // actor for the audit log; empty if the subscriber unsubscribes
	Reason         string     // in the subscriber's own words; may be empty or follow later
	JobNo          int64      // job of the email with the token; 0 means none
	Origin         core.Origin
	Announce       Announce // how a bulk action announces its changes; nil: in the outbox
}

// NoticeUnsubscribed queues the email about an unsubscribe. The email's row has the time of the unsubscribe, which the
// undo token is created from. In all cases, the same number of statements runs, so that response times don't reveal the
// case: NoticeUnsubscribed adds the statements that a case lacks. It doesn't fill up to a total, because the contents
// of the caches vary between calls.
func NoticeUnsubscribed(tx *db.Tx, l UnsubscribeRequest, sub *core.Subscription, change *core.Change,
	now core.Instant,
) error {
	m := core.Mail{Kind: core.MailUnsubscribed, ListID: l.ListID, Email: l.Email, DueAt: now.Add(tenants.MailDelay)}
	state := tenants.MailLeftOut
	fewer, wrote := 3, true // 3 statements fewer than an unsubscribe; LeaveUndone or leaveAgain ran 1
	if sub.ID != "" && l.Reason != "" {
		fewer-- // addReason ran one
	}
	switch {
	case change != nil:
		m.Email, now, state, fewer = sub.Email, sub.ChangedAt, tenants.MailQueued, 0
		m.DueAt = now.Add(tenants.MailDelay)
	case sub.ChangedAt >= now: // it was pending, or unsubscribed by a file: no event
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

// undosOver reports whether an address has reached its limit of undo links. Without a limit, a caller that gets tokens
// in responses could request an undo link each second. It is called even if no link will be sent, so that response
// times don't reveal the case.
func undosOver(tx *db.Tx, listID string, email core.Email, now core.Instant) (over bool, err error) {
	err = tx.Get(&over, `SELECT count(*) >= ?4 OR count(*) FILTER (WHERE list_id = ?1) >= ?5 FROM mail
		WHERE email_key = ?2 AND kind = 'unsubscribed' AND created_at > ?3 AND state != `+tenants.SQLMailLeftOut,
		listID, email.Key(), int64(now.Add(-tenants.MailPeriod)), tenants.UndosPerEmail, tenants.UndosPerListEmail)
	return over, err
}

// pretendEvent writes an event and deletes it, in 2 statements. The commit then writes as many pages as for a real
// unsubscribe.
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

// LeaveUndone records an unsubscribe through an email that was sent before the import of the subscriber was undone.
// Without a record, importing the right file would subscribe the person again. A token that anyone could request
// creates no record.
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

// Unsubscribe ends a subscription and returns the change and the subscription. If nothing changed, the change is nil.
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
	tx.Departs(tenantID)
	if now, err = Stamp(tx, l.ListID, now); err != nil {
		return nil, sub, err
	}
	was := sub.Status
	change, due := sub.Unsubscribe(now), now
	if l.Proof == core.ProofResponse { // anyone may have requested it, so the outbox must not work during the response
		due = now.Add(tenants.MailDelay)
	}
	if err := l.Announce.SaveChange(tx, tenantID, was, &sub, change, due); err != nil {
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

// addReason stores the reason of a person who unsubscribed with one click and then explains it on the page. An
// existing reason is kept. A token that anyone could request can't add a reason to an unsubscribe through an email's
// link.
func addReason(tx *db.Tx, l UnsubscribeRequest, leftAt core.Instant) error {
	if l.Reason == "" {
		return nil
	}
	_, err := tx.Exec(`UPDATE consent SET reason = ? WHERE list_id = ? AND subscription_id = ? AND at = ? AND what = ?
		AND means = ? AND reason = ''`,
		l.Reason, l.ListID, l.SubscriptionID, int64(leftAt), core.ConsentUnsubscribed, l.Proof)
	return err
}

// AuditLeaving adds an audit entry if someone other than the subscriber ended a subscription. was is the previous
// status.
func AuditLeaving(tx *db.Tx, l UnsubscribeRequest, tenantID string, email core.Email, was string,
	now core.Instant,
) error {
	if l.Actor == "" {
		return nil
	}
	tx.Tell("status", was, core.SubscriptionUnsubscribed)
	return tx.Audit(now, l.Actor, "subscription.delete", tenantID, email.Mask())
}
