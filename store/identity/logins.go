package identity

import (
	"context"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
)

// The maximum number of password attempts for a user in a period. A device that has signed in as the user keeps its own
// counter for knownFor. Attempts by others therefore can't lock the owner out.
const (
	loginPeriod   = 15 * time.Minute
	loginFailures = 10
	knownFor      = 90 * 24 * time.Hour
)

// LoginAttempt holds the data for checking a login with a password. The attempt is counted before the check.
type LoginAttempt struct {
	User         core.User
	Known        bool   // whether the user exists and is not disabled
	PasswordHash string // empty if Known is false or the user has no password
	Factor       bool   // whether the user has a second factor
	Passkey      bool   // whether the user has a passkey for the host
	Key          string // key of the counter
	Blocked      bool   // whether there were too many failures, so that the password must not be checked
	Until        core.Instant
}

// TryLogin counts a login attempt for an address and reads the user who has the address, if any. devices identifies the
// device, starting with the most reliable identifier (a cookie, the remote address); empty ones are ignored. A known
// device has its own counter. Only passkeys for host count. An unknown address is not an error; the only error is
// core.ErrStorage.
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
			return err // this query only makes the amount of work the same in all cases
		}
		n, until, err := tx.Tally(t.Key, loginPeriod, now)
		t.Blocked, t.Until = n > loginFailures, until
		return err
	})
	return t, err
}

// ForgiveTry decrements the attempt counter after a failure that the password didn't cause. The only error is
// core.ErrStorage.
func (s *Store) ForgiveTry(ctx context.Context, key string) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE throttle SET count = max(count - 1, 0) WHERE key = ?", key)
		return err
	})
}

// SignIn is a successful login.
type SignIn struct {
	Family         core.Family
	RefreshHash    []byte
	RefreshExpires core.Instant
	Key            string   // key of the failure counter, which is reset
	Devices        []string // devices to mark as known; empty ones are ignored
	OldHash        string   // with NewHash: hash to be replaced because its cost has changed
	NewHash        string
}

// ErrSignInStale is returned if the user's epoch has changed since the password was checked.
var ErrSignInStale = &core.Error{
	Kind: core.Invalid, Code: "invalid_grant",
	Message: "The account has just changed. Try again.",
}

// AddSignIn records a login: its family, the refresh token and the known devices. If the user has changed since the
// password was checked, it returns ErrSignInStale.
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
