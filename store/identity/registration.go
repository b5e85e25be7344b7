package identity

import (
	"context"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// Lifetimes of emailed tokens, and limits on emails to one address.
const (
	VerifyTTL       = 48 * time.Hour
	ResetTTL        = time.Hour
	registerPeriod  = 24 * time.Hour
	registerMails   = 3  // emails to an address that is registered again, per origin of the requests
	registerMailsIn = 10 // total of these emails, including the one for the first registration
	forgotPeriod    = time.Hour
	forgotPerPeriod = 3
	verifyPerPeriod = 3
)

// The purposes of a user's emailed tokens.
const (
	TokenVerify = "verify" // verifies the address; the page also takes the current or a new password
	TokenClaim  = "claim"  // verifies an address that was registered again, and sets a password
	TokenReset  = "reset"  // sets a password
)

var mailKinds = map[string]string{TokenVerify: core.MailVerify, TokenClaim: core.MailClaim, TokenReset: core.MailReset}

// UserToken is a new emailed token: its id, and the hash of the string that the mailer derives from it. The operation
// chooses the purpose of the token, so there is a hash for each possible purpose. The id is the same for all of them.
type UserToken struct {
	ID     string
	Hashes map[string][]byte // hashes by purpose
	Style  core.MailStyle    // style of the email with the token, or of the one sent instead
}

// Registration is one attempt to register.
type Registration struct {
	User         core.User
	PasswordHash string
	Token        UserToken // for TokenVerify and TokenClaim
	Conflict     bool      // whether an existing address is reported (ErrUserExists); a configuration setting
	Origin       string    // origin of the request; all unknown origins count as one
}

// Register adds a user and queues the email that verifies the address. If the address already has an account, the
// account stays unchanged and its owner gets an email. For a verified account, the email states that the account
// exists. For an unverified one, it explains how to claim the account. These emails are counted by origin, so
// that a stranger's requests don't use up the owner's limit.
//
// Callers must not reveal added, the only difference between the cases. Every case runs the same number of statements
// and writes, so all wait for the disk. If r.Conflict is set and the address has an account, Register returns
// ErrUserExists.
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

// addRegisterMails counts a repeated registration of an address, and reports whether another email may be sent to the
// address's owner. Requests beyond an origin's own limit don't count toward the total.
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

// register adds an unverified user and queues the email that verifies the address. It runs 4 statements.
func register(tx *db.Tx, r Registration, now core.Instant) error {
	// The first email of an account doesn't count as an email about a repeated registration.
	if _, err := tx.Exec("UPDATE throttle SET count = 0 WHERE key = ?",
		"register "+r.User.Email.Key()+" "+r.Origin); err != nil {
		return err
	}
	if err := addUserRow(tx, r.User, r.PasswordHash, true); err != nil {
		return err
	}
	return mailToken(tx, r.User, TokenVerify, r.Token, now)
}

// registerStatements is the number of statements that Register runs, regardless of what is known about the address.
const registerStatements = 7

// mailNobody does as much work as mailToken, for an address without an account. It writes and removes a row, so that
// the commit also writes pages and wakes the mailer. It runs 2 statements.
func mailNobody(tx *db.Tx, now core.Instant) error {
	if err := tenants.AddMail(tx, core.Mail{Kind: core.MailReset, Email: "nobody@invalid.example"}, now); err != nil {
		return err
	}
	_, err := tx.Exec("DELETE FROM mail WHERE id = last_insert_rowid()")
	return err
}

// mailToken adds a token and queues the email with it. It runs 2 statements.
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

// userTokenRow is an emailed token with its user.
type userTokenRow struct {
	ID        string       `db:"id"`
	UserID    string       `db:"user_id"`
	ExpiresAt core.Instant `db:"expires_at"`
	UsedAt    core.Instant `db:"used_at"`
	Email     core.Email   `db:"email"`
	Verified  bool         `db:"email_verified"`
}

// A token is valid only for the address that it was emailed to, and only while the user has that address.
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

// mailedAddressQuery is a query for the address that a token was emailed to, whether or not the token is still valid.
const mailedAddressQuery = `SELECT u.email FROM user_token t JOIN user u ON u.id = t.user_id AND u.email_key =
	t.email_key WHERE t.hash = ?
	UNION ALL SELECT email FROM email_change WHERE hash = ?`

// MailedAddress returns the address that a verify, claim, reset or change token was emailed to. For any other token
// it returns core.ErrInvalidToken.
func (s *Store) MailedAddress(ctx context.Context, hash []byte) (email core.Email, err error) {
	err = s.Get(ctx, &email, mailedAddressQuery, hash, hash)
	return email, notToken(err)
}

// mailedStyleQuery is a query for the tenant whose design was used for the email with a token.
const mailedStyleQuery = `SELECT m.tenant_id FROM user_token t JOIN mail m ON m.email_key = t.email_key AND
	m.token_id = t.id AND m.state != ` + tenants.SQLMailLeftOut + ` WHERE t.hash = ?`

// MailedTenant returns the tenant whose design was used for the email with a verify, claim or reset token. It returns
// an empty string if the email used the server's design or is no longer stored. The only error is core.ErrStorage.
func (s *Store) MailedTenant(ctx context.Context, hash []byte) (tenantID string, err error) {
	err = s.Get(ctx, &tenantID, mailedStyleQuery, hash)
	if errors.Is(err, core.ErrNotFound) {
		return "", nil
	}
	return tenantID, err
}

// CheckUserToken returns an error if a token can't be redeemed, so that the caller hashes a password only for a valid
// token. The error is core.ErrInvalidToken or core.ErrTokenExpired.
func (s *Store) CheckUserToken(ctx context.Context, purpose string, hash []byte, email core.Email,
	now core.Instant,
) error {
	var t userTokenRow
	if err := s.Get(ctx, &t, userTokenQuery, hash, purpose, email.Key()); err != nil {
		return notToken(err)
	}
	return t.check(now)
}

// VerifyEmail redeems a verify token and returns the address. Calls with the same token succeed again while the address
// stays verified. If a role is pending, it takes effect, and the account loses its password and sessions, because a
// stranger may have registered it. Otherwise the password stays and counts as the owner's. VerifyEmail returns
// core.ErrInvalidToken or core.ErrTokenExpired.
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

// ForgotPassword counts a request for an address, known or not. If the address has an account, each of the first
// three requests in an hour queues an email with a reset link. The only error is core.ErrStorage.
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

// UnverifiedToken describes a redeemable verify token and the account that it verifies.
type UnverifiedToken struct {
	Verified     bool   // whether the address is verified already, so nothing is left to do
	PasswordHash string `db:"password_hash"`
	RolesPending bool   `db:"roles_pending"`
}

// UnverifiedToken returns the state of a verify token for the page that asks for a password. It returns
// core.ErrInvalidToken or core.ErrTokenExpired.
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

// RedeemUserToken redeems a reset or claim token, or the verify token of an unverified address. It sets the password,
// ends every session and verifies the address that the token was emailed to. It also uses up the user's other reset and
// claim tokens. If the account was unverified before, it also loses its consents and known devices. RedeemUserToken
// returns core.ErrInvalidToken or core.ErrTokenExpired.
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
		if purpose == TokenVerify && t.Verified { // verified in the meantime by another email
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

// VerifyAgain queues another email that verifies a user's address, at most three a day. If no such user exists, it
// returns core.ErrNotFound.
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
