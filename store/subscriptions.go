package store

import (
	"context"
	"errors"
	"time"

	"newsletterd/core"
)

// ConfirmTTL is how long a confirm token works.
const ConfirmTTL = core.ConfirmTTLDays * 24 * time.Hour

// mailTokenKey is the purpose of the key that mailed and answered confirm tokens are made with.
const mailTokenKey = "mail-token"

const subscriptionColumns = `s.list_id, s.id, s.email, s.status, s.preferences, s.generation, s.means, s.created_at, s.changed_at, s.event_at`

// SubscribeRequest is a request to subscribe, from anybody.
type SubscribeRequest struct {
	ListID      string
	Email       core.Email
	Preferences core.Preferences
	Origin      core.Origin
}

// Subscribe records a request, as the rule decides, and queues the mail that follows. What it returns tells nothing
// about the address: the subscription is pending, made now, with the preferences of the request, whatever is known of
// it; rowID is that of the confirm tokens. core.ErrListNotFound, core.ErrListInactive.
func (s *Store) Subscribe(ctx context.Context, r SubscribeRequest, now core.Instant) (sub core.Subscription, rowID string, err error) {
	list, err := s.ListRecord(ctx, r.ListID)
	if err != nil {
		return sub, "", err
	}
	if !list.Active() {
		return sub, "", core.ErrListInactive
	}
	sub = core.Subscription{
		ID: s.SubscriptionID(list.ID, r.Email.Key()), ListID: list.ID, Email: r.Email,
		Status: core.SubscriptionPending, Preferences: r.Preferences.OrEmpty(), CreatedAt: now,
	}
	rowID = core.NewID()
	err = s.update(ctx, func(tx *Tx) error { return tx.subscribe(list, sub, rowID, r.Origin, now) })
	return sub, rowID, err
}

// subscribeState is all that the rule and the limits need to know, read at once.
type subscribeState struct {
	core.Subscription
	Disabled bool `db:"disabled"`
	Mails    int  `db:"mails"`      // confirmations to the address in the window
	ListMail int  `db:"list_mails"` // of these, for this list
	Already  int  `db:"already"`    // "subscribed already" for this list
}

func (tx *Tx) subscribe(list *ListRecord, ask core.Subscription, rowID string, o core.Origin, now core.Instant) error {
	var st subscribeState
	key, since := ask.Email.Key(), int64(now.Add(-mailWindow))
	err := tx.get(&st, `SELECT ?1 AS list_id, ?2 AS id, coalesce(s.email, '') AS email, coalesce(s.status, '') AS status,
		coalesce(s.preferences, '') AS preferences, coalesce(s.generation, 0) AS generation, coalesce(s.means, '') AS means,
		coalesce(s.created_at, 0) AS created_at, coalesce(s.changed_at, 0) AS changed_at, coalesce(s.event_at, 0) AS event_at,
		EXISTS (SELECT 1 FROM disabled WHERE email_key = ?3 AND tenant_id IN ('', ?4)) AS disabled,
		m.mails, m.list_mails,
		(SELECT count(*) FROM mail WHERE email_key = ?3 AND kind = 'already_subscribed' AND created_at > ?5 AND list_id = ?1 AND state != 3) AS already
		FROM (SELECT count(*) AS mails, count(*) FILTER (WHERE list_id = ?1) AS list_mails FROM mail
			WHERE email_key = ?3 AND kind = 'confirm' AND created_at > ?5 AND state != 3) AS m
		LEFT JOIN subscription AS s ON s.list_id = ?1 AND s.id = ?2`,
		list.ID, ask.ID, key, list.TenantID, since)
	if err != nil {
		return err
	}
	mail := core.Mail{Kind: core.MailConfirm, TenantID: list.TenantID, ListID: list.ID, Email: ask.Email, TokenID: rowID}
	state := mailQueued
	if st.Mails >= confirmsPerEmail || st.ListMail >= confirmsPerListEmail {
		state = mailLeftOut
	}
	generation := int64(0) // of a disabled address: its token confirms nothing
	if st.Disabled {
		state = mailLeftOut
	} else {
		switch st.Subscribe(ask.Email, ask.Preferences, now) {
		case core.SubscribeNotNeeded:
			mail.Kind, state = core.MailAlreadySubscribed, mailQueued
			if st.Already >= alreadyPerListEmail {
				state = mailLeftOut
			}
		default:
			if err := tx.saveSubscription(&st.Subscription); err != nil {
				return err
			}
		}
		generation = st.Generation
	}
	ask.Generation = generation
	if err := tx.addConfirmToken(&ask, rowID, o, now); err != nil {
		return err
	}
	return tx.writeMail(mail, state, now)
}

