package identity

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
)

const selectTeam = `SELECT u.id, r.tenant_id, u.email, u.email_verified, u.name, json_group_array(r.role) AS roles,
	max(r.pending) AS pending, min(r.created_at) AS since,
	EXISTS (SELECT 1 FROM totp AS f WHERE f.user_id = u.id AND f.confirmed_at > 0)
	OR EXISTS (SELECT 1 FROM passkey AS k WHERE k.user_id = u.id) AS second_factor FROM role AS r INDEXED BY role_tenant
	CROSS JOIN user AS u ON u.id = r.user_id WHERE r.tenant_id = ?1 AND `

// Team returns a page of the users with a role in a tenant, sorted by id. The only error is core.ErrStorage.
func (s *Store) Team(ctx context.Context, tenantID string, page core.Page) (ts []core.Teammate, err error) {
	err = s.All(ctx, &ts, selectTeam+"r.user_id > ?2 GROUP BY r.user_id ORDER BY r.user_id LIMIT +?3", tenantID,
		page.After, page.Limit)
	return ts, err
}

// TeamsOf returns the tenants in which a user has a role. The only error is core.ErrStorage.
func (s *Store) TeamsOf(ctx context.Context, userID string) (tenants []string, err error) {
	err = s.All(ctx, &tenants, "SELECT DISTINCT tenant_id FROM role WHERE user_id = ? AND tenant_id <> ''", userID)
	return tenants, err
}

// Teammates returns the users with a role in a tenant, named as in the audit log. The only error is core.ErrStorage.
func (s *Store) Teammates(ctx context.Context, tenantID string) (actors []string, err error) {
	err = s.All(ctx, &actors, "SELECT DISTINCT 'user:' || user_id FROM role WHERE tenant_id = ?", tenantID)
	return actors, err
}

// IsTeammate reports whether an address is the verified address of a user with a role in a tenant. The only error is
// core.ErrStorage.
func (s *Store) IsTeammate(ctx context.Context, tenantID string, email core.Email) (is bool, err error) {
	err = s.Get(ctx, &is, `SELECT EXISTS (SELECT 1 FROM user AS u JOIN role AS r ON r.user_id = u.id WHERE u.email_key = ?
		AND u.email_verified = 1 AND u.disabled_at = 0 AND r.tenant_id = ? AND r.pending = 0)`, email.Key(), tenantID)
	return is, err
}

// InTestGroup reports whether an address is in a tenant's test group or belongs to a teammate (see IsTeammate). If no
// such tenant exists, it returns core.ErrNotFound.
func (s *Store) InTestGroup(ctx context.Context, tenantID string, email core.Email) (bool, error) {
	t, err := s.Tenant(ctx, tenantID)
	if err != nil || t.Tests(email) {
		return err == nil, err
	}
	return s.IsTeammate(ctx, tenantID, email)
}

// SetTeamRole replaces all roles of a user in a tenant with one role and returns the teammate. If one of the earlier
// roles was pending, the new one is too. If the user has no role there, SetTeamRole returns core.ErrNotFound.
func (s *Store) SetTeamRole(ctx context.Context, tenantID, userID, role, actor string, now core.Instant) (
	t core.Teammate, err error,
) {
	if err := (core.Role{Role: role, TenantID: tenantID}).Validate(); err != nil {
		return t, err
	}
	err = s.Update(ctx, func(tx *db.Tx) error {
		before, err := rolesIn(tx, tenantID, userID)
		if err != nil {
			return err
		}
		pending, err := leaveTeam(tx, tenantID, userID)
		if err != nil {
			return err
		}
		tx.Tell("roles", before, []string{role})
		if _, err := tx.Exec("INSERT INTO role (user_id, role, tenant_id, created_at, pending) VALUES (?, ?, ?, ?, ?)",
			userID, role, tenantID, int64(now), pending); err != nil {
			return err
		}
		if err := endInvitations(tx, tenantID, userID); err != nil {
			return err
		}
		if err := tx.Get(&t, selectTeam+"r.user_id = ?2 GROUP BY r.user_id", tenantID, userID); err != nil {
			return err
		}
		return tx.Audit(now, actor, "role.change."+role, tenantID, userID)
	})
	return t, err
}

// LeaveTeam removes all roles of a user in a tenant. If the user has none there, it returns core.ErrNotFound.
func (s *Store) LeaveTeam(ctx context.Context, tenantID, userID, actor string, now core.Instant) error {
	return s.Update(ctx, func(tx *db.Tx) error {
		before, err := rolesIn(tx, tenantID, userID)
		if err != nil {
			return err
		}
		if _, err := leaveTeam(tx, tenantID, userID); err != nil {
			return err
		}
		tx.Tell("roles", before, nil)
		if err := endInvitations(tx, tenantID, userID); err != nil {
			return err
		}
		return tx.Audit(now, actor, "role.revoke", tenantID, userID)
	})
}

// rolesIn returns a user's roles in a tenant, as the audit log shows them.
func rolesIn(tx *db.Tx, tenantID, userID string) (roles []string, err error) {
	err = tx.All(&roles, "SELECT role FROM role WHERE user_id = ? AND tenant_id = ? ORDER BY role", userID, tenantID)
	return roles, err
}

// endInvitations ends open invitations after a user has lost a role in a tenant. If it was the user's last role there,
// it ends the invitations to the user's address. It also ends invitations that the user sent and may no longer send.
// After the loss of the role operator, these include invitations to other tenants. Granting the role again doesn't
// restore any invitation.
func endInvitations(tx *db.Tx, tenantID, userID string) error {
	ended, err := tx.Exec(`DELETE FROM invitation WHERE tenant_id = ?1 AND
		email_key = (SELECT email_key FROM user WHERE id = ?2) AND
		NOT EXISTS (SELECT 1 FROM role WHERE user_id = ?2 AND tenant_id = ?1)`, tenantID, userID)
	if err != nil {
		return err
	}
	made, err := tx.Exec(`DELETE FROM invitation WHERE invited_by = 'user:' || ?1 AND NOT EXISTS (SELECT 1 FROM role
		WHERE user_id = ?1 AND (role = 'operator' OR role = 'tenant_admin' AND role.tenant_id = invitation.tenant_id))`,
		userID)
	if ended += made; ended > 0 {
		tx.Tell("invitations", ended, 0)
	}
	return err
}

// endAllInvitations is like endInvitations, for all tenants, regardless of the user's roles there.
func endAllInvitations(tx *db.Tx, userID string) error {
	_, err := tx.Exec(`DELETE FROM invitation WHERE invited_by = 'user:' || ?1 OR
		email_key = (SELECT email_key FROM user WHERE id = ?1)`, userID)
	return err
}

// leaveTeam removes all roles of a user in a tenant and reports whether one of them was pending.
func leaveTeam(tx *db.Tx, tenantID, userID string) (pending bool, err error) {
	var were []bool
	if err := tx.All(&were, "SELECT pending FROM role WHERE user_id = ? AND tenant_id = ?", userID, tenantID); err != nil {
		return false, err
	}
	if len(were) == 0 {
		return false, core.ErrNotFound
	}
	for _, p := range were {
		pending = pending || p
	}
	tx.Kick(db.TopicIdentity)
	_, err = tx.Exec("DELETE FROM role WHERE user_id = ? AND tenant_id = ?", userID, tenantID)
	return pending, err
}
