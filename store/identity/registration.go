package identity

import (
	"context"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// Lifetimes of mailed tokens, and how many mails one address gets.
const (
	VerifyTTL       = 48 * time.Hour
	ResetTTL        = time.Hour
	registerPeriod  = 24 * time.Hour
	registerMails   = 3  // mails to an address that is registered again, for each origin of those requests …
	registerMailsIn = 10 // … and for all together, the mail of the first registration included
	forgotPeriod    = time.Hour
	forgotPerPeriod = 3
	verifyPerPeriod = 3
)

// The purposes of a user's mailed tokens.
const (
	TokenVerify = "verify" // verifies the address; on its page with the password that stands or a new one
	TokenClaim  = "claim"  // verifies it and sets a password: a person registered the unverified address again
	TokenReset  = "reset"  // sets a password
)

var mailKinds = map[string]string{TokenVerify: core.MailVerify, TokenClaim: core.MailClaim, TokenReset: core.MailReset}

// UserToken is a new row of a mailed token: its id, and the hash of the text that the mailer makes of it.
// The same id serves whichever purpose the operation finds fitting, with a hash for each.
type UserToken struct {
	ID     string
	Hashes map[string][]byte // by purpose
	Style  core.MailStyle    // of the mail that carries it, or that goes out in its place
}

// Registration is one attempt to register.
type Registration struct {
	User         core.User
	PasswordHash string
	Token        UserToken // of TokenVerify and TokenClaim
	Conflict     bool      // an address that exists is told (ErrUserExists), by configuration
	Origin       string    // where the request came from; those of unknown origin count as one
}

// Register adds a user and queues the mail that verifies the address. An address that exists is left as it is, and its
// owner is told by mail: a verified one that there is an account already, an unverified one how to claim it. Such mails
// are counted by origin, so that a stranger's requests do not use up the owner's. Only added tells the cases apart.
// Each runs as many statements as the others and writes, so that each waits for the disk. It returns ErrUserExists
// where r.Conflict is set and the address has an account.
func (s *Store) Register(ctx context.Context, r Registration, now core.Instant) (added bool, err error) {
	err = s.Update(ctx, func(tx *db.Tx) error {
		mails, err := addRegisterMails(tx, r, now)
		if err != nil {
			return err
		}
		var old core.User
		err = tx.Get(&old, "SELECT "+UserColumns+" FROM user WHERE email_key = ?", r.User.Email.Key())
		switch {
		case errors.Is(err, core.ErrNotFound):
			added = true
			return errors.Join(register(tx, r, now), tenants.PadTo(tx, registerStatements))
		case err != nil:
			return err
		case r.Conflict:
			return ErrUserExists
		case !mails || old.Disabled():
			return tenants.PadTo(tx, registerStatements)
		case old.EmailVerified:
			return errors.Join(tenants.AddMail(tx, r.Token.Style.MailTo(old.Email, core.MailAlreadyRegistered, ""), now),
				tenants.PadTo(tx, registerStatements))
		}
		return errors.Join(mailToken(tx, old, TokenClaim, r.Token, now), tenants.PadTo(tx, registerStatements))
	})
	return added && err == nil, err
}

// addRegisterMails reports whether the owner of an address that is registered again gets another mail about it. An
// origin that has used its own share up does not use up that of all.
func addRegisterMails(tx *db.Tx, r Registration, now core.Instant) (bool, error) {
	key := "register " + r.User.Email.Key()
	its, _, err := tx.Tally(key+" "+r.Origin, registerPeriod, now)
	if err != nil {
		return false, err
	}
	if its > registerMails {
		return false, nil
	}
	all, _, err := tx.Tally(key, registerPeriod, now)
	return all <= registerMailsIn, err
}

// register runs 4 statements.
func register(tx *db.Tx, r Registration, now core.Instant) error {
	// Its own mail is not one of those that follow where the same address is registered again.
	if _, err := tx.Exec("UPDATE throttle SET count = 0 WHERE key = ?",
		"register "+r.User.Email.Key()+" "+r.Origin); err != nil {
		return err
	}
	if err := addUserRow(tx, r.User, r.PasswordHash, true); err != nil {
		return err
	}
	return mailToken(tx, r.User, TokenVerify, r.Token, now)
}

// registerStatements is how many statements Register runs, whatever is known of the address.
const registerStatements = 7

// mailNobody does the work of mailToken for an address without an account: a row is written and taken back, so that the
// commit writes pages, too, and the mailer is woken. 2 statements.
func mailNobody(tx *db.Tx, now core.Instant) error {
	if err := tenants.AddMail(tx, core.Mail{Kind: core.MailReset, Email: "nobody@invalid.example"}, now); err != nil {
		return err
	}
	_, err := tx.Exec("DELETE FROM mail WHERE id = last_insert_rowid()")
	return err
}

// mailToken adds the row of a token and queues the mail that carries it: 2 statements.
func mailToken(tx *db.Tx, u core.User, purpose string, t UserToken, now core.Instant) error {
	ttl := VerifyTTL
	if purpose == TokenReset {
		ttl = ResetTTL
	}
	_, err := tx.Exec("INSERT INTO user_token (id, purpose, hash, user_id, email_key, created_at, expires_at) "+
		"VALUES (?, ?, ?, ?, ?, ?, ?)",
		t.ID, purpose, t.Hashes[purpose], u.ID, u.Email.Key(), int64(now), int64(now.Add(ttl)))
	if err != nil {
		return err
	}
	return tenants.AddMail(tx, t.Style.MailTo(u.Email, mailKinds[purpose], t.ID), now)
}

// userTokenRow is a mailed token with the user that it is for.
type userTokenRow struct {
	ID        string       `db:"id"`
	UserID    string       `db:"user_id"`
	ExpiresAt core.Instant `db:"expires_at"`
	UsedAt    core.Instant `db:"used_at"`
	Email     core.Email   `db:"email"`
	Verified  bool         `db:"email_verified"`
}

// A token is good only for the address that it was mailed to, and while that is still the user's.
const userTokenQuery = `SELECT t.id, t.user_id, t.expires_at, t.used_at, u.email, u.email_verified FROM user_token t
	JOIN user u ON u.id = t.user_id
	WHERE t.hash = ? AND t.purpose = ? AND t.email_key = ? AND u.email_key = t.email_key AND u.disabled_at = 0`

func (t userTokenRow) check(now core.Instant) error {
	switch {
	case t.UsedAt != 0:
		return core.ErrInvalidToken
	case t.ExpiresAt <= now:
		return core.ErrTokenExpired
	}
	return nil
}

func notToken(err error) error {
	if errors.Is(err, core.ErrNotFound) {
		return core.ErrInvalidToken
	}
	return err
}

// mailedAddressQuery finds the address that a mailed token went to, whether it is good still or not.
const mailedAddressQuery = `SELECT u.email FROM user_token t JOIN user u ON u.id = t.user_id AND u.email_key =
	t.email_key WHERE t.hash = ?
	UNION ALL SELECT email FROM email_change WHERE hash = ?`

// MailedAddress returns the address that the mail with a verify, claim, reset or change token went to;
// core.ErrInvalidToken for any other token.
func (s *Store) MailedAddress(ctx context.Context, hash []byte) (email core.Email, err error) {
	err = s.Get(ctx, &email, mailedAddressQuery, hash, hash)
	return email, notToken(err)
}

// mailedStyleQuery finds the tenant in whose looks the mail with a token went out.
const mailedStyleQuery = `SELECT m.tenant_id FROM user_token t JOIN mail m ON m.email_key = t.email_key AND
	m.token_id = t.id AND m.state != ` + tenants.SQLMailLeftOut + ` WHERE t.hash = ?`

// MailedTenant returns the tenant in whose looks the mail with a verify, claim or reset token went out; empty where
// that were the daemon's, or the mail is no longer kept. Its only error is core.ErrStorage.
func (s *Store) MailedTenant(ctx context.Context, hash []byte) (tenantID string, err error) {
	err = s.Get(ctx, &tenantID, mailedStyleQuery, hash)
	if errors.Is(err, core.ErrNotFound) {
		return "", nil
	}
	return tenantID, err
}

// CheckUserToken reports whether a token could be redeemed, so that no password is hashed for one that can't. It
// returns core.ErrInvalidToken or core.ErrTokenExpired.
func (s *Store) CheckUserToken(ctx context.Context, purpose string, hash []byte, email core.Email,
	now core.Instant,
) error {
	var t userTokenRow
	if err := s.Get(ctx, &t, userTokenQuery, hash, purpose, email.Key()); err != nil {
		return notToken(err)
	}
	return t.check(now)
}

// VerifyEmail redeems a verify token and returns the address. Again it gives the same answer while the address stays
// verified. The password stays, unless a role is pending: then that takes effect, and the account is left without
// the password and the sessions that anyone who registered it had. Else the password that stands counts as the owner's
// from then on. It returns core.ErrInvalidToken or core.ErrTokenExpired.
func (s *Store) VerifyEmail(ctx context.Context, hash []byte, email core.Email, now core.Instant) (core.Email, error) {
	var t userTokenRow
	err := s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Get(&t, userTokenQuery, hash, TokenVerify, email.Key()); err != nil {
			return notToken(err)
		}
		if t.UsedAt != 0 && t.Verified {
			return nil
		}
		if err := t.check(now); err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE user_token SET used_at = ? WHERE id = ?", int64(now), t.ID); err != nil {
			return err
		}
		pending, err := rolesPending(tx, t.UserID)
		if err != nil {
			return err
		}
		if pending {
			if err := disown(tx, t.UserID, "", now); err != nil {
				return err
			}
		} else if err := passwordProved(tx, t.UserID); err != nil {
			return err
		}
		return verified(tx, t.UserID, now)
	})
	return t.Email, err
}