func (tx *Tx) addConfirmToken(s *core.Subscription, rowID string, o core.Origin, now core.Instant) error {
	_, err := tx.exec(`INSERT INTO confirm_token (id, list_id, subscription_id, generation, email, preferences, source, remote, user_agent, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		rowID, s.ListID, s.ID, s.Generation, string(s.Email), string(s.Preferences), o.Source, o.Remote, o.UserAgent, int64(now))
	return err
}

// saveSubscription writes a record, new or not.
func (tx *Tx) saveSubscription(s *core.Subscription) error {
	_, err := tx.exec(`INSERT INTO subscription (list_id, id, email, email_key, status, preferences, generation, means, created_at, changed_at, event_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (list_id, id) DO UPDATE SET email = excluded.email, status = excluded.status, preferences = excluded.preferences,
		generation = excluded.generation, means = excluded.means, changed_at = excluded.changed_at, event_at = excluded.event_at`,
		s.ListID, s.ID, string(s.Email), s.Email.Key(), s.Status, string(s.Preferences), s.Generation, s.Means,
		int64(s.CreatedAt), int64(s.ChangedAt), int64(s.EventAt))
	return err
}

// saveChange writes a record and, if there was one, the event of its change.
func (tx *Tx) saveChange(list *ListRecord, s *core.Subscription, c *core.Change, now core.Instant) error {
	if err := tx.saveSubscription(s); err != nil || c == nil {
		return err
	}
	return tx.addEvent(list.TenantID, s, c, now)
}

func (tx *Tx) subscription(listID, id string) (sub core.Subscription, err error) {
	err = tx.get(&sub, "SELECT "+subscriptionColumns+" FROM subscription AS s WHERE s.list_id = ? AND s.id = ?", listID, id)
	return sub, sharpen(err, core.ErrSubscriptionNotFound)
}

// sharpen gives "not found" its sharper word.
func sharpen(err error, word *core.Error) error {
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
	CreatedAt      core.Instant     `db:"created_at"`
}

// ConfirmToken makes the token that redeems a row of confirm tokens by the given means.
func (s *Store) ConfirmToken(ctx context.Context, rowID, means string) (string, error) {
	key, err := s.PurposeKey(ctx, mailTokenKey)
	if err != nil {
		return "", err
	}
	return core.ConfirmToken(key, rowID, means), nil
}

// Confirm redeems a confirm token. It takes effect once; repeated while the subscription is still active it gives the
// same answer: the subscription as the token's own request asked for it, so that nobody learns more from it.
// core.ErrInvalidToken, core.ErrTokenExpired, core.ErrSubscriptionNotFound.
func (s *Store) Confirm(ctx context.Context, token string, o core.Origin, now core.Instant) (sub core.Subscription, err error) {
	key, err := s.PurposeKey(ctx, mailTokenKey)
	if err != nil {
		return sub, err
	}
	rowID, means, err := core.ParseConfirmToken(key, token)
	if err != nil {
		return sub, err
	}
	err = s.update(ctx, func(tx *Tx) error {
		sub, err = tx.confirm(rowID, means, o, now)
		return err
	})
	return sub, err
}

// ConfirmList is the list that a confirm token is for, whether or not it still confirms. Errors are those of Confirm.
func (s *Store) ConfirmList(ctx context.Context, token string) (*ListRecord, error) {
	key, err := s.PurposeKey(ctx, mailTokenKey)
	if err != nil {
		return nil, err
	}
	rowID, _, err := core.ParseConfirmToken(key, token)
	if err != nil {
		return nil, err
	}
	var listID string
	if err := s.get(ctx, &listID, "SELECT list_id FROM confirm_token WHERE id = ?", rowID); err != nil {
		return nil, sharpen(err, core.ErrInvalidToken)
	}
	return s.ListRecord(ctx, listID)
}

func (tx *Tx) confirm(rowID, means string, o core.Origin, now core.Instant) (sub core.Subscription, err error) {
	var row confirmRow
	err = tx.get(&row, `SELECT list_id, subscription_id, generation, email, preferences, created_at,
		source AS "origin.source", remote AS "origin.remote", user_agent AS "origin.user_agent" FROM confirm_token WHERE id = ?`, rowID)
	if err != nil {
		return sub, sharpen(err, core.ErrInvalidToken)
	}
	if now >= row.CreatedAt.Add(ConfirmTTL) {
		return sub, core.ErrTokenExpired
	}
	if row.Generation == 0 {
		return sub, core.ErrInvalidToken
	}
	list, err := tx.listRecord(row.ListID)
	if err != nil {
		return sub, sharpen(err, core.ErrSubscriptionNotFound)
	}
	if sub, err = tx.subscription(row.ListID, row.SubscriptionID); err != nil {
		return sub, err
	}
	if now, err = tx.stamp(row.ListID, now); err != nil {
		return sub, err
	}
	before := sub.Means
	change, err := sub.Confirm(row.Generation, means, now)
	if err != nil {
		return sub, err
	}
	if change != nil || sub.Means != before {
		if err := tx.recordConfirm(list, &sub, &row, change, o, now); err != nil {
			return sub, err
		}
	}
	sub.Email, sub.Preferences, sub.CreatedAt = row.Email, row.Preferences, row.CreatedAt
	return sub, nil
}

// recordConfirm writes what a confirmation changed. The request that it answers enters the ledger only now: one that
// nobody confirms is no consent, and goes with its token.
func (tx *Tx) recordConfirm(list *ListRecord, sub *core.Subscription, row *confirmRow, c *core.Change, o core.Origin, now core.Instant) error {
	if err := tx.saveChange(list, sub, c, now); err != nil {
		return err
	}
	if c != nil {
		err := tx.addConsent(core.Consent{
			ListID: sub.ListID, SubscriptionID: sub.ID, At: row.CreatedAt, What: core.ConsentRequested,
			Origin: row.Origin, Generation: sub.Generation,
		})
		if err != nil {
			return err
		}
	}
	return tx.addConsent(core.Consent{
		ListID: sub.ListID, SubscriptionID: sub.ID, At: now, What: core.ConsentConfirmed,
		Means: sub.Means, Origin: o, Generation: sub.Generation,
	})
}

// Leaving is what an unsubscribe token asks for.
type Leaving struct {
	ListID         string
	SubscriptionID string
	Means          string // core.MeansMailed, or core.MeansResponse for a token that was asked for
	JobNo          int64  // of the mail that the token stood in; 0: none
	Origin         core.Origin
}

// Unsubscribe ends a subscription and returns it. The second time changes nothing. core.ErrSubscriptionNotFound where
// it is gone, or was never there: the caller answers as if it had been.
func (s *Store) Unsubscribe(ctx context.Context, l Leaving, now core.Instant) (sub core.Subscription, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		sub, err = tx.unsubscribe(l, now)
		return err
	})
	return sub, err
}

func (tx *Tx) unsubscribe(l Leaving, now core.Instant) (core.Subscription, error) {
	sub, err := tx.subscription(l.ListID, l.SubscriptionID)
	if err != nil || sub.Status == core.SubscriptionUnsubscribed {
		return sub, err
	}
	list, err := tx.listRecord(l.ListID)
	if err != nil {
		return sub, sharpen(err, core.ErrSubscriptionNotFound)
	}
	tx.departs()
	if now, err = tx.stamp(l.ListID, now); err != nil {
		return sub, err
	}
	change := sub.Unsubscribe(now)
	if err := tx.saveChange(list, &sub, change, now); err != nil {
		return sub, err
	}
	if l.JobNo > 0 && change != nil {
		if _, err := tx.exec("UPDATE send_job SET unsubscribed = unsubscribed + 1 WHERE no = ?", l.JobNo); err != nil {
			return sub, err
		}
	}
	return sub, tx.addConsent(core.Consent{
		ListID: sub.ListID, SubscriptionID: sub.ID, At: now, What: core.ConsentUnsubscribed,
		Means: l.Means, Origin: l.Origin, Generation: sub.Generation,
	})
}

// SetPreferences replaces the preferences of an address on a list. core.ErrSubscriptionNotFound.
func (s *Store) SetPreferences(ctx context.Context, listID string, email core.Email, p core.Preferences, now core.Instant) (sub core.Subscription, err error) {
	list, err := s.ListRecord(ctx, listID)
	if err != nil {
		return sub, err
	}
	id := s.SubscriptionID(list.ID, email.Key())
	err = s.update(ctx, func(tx *Tx) error {
		if sub, err = tx.subscription(list.ID, id); err != nil || sub.Preferences == p.OrEmpty() {
			return err
		}
		if now, err = tx.stamp(list.ID, now); err != nil {
			return err
		}
		return tx.saveChange(list, &sub, sub.SetPreferences(p, now), now)
	})
	return sub, err
}

// Subscription reads the record of an address on a list. core.ErrSubscriptionNotFound.
func (s *Store) Subscription(ctx context.Context, listID string, email core.Email) (sub core.Subscription, err error) {
	err = s.get(ctx, &sub, "SELECT "+subscriptionColumns+" FROM subscription AS s WHERE s.list_id = ? AND s.id = ?",
		listID, s.SubscriptionID(listID, email.Key()))
	return sub, sharpen(err, core.ErrSubscriptionNotFound)
}

// Subscriptions reads a page of a list by id, whatever the status.
func (s *Store) Subscriptions(ctx context.Context, listID, afterID string, limit int) ([]core.Subscription, error) {
	var subs []core.Subscription
	err := s.all(ctx, &subs, "SELECT "+subscriptionColumns+" FROM subscription AS s WHERE s.list_id = ? AND s.id > ? ORDER BY s.id LIMIT ?",
		listID, afterID, limit)
	return subs, err
}
