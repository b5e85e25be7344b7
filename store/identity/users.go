package identity

import (
	"context"
	"errors"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// UserColumns lists the columns of the table user that make up a core.User without roles.
const UserColumns = "id, email, email_verified, name, language, epoch, disabled_at, last_login_at, created_at, " +
	"updated_at"

// ErrUserExists is returned when another user has the address.
var ErrUserExists = &core.Error{
	Kind: core.Conflict, Code: "already_exists",
	Message: "A user with this email address already exists. Use another address.", Field: "email",
}

// User returns a user with roles. If no such user exists, it returns core.ErrNotFound.
func (s *Store) User(ctx context.Context, id string) (core.User, error) {
	return s.oneUser(ctx, "SELECT "+UserColumns+" FROM user WHERE id = ?", id)
}

// UserByEmail returns the user with the given address, with roles. Addresses are compared by their keys. If no such
// user exists, UserByEmail returns core.ErrNotFound.
func (s *Store) UserByEmail(ctx context.Context, email core.Email) (core.User, error) {
	return s.oneUser(ctx, "SELECT "+UserColumns+" FROM user WHERE email_key = ?", email.Key())
}

// UserWithoutRoles returns a user without roles, with a single statement. If no such user exists, it returns
// core.ErrNotFound.
func (s *Store) UserWithoutRoles(ctx context.Context, id string) (u core.User, err error) {
	err = s.Get(ctx, &u, "SELECT "+UserColumns+" FROM user WHERE id = ?", id)
	return u, err
}

// UserOfFamily returns a user without roles, and the claims that were requested by name for a token family. If no
// such user exists, it returns core.ErrNotFound.
func (s *Store) UserOfFamily(ctx context.Context, id, familyID string) (core.User, string, error) {
	var row struct {
		core.User
		Claims string `db:"claims"`
	}
	err := s.Get(ctx, &row, "SELECT "+UserColumns+`, coalesce((SELECT claims FROM family WHERE id = ?), '') AS claims
		FROM user WHERE id = ?`, familyID, id)
	return row.User, row.Claims, err
}

func (s *Store) oneUser(ctx context.Context, query, arg string) (u core.User, err error) {
	err = s.SnapshotRead(ctx, func(r *db.Reader) error {
		if err := r.Get(&u, query, arg); err != nil {
			return err
		}
		return r.All(&u.Roles, "SELECT role, tenant_id, pending FROM role WHERE user_id = ? ORDER BY role, tenant_id",
			u.ID)
	})
	return u, err
}

// Users returns a page of users with roles, sorted by id. The only error is core.ErrStorage.
func (s *Store) Users(ctx context.Context, page core.Page) ([]core.User, error) {
	var users []core.User
	err := s.SnapshotRead(ctx, func(r *db.Reader) error {
		users = users[:0]
		err := r.All(&users, "SELECT "+UserColumns+" FROM user WHERE id > ? ORDER BY id LIMIT +?", page.After,
			page.Limit)
		for i := range users {
			if err == nil {
				err = r.All(&users[i].Roles,
					"SELECT role, tenant_id, pending FROM role WHERE user_id = ? ORDER BY role, tenant_id", users[i].ID)
			}
		}
		return err
	})
	return users, err
}

// AddUser adds a user with the given roles on behalf of a server administrator, so the address counts as verified. An
// empty passwordHash means that the user can't sign in with a password. If the address is taken, AddUser returns
// ErrUserExists.
func (s *Store) AddUser(ctx context.Context, u core.User, passwordHash string, now core.Instant) error {
	return s.Update(ctx, s.ByActor(ctx, "user.create", "", u.ID, func(tx *db.Tx) error {
		return addUser(tx, ctx, u, passwordHash, now)
	}))
}

// addUser adds a user with the given roles.
func addUser(tx *db.Tx, ctx context.Context, u core.User, passwordHash string, now core.Instant) error {
	if err := addUserRow(tx, u, passwordHash, false); err != nil {
		return err
	}
	for _, role := range u.Roles {
		told, err := granting(tx, u.ID, role, false, now)
		if err != nil {
			return err
		}
		if err := tx.AuditBy(ctx, "role.grant."+role.Role, role.TenantID, u.ID, told); err != nil {
			return err
		}
	}
	return nil
}

var insertUser = db.InsertInto("user",
	"id, email, email_key, email_verified, name, language, password_hash, self_registered, created_at, updated_at")

func addUserRow(tx *db.Tx, u core.User, passwordHash string, selfRegistered bool) error {
	_, err := tx.Exec(insertUser,
		u.ID, string(u.Email), u.Email.Key(), u.EmailVerified, u.Name, u.Language, passwordHash, selfRegistered,
		int64(u.CreatedAt), int64(u.UpdatedAt))
	if errors.Is(err, core.ErrConflict) {
		return ErrUserExists.With(err)
	}
	return err
}

// UserInput holds a server administrator's changes to a user. Nil fields stay unchanged.
type UserInput struct {
	Email    *core.Email // a new address is unverified unless Verified is true
	Name     *string
	Language *string // empty: the browser's
	Verified *bool   // true verifies the address: pending roles take effect, an unproved password and its sessions end
	Disabled *bool   // true ends every session
}

// UpdateUser changes a user and returns it. A new address ends every session, and roles are pending until the address
// is verified by email. Neither happens if the server administrator verifies the address. The old address is notified
// by email. If no such user exists, UpdateUser returns core.ErrNotFound. If the address is taken, it returns
// ErrUserExists. If the name or the address is invalid, it returns core.ErrInvalid.
func (s *Store) UpdateUser(ctx context.Context, id string, in UserInput, now core.Instant) (core.User, error) {
	var u core.User
	err := s.Update(ctx, s.ByActor(ctx, "user.update", "", id, func(tx *db.Tx) error {
		if err := tx.Get(&u, "SELECT "+UserColumns+" FROM user WHERE id = ?", id); err != nil {
			return err
		}
		if err := tx.All(&u.Roles,
			"SELECT role, tenant_id, pending FROM role WHERE user_id = ? ORDER BY role, tenant_id", id); err != nil {
			return err
		}
		moved := in.Email != nil && in.Email.Key() != u.Email.Key()
		old := u.Email
		vouched := in.Verified != nil && *in.Verified && (!u.EmailVerified || moved)
		if in.apply(&u, now) {
			if err := errors.Join(endSessions(tx, id, now), endAllInvitations(tx, id)); err != nil {
				return err
			}
		}
		if moved {
			if err := readdressed(tx, &u, old, now); err != nil {
				return err
			}
		}
		if vouched {
			if err := vouch(tx, &u, now); err != nil {
				return err
			}
		}
		if err := u.Validate(); err != nil {
			return err
		}
		tx.Kick(db.TopicIdentity)
		err := tx.One("UPDATE user SET email = ?, email_key = ?, email_verified = ?, name = ?, language = ?, "+
			"disabled_at = ?, updated_at = ? WHERE id = ?",
			string(u.Email), u.Email.Key(), u.EmailVerified, u.Name, u.Language, int64(u.DisabledAt), int64(now), id)
		if errors.Is(err, core.ErrConflict) {
			return ErrUserExists.With(err)
		}
		return err
	}))
	return u, db.AsItStood(err, new(core.Instant), 0)
}

// readdressed notifies the old address that the account has a new one. If the new address is unverified, the person who
// is signed in may not own it. In that case sessions end, and the account counts as self-registered, so its roles are
// pending.
func readdressed(tx *db.Tx, u *core.User, old core.Email, now core.Instant) error {
	if !u.EmailVerified {
		if err := endSessions(tx, u.ID, now); err != nil {
			return err
		}
		if err := tx.One("UPDATE user SET self_registered = 1 WHERE id = ?", u.ID); err != nil {
			return err
		}
		if _, err := tx.Exec("UPDATE role SET pending = 1 WHERE user_id = ?", u.ID); err != nil {
			return err
		}
		for i := range u.Roles {
			u.Roles[i].Pending = true
		}
	}
	return tenants.AddMail(tx, core.MailStyle{}.MailTo(old, core.MailChanged, ""), now)
}

// vouch records a server administrator's statement that an address belongs to the user. It removes an unproved password
// and activates pending roles.
func vouch(tx *db.Tx, u *core.User, now core.Instant) error {
	unproved, err := passwordUnproved(tx, u.ID)
	if err != nil || !unproved {
		return err
	}
	for i := range u.Roles {
		u.Roles[i].Pending = false
	}
	return errors.Join(disown(tx, u.ID, "", now), verified(tx, u.ID, now))
}

// apply makes the requested changes to u. off reports whether they have disabled the user.
func (in UserInput) apply(u *core.User, now core.Instant) (off bool) {
	u.UpdatedAt = now
	if in.Email != nil {
		if in.Email.Key() != u.Email.Key() {
			u.EmailVerified = false
		}
		u.Email = *in.Email
	}
	if in.Name != nil {
		u.Name = *in.Name
	}
	if in.Language != nil {
		u.Language = *in.Language
	}
	if in.Verified != nil {
		u.EmailVerified = *in.Verified
	}
	if in.Disabled != nil && *in.Disabled != u.Disabled() {
		off = *in.Disabled
		u.DisabledAt = 0
		if off {
			u.DisabledAt = now
		}
	}
	return off
}

// DeleteUser removes a user with roles, tokens and sessions. If no such user exists, it returns core.ErrNotFound.
func (s *Store) DeleteUser(ctx context.Context, id string) error {
	return s.Update(ctx, s.ByActor(ctx, "user.delete", "", id, func(tx *db.Tx) error {
		tx.Kick(db.TopicIdentity)
		if _, err := tx.Exec("DELETE FROM family WHERE user_id = ? AND user_id <> ''", id); err != nil {
			return err
		}
		if err := endAllInvitations(tx, id); err != nil {
			return err
		}
		return tx.One("DELETE FROM user WHERE id = ?", id)
	}))
}

// GrantRole gives a user a role. Granting it again changes nothing. If a server administrator created the account, the
// grant also verifies its address. If the account is self-registered and unverified, the role is pending until the
// address is verified by email. If vouch is true, the server administrator confirms that the address is the user's, and
// the account is verified immediately.
//
// When the role takes effect, a self-registered account with an unproved password loses its password and sessions (see
// passwordUnproved). If there is no such user or tenant, GrantRole returns core.ErrNotFound.
func (s *Store) GrantRole(ctx context.Context, userID string, role core.Role, vouch bool, now core.Instant) error {
	return s.Update(ctx, s.ByActor(ctx, "role.grant."+role.Role, role.TenantID, userID, func(tx *db.Tx) error {
		told, err := granting(tx, userID, role, vouch, now)
		tx.TellAll(told)
		return err
	}))
}

// granting grants a role and returns the changes for the audit log.
func granting(tx *db.Tx, userID string, role core.Role, vouch bool, now core.Instant) (map[string]core.AuditChange, error) {
	before, err := rolesIn(tx, role.TenantID, userID)
	if err != nil {
		return nil, err
	}
	if err := grant(tx, userID, role, vouch, now); err != nil {
		return nil, err
	}
	after, err := rolesIn(tx, role.TenantID, userID)
	return map[string]core.AuditChange{"roles": {Before: before, After: after}}, err
}

func grant(tx *db.Tx, userID string, role core.Role, vouch bool, now core.Instant) error {
	if err := role.Validate(); err != nil {
		return err
	}
	if role.TenantID != "" {
		var one int
		if err := tx.Get(&one, "SELECT 1 FROM tenant WHERE id = ? AND deleted_at = 0", role.TenantID); err != nil {
			return err
		}
	}
	tx.Kick(db.TopicIdentity)
	var u struct {
		Unproved bool `db:"self_registered"`
		Verified bool `db:"email_verified"`
	}
	if err := tx.Get(&u, "SELECT self_registered, email_verified FROM user WHERE id = ?", userID); err != nil {
		return err
	}
	pending := u.Unproved && !u.Verified
	added, err := tx.Exec("INSERT INTO role (user_id, role, tenant_id, created_at, pending) VALUES (?, ?, ?, ?, ?) "+
		"ON CONFLICT DO NOTHING",
		userID, role.Role, role.TenantID, int64(now), pending)
	if err != nil || pending && !vouch {
		return err
	}
	if u.Unproved && (pending || added > 0) {
		if err := disown(tx, userID, "", now); err != nil {
			return err
		}
	}
	return verified(tx, userID, now)
}

// verified marks a user's address as verified and activates pending roles.
func verified(tx *db.Tx, userID string, now core.Instant) error {
	tx.Kick(db.TopicIdentity)
	if err := tx.One("UPDATE user SET email_verified = 1, updated_at = ? WHERE id = ?", int64(now),
		userID); err != nil {
		return err
	}
	_, err := tx.Exec("UPDATE role SET pending = 0 WHERE user_id = ? AND pending = 1", userID)
	return err
}

// rolesPending reports whether the user has a role that waits for the address to be verified.
func rolesPending(tx *db.Tx, userID string) (pending bool, err error) {
	err = tx.Get(&pending, "SELECT EXISTS (SELECT 1 FROM role WHERE user_id = ? AND pending = 1)", userID)
	return pending, err
}

// passwordUnproved reports whether the password was set at self-registration and has not been proved. The owner of the
// mailbox proves it by redeeming an emailed token or by setting a new password. The column self_registered stores the
// state.
func passwordUnproved(tx *db.Tx, userID string) (unproved bool, err error) {
	err = tx.Get(&unproved, "SELECT self_registered FROM user WHERE id = ?", userID)
	return unproved, err
}

// passwordProved records that the owner of the address has redeemed an emailed token or set the password, or that
// there is no password.
func passwordProved(tx *db.Tx, userID string) error {
	return tx.One("UPDATE user SET self_registered = 0 WHERE id = ?", userID)
}

// disown takes an account away from everyone who has access to it. It removes the password, the second factor,
// passkeys, sessions, consents and known devices. If passwordHash is not empty, it is the hash of the new password that
// the owner of the address has set.
func disown(tx *db.Tx, userID, passwordHash string, now core.Instant) error {
	if err := setPassword(tx, userID, passwordHash, now); err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM client_consent WHERE user_id = ?", userID); err != nil {
		return err
	}
	for _, q := range []string{
		"DELETE FROM known_device WHERE user_id = ?", "DELETE FROM totp WHERE user_id = ?",
		"DELETE FROM recovery_code WHERE user_id = ?", "DELETE FROM passkey WHERE user_id = ?",
	} {
		if _, err := tx.Exec(q, userID); err != nil {
			return err
		}
	}
	return passwordProved(tx, userID)
}

