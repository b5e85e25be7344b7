package core

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// User is a person with a login. Users belong to no tenant; what they may do comes from their roles.
// The password's hash has no field here: it is never encoded.
type User struct {
	ID            string  `db:"id" json:"id"`
	Email         Email   `db:"email" json:"email"`
	EmailVerified bool    `db:"email_verified" json:"email_verified"`
	Name          string  `db:"name" json:"name"`
	Epoch         int64   `db:"epoch" json:"-"` // counts up when everything issued so far ends
	DisabledAt    Instant `db:"disabled_at" json:"disabled_at" is:"nullable"`
	LastLoginAt   Instant `db:"last_login_at" json:"last_login_at" is:"nullable"`
	CreatedAt     Instant `db:"created_at" json:"created_at"`
	UpdatedAt     Instant `db:"updated_at" json:"updated_at"`
	Roles         []Role  `db:"-" json:"roles"`
}

// Role is one of Roles: operator, or another in one tenant. A pending one gives no rights: it waits until the address
// of an account that registered itself is verified by mail.
type Role struct {
	Role     string `db:"role" json:"role"`
	TenantID string `db:"tenant_id" json:"tenant_id,omitempty"`
	Pending  bool   `db:"pending" json:"pending,omitempty"`
}

// MaxName is the longest name of a user, in characters.
const MaxName = 100

// NewUser makes a user with a fresh id and the default name. The name is never made of the address, for
// others may see it.
func NewUser(email Email, now Instant) User {
	id := NewID()
	return User{ID: id, Email: email, Name: DefaultName(id), CreatedAt: now, UpdatedAt: now}
}

// DefaultName is "User " and the last 4 characters of the id, the random end.
func DefaultName(id string) string { return "User " + id[max(0, len(id)-4):] }

// Validate checks what a caller may set and trims the name; an empty name becomes the default.
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
	return nil
}

// Validate checks that an operator's role names no tenant and every other names one.
func (r Role) Validate() error {
	switch {
	case !slices.Contains(Roles, r.Role):
		return Invalidf("role", "role must be one of %s.", strings.Join(Roles, ", "))
	case r.Role == RoleOperator && r.TenantID != "":
		return Invalidf("tenant_id", "Server administrators belong to no tenant. Leave out tenant_id.")
	case r.Role != RoleOperator && r.TenantID == "":
		return Invalidf("tenant_id", "The role %s needs a tenant. Set tenant_id.", r.Role)
	}
	return nil
}

// NameInMails returns the name by which a mail to strangers says who caused it: the one that the user has chosen, else
// the address, as where the name could stand for an address itself.
func (u *User) NameInMails() string {
	if u.Name == "" || u.Name == DefaultName(u.ID) || !plainName(u.Name) {
		return string(u.Email)
	}
	return u.Name
}

// Disabled reports whether an operator has switched the login off.
func (u *User) Disabled() bool { return u.DisabledAt != 0 }

// Operator reports whether one of the roles is operator.
func (u *User) Operator() bool {
	for _, r := range u.Roles {
		if r.Role == RoleOperator && !r.Pending {
			return true
		}
	}
	return false
}
