package store

import (
	"context"
	"errors"

	"newsletterd/core"
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

// Unsubscribe ends a subscription and returns it. The second time adds a reason at most. core.ErrSubscriptionNotFound
// where it is gone, or was never there: the caller answers as if it had been. Who was active, and left by a token that
// anyone could ask for, gets a mail with a way back, unless the address has had too many of them.
func (s *Store) Unsubscribe(ctx context.Context, l UnsubscribeRequest, now core.Instant) (sub core.Subscription,
	err error,
) {
	var gone error
	err = s.update(ctx, func(tx *Tx) error {
		tx.touchCounts(l.ListID)
		change, left, err := tx.unsubscribe(l, now)
		sub = left
		if errors.Is(err, core.ErrNotFound) {
			gone, err = err, tx.endMirrored(l, now)
		}
		if err != nil || l.Proof != core.ProofResponse {
			return err
		}
		return tx.noticeUnsubscribed(l, &left, change, now)
	})
	if err == nil {
		err = gone
	}
	return sub, err
}

// noticeUnsubscribed queues the notice. As many statements run in any case, so that the time of the answer tells
// nothing. The row carries the instant of the unsubscribe, which the undo token is made of. Statements are counted by
// difference, not padded to one total: what the caches hold differs from call to call.
func (tx *Tx) noticeUnsubscribed(l UnsubscribeRequest, sub *core.Subscription, change *core.Change,
	now core.Instant,
) error {
	m := core.Mail{Kind: core.MailUnsubscribed, ListID: l.ListID, Email: l.Email, DueAt: now.Add(MailDelay)}
	state := mailLeftOut
	fewer, wrote := 3, true // statements than an unsubscribe: leaveUndone or leaveAgain has looked
	if sub.ID != "" && l.Reason != "" {
		fewer-- // so has addReason
	}
	switch {
	case change != nil:
		m.Email, now, state, fewer = sub.Email, sub.ChangedAt, mailQueued, 0
		m.DueAt = now.Add(MailDelay)
	case sub.ChangedAt >= now: // it was pending, or a file had said so: no event
		fewer = 1
	default:
		wrote = false
	}
	if !wrote {
		if err := tx.pretendEvent(l, now); err != nil {
			return err
		}
		fewer -= 2
	}
	if err := tx.padTo(tx.Ran() + fewer); err != nil {
		return err
	}
	tx.kick(TopicOutbox)
	if list, err := tx.listWithTenant(l.ListID); err == nil {
		m.TenantID = list.TenantID
	}
	over, err := tx.undosOver(l.ListID, m.Email, now)
	if err != nil {
		return err
	}
	if over || state == mailLeftOut {
		return tx.leaveOut(m, now)
	}
	return tx.writeMail(m, state, now)
}

// undosOver reports whether an address has had as many undo links as it gets: who may confirm by the answer could have
// one sent each second. It is asked whether or not there is one to send, since the time of the answer tells nothing.
func (tx *Tx) undosOver(listID string, email core.Email, now core.Instant) (over bool, err error) {
	err = tx.get(&over, `SELECT count(*) >= ?4 OR count(*) FILTER (WHERE list_id = ?1) >= ?5 FROM mail
		WHERE email_key = ?2 AND kind = 'unsubscribed' AND created_at > ?3 AND state != `+sqlMailLeftOut,
		listID, email.Key(), int64(now.Add(-mailPeriod)), undosPerEmail, undosPerListEmail)
	return over, err
}

// pretendEvent writes an event and takes it back, so that the commit has pages to write as that of an unsubscribe has.
// 2 statements.
func (tx *Tx) pretendEvent(l UnsubscribeRequest, now core.Instant) error {
	err := tx.putEvent(&core.Event{
		ID: core.NewID(), Type: core.EventUnsubscribed, ListID: l.ListID, OccurredAt: now,
		Subscriber: core.EventSubscriber{
			ID: l.SubscriptionID, Email: l.Email, Status: core.SubscriptionUnsubscribed,
			Preferences: core.NoPreferences,
		},
	}, "", now)
	if err != nil {
		return err
	}
	_, err = tx.exec("DELETE FROM outbox WHERE id = last_insert_rowid()")
	return err
}

// endMirrored ends a subscriber of whom only the send side knows, since another member service has the subscription: no
// one is mailed from now on. The tenant's endpoints hear it, and so does the member service, if this daemon knows where
// it is; what that says later of the subscriber counts again.
func (tx *Tx) endMirrored(l UnsubscribeRequest, now core.Instant) error {
	var sub core.Subscriber
	err := tx.get(&sub, selectSubscriber, l.ListID, l.SubscriptionID)
	switch {
	case errors.Is(err, core.ErrNotFound):
		return nil
	case err != nil:
		return err
	case sub.MemberStatus != core.StatusActive:
		return tx.leaveUndone(l, &sub, now)
	}
	list, err := tx.list(l.ListID)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	tx.departs()
	left := core.EventSubscriber{
		ID: sub.ID, Email: sub.Email, Status: string(core.StatusUnsubscribed),
		Preferences: sub.Preferences,
	}
	was, status := sub.Counted(), sub.MemberStatus
	sub.Apply(left, core.EventUnsubscribed, max(now, sub.MemberStatusAt), now)
	if err := tx.saveSubscriber(was, &sub); err != nil {
		return err
	}
	if l.JobNo > 0 {
		if _, err := tx.exec("UPDATE send_job SET unsubscribed = unsubscribed + 1 WHERE no = ?", l.JobNo); err != nil {
			return err
		}
	}
	if err := tx.auditLeaving(l, list.TenantID, sub.Email, string(status), now); err != nil {
		return err
	}
	if tx.DB().Options().MemberElsewhere {
		if err := tx.addLeaveRequest(list.TenantID, &sub, now); err != nil {
			return err
		}
	}
	return tx.addToEndpoints(&core.Event{
		ID: core.NewID(), Type: core.EventUnsubscribed, TenantID: list.TenantID, ListID: sub.ListID, Subscriber: left,
		OccurredAt: sub.MemberStatusAt,
	}, now)
}

// leaveUndone keeps the word of a subscriber who leaves by a mail from before the import that has brought them was
// taken back: without a record the right file would bring them again. A token that anyone could ask for makes no
// record.
func (tx *Tx) leaveUndone(l UnsubscribeRequest, known *core.Subscriber, now core.Instant) error {
	if l.Proof == core.ProofResponse || tx.DB().Options().MemberElsewhere {
		return nil
	}
	undone := false
	err := tx.get(&undone, "SELECT EXISTS (SELECT 1 FROM list WHERE id = ? AND import_undone = 1)", l.ListID)
	if err != nil || !undone {
		return err
	}
	list, err := tx.list(l.ListID)
	if errors.Is(err, core.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if now, err = tx.stamp(l.ListID, now); err != nil {
		return err
	}
	sub := core.LeftUnlisted(l.ListID, known, now)
	if err := tx.saveSubscription("", &sub); err != nil {
		return err
	}
	if err := tx.auditLeaving(l, list.TenantID, sub.Email, string(known.MemberStatus), now); err != nil {
		return err
	}
	return tx.addConsent(core.Consent{
		ListID: sub.ListID, SubscriptionID: sub.ID, At: now, What: core.ConsentUnsubscribed,
		Proof: l.Proof, Origin: l.Origin, JobNo: l.JobNo, Reason: l.Reason, Generation: sub.Generation,
	})
}

func (tx *Tx) unsubscribe(l UnsubscribeRequest, now core.Instant) (*core.Change, core.Subscription, error) {
	sub, err := tx.subscription(l.ListID, l.SubscriptionID)
	if err != nil {
		return nil, sub, err
	}
	if sub.Status == core.SubscriptionUnsubscribed {
		err := tx.leaveAgain(l, &sub, now)
		return nil, sub, err
	}
	list, err := tx.listWithTenant(l.ListID)
	if err != nil {
		return nil, sub, orNotFound(err, core.ErrSubscriptionNotFound)
	}
	tx.departs()
	if now, err = tx.stamp(l.ListID, now); err != nil {
		return nil, sub, err
	}
	was := sub.Status
	change, due := sub.Unsubscribe(now), now
	if l.Proof == core.ProofResponse { // anyone may have asked: no work of the outbox during the answer
		due = now.Add(MailDelay)
	}
	if err := tx.saveChange(list, was, &sub, change, due); err != nil {
		return nil, sub, err
	}
	if l.JobNo > 0 && change != nil {
		if _, err := tx.exec("UPDATE send_job SET unsubscribed = unsubscribed + 1 WHERE no = ?", l.JobNo); err != nil {
			return nil, sub, err
		}
	}
	if err := tx.auditLeaving(l, list.TenantID, sub.Email, was, now); err != nil {
		return nil, sub, err
	}
	return change, sub, tx.addConsent(core.Consent{
		ListID: sub.ListID, SubscriptionID: sub.ID, At: now, What: core.ConsentUnsubscribed,
		Proof: l.Proof, Origin: l.Origin, JobNo: l.JobNo, Reason: l.Reason, Generation: sub.Generation,
	})
}

// addReason keeps the reason of a person who had left by one click and tells why on the page. One that was given stays,
// and who may have asked for the token puts no words into the mouth of who left by the link of a mail.
func (tx *Tx) addReason(l UnsubscribeRequest, leftAt core.Instant) error {
	if l.Reason == "" {
		return nil
	}
	_, err := tx.exec(`UPDATE consent SET reason = ? WHERE list_id = ? AND subscription_id = ? AND at = ? AND what = ?
		AND means = ? AND reason = ''`,
		l.Reason, l.ListID, l.SubscriptionID, int64(leftAt), core.ConsentUnsubscribed, l.Proof)
	return err
}
