package identity

import (
	"context"
	"errors"
	"strings"

	"newsletterd/core"
	"newsletterd/store/db"
)

// BrowserColumns lists the columns of the table browser with the alias b.
const BrowserColumns = "b.id, b.user_id, b.epoch, b.amr, b.remote, b.user_agent, b.auth_at, b.used_at, b.expires_at"

var browserTable = db.TableOf[core.Browser]("browser", nil, nil)

// Visitor returns the user who is signed in with a browser, and the scopes that the user has granted to a client. An
// empty clientID means no client. If the browser was signed out, or all of the user's sign-ins have ended, Visitor
// returns core.ErrNotFound.
func (s *Store) Visitor(ctx context.Context, browserID, clientID string, now core.Instant) (v core.Visitor, err error) {
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		err := r.Get(&v.Browser, "SELECT "+BrowserColumns+` FROM browser b JOIN user u ON u.id = b.user_id
			WHERE b.id = ? AND b.expires_at > ? AND u.epoch = b.epoch AND u.disabled_at = 0`, browserID, now)
		if err != nil {
			return err
		}
		if err := r.Get(&v.User, "SELECT "+UserColumns+" FROM user WHERE id = ?", v.Browser.UserID); err != nil {
			return err
		}
		if err := r.All(&v.User.Roles, "SELECT role, tenant_id FROM role WHERE user_id = ? AND "+
			""+roleCounts+" ORDER BY role, tenant_id", v.User.ID); err != nil {
			return err
		}
		if clientID == "" {
			return nil
		}
		var scope string
		err = r.Get(&scope, allowedScopes, v.User.ID, clientID)
		v.Consent = strings.Fields(scope)
		if errors.Is(err, core.ErrNotFound) {
			return nil
		}
		return err
	})
	return v, err
}

// AddBrowser records that a user has signed in with a browser. It ignores in.Family. Unless before is empty, it also
// signs out the browser with that id, which used the same session earlier. It returns ErrSignInStale in the same cases
// as AddSignIn.
func (s *Store) AddBrowser(ctx context.Context, in SignIn, b core.Browser, before string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error { return addBrowser(tx, in, b, before, now) })
}

func addBrowser(tx *db.Tx, in SignIn, b core.Browser, before string, now core.Instant) error {
	in.Family = core.Family{UserID: b.UserID, Epoch: b.Epoch}
	if err := proved(tx, in, now); err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM browser WHERE id = ?", before); err != nil {
		return err
	}
	_, err := db.InsertRow(tx, &browserTable, &b)
	return err
}

// TouchBrowser records that a browser was used. The only error is core.ErrStorage.
func (s *Store) TouchBrowser(ctx context.Context, id string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec("UPDATE browser SET used_at = ? WHERE id = ? AND used_at < ?", now, id, now)
		return err
	})
}

// Browsers returns the browsers in which a user is signed in, most recently used first. The only error is
// core.ErrStorage.
func (s *Store) Browsers(ctx context.Context, userID string, now core.Instant) (bs []core.Browser, err error) {
	err = s.All(ctx, &bs, "SELECT "+BrowserColumns+` FROM browser b JOIN user u ON u.id = b.user_id
		WHERE b.user_id = ? AND b.expires_at > ? AND b.epoch = u.epoch ORDER BY b.used_at DESC, b.id LIMIT 200`, userID,
		now)
	return bs, err
}

// SignOutBrowser signs a user out in one browser and ends the token families that started there. Families with the
// scope offline_access continue, because they are meant to outlive the session (OpenID Connect Back-Channel Logout
// section 2.7). If the browser isn't the user's, SignOutBrowser returns core.ErrNotFound.
func (s *Store) SignOutBrowser(ctx context.Context, id, userID string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.One("DELETE FROM browser WHERE id = ? AND user_id = ?", id, userID); err != nil {
			return err
		}
		tx.Kick(db.TopicIdentity)
		_, err := tx.Exec(`UPDATE family SET revoked_at = ? WHERE user_id = ? AND browser_id = ? AND revoked_at = 0
			AND ' ' || scope || ' ' NOT LIKE '% offline_access %'`, now, userID, id)
		return err
	})
}

// EndFamily ends a token family of a user: one sign-in at a client. If the family doesn't belong to the user or has
// ended, EndFamily returns core.ErrNotFound.
func (s *Store) EndFamily(ctx context.Context, id, userID string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		tx.Kick(db.TopicIdentity)
		return tx.One("UPDATE family SET revoked_at = ? WHERE id = ? AND user_id = ? AND revoked_at = 0", now, id,
			userID)
	})
}

// ChangePassword sets a user's password and ends every sign-in except in the browser where the change was made. If the
// user no longer exists, it returns core.ErrNotFound. If the user's epoch has changed, it returns ErrSignInStale.
func (s *Store) ChangePassword(ctx context.Context, userID string, epoch int64, passwordHash, browserID string,
	now core.Instant,
) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		var at int64
		if err := tx.Get(&at, "SELECT epoch FROM user WHERE id = ?", userID); err != nil {
			return err
		}
		if at != epoch {
			return ErrSignInStale
		}
		if err := setPassword(tx, userID, passwordHash, now); err != nil {
			return err
		}
		_, err := tx.Exec("UPDATE browser SET epoch = ? WHERE id = ? AND user_id = ?", epoch+1, browserID, userID)
		return err
	})
}

// proved records a login with a correct password. It resets the failure counter and marks the devices as known. If the
// password's hash has to be renewed, it stores the new one.
func proved(tx *db.Tx, in SignIn, now core.Instant) error {
	// The epoch guards against a password change since the check.
	err := tx.One("UPDATE user SET last_login_at = ? WHERE id = ? AND epoch = ? AND disabled_at = 0", int64(now),
		in.Family.UserID, in.Family.Epoch)
	if errors.Is(err, core.ErrNotFound) {
		return ErrSignInStale
	}
	if err != nil {
		return err
	}
	if in.NewHash != "" {
		if _, err := tx.Exec("UPDATE user SET password_hash = ? WHERE id = ? AND password_hash = ?", in.NewHash,
			in.Family.UserID, in.OldHash); err != nil {
			return err
		}
	}
	if _, err := tx.Exec("DELETE FROM throttle WHERE key = ?", in.Key); err != nil {
		return err
	}
	for _, device := range in.Devices {
		if device == "" {
			continue
		}
		_, err := tx.Exec(`INSERT INTO known_device (user_id, key, used_at) VALUES (?, ?, ?)
			ON CONFLICT (user_id, key) DO UPDATE SET used_at = excluded.used_at`, in.Family.UserID, device, int64(now))
		if err != nil {
			return err
		}
	}
	return nil
}

// SignIns returns the live token families of a user with the names of their clients, most recently used first. The only
// error is core.ErrStorage.
func (s *Store) SignIns(ctx context.Context, userID string, now core.Instant) (fs []core.ClientSignIn, err error) {
	err = s.All(ctx, &fs, "SELECT "+FamilyColumns+`, coalesce(c.name, f.client_id) AS client_name FROM family f
		JOIN user u ON u.id = f.user_id LEFT JOIN client c ON c.id = f.client_id
		WHERE f.user_id = ? AND f.revoked_at = 0 AND f.expires_at > ? AND f.epoch = u.epoch ORDER BY f.used_at DESC,
		f.id LIMIT 200`, userID, now)
	return fs, err
}
