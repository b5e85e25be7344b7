package identity

import (
	"context"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// Guesses of codes: how many a user gets in a period that begins with the first. Who guesses has the password.
const (
	factorPeriod   = 15 * time.Minute
	factorFailures = 10
)

// ErrFactorSet is returned when a second factor is set up where there is one.
var ErrFactorSet = &core.Error{
	Kind: core.Conflict, Code: "already_exists",
	Message: "Two-factor authentication is already on. Turn it off first to set it up again.",
}

// SecondFactor reads what a user has set up besides the password.
const SecondFactor = `SELECT confirmed_at, (SELECT count(*) FROM recovery_code r WHERE r.user_id = totp.user_id) AS
	recovery_codes FROM totp WHERE user_id = ? AND confirmed_at > 0`

// SecondFactor reads what a user proves at the sign-in besides the password: the zero value where it is nothing. Its
// only error is core.ErrStorage.
func (s *Store) SecondFactor(ctx context.Context, userID string) (f core.SecondFactor, err error) {
	err = s.Get(ctx, &f, SecondFactor, userID)
	if errors.Is(err, core.ErrNotFound) {
		err = nil
	}
	return f, err
}

// SetTOTP keeps the secret of an authenticator app, which counts from ConfirmTOTP on, in the place of one that was not
// confirmed. It returns ErrFactorSet where one was, and core.ErrNotFound where there is no such user.
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

// NewTOTP reads the secret that was set and is not confirmed. core.ErrNotFound: there is none. ErrMasterKey: it can't
// be opened.
func (s *Store) NewTOTP(ctx context.Context, userID string) ([]byte, error) {
	var sealed []byte
	if err := s.Get(ctx, &sealed, "SELECT secret FROM totp WHERE user_id = ? AND confirmed_at = 0",
		userID); err != nil {
		return nil, err
	}
	return s.OpenSecret(sealed)
}

// NewTOTP is an authenticator app that a code has proved.
type NewTOTP struct {
	UserID string
	Epoch  int64    // of the user, when it was set up
	Host   string   // before there is a session: that of passkeys, of which the user must have none; else empty
	Step   int64    // of the code
	Codes  [][]byte // hashes of the recovery codes
	Look   core.MailStyle
}

// ConfirmTOTP makes the app that was set up the user's second factor; the user is told by mail. core.ErrNotFound where
// none waits for it. ErrSignInStale: the epoch is no longer the user's, or a passkey came meanwhile.
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

// factorChanged tells a user by mail, and the audit trail, that a second factor has changed.
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

// SetRecoveryCodes replaces the recovery codes of a user, who is told by mail, by those of the hashes.
// core.ErrNotFound: the user has no second factor.
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

// FactorAttempt is what the check of a code needs to know.
type FactorAttempt struct {
	Secret   []byte // of the authenticator app
	LastStep int64  // of the last code that was taken
	Blocked  bool   // too many failures: the code must not be looked at
	Until    core.Instant
}

// TryFactor counts an attempt to give a user's code before the code is looked at; UseTOTP and UseRecoveryCode end the
// count. core.ErrNotFound where the user has no second factor. ErrMasterKey: its secret can't be opened.
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

// UseTOTP takes the code of a step: each once. core.ErrNotFound: it, or one of a later step, was taken before.
func (s *Store) UseTOTP(ctx context.Context, userID string, step int64) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.One("UPDATE totp SET last_step = ? WHERE user_id = ? AND confirmed_at > 0 AND last_step < ?",
			step, userID, step); err != nil {
			return err
		}
		return forgetFailures(tx, factorKey(userID))
	})
}

// UseRecoveryCode takes a recovery code: each once. core.ErrNotFound: the user has no such code.
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

// RemoveSecondFactor removes a user's second factor and recovery codes; the user is told by mail.
// core.ErrNotFound: there is none.
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

// RenewHash replaces a password's hash by one of the same password at another cost. Its only error is core.ErrStorage:
// a password that has changed meanwhile stays.
func (s *Store) RenewHash(ctx context.Context, userID, before, after string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE user SET password_hash = ? WHERE id = ? AND password_hash = ?", after, userID, before)
		return err
	})
}
