package identity

import (
	"context"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// The maximum number of code attempts by a user in a period, which starts with the first attempt. Anyone who tries
// codes already knows the password.
const (
	factorPeriod   = 15 * time.Minute
	factorFailures = 10
)

// ErrFactorSet is returned if a user who already has a second factor sets one up.
var ErrFactorSet = &core.Error{
	Kind: core.Conflict, Code: "already_exists",
	Message: "Two-factor authentication is already on. Turn it off first to set it up again.",
}

// SecondFactor is a query for a user's second factor.
const SecondFactor = `SELECT confirmed_at, (SELECT count(*) FROM recovery_code r WHERE r.user_id = totp.user_id) AS
	recovery_codes FROM totp WHERE user_id = ? AND confirmed_at > 0`

// SecondFactor returns a user's second factor, or the zero value if there is none. The only error is core.ErrStorage.
func (s *Store) SecondFactor(ctx context.Context, userID string) (f core.SecondFactor, err error) {
	err = s.Get(ctx, &f, SecondFactor, userID)
	if errors.Is(err, core.ErrNotFound) {
		err = nil
	}
	return f, err
}

// SetTOTP stores the secret of an authenticator app and replaces an unconfirmed one. It takes effect with
// ConfirmTOTP. If there is a confirmed app, SetTOTP returns ErrFactorSet. If no such user exists, it returns
// core.ErrNotFound.
func (s *Store) SetTOTP(ctx context.Context, userID string, secret []byte, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		var one int
		if err := tx.Get(&one, "SELECT 1 FROM user WHERE id = ?", userID); err != nil {
			return err
		}
		err := tx.One(`INSERT INTO totp (user_id, secret, created_at) VALUES (?, ?, ?) ON CONFLICT (user_id) DO UPDATE
			SET secret = excluded.secret, created_at = excluded.created_at WHERE confirmed_at = 0`,
			userID, s.Seal(secret), int64(now))
		if errors.Is(err, core.ErrNotFound) {
			return ErrFactorSet
		}
		return err
	})
}

// NewTOTP returns the secret of a user's authenticator app that is not confirmed yet. If there is none, it returns
// core.ErrNotFound. If it can't be decrypted, it returns ErrMasterKey.
func (s *Store) NewTOTP(ctx context.Context, userID string) ([]byte, error) {
	var sealed []byte
	if err := s.Get(ctx, &sealed, "SELECT secret FROM totp WHERE user_id = ? AND confirmed_at = 0",
		userID); err != nil {
		return nil, err
	}
	return s.OpenSecret(sealed)
}

// NewTOTP is an authenticator app whose setup was confirmed with a code.
type NewTOTP struct {
	UserID string
	Epoch  int64    // the user's epoch when the app was set up
	Host   string   // for setup before sign-in: host for which the user must have no passkeys; otherwise empty
	Step   int64    // step of the code
	Codes  [][]byte // hashes of the recovery codes
	Look   core.MailStyle
}

// ConfirmTOTP activates the app that was set up as the user's second factor. The user is notified by email. If no app
// waits for confirmation, it returns core.ErrNotFound. If the user's epoch has changed, or the user has added a passkey
// since, it returns ErrSignInStale.
func (s *Store) ConfirmTOTP(ctx context.Context, n NewTOTP, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		var same bool
		if err := tx.Get(&same, `SELECT EXISTS (SELECT 1 FROM user WHERE id = ?1 AND epoch = ?2 AND disabled_at = 0) AND
			NOT EXISTS (SELECT 1 FROM passkey WHERE user_id = ?1 AND rp_id = ?3 AND ?3 <> '')`, n.UserID, n.Epoch,
			n.Host); err != nil {
			return err
		}
		if !same {
			return ErrSignInStale
		}
		if err := tx.One("UPDATE totp SET confirmed_at = ?, last_step = ? WHERE user_id = ? AND confirmed_at = 0",
			int64(now), n.Step, n.UserID); err != nil {
			return err
		}
		if err := setRecoveryCodes(tx, n.UserID, n.Codes); err != nil {
			return err
		}
		tx.Tell("second_factor", nil, "totp")
		return factorChanged(tx, ctx, n.UserID, "user.factor", core.MailTwoStepOn, n.Look, now)
	})
}

// factorChanged notifies a user by email that the second factor has changed, and writes an audit entry.
func factorChanged(tx *db.Tx, ctx context.Context, userID, action, mail string, look core.MailStyle,
	now core.Instant,
) error {
	var email core.Email
	if err := tx.Get(&email, "SELECT email FROM user WHERE id = ?", userID); err != nil {
		return err
	}
	return errors.Join(tenants.AddMail(tx, look.MailTo(email, mail, ""), now),
		tx.Audit(now, actorOr(ctx, core.UserActor(userID)), action, "", userID))
}

