package core

// Invitation offers a role to the owner of an email address. The emailed token is valid only for that address.
type Invitation struct {
	ID        string  `db:"id" json:"id"`
	TenantID  string  `db:"tenant_id" json:"tenant_id,omitempty" about:"ID of the tenant; absent for the role operator"`
	Role      string  `db:"role" json:"role" enum:"viewer|editor|publisher|tenant_admin|operator"`
	Email     Email   `db:"email" json:"email"`
	InvitedBy string  `db:"invited_by" json:"invited_by" about:"Who sent the invitation, such as user:ID"`
	CreatedAt Instant `db:"created_at" json:"created_at"`
	ExpiresAt Instant `db:"expires_at" json:"expires_at"`
}

// Offers returns the role that the invitation grants.
func (i *Invitation) Offers() Role { return Role{Role: i.Role, TenantID: i.TenantID} }

// InvitationInput holds the fields of a new invitation.
type InvitationInput struct {
	Email    Email  `json:"email" is:"required"`
	Role     string `json:"role" is:"required" enum:"viewer|editor|publisher|tenant_admin|operator"`
	TenantID string `json:"tenant_id" about:"Tenant of the role; left out for operator"`
}
