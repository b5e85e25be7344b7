package identity

import (
	"context"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// Guesses of passwords: how many one user gets in a window, and for how long an address that has signed in as the user
// keeps a count of its own, so that no one can lock the owner out.
const (
	loginPeriod   = 15 * time.Minute
	loginFailures = 10
	knownFor      = 90 * 24 * time.Hour
)

// LoginAttempt is what a login by password needs to know, counted before the password is looked at.
type LoginAttempt struct {
	User         core.User
	Known        bool   // there is such a user, and not switched off
	PasswordHash string // empty where Known is false, or the user has none
	Factor       bool   // the user has a second factor
	Passkey      bool   // the user has a passkey of the host
	Key          string // of the counter
	Blocked      bool   // too many failures: the password must not be looked at
	Until        core.Instant
}

// TryLogin counts an attempt for the address, known or not, and reads the user. devices are what the attempt may be
// known by, the surest first (a cookie, the remote address); empty ones are left out. A known one has a counter of its
// own. host is that of passkeys that count. Its only error is core.ErrStorage: an unknown address is none.
func (s *Store) TryLogin(ctx context.Context, email core.Email, host string, devices []string, now core.Instant) (
	LoginAttempt, error,
) {
	var t LoginAttempt
	err := s.Update(ctx, func(tx *db.Tx) error {
		var row struct {
			core.User
			PasswordHash string `db:"password_hash"`
			Device       string `db:"device"`
			Factor       bool   `db:"factor"`
			Passkey      bool   `db:"passkey"`
		}
		err := tx.Get(&row,
			"SELECT "+UserColumns+`, password_hash, coalesce((SELECT d.key FROM json_each(?2) j JOIN known_device d
			ON d.user_id = user.id AND d.key = j.value WHERE d.used_at > ?3 ORDER BY j.key LIMIT 1), '') AS device,
			EXISTS (SELECT 1 FROM totp t WHERE t.user_id = user.id AND t.confirmed_at > 0) AS factor,
			EXISTS (SELECT 1 FROM passkey p WHERE p.user_id = user.id AND p.rp_id = ?4) AS passkey
			FROM user WHERE email_key = ?1`,
			email.Key(), db.JsonOf(devices), int64(now.Add(-knownFor)), host)
		if err != nil && !errors.Is(err, core.ErrNotFound) {
			return err
		}
		t = LoginAttempt{Key: "login " + email.Key()}
		if row.Device != "" {
			t.Key += " " + row.Device
		}
		if t.Known = err == nil && !row.Disabled(); t.Known {
			t.User, t.PasswordHash, t.Factor, t.Passkey = row.User, row.PasswordHash, row.Factor, row.Passkey
			if err := tx.All(&t.User.Roles, "SELECT role, tenant_id FROM role WHERE user_id = ? AND "+roleCounts,
				row.ID); err != nil {
				return err
			}
		} else if err := tx.All(&[]core.Role{}, "SELECT role, tenant_id FROM role WHERE user_id = ? AND "+
			""+roleCounts, ""); err != nil {
			return err // asked in vain, for the same work
		}
		n, until, err := tx.Tally(t.Key, loginPeriod, now)
		t.Blocked, t.Until = n > loginFailures, until
		return err
	})
	return t, err
}

// ForgiveTry takes a counted attempt back: it failed for another reason than the password. Its only error is
// core.ErrStorage.
func (s *Store) ForgiveTry(ctx context.Context, key string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE throttle SET count = max(count - 1, 0) WHERE key = ?", key)
		return err
	})
}

// SignIn is a login that has proved itself.
type SignIn struct {
	Family         core.Family
	RefreshHash    []byte
	RefreshExpires core.Instant
	Key            string   // of the counter of failures, which ends
	Devices        []string // known from now on; an empty one is left out
	OldHash        string   // with NewHash: the password's hash, made anew since its cost has changed
	NewHash        string
}

// ErrSignInStale is returned when the user changed while the password was checked.
var ErrSignInStale = &core.Error{
	Kind: core.Invalid, Code: "invalid_grant",
	Message: "The account has just changed. Try again.",
}

// AddSignIn records a login: its family, the refresh token, and that the device is known. It returns ErrSignInStale
// where the user has changed since the password was checked.
func (s *Store) AddSignIn(ctx context.Context, in SignIn, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := proved(tx, in, now); err != nil {
			return err
		}
		if err := addFamily(tx, in.Family); err != nil {
			return err
		}
		return insertRefresh(tx, in.RefreshHash, in.Family.ID, now, in.RefreshExpires)
	})
}
