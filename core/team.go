package core

// Teammate is a user with roles in a tenant, as shown to the tenant's administrators.
type Teammate struct {
	ID            string  `db:"id" json:"id"`
	TenantID      string  `db:"tenant_id" json:"tenant_id"`
	Email         Email   `db:"email" json:"email"`
	EmailVerified bool    `db:"email_verified" json:"email_verified" about:"Whether the user has verified this address"`
	Name          string  `db:"name" json:"name"`
	Roles         Strings `db:"roles" json:"roles" about:"Roles in the tenant"`
	Pending       bool    `db:"pending" json:"pending" about:"Whether the roles wait until the address is verified"`
	Since         Instant `db:"since" json:"since" about:"Time of the first of these roles"`
	SecondFactor  bool    `db:"second_factor" json:"second_factor" about:"Whether the user has an authenticator app or a passkey"`
}