// SetRecoveryCodes replaces the recovery codes of a user. hashes are the hashes of the new codes. The user is notified
// by email. If the user has no second factor, SetRecoveryCodes returns core.ErrNotFound.
func (s *Store) SetRecoveryCodes(ctx context.Context, userID string, hashes [][]byte, look core.MailStyle,
	now core.Instant,
) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		var had core.SecondFactor
		if err := tx.Get(&had, SecondFactor, userID); err != nil {
			return err
		}
		if err := setRecoveryCodes(tx, userID, hashes); err != nil {
			return err
		}
		tx.Tell("recovery_codes", had.RecoveryCodes, len(hashes))
		return factorChanged(tx, ctx, userID, "user.recovery_codes", core.MailRecoveryCodes, look, now)
	})
}

func setRecoveryCodes(tx *db.Tx, userID string, hashes [][]byte) error {
	if _, err := tx.Exec("DELETE FROM recovery_code WHERE user_id = ?", userID); err != nil {
		return err
	}
	for _, hash := range hashes {
		if _, err := tx.Exec("INSERT INTO recovery_code (user_id, hash) VALUES (?, ?)", userID, hash); err != nil {
			return err
		}
	}
	return nil
}

// FactorAttempt holds the data for checking a code.
type FactorAttempt struct {
	Secret   []byte // secret of the authenticator app
	LastStep int64  // step of the last accepted code
	Blocked  bool   // whether there were too many failures, so that the code must not be checked
	Until    core.Instant
}

// TryFactor counts an attempt before the caller checks the user's code. UseTOTP and UseRecoveryCode reset the count. If
// the user has no second factor, TryFactor returns core.ErrNotFound. If the secret can't be decrypted, it returns
// ErrMasterKey.
func (s *Store) TryFactor(ctx context.Context, userID string, now core.Instant) (t FactorAttempt, err error) {
	var row struct {
		Secret   []byte `db:"secret"`
		LastStep int64  `db:"last_step"`
	}
	err = s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.Get(&row, "SELECT secret, last_step FROM totp WHERE user_id = ? AND confirmed_at > 0",
			userID); err != nil {
			return err
		}
		n, until, err := tx.Tally(factorKey(userID), factorPeriod, now)
		t = FactorAttempt{LastStep: row.LastStep, Blocked: n > factorFailures, Until: until}
		return err
	})
	if err == nil {
		t.Secret, err = s.OpenSecret(row.Secret)
	}
	return t, err
}

func factorKey(userID string) string { return "factor " + userID }

// UseTOTP uses up the code of a step. If the code of this step or of a later one was used before, it returns
// core.ErrNotFound.
func (s *Store) UseTOTP(ctx context.Context, userID string, step int64) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.One("UPDATE totp SET last_step = ? WHERE user_id = ? AND confirmed_at > 0 AND last_step < ?",
			step, userID, step); err != nil {
			return err
		}
		return forgetFailures(tx, factorKey(userID))
	})
}

// UseRecoveryCode uses up a recovery code. If the user has no such code, it returns core.ErrNotFound.
func (s *Store) UseRecoveryCode(ctx context.Context, userID string, hash []byte) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.One("DELETE FROM recovery_code WHERE user_id = ? AND hash = ?", userID, hash); err != nil {
			return err
		}
		return forgetFailures(tx, factorKey(userID))
	})
}

func forgetFailures(tx *db.Tx, key string) error {
	_, err := tx.Exec("DELETE FROM throttle WHERE key = ?", key)
	return err
}

// RemoveSecondFactor removes a user's second factor and recovery codes. The user is notified by email. If there is no
// second factor, it returns core.ErrNotFound.
func (s *Store) RemoveSecondFactor(ctx context.Context, userID string, look core.MailStyle, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.One("DELETE FROM totp WHERE user_id = ? AND confirmed_at > 0", userID); err != nil {
			return err
		}
		_, err := tx.Exec("DELETE FROM recovery_code WHERE user_id = ?", userID)
		if err := errors.Join(err, forgetFailures(tx, factorKey(userID))); err != nil {
			return err
		}
		tx.Tell("second_factor", "totp", nil)
		return factorChanged(tx, ctx, userID, "user.factor_removed", core.MailTwoStepOff, look, now)
	})
}

// RenewHash replaces a password's hash with a hash of the same password at a different cost. If the stored hash is no
// longer before, RenewHash does nothing. The only error is core.ErrStorage.
func (s *Store) RenewHash(ctx context.Context, userID, before, after string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE user SET password_hash = ? WHERE id = ? AND password_hash = ?", after, userID, before)
		return err
	})
}
