package identity

import (
	"context"
	"errors"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// The maximum number of failed passkey attempts from one remote address in a period, which starts with the first
// attempt.
const (
	passkeyPeriod   = 15 * time.Minute
	passkeyFailures = 10
)

// Passkey errors.
var (
	// ErrPasskeyKnown is returned when an authenticator's credential is added twice.
	ErrPasskeyKnown = &core.Error{
		Kind: core.Invalid, Code: "already_exists",
		Message: "This passkey was already added. Use another device or key.",
	}
	// ErrPasskeysFull is returned when a user has the maximum number of passkeys.
	ErrPasskeysFull = &core.Error{
		Kind: core.Invalid, Code: "invalid_request",
		Message: "You have reached the maximum number of passkeys. Remove one first.",
	}
	// ErrPasskeyCopied is returned if a passkey's counter goes back. This means that another authenticator has a copy
	// of its key.
	ErrPasskeyCopied = &core.Error{
		Kind: core.Invalid, Code: "invalid_grant",
		Message: "This passkey was not accepted, because it may have been copied. Sign in another way.",
	}
	// ErrPasskeyGone is returned when a passkey doesn't belong to the user. It may have been removed in the meantime.
	ErrPasskeyGone = &core.Error{
		Kind: core.Invalid, Code: "invalid_grant",
		Message: "This passkey does not belong to your account. It may have been removed.",
	}
	// ErrChallengeUsed is returned if a challenge was already answered.
	ErrChallengeUsed = &core.Error{
		Kind: core.Invalid, Code: "invalid_grant", Message: "This passkey was not accepted. Try again.",
	}
)

// PasskeyTable describes the table of passkeys.
var PasskeyTable = db.TableOf[core.Passkey]("passkey", nil, nil)

// Answer identifies the challenge that a response answers. Each challenge can be answered only once.
type Answer struct {
	Hash      []byte       // hash of the challenge
	ExpiresAt core.Instant // time when the challenge expires
}

// Passkeys returns a user's passkeys, oldest first. The only error is core.ErrStorage.
func (s *Store) Passkeys(ctx context.Context, userID string) (ps []core.Passkey, err error) {
	err = s.All(ctx, &ps, "SELECT "+PasskeyTable.Columns+" FROM passkey WHERE user_id = ? ORDER BY created_at, id",
		userID)
	return ps, err
}

// PasskeyHosts returns the number of passkeys for each host. The only error is core.ErrStorage.
func (s *Store) PasskeyHosts(ctx context.Context) (map[string]int, error) {
	var rows []struct {
		Host  string `db:"rp_id"`
		Count int    `db:"count"`
	}
	err := s.All(ctx, &rows, "SELECT rp_id, count(*) AS count FROM passkey GROUP BY rp_id")
	hosts := make(map[string]int, len(rows))
	for _, r := range rows {
		hosts[r.Host] = r.Count
	}
	return hosts, err
}

// AddPasskey adds a passkey for a user, who is notified by email. If the user's epoch has changed, it returns
// ErrSignInStale. It also returns ErrPasskeyKnown, ErrPasskeysFull and ErrChallengeUsed.
func (s *Store) AddPasskey(ctx context.Context, p core.Passkey, epoch int64, a Answer, look core.MailStyle,
	now core.Instant,
) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		var u struct {
			Email    core.Email `db:"email"`
			Passkeys int        `db:"passkeys"`
			Known    bool       `db:"known"`
		}
		err := tx.Get(&u, `SELECT email, (SELECT count(*) FROM passkey p WHERE p.user_id = user.id) AS passkeys,
			EXISTS (SELECT 1 FROM passkey p WHERE p.credential = ?1) AS known
			FROM user WHERE id = ?2 AND epoch = ?3 AND disabled_at = 0`, p.Credential, p.UserID, epoch)
		switch {
		case errors.Is(err, core.ErrNotFound):
			return ErrSignInStale
		case err != nil:
			return err
		case u.Known:
			return ErrPasskeyKnown
		case u.Passkeys >= core.MaxPasskeys:
			return ErrPasskeysFull
		}
		if err := answer(tx, a, now); err != nil {
			return err
		}
		if _, err := db.InsertRow(tx, &PasskeyTable, &p); err != nil {
			return err
		}
		tx.Tell("passkeys", u.Passkeys, u.Passkeys+1)
		return errors.Join(tenants.AddMail(tx, look.MailTo(u.Email, core.MailPasskeyAdded, ""), now),
			tx.Audit(now, actorOr(ctx, core.UserActor(p.UserID)), "user.passkey.add", "", p.UserID))
	})
}

// RenamePasskey renames a passkey. If the user has no such passkey, it returns core.ErrNotFound.
func (s *Store) RenamePasskey(ctx context.Context, userID, id, name string, now core.Instant) error {
	p := core.Passkey{Name: name}
	if err := p.Validate(); err != nil {
		return err
	}
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.One("UPDATE passkey SET name = ? WHERE id = ? AND user_id = ?", name, id, userID); err != nil {
			return err
		}
		tx.Touched("passkey_name")
		return tx.Audit(now, actorOr(ctx, core.UserActor(userID)), "user.passkey.rename", "", userID)
	})
}

