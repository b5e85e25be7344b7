package store

import (
	"cmp"
	"context"
	"errors"
	"time"

	"newsletterd/core"
)

// ConfirmTTL is how long a confirm token works.
const ConfirmTTL = core.ConfirmTTLDays * 24 * time.Hour

const subscriptionColumns = `s.list_id, s.id, s.email, s.status, s.preferences, s.generation, s.means, s.created_at, s.changed_at, s.event_at`

var (
	insertSubscription = insertInto("subscription",
		"list_id, id, email, email_key, status, preferences, generation, means, created_at, changed_at, event_at")
	upsertSubscription = insertSubscription + `
		ON CONFLICT (list_id, id) DO UPDATE SET email = excluded.email, status = excluded.status, preferences =
		excluded.preferences,
		generation = excluded.generation, means = excluded.means, changed_at = excluded.changed_at, event_at =
		excluded.event_at`
)

// subscriptionValues are the values of insertSubscription. key is the address's.
func subscriptionValues(s *core.Subscription, key string) []any {
	return []any{
		s.ListID, s.ID, string(s.Email), key, s.Status, string(s.Preferences), s.Generation, s.Proof,
		int64(s.CreatedAt), int64(s.ChangedAt), int64(s.EventAt),
	}
}

// saveSubscription writes a record, new or not. was is its status so far, empty for a new one.
func (tx *Tx) saveSubscription(was string, s *core.Subscription) error {
	tx.moved(s.ListID, core.CountedSubscription(was), core.CountedSubscription(s.Status))
	_, err := tx.exec(upsertSubscription, subscriptionValues(s, s.Email.Key())...)
	return err
}

// saveChange writes a record, whose status was another so far, and the event of its change if there is one.
func (tx *Tx) saveChange(list *core.ListWithTenant, was string, s *core.Subscription, c *core.Change,
	now core.Instant,
) error {
	if err := tx.saveSubscription(was, s); err != nil || c == nil {
		return err
	}
	return tx.addEvent(list.TenantID, s, c, now)
}

func (tx *Tx) subscription(listID, id string) (sub core.Subscription, err error) {
	err = tx.get(&sub, "SELECT "+subscriptionColumns+" FROM subscription AS s WHERE s.list_id = ? AND s.id = ?", listID,
		id)
	return sub, orNotFound(err, core.ErrSubscriptionNotFound)
}

// orNotFound returns word where err is any "not found", else err.
func orNotFound(err error, word *core.Error) error {
	if errors.Is(err, core.ErrNotFound) {
		return word
	}
	return err
}

// confirmRow is a row of confirm tokens.
type confirmRow struct {
	ListID         string           `db:"list_id"`
	SubscriptionID string           `db:"subscription_id"`
	Generation     int64            `db:"generation"`
	Email          core.Email       `db:"email"`
	Preferences    core.Preferences `db:"preferences"`
	Origin         core.Origin      `db:"origin"`
	TextVersion    string           `db:"text_version"`
	CreatedAt      core.Instant     `db:"created_at"`
	Evidence       string           `db:"evidence"`
}

const selectConfirmRow = `SELECT list_id, subscription_id, generation, email, preferences, text_version, created_at,
	evidence,
	source AS "origin.source", remote AS "origin.remote", user_agent AS "origin.user_agent" FROM confirm_token WHERE id
	= ?`

// confirmToken is a token that was sent in, and the key that it was made with.
type confirmToken struct {
	rowID, proof string
	mark         *core.RequestMark
	key          []byte
}

func (s *Store) openConfirmToken(ctx context.Context, token string) (t confirmToken, err error) {
	if t.key, err = s.PurposeKey(ctx, PurposeMailToken); err == nil {
		t.rowID, t.proof, t.mark, err = core.ParseConfirmToken(t.key, token)
	}
	return t, err
}

// row reads the row of a token, with what the token's own request has said. core.ErrInvalidToken, core.ErrTokenExpired
// next to the row.
func (t *confirmToken) row(from querier, now core.Instant) (row confirmRow, err error) {
	if err := from.get(&row, selectConfirmRow, t.rowID); err != nil {
		return row, orNotFound(err, core.ErrInvalidToken)
	}
	if t.mark != nil {
		r := core.ConfirmRequest{
			Email: row.Email, Preferences: row.Preferences, Origin: row.Origin,
			TextVersion: row.TextVersion,
		}
		t.mark.Reduce(&r, t.key)
		row.Email, row.Preferences, row.Origin, row.TextVersion, row.CreatedAt = r.Email, r.Preferences, r.Origin,
			r.TextVersion, r.At
	}
	if now >= row.CreatedAt.Add(ConfirmTTL) {
		err = core.ErrTokenExpired
	}
	return row, err
}

