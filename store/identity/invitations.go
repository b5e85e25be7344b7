package identity

import (
	"context"
	"errors"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// InvitationTTL is the lifetime of an invitation's link.
const InvitationTTL = 7 * 24 * time.Hour

// TokenInvitation is the purpose of an invitation's token, which is stored in its own table.
const TokenInvitation = "invitation"

// The maximum number of invitations per day: those that a tenant can send, and those that one address can get from all
// tenants.
const (
	invitationPeriod   = 24 * time.Hour
	invitationsPer     = 20
	invitationsPerMail = 5
)

// AddInvitation stores an invitation and emails its link. token.ID becomes the invitation's id. An open invitation in
// the same tenant to the same address, ignoring case, is replaced. If the tenant doesn't exist, it returns
// core.ErrNotFound. If the tenant has invited 20 people today, or the address was invited 5 times, it returns
// core.ErrTooMany.
func (s *Store) AddInvitation(ctx context.Context, in core.InvitationInput, token UserToken, actor string,
	now core.Instant,
) (i core.Invitation, err error) {
	i = core.Invitation{
		ID: token.ID, TenantID: in.TenantID, Role: in.Role, Email: in.Email, InvitedBy: actor, CreatedAt: now,
		ExpiresAt: now.Add(InvitationTTL),
	}
	if err := i.Offers().Validate(); err != nil {
		return i, err
	}
	err = s.Update(ctx, func(tx *db.Tx) error {
		if i.TenantID != "" {
			var one int
			if err := tx.Get(&one, "SELECT 1 FROM tenant WHERE id = ? AND deleted_at = 0", i.TenantID); err != nil {
				return err
			}
		}
		for key, most := range map[string]int{
			"invitations " + i.TenantID: invitationsPer, "invited " + i.Email.Key(): invitationsPerMail,
		} {
			n, until, err := tx.Tally(key, invitationPeriod, now)
			if err != nil {
				return err
			}
			if n > most {
				return &core.Error{
					Kind: core.TooMany, Code: "rate_limited",
					Message:    "Too many invitations were sent today. Try again tomorrow.",
					RetryAfter: int(until.Sub(now) / time.Second),
				}
			}
		}
		replaced, err := tx.Exec("DELETE FROM invitation WHERE email_key = ? AND tenant_id = ?", i.Email.Key(), i.TenantID)
		if err != nil {
			return err
		}
		if err := tx.Watch("invitation", i.ID); err != nil {
			return err
		}
		if replaced > 0 {
			tx.Tell("invitations", replaced, 1)
		}
		if _, err := tx.Exec(`INSERT INTO invitation (id, hash, tenant_id, role, email, email_key, invited_by, created_at,
			expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, i.ID, token.Hashes[TokenInvitation], i.TenantID, i.Role,
			string(i.Email), i.Email.Key(), i.InvitedBy, int64(now), int64(i.ExpiresAt)); err != nil {
			return err
		}
		style := token.Style
		style.TenantID = i.TenantID
		return errors.Join(tenants.AddMail(tx, style.MailTo(i.Email, core.MailInvitation, i.ID), now),
			tx.Audit(now, actor, "invitation.create."+i.Role, i.TenantID, i.ID))
	})
	return i, err
}

// InvitationColumns lists the columns of the table invitation, except the hash of the token.
const InvitationColumns = "id, tenant_id, role, email, invited_by, created_at, expires_at"

var invitationList = tenants.ListByTenant(InvitationColumns, "invitation", "invitation_tenant", "true", false)

// Invitations returns a page of open invitations, sorted by id. It covers the given tenants or, if all is set, every
// tenant. The only error is core.ErrStorage.
func (s *Store) Invitations(ctx context.Context, tenants []string, all bool, page core.Page) (is []core.Invitation,
	err error,
) {
	err = s.AllOf(ctx, &is, &invitationList, tenants, all, page.After, page.Limit)
	return is, err
}

// Invitation returns an open invitation. If it doesn't exist, Invitation returns core.ErrNotFound.
func (s *Store) Invitation(ctx context.Context, id string) (i core.Invitation, err error) {
	err = s.Get(ctx, &i, "SELECT "+InvitationColumns+" FROM invitation WHERE id = ?", id)
	return i, err
}

// Inviter returns the name or address of the user who sent an invitation. It returns an empty string if no user sent
// it or the user no longer exists. The only error is core.ErrStorage.
func (s *Store) Inviter(ctx context.Context, i *core.Invitation) (string, error) {
	id := core.ActorUser(i.InvitedBy)
	if id == "" {
		return "", nil
	}
	u, err := s.User(ctx, id)
	if errors.Is(err, core.ErrNotFound) {
		return "", nil
	}
	return u.NameInMails(), err
}

// DeleteInvitation withdraws an invitation. If it doesn't exist, DeleteInvitation returns core.ErrNotFound.
func (s *Store) DeleteInvitation(ctx context.Context, id, actor string, now core.Instant) error {
	return s.RemoveRecord(ctx, "invitation", id, "invitation.delete", actor, now)
}

// Invited is the invitation that belongs to a token, with the state of the account that has the invited address.
type Invited struct {
	core.Invitation
	TenantName string `db:"tenant_name"`
	UserID     string `db:"user_id"` // account with the address; empty: none
	Proved     bool   `db:"proved"`  // whether the owner of the address has proved the account's password
}

// An invitation is void if its tenant no longer exists or the account of its address is disabled. It is also void if
// the user who sent it no longer has a role that allows inviting.
const invitedQuery = `SELECT i.id, i.tenant_id, i.role, i.email, i.invited_by, i.created_at, i.expires_at,
	coalesce(t.name, '') AS tenant_name, coalesce(u.id, '') AS user_id,
	coalesce(u.email_verified = 1 AND u.self_registered = 0, 0) AS proved
	FROM invitation i LEFT JOIN tenant t ON t.id = i.tenant_id LEFT JOIN user u ON u.email_key = i.email_key
	WHERE i.hash = ? AND (i.tenant_id = '' OR t.deleted_at = 0) AND coalesce(u.disabled_at, 0) = 0
	AND (i.invited_by NOT LIKE 'user:%' OR EXISTS (SELECT 1 FROM role JOIN user AS v ON v.id = role.user_id
		WHERE role.user_id = substr(i.invited_by, 6) AND v.disabled_at = 0 AND ` + roleCounts + ` AND
		(role.role = 'operator' OR role.role = 'tenant_admin' AND role.tenant_id = i.tenant_id)))`

func (i *Invited) check(err error, now core.Instant) error {
	switch {
	case err != nil:
		return notToken(err)
	case i.ExpiresAt <= now:
		return core.ErrTokenExpired
	}
	return nil
}

// Invited returns the invitation that belongs to an emailed token. It returns core.ErrInvalidToken or
// core.ErrTokenExpired.
func (s *Store) Invited(ctx context.Context, hash []byte, now core.Instant) (i Invited, err error) {
	err = i.check(s.Get(ctx, &i, invitedQuery, hash), now)
	return i, err
}

// AcceptInvitation gives the role to the signed-in user, whose address must be the invited one and verified. It returns
// core.ErrInvalidToken or core.ErrTokenExpired.
func (s *Store) AcceptInvitation(ctx context.Context, hash []byte, userID string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		var i Invited
		if err := i.check(tx.Get(&i, invitedQuery, hash), now); err != nil {
			return err
		}
		if i.UserID != userID || !i.Proved {
			return core.ErrInvalidToken
		}
		return accept(tx, &i, userID, now)
	})
}

// JoinByInvitation creates an account with the invited address, a name, a password and a language, and gives it the
// role. An empty language changes nothing. If another person may have registered the address, the account passes to the
// owner of the address and loses its password and sessions. If the owner has proved the account's password, the user
// must sign in instead, and JoinByInvitation returns core.ErrInvalidToken. It may also return core.ErrTokenExpired.
func (s *Store) JoinByInvitation(
	ctx context.Context, hash []byte, name, passwordHash, language string, now core.Instant,
) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		var i Invited
		if err := i.check(tx.Get(&i, invitedQuery, hash), now); err != nil {
			return err
		}
		if i.Proved {
			return core.ErrInvalidToken
		}
		u := core.NewUser(i.Email, now)
		u.EmailVerified, u.Name = true, name
		if err := u.Validate(); err != nil {
			return err
		}
		if i.UserID == "" {
			if err := addUserRow(tx, u, passwordHash, false); err != nil {
				return err
			}
			i.UserID = u.ID
		} else {
			if err := disown(tx, i.UserID, passwordHash, now); err != nil {
				return err
			}
			if strings.TrimSpace(name) != "" {
				if _, err := tx.Exec("UPDATE user SET name = ? WHERE id = ?", u.Name, i.UserID); err != nil {
					return err
				}
			}
			if err := verified(tx, i.UserID, now); err != nil {
				return err
			}
		}
		if language != "" {
			if err := tx.One("UPDATE user SET language = ? WHERE id = ?", language, i.UserID); err != nil {
				return err
			}
		}
		return accept(tx, &i, i.UserID, now)
	})
}

func accept(tx *db.Tx, i *Invited, userID string, now core.Instant) error {
	if err := tx.Watch("invitation", i.ID); err != nil {
		return err
	}
	if err := tx.One("DELETE FROM invitation WHERE id = ?", i.ID); err != nil {
		return err
	}
	told, err := granting(tx, userID, i.Offers(), false, now)
	tx.TellAll(told)
	return errors.Join(err,
		tx.Audit(now, core.UserActor(userID), "invitation.accept."+i.Role, i.TenantID, i.ID))
}