// RemovePasskey removes a passkey of a user, who is notified by email. If the user has no such passkey, it returns
// core.ErrNotFound.
func (s *Store) RemovePasskey(ctx context.Context, userID, id string, look core.MailStyle, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		if err := tx.One("DELETE FROM passkey WHERE id = ? AND user_id = ?", id, userID); err != nil {
			return err
		}
		var u struct {
			Email    core.Email `db:"email"`
			Passkeys int        `db:"passkeys"`
		}
		if err := tx.Get(&u, `SELECT email, (SELECT count(*) FROM passkey p WHERE p.user_id = user.id) AS passkeys FROM user
			WHERE id = ?`, userID); err != nil {
			return err
		}
		tx.Tell("passkeys", u.Passkeys+1, u.Passkeys)
		return errors.Join(tenants.AddMail(tx, look.MailTo(u.Email, core.MailPasskeyRemoved, ""), now),
			tx.Audit(now, actorOr(ctx, core.UserActor(userID)), "user.passkey.remove", "", userID))
	})
}

// actorOr returns the actor that By stored in ctx, or actor if there is none.
func actorOr(ctx context.Context, actor string) string {
	if who, ok := db.ActorOf(ctx); ok {
		return who
	}
	return actor
}

// PasskeyAttempt holds the data for checking a passkey's signature.
type PasskeyAttempt struct {
	Passkey core.Passkey
	User    core.User
	Known   bool   // whether the passkey exists and its user is not disabled
	Key     string // key of the counter
	Blocked bool   // whether there were too many failures, so that the signature must not be checked
	Until   core.Instant
}

// TryPasskey counts an attempt from a remote address and reads the passkey with the given credential. An unknown
// credential is not an error; the only error is core.ErrStorage.
func (s *Store) TryPasskey(ctx context.Context, credential []byte, remote string, now core.Instant) (t PasskeyAttempt,
	err error,
) {
	t.Key = "passkey " + remote
	err = s.Update(ctx, func(tx *db.Tx) error {
		n, until, err := tx.Tally(t.Key, passkeyPeriod, now)
		t.Blocked, t.Until = n > passkeyFailures, until
		if err != nil {
			return err
		}
		err = tx.Get(&t.Passkey, "SELECT "+PasskeyTable.Columns+" FROM passkey WHERE credential = ?", credential)
		if err == nil {
			err = tx.Get(&t.User, "SELECT "+UserColumns+" FROM user WHERE id = ?", t.Passkey.UserID)
		}
		if errors.Is(err, core.ErrNotFound) {
			return nil
		}
		t.Known = err == nil && !t.User.Disabled()
		return err
	})
	return t, err
}

// PasskeyUse describes a valid signature made with a passkey.
type PasskeyUse struct {
	ID     string
	UserID string
	Count  int64 // the authenticator's signature counter
	Answer Answer
}

// AddBrowserByPasskey is like AddBrowser, for a user who signs in with a passkey. It also returns ErrPasskeyGone,
// ErrPasskeyCopied and ErrChallengeUsed.
func (s *Store) AddBrowserByPasskey(ctx context.Context, use PasskeyUse, in SignIn, b core.Browser, before string,
	now core.Instant,
) error {
	return s.byPasskey(ctx, use, now, func(tx *db.Tx) error { return addBrowser(tx, in, b, before, now) })
}

// byPasskey records a passkey's use and runs fn. If the counter has gone back, it writes an audit entry instead.
func (s *Store) byPasskey(ctx context.Context, use PasskeyUse, now core.Instant, fn func(*db.Tx) error) error {
	copied := false
	err := s.Update(ctx, func(tx *db.Tx) error {
		copied = false
		var p core.Passkey
		err := tx.Get(&p, "SELECT "+PasskeyTable.Columns+" FROM passkey WHERE id = ? AND user_id = ?", use.ID, use.UserID)
		if errors.Is(err, core.ErrNotFound) {
			return ErrPasskeyGone
		}
		if err != nil {
			return err
		}
		if err := answer(tx, use.Answer, now); err != nil {
			return err
		}
		if copied = !p.Counts(use.Count); copied {
			return tx.Audit(now, core.UserActor(use.UserID), "user.passkey.copied", "", use.UserID)
		}
		if err := tx.One("UPDATE passkey SET sign_count = ?, used_at = ? WHERE id = ?", use.Count, int64(now),
			use.ID); err != nil {
			return err
		}
		return fn(tx)
	})
	if err == nil && copied {
		return ErrPasskeyCopied
	}
	return err
}

// answer records that a challenge was answered. If it was answered before, answer returns ErrChallengeUsed.
func answer(tx *db.Tx, a Answer, now core.Instant) error {
	err := tx.One("INSERT INTO answered_challenge (hash, expires_at) VALUES (?, ?) ON CONFLICT (hash) DO NOTHING",
		a.Hash,
		int64(a.ExpiresAt))
	if errors.Is(err, core.ErrNotFound) || a.ExpiresAt <= now {
		return ErrChallengeUsed
	}
	return err
}

// ProveBrowser records that the user of a browser has proved their identity again, with the methods in amr. use is the
// passkey that was used, or nil. If the browser is signed out or its user's epoch has changed, ProveBrowser returns
// core.ErrNotFound. With a passkey it also returns the errors of AddBrowserByPasskey.
func (s *Store) ProveBrowser(ctx context.Context, id string, epoch int64, amr string, use *PasskeyUse, throttle string,
	now core.Instant,
) error {
	prove := func(tx *db.Tx) error {
		if err := tx.One(`UPDATE browser SET auth_at = ?, amr = ? WHERE id = ? AND epoch = ? AND EXISTS (SELECT 1 FROM user u
			WHERE u.id = browser.user_id AND u.epoch = browser.epoch AND u.disabled_at = 0)`, int64(now), amr, id,
			epoch); err != nil {
			return err
		}
		return forgetFailures(tx, throttle)
	}
	if use == nil {
		return s.Update(ctx, prove)
	}
	return s.byPasskey(ctx, *use, now, prove)
}
