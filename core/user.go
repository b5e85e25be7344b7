package core

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// User is a person with a login. Users belong to no tenant; their rights come from their roles. There is no field for
// the password hash, so that it is never encoded.
type User struct {
	ID            string  `db:"id" json:"id"`
	Email         Email   `db:"email" json:"email"`
	EmailVerified bool    `db:"email_verified" json:"email_verified" about:"Whether the user has verified this address"`
	Name          string  `db:"name" json:"name"`
	Language      string  `db:"language" json:"language" about:"Language of pages and account emails; empty: the browser's"`
	Epoch         int64   `db:"epoch" json:"-"` // incremented to revoke everything issued so far
	DisabledAt    Instant `db:"disabled_at" json:"disabled_at" is:"nullable"`
	LastLoginAt   Instant `db:"last_login_at" json:"last_login_at" is:"nullable" about:"Time of the last sign-in; null: never"`
	CreatedAt     Instant `db:"created_at" json:"created_at"`
	UpdatedAt     Instant `db:"updated_at" json:"updated_at"`
	Roles         []Role  `db:"-" json:"roles" about:"The user's roles"`
}

// Role is a role that a user has: operator, or one of the other Roles in a single tenant. A pending role gives no
// rights until the user has verified the email address of a self-registered account.
type Role struct {
	Role     string `db:"role" json:"role"`
	TenantID string `db:"tenant_id" json:"tenant_id,omitempty" about:"Tenant of the role; absent for operator"`
	Pending  bool   `db:"pending" json:"pending,omitempty" about:"Whether the role waits until the address is verified"`
}

// MaxName is the maximum length of a user's name, in characters.
const MaxName = 100

// NewUser returns a user with a new id and the default name. The name is not derived from the address, because other
// people may see the name.
func NewUser(email Email, now Instant) User {
	id := NewID()
	return User{ID: id, Email: email, Name: DefaultName(id), CreatedAt: now, UpdatedAt: now}
}

// DefaultName returns "User " and the last 4 characters of the id, which are random.
func DefaultName(id string) string { return "User " + id[max(0, len(id)-4):] }

// Validate trims the name and checks the fields that a caller may set. An empty name becomes the default name.
func (u *User) Validate() error {
	u.Name = strings.TrimSpace(u.Name)
	if u.Name == "" {
		u.Name = DefaultName(u.ID)
	}
	if !utf8.ValidString(u.Name) || utf8.RuneCountInString(u.Name) > MaxName || strings.ContainsFunc(u.Name,
		unicode.IsControl) {
		return Invalidf("name", "The name must have at most %d characters and no control characters.", MaxName)
	}
	email, err := ParseEmail(string(u.Email))
	if err != nil {
		return err
	}
	u.Email = email
	return checkLanguage(u.Language)
}

// Validate checks that the role operator has no tenant and that every other role has one.
func (r Role) Validate() error {
	switch {
	case !slices.Contains(Roles, r.Role):
		return Invalidf("role", "role must be one of %s.", strings.Join(Roles, ", "))
	case r.Role == RoleOperator && r.TenantID != "":
		return Invalidf("tenant_id", "Server administrators don't belong to a tenant. Leave out tenant_id.")
	case r.Role != RoleOperator && r.TenantID == "":
		return Invalidf("tenant_id", "The role %s requires a tenant. Set tenant_id.", r.Role)
	}
	return nil
}

// NameInMails returns the user's name for emails to people who may not know the user. If the user chose no name, or one
// that could be mistaken for an address, it returns the email address.
func (u *User) NameInMails() string {
	if u.Name == "" || u.Name == DefaultName(u.ID) || !plainName(u.Name) {
		return string(u.Email)
	}
	return u.Name
}

// Disabled reports whether a server administrator disabled the user's login.
func (u *User) Disabled() bool { return u.DisabledAt != 0 }

// Operator reports whether the user has the role operator.
func (u *User) Operator() bool {
	for _, r := range u.Roles {
		if r.Role == RoleOperator && !r.Pending {
			return true
		}
	}
	return false
}