// ForgotPassword counts one request for the address, known or not, and queues the mail with a reset link for a user
// that has not had three in this hour. Its only error is core.ErrStorage.
func (s *Store) ForgotPassword(ctx context.Context, email core.Email, token UserToken, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		n, _, err := tx.Tally("forgot "+email.Key(), forgotPeriod, now)
		if err != nil {
			return err
		}
		var u core.User
		err = tx.Get(&u, "SELECT "+UserColumns+" FROM user WHERE email_key = ?", email.Key())
		if errors.Is(err, core.ErrNotFound) || (err == nil && (u.Disabled() || n > forgotPerPeriod)) {
			return mailNobody(tx, now)
		}
		if err != nil {
			return err
		}
		return mailToken(tx, u, TokenReset, token, now)
	})
}

// UnverifiedToken is a verify token that can be redeemed, and the account that waits for it.
type UnverifiedToken struct {
	Verified     bool   // nothing is left to do: the address is verified
	PasswordHash string `db:"password_hash"`
	RolesPending bool   `db:"roles_pending"`
}

// UnverifiedToken looks at a verify token, for the page that asks for a password. It returns core.ErrInvalidToken or
// core.ErrTokenExpired.
func (s *Store) UnverifiedToken(
	ctx context.Context, hash []byte, email core.Email, now core.Instant,
) (u UnverifiedToken, err error) {
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		u = UnverifiedToken{}
		var t userTokenRow
		if err := r.Get(&t, userTokenQuery, hash, TokenVerify, email.Key()); err != nil {
			return notToken(err)
		}
		if u.Verified = t.Verified; u.Verified {
			return nil
		}
		if err := t.check(now); err != nil {
			return err
		}
		return r.Get(&u, `SELECT password_hash,
			EXISTS (SELECT 1 FROM role WHERE user_id = user.id AND pending = 1) AS roles_pending
			FROM user WHERE id = ?`, t.UserID)
	})
	return u, err
}