// ConfirmToken makes the token that redeems a row of confirm tokens by the given proof, as it is mailed. It returns
// ErrMasterKey where the key of the tokens can't be opened.
func (s *Store) ConfirmToken(ctx context.Context, rowID, proof string) (string, error) {
	key, err := s.PurposeKey(ctx, PurposeMailToken)
	if err != nil {
		return "", err
	}
	return core.ConfirmToken(key, rowID, proof, nil), nil
}

// AnsweredToken is ConfirmToken for the answer of the request that Subscribe has taken at an instant. It returns
// ErrMasterKey where the key of the tokens can't be opened.
func (s *Store) AnsweredToken(ctx context.Context, rowID, proof string, r SubscribeRequest, at core.Instant) (string,
	error,
) {
	key, err := s.PurposeKey(ctx, PurposeMailToken)
	if err != nil {
		return "", err
	}
	asked := core.ConfirmRequest{
		Email: r.Email, Preferences: r.Preferences.OrEmpty(), Origin: r.Origin,
		TextVersion: r.TextVersion, At: at,
	}
	mark := asked.Mark(key)
	return core.ConfirmToken(key, rowID, proof, &mark), nil
}

// Confirm redeems a confirm token. It takes effect once; repeated while the subscription is still active it gives the
// same answer: the subscription as the token's own request asked for it, so that no one learns more from it. It returns
// core.ErrInvalidToken, core.ErrTokenExpired or core.ErrSubscriptionNotFound.
func (s *Store) Confirm(ctx context.Context, token string, o core.Origin, now core.Instant) (sub core.Subscription,
	err error,
) {
	t, err := s.openConfirmToken(ctx, token)
	if err != nil {
		return sub, err
	}
	err = s.update(ctx, func(tx *Tx) error {
		sub, err = tx.confirm(&t, o, now)
		return err
	})
	return sub, err
}

// ConfirmAsked is the request that a confirm token answers, whether or not it still confirms: its list, and the address
// as it was given. The error is core.ErrTokenExpired together with both, or one of Confirm's.
func (s *Store) ConfirmAsked(ctx context.Context, token string, now core.Instant) (list *core.ListWithTenant,
	email core.Email, err error,
) {
	t, err := s.openConfirmToken(ctx, token)
	if err != nil {
		return nil, "", err
	}
	var row confirmRow
	err = s.snapshotRead(ctx, func(r *Reader) (err error) {
		row, err = t.row(r, now)
		return err
	})
	if err != nil && !errors.Is(err, core.ErrTokenExpired) {
		return nil, "", err
	}
	list, missing := s.ListWithTenant(ctx, row.ListID)
	return list, row.Email, cmp.Or(missing, err)
}

func (tx *Tx) confirm(t *confirmToken, o core.Origin, now core.Instant) (sub core.Subscription, err error) {
	row, err := t.row(tx, now)
	if err != nil {
		return sub, err
	}
	if row.Generation == 0 {
		return sub, core.ErrInvalidToken
	}
	list, err := tx.listWithTenant(row.ListID)
	if err != nil {
		return sub, orNotFound(err, core.ErrSubscriptionNotFound)
	}
	if sub, err = tx.subscription(row.ListID, row.SubscriptionID); err != nil {
		return sub, err
	}
	if now, err = tx.stamp(row.ListID, now); err != nil {
		return sub, err
	}
	left, err := tx.leftBefore(sub.Email.Key(), list.TenantID)
	if err != nil {
		return sub, err
	}
	before, was := sub.Proof, sub.Status
	now = max(now, left+1)
	change, err := sub.Confirm(row.Generation, t.proof, now)
	if err != nil {
		return sub, err
	}
	if change != nil {
		sub.MeetTracking(row.Preferences)
	}
	answered, err := tx.heard(sub.ListID, sub.ID, now)
	if err != nil {
		return sub, err
	}
	if change != nil || sub.Proof != before || answered {
		if err := tx.recordConfirm(list, was, &sub, &row, change, o, now); err != nil {
			return sub, err
		}
	}
	sub.Email, sub.Preferences, sub.CreatedAt = row.Email, row.Preferences, row.CreatedAt
	return sub, nil
}