// RevokeRole removes a role from a user and ends open invitations (see endInvitations). If the user doesn't have the
// role, it returns core.ErrNotFound.
func (s *Store) RevokeRole(ctx context.Context, userID string, role core.Role) error {
	return s.Update(ctx, s.ByActor(ctx, "role.revoke."+role.Role, role.TenantID, userID, func(tx *db.Tx) error {
		before, err := rolesIn(tx, role.TenantID, userID)
		if err != nil {
			return err
		}
		tx.Kick(db.TopicIdentity)
		if err := tx.One("DELETE FROM role WHERE user_id = ? AND role = ? AND tenant_id = ?", userID, role.Role,
			role.TenantID); err != nil {
			return err
		}
		after, err := rolesIn(tx, role.TenantID, userID)
		if err != nil {
			return err
		}
		tx.Tell("roles", before, after)
		return endInvitations(tx, role.TenantID, userID)
	}))
}

// SetPassword sets a user's password hash and ends all of the user's sessions and tokens. If no such user exists, it
// returns core.ErrNotFound.
func (s *Store) SetPassword(ctx context.Context, userID, passwordHash string, now core.Instant) error {
	return s.Update(ctx, s.ByActor(ctx, "user.password", "", userID, func(tx *db.Tx) error {
		return setPassword(tx, userID,
			passwordHash, now)
	}))
}

