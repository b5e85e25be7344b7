package identity

import (
	"context"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// ChangeTTL is the lifetime of the link that changes an account's address.
const ChangeTTL = 24 * time.Hour

// TokenChange is the purpose of the token that changes an account's address. The token is stored in its own table.
const TokenChange = "change"

// The maximum number of emails per day about address changes: those that one user can cause, and those that one address
// can get.
const (
	changePeriod    = 24 * time.Hour
	changesPerUser  = 5
	changesPerEmail = 3
)

// EmailChange is a user's pending request to change their email address.
type EmailChange struct {
	Email     core.Email   `db:"email"`
	ExpiresAt core.Instant `db:"expires_at"`
}

// AskEmailChange stores a user's request for another address and replaces an earlier one. It emails the link to the new
// address and a notice to the old one. If the new address has an account, it gets a different email. The amount of work
// is the same, so the caller can't find out that the account exists. If a limit is exceeded, AskEmailChange sends no
// emails, but does everything else. epoch is the user's epoch when the password was checked. If it has changed since,
// AskEmailChange returns core.ErrNotFound.
func (s *Store) AskEmailChange(ctx context.Context, userID string, epoch int64, email core.Email, token UserToken,
	now core.Instant,
) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		var u core.User
		if err := tx.Get(&u, "SELECT "+UserColumns+" FROM user WHERE id = ? AND epoch = ? AND disabled_at = 0", userID,
			epoch); err != nil {
			return err
		}
		if u.Email.Key() == email.Key() {
			return core.Invalidf("email", "This is already your address. Enter another one.")
		}
		mine, _, err := tx.Tally("change "+u.Email.Key(), changePeriod, now)
		if err != nil {
			return err
		}
		its, _, err := tx.Tally("change-to "+email.Key(), changePeriod, now)
		if err != nil {
			return err
		}
		var taken bool
		if err := tx.Get(&taken, "SELECT EXISTS (SELECT 1 FROM user WHERE email_key = ?)", email.Key()); err != nil {
			return err
		}
		_, err = tx.Exec(`INSERT INTO email_change (user_id, hash, old_key, email, email_key, created_at, expires_at)
			VALUES (?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (user_id) DO UPDATE SET hash = excluded.hash, old_key = excluded.old_key, email =
			excluded.email,
			email_key = excluded.email_key, created_at = excluded.created_at, expires_at = excluded.expires_at`,
			userID, token.Hashes[TokenChange], u.Email.Key(), string(email), email.Key(), int64(now),
			int64(now.Add(ChangeTTL)))
		if err != nil {
			return err
		}
		link := token.Style.MailTo(email, core.MailChange, token.ID)
		if taken {
			link = token.Style.MailTo(email, core.MailChangeTaken, "") // the token is not emailed to anyone
		}
		tx.Touched("email_change")
		state := tenants.MailQueued
		if mine > changesPerUser || its > changesPerEmail {
			state = tenants.MailLeftOut
		}
		return errors.Join(tenants.WriteMail(tx, link, state, now),
			tenants.WriteMail(tx, token.Style.MailTo(u.Email, core.MailChangeAsked, ""), state, now),
			tx.Audit(now, core.UserActor(userID), "user.email.ask", "", userID))
	})
}

// EmailChange returns a user's pending request. If there is none, it returns core.ErrNotFound.
func (s *Store) EmailChange(ctx context.Context, userID string, now core.Instant) (e EmailChange, err error) {
	err = s.Get(ctx, &e, "SELECT email, expires_at FROM email_change WHERE user_id = ? AND expires_at > ?", userID,
		int64(now))
	return e, err
}

// DropEmailChange removes a user's pending request. The only error is core.ErrStorage.
func (s *Store) DropEmailChange(ctx context.Context, userID string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("DELETE FROM email_change WHERE user_id = ?", userID)
		return err
	})
}

// A token is valid only for the address that it was emailed to, and only while the account still has its old address.
const emailChangeQuery = `SELECT e.user_id, e.expires_at, u.email FROM email_change e JOIN user u ON u.id = e.user_id
	WHERE e.hash = ? AND e.email_key = ? AND u.email_key = e.old_key AND u.disabled_at = 0`

type emailChangeRow struct {
	UserID    string       `db:"user_id"`
	ExpiresAt core.Instant `db:"expires_at"`
	Email     core.Email   `db:"email"` // old address
}

func (r emailChangeRow) check(now core.Instant) error {
	if r.ExpiresAt <= now {
		return core.ErrTokenExpired
	}
	return nil
}

// CheckEmailChange returns the user whose address a token would change. It returns core.ErrInvalidToken or
// core.ErrTokenExpired.
func (s *Store) CheckEmailChange(ctx context.Context, hash []byte, email core.Email, now core.Instant) (userID string,
	err error,
) {
	var r emailChangeRow
	if err := s.Get(ctx, &r, emailChangeQuery, hash, email.Key()); err != nil {
		return "", notToken(err)
	}
	return r.UserID, r.check(now)
}

// ChangeEmail redeems a token for the user who requested the change. The account gets the new address, verified, and
// the old address is notified. Links that were emailed to the old address become invalid. If the token is invalid or
// another account has taken the address since, ChangeEmail returns core.ErrInvalidToken. It also returns
// core.ErrTokenExpired.
func (s *Store) ChangeEmail(ctx context.Context, userID string, hash []byte, email core.Email, look core.MailStyle,
	now core.Instant,
) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		var r emailChangeRow
		if err := tx.Get(&r, emailChangeQuery, hash, email.Key()); err != nil {
			return notToken(err)
		}
		if err := r.check(now); err != nil {
			return err
		}
		if r.UserID != userID {
			return core.ErrInvalidToken
		}
		if err := tx.Watch("user", userID); err != nil {
			return err
		}
		// The person who confirms the change owns the mailbox, and knew the password when the change was requested.
		err := tx.One(`UPDATE user SET email = e.email, email_key = e.email_key, email_verified = 1, self_registered =
			0, updated_at = ?
			FROM email_change e WHERE e.user_id = user.id AND id = ?`, int64(now), r.UserID)
		if errors.Is(err, core.ErrConflict) {
			return core.ErrInvalidToken.With(err)
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec("DELETE FROM email_change WHERE user_id = ?", r.UserID); err != nil {
			return err
		}
		// A pending role was given to the owner of the old address, who never verified it.
		if _, err := tx.Exec("DELETE FROM role WHERE user_id = ? AND pending = 1", r.UserID); err != nil {
			return err
		}
		tx.Kick(db.TopicIdentity)
		return errors.Join(tenants.AddMail(tx, look.MailTo(r.Email, core.MailChanged, ""), now),
			tx.Audit(now, core.UserActor(r.UserID), "user.email", "", r.UserID))
	})
}