// RedeemUserToken redeems a reset or claim token, or the verify token of an address that is not verified: sets the
// password, ends every session, verifies the address that the token was mailed to, and uses up the user's other reset
// and claim tokens. An account that was not verified before also loses its consents and known devices. It returns
// core.ErrInvalidToken or core.ErrTokenExpired.
func (s *Store) RedeemUserToken(ctx context.Context, purpose string, hash []byte, email core.Email, passwordHash string,
	now core.Instant,
) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		var t userTokenRow
		if err := tx.Get(&t, userTokenQuery, hash, purpose, email.Key()); err != nil {
			return notToken(err)
		}
		if err := t.check(now); err != nil {
			return err
		}
		if purpose == TokenVerify && t.Verified { // meanwhile, by another mail
			return core.ErrInvalidToken
		}
		if _, err := tx.Exec("UPDATE user_token SET used_at = ? WHERE id = ?", int64(now), t.ID); err != nil {
			return err
		}
		var err error
		if t.Verified {
			err = setPassword(tx, t.UserID, passwordHash, now)
		} else {
			err = disown(tx, t.UserID, passwordHash, now)
		}
		if err == nil {
			err = passwordProved(tx, t.UserID)
		}
		if err != nil {
			return err
		}
		return verified(tx, t.UserID, now)
	})
}

// VerifyAgain queues another mail that verifies a user's address, three a day at most. It returns core.ErrNotFound
// where there is no such user.
func (s *Store) VerifyAgain(ctx context.Context, userID string, token UserToken, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		var u core.User
		if err := tx.Get(&u, "SELECT "+UserColumns+" FROM user WHERE id = ?", userID); err != nil {
			return err
		}
		n, _, err := tx.Tally("verify "+u.Email.Key(), registerPeriod, now)
		if err != nil || u.EmailVerified || u.Disabled() || n > verifyPerPeriod {
			return err
		}
		return mailToken(tx, u, TokenVerify, token, now)
	})
}