func setPassword(tx *db.Tx, userID, passwordHash string, now core.Instant) error {
	if err := tx.One("UPDATE user SET password_hash = ?, updated_at = ? WHERE id = ?", passwordHash, int64(now),
		userID); err != nil {
		return err
	}
	_, err := tx.Exec("UPDATE user_token SET used_at = ? WHERE user_id = ? AND purpose IN ('reset', 'claim') AND "+
		"used_at = 0", int64(now), userID)
	if err != nil {
		return err
	}
	if _, err := tx.Exec("DELETE FROM email_change WHERE user_id = ?", userID); err != nil {
		return err
	}
	return endSessions(tx, userID, now)
}

// liveSessions counts the browsers and applications in which a user is signed in.
const liveSessions = `SELECT (SELECT count(*) FROM browser b WHERE b.user_id = u.id AND b.epoch = u.epoch
	AND b.expires_at > ?2) + (SELECT count(*) FROM family f WHERE f.user_id = u.id AND f.epoch = u.epoch
	AND f.revoked_at = 0 AND f.expires_at > ?2) FROM user u WHERE u.id = ?1`

// LogoutEverywhere ends every session and token of a user. If no such user exists, it returns core.ErrNotFound.
func (s *Store) LogoutEverywhere(ctx context.Context, userID string, now core.Instant) error {
	return s.Update(ctx, s.ByActor(ctx, "user.logout", "", userID, func(tx *db.Tx) error {
		var sessions int
		if err := tx.Get(&sessions, liveSessions, userID, int64(now)); err != nil {
			return err
		}
		tx.Tell("sessions", sessions, 0)
		return endSessions(tx, userID, now)
	}))
}

// endSessions increments the user's epoch, which invalidates all sessions and tokens with the old epoch. It also
// revokes the token families, so that lists show them as revoked.
func endSessions(tx *db.Tx, userID string, now core.Instant) error {
	tx.Kick(db.TopicIdentity)
	if err := tx.One("UPDATE user SET epoch = epoch + 1, updated_at = ? WHERE id = ?", int64(now), userID); err != nil {
		return err
	}
	_, err := tx.Exec("UPDATE family SET revoked_at = ? WHERE user_id = ? AND revoked_at = 0", int64(now), userID)
	return err
}