// recordConfirm writes what a confirmation changed. The request that it answers enters the ledger only now: one that no
// one confirms is no consent, and goes with its token.
func (tx *Tx) recordConfirm(list *core.ListWithTenant, was string, sub *core.Subscription, row *confirmRow,
	c *core.Change,
	o core.Origin, now core.Instant,
) error {
	if err := tx.saveChange(list, was, sub, c, now); err != nil {
		return err
	}
	if c != nil {
		if err := tx.returned(sub.Email.Key(), list.TenantID); err != nil {
			return err
		}
		err := tx.addConsent(core.Consent{
			ListID: sub.ListID, SubscriptionID: sub.ID, At: row.CreatedAt, What: core.ConsentRequested,
			Origin: row.Origin, TextVersion: row.TextVersion, Generation: sub.Generation, Reason: row.Evidence,
		})
		if err != nil {
			return err
		}
	}
	if c != nil {
		// the box was ticked in the request
		if err := tx.noteTracking("", sub, core.Consent{At: now, Proof: sub.Proof, Origin: row.Origin}); err != nil {
			return err
		}
	}
	return tx.addConsent(core.Consent{
		ListID: sub.ListID, SubscriptionID: sub.ID, At: now, What: core.ConsentConfirmed,
		Proof: sub.Proof, Origin: o, Generation: sub.Generation,
	})
}

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
	fewer := 4 // statements than an unsubscribe
	if sub.ID == "" || l.Reason != "" {
		fewer-- // leaves or addReason has looked
	}
	switch {
	case change != nil:
		m.Email, now, state, fewer = sub.Email, sub.ChangedAt, mailQueued, 0
		m.DueAt = now.Add(MailDelay)
	case sub.ChangedAt >= now: // it was pending: no event
		fewer = 1
	}
	if fewer > 2 { // nothing was written
		if err := tx.pretendEvent(l, now); err != nil {
			return err
		}
		fewer -= 2
	}
	if err := tx.padTo(tx.ran + fewer); err != nil {
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
	if tx.store.opts.MemberElsewhere {
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
	if l.Proof == core.ProofResponse || tx.store.opts.MemberElsewhere {
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
		return nil, sub, tx.addReason(l, sub.ChangedAt)
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

// SetPreferences replaces the preferences of an address on a list; what they say of tracking stays where the new ones
// say nothing of it. It returns core.ErrSubscriptionNotFound where there
// is none. By adds an entry to the audit trail.
func (s *Store) SetPreferences(ctx context.Context, listID string, email core.Email, p core.Preferences,
	now core.Instant,
) (core.Subscription, error) {
	return s.changePreferences(ctx, listID, email, core.Consent{Origin: core.Origin{Source: "api"}},
		func(core.Preferences) (core.Preferences, error) { return p.OrEmpty(), nil }, now)
}

// SetFields sets members of the preferences of an address on a list, or takes them out where the value is nil. The
// others stay as they are at that moment. core.ErrSubscriptionNotFound, and what core.Preferences.Check says of the
// result.
func (s *Store) SetFields(ctx context.Context, listID string, email core.Email, values map[string]any,
	now core.Instant,
) (core.Subscription, error) {
	return s.changePreferences(ctx, listID, email, core.Consent{}, func(p core.Preferences) (core.Preferences, error) {
		p = p.With(values)
		return p, p.Check("fields")
	}, now)
}

// changePreferences changes the preferences of an address on a list. c is how that stands in the ledger where it is an
// agreement to tracking, or withdraws it.
func (s *Store) changePreferences(ctx context.Context, listID string, email core.Email, c core.Consent,
	change func(core.Preferences) (core.Preferences, error), now core.Instant,
) (sub core.Subscription, err error) {
	list, err := s.ListWithTenant(ctx, listID)
	if err != nil {
		return sub, err
	}
	id := s.SubscriptionID(list.ID, email.Key())
	err = s.update(ctx, s.by(ctx, "subscription.update", list.TenantID, email.Mask(), func(tx *Tx) error {
		if sub, err = tx.subscription(list.ID, id); err != nil {
			return err
		}
		p, err := change(sub.Preferences)
		if err == nil {
			p = sub.Preferences.ReplacedBy(p)
			err = p.Check("preferences")
		}
		if err != nil || sub.Preferences == p {
			return err
		}
		if now, err = tx.stamp(list.ID, now); err != nil {
			return err
		}
		tx.touched("preferences")
		was := sub.Preferences
		if err := tx.saveChange(list, sub.Status, &sub, sub.SetPreferences(p, now), now); err != nil {
			return err
		}
		c.At = now
		return tx.noteTracking(was, &sub, c)
	}))
	return sub, asItStood(err, new(core.Instant), 0)
}

// Subscription reads the record of an address on a list. It returns core.ErrSubscriptionNotFound where there is none.
func (s *Store) Subscription(ctx context.Context, listID string, email core.Email) (sub core.Subscription, err error) {
	err = s.get(ctx, &sub, "SELECT "+subscriptionColumns+" FROM subscription AS s WHERE s.list_id = ? AND s.id = ?",
		listID, s.SubscriptionID(listID, email.Key()))
	return sub, orNotFound(err, core.ErrSubscriptionNotFound)
}

// Subscriptions reads a page of a list by id, whatever the status. Its only error is core.ErrStorage.
func (s *Store) Subscriptions(ctx context.Context, listID, afterID string, limit int) ([]core.Subscription, error) {
	var subs []core.Subscription
	err := s.all(ctx, &subs,
		"SELECT "+subscriptionColumns+" FROM subscription AS s WHERE s.list_id = ? AND s.id > ? ORDER BY s.id LIMIT +?",
		listID, afterID, limit)
	return subs, err
}
