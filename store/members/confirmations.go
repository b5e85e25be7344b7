package members

import (
	"cmp"
	"context"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// ConfirmTTL is the lifetime of a confirm token.
const ConfirmTTL = core.ConfirmTTLDays * 24 * time.Hour

// confirmRow is a row of confirm_token.
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

// confirmToken is a parsed token from a request, with the key that signed it.
type confirmToken struct {
	rowID, proof string
	mark         *core.RequestMark
	key          []byte
}

func (s *Store) openConfirmToken(ctx context.Context, token string) (t confirmToken, err error) {
	if t.key, err = s.PurposeKey(ctx, db.PurposeMailToken); err == nil {
		t.rowID, t.proof, t.mark, err = core.ParseConfirmToken(t.key, token)
	}
	return t, err
}

// row returns the database row for a token, with the data of the token's own request. If there is none, it returns
// core.ErrInvalidToken. If the token has expired, it returns core.ErrTokenExpired together with the row.
func (t *confirmToken) row(from db.Querier, now core.Instant) (row confirmRow, err error) {
	if err := from.Get(&row, selectConfirmRow, t.rowID); err != nil {
		return row, db.OrNotFound(err, core.ErrInvalidToken)
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

// ConfirmToken returns the token to put into an email. The token redeems the confirm_token row rowID with the given
// proof. If the token key can't be decrypted, ConfirmToken returns ErrMasterKey.
func (s *Store) ConfirmToken(ctx context.Context, rowID, proof string) (string, error) {
	key, err := s.PurposeKey(ctx, db.PurposeMailToken)
	if err != nil {
		return "", err
	}
	return core.ConfirmToken(key, rowID, proof, nil), nil
}

// AnsweredToken is like ConfirmToken, but returns the token for the response to r, which Subscribe accepted at the
// instant at. If the token key can't be decrypted, it returns ErrMasterKey.
func (s *Store) AnsweredToken(ctx context.Context, rowID, proof string, r SubscribeRequest, at core.Instant) (string,
	error,
) {
	key, err := s.PurposeKey(ctx, db.PurposeMailToken)
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

// Confirm redeems a confirm token, which takes effect only once. While the subscription is active, a repeated call
// returns the same result: the subscription as in the token's own request. The caller therefore learns nothing else
// about the subscription. It returns core.ErrInvalidToken, core.ErrTokenExpired or core.ErrSubscriptionNotFound.
func (s *Store) Confirm(ctx context.Context, token string, o core.Origin, now core.Instant) (sub core.Subscription,
	err error,
) {
	t, err := s.openConfirmToken(ctx, token)
	if err != nil {
		return sub, err
	}
	err = s.Update(ctx, func(tx *db.Tx) error {
		sub, err = confirm(tx, &t, o, now)
		return err
	})
	return sub, err
}

// ConfirmAsked returns the list and the address, as entered, of the request that a confirm token belongs to. It also
// works if the token can't confirm the request anymore. If the token has expired, it returns both with
// core.ErrTokenExpired. It also returns the other errors of Confirm.
func (s *Store) ConfirmAsked(ctx context.Context, token string, now core.Instant) (list *core.ListWithTenant,
	email core.Email, err error,
) {
	t, err := s.openConfirmToken(ctx, token)
	if err != nil {
		return nil, "", err
	}
	var row confirmRow
	err = s.SnapshotRead(ctx, func(r *db.Reader) (err error) {
		row, err = t.row(r, now)
		return err
	})
	if err != nil && !errors.Is(err, core.ErrTokenExpired) {
		return nil, "", err
	}
	list, missing := s.ListWithTenant(ctx, row.ListID)
	return list, row.Email, cmp.Or(missing, err)
}

func confirm(tx *db.Tx, t *confirmToken, o core.Origin, now core.Instant) (sub core.Subscription, err error) {
	row, err := t.row(tx, now)
	if err != nil {
		return sub, err
	}
	if row.Generation == 0 {
		return sub, core.ErrInvalidToken
	}
	list, err := tenants.ListWithTenant(tx, row.ListID)
	if err != nil {
		return sub, db.OrNotFound(err, core.ErrSubscriptionNotFound)
	}
	if sub, err = Subscription(tx, row.ListID, row.SubscriptionID); err != nil {
		return sub, err
	}
	if now, err = Stamp(tx, row.ListID, now); err != nil {
		return sub, err
	}
	left, err := tenants.LeftBefore(tx, sub.Email.Key(), list.TenantID)
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
	answered, err := heard(tx, sub.ListID, sub.ID, now)
	if err != nil {
		return sub, err
	}
	reached := false
	if t.proof == core.ProofMailed {
		if reached, err = reachedAgain(tx, &sub, list.TenantID); err != nil {
			return sub, err
		}
	}
	if change != nil || sub.Proof != before || answered || reached {
		if err := recordConfirm(tx, list, was, &sub, &row, change, o, now); err != nil {
			return sub, err
		}
	}
	sub.Email, sub.Preferences, sub.CreatedAt = row.Email, row.Preferences, row.CreatedAt
	return sub, nil
}

// recordConfirm stores the result of a confirmation. It also enters the confirmed request in the consent ledger. Before
// a confirmation, a request is not a consent, and is deleted with its token.
func recordConfirm(tx *db.Tx, list *core.ListWithTenant, was string, sub *core.Subscription, row *confirmRow,
	c *core.Change,
	o core.Origin, now core.Instant,
) error {
	if err := SaveChange(tx, list.TenantID, was, sub, c, now); err != nil {
		return err
	}
	if c != nil {
		err := AddConsent(tx, core.Consent{
			ListID: sub.ListID, SubscriptionID: sub.ID, At: row.CreatedAt, What: core.ConsentRequested,
			Origin: row.Origin, TextVersion: row.TextVersion, Generation: sub.Generation, Reason: row.Evidence,
		})
		if err != nil {
			return err
		}
	}
	if c != nil {
		// The subscriber checked the box in the request that is being confirmed.
		if err := NoteTracking(tx, "", sub, core.Consent{At: now, Proof: sub.Proof, Origin: row.Origin}); err != nil {
			return err
		}
	}
	if was != core.SubscriptionActive {
		if err := tenants.TagSignup(tx, &list.List, sub.ID, now); err != nil {
			return err
		}
	}
	return AddConsent(tx, core.Consent{
		ListID: sub.ListID, SubscriptionID: sub.ID, At: now, What: core.ConsentConfirmed,
		Proof: sub.Proof, Origin: o, Generation: sub.Generation,
	})
}

// reachedAgain removes the imported bounce of an address, if any, because the address has responded after all. It
// reports whether there was one. Only imports create such entries.
func reachedAgain(tx *db.Tx, sub *core.Subscription, tenantID string) (was bool, err error) {
	n, err := tx.Exec("DELETE FROM suppression WHERE tenant_id = ? AND email_key = ? AND kind = 'bounced'", tenantID,
		sub.Email.Key())
	return n > 0, err
}

// heard records that a subscriber who was asked again has responded. It reports whether this is the subscriber's first
// response.
func heard(tx *db.Tx, listID, id string, at core.Instant) (bool, error) {
	n, err := tx.Exec("UPDATE subscription SET heard_at = ? "+
		"WHERE list_id = ? AND id = ? AND asked_at > 0 AND heard_at = 0",
		int64(at), listID, id)
	return n > 0, err
}
