package core

import "slices"

// The scopes of tokens.
const (
	ScopeOpenID      = "openid"
	ScopeProfile     = "profile"
	ScopeEmail       = "email"
	ScopeOffline     = "offline_access"
	ScopeDevices     = "devices"      // devices and agents
	ScopeModelsRead  = "models.read"  // the library, models and their shares
	ScopeModelsWrite = "models.write" // upload, share and delete models
	ScopeListRead    = "newsletter:list.read"
	ScopeEventsWrite = "newsletter:events.write"
	ScopeSend        = "newsletter:send"
	ScopeAdmin       = "admin"
	BuiltInClientID  = "newsletterd" // public client of a password grant without client_id
	TenantNone       = ""            // of a caller or client: not bound to a tenant
)

// These lists hold the scopes in the order used in responses.
var (
	// UserScopes lists the scopes that every user may grant to a client. New clients have them by default.
	UserScopes = []string{
		ScopeOpenID, ScopeProfile, ScopeEmail, ScopeOffline, ScopeDevices, ScopeModelsRead, ScopeModelsWrite,
	}
	// ManagementScopes lists the scopes that a user can grant only with certain roles. A client that acts for itself
	// can have them, too.
	ManagementScopes = []string{ScopeListRead, ScopeEventsWrite, ScopeSend, ScopeAdmin}
	// AllScopes is UserScopes followed by ManagementScopes.
	AllScopes = slices.Concat(UserScopes, ManagementScopes)
)

// Caller is the authenticated sender of a request: a user with a token, or a client with its own credentials. The zero
// Caller has no permissions.
type Caller struct {
	UserID        string
	Email         Email // address of the user; empty for a client
	EmailVerified bool
	ClientID      string
	SessionID     string   // sid: the refresh family or grant, whose row is checked at each use
	Scopes        []string // granted to the token
	Roles         []Role   // the user's roles that are active
	ClientTenant  string   // tenant that the client is bound to; empty: none
	// FirstParty is set if no third party holds the token: the user signed in by password without a client_id or at a
	// first-party client, or the token was created on the command line.
	FirstParty bool
	// ProvedAt is when the user signed in. It is 0 for tokens that need no fresh proof: a client's own, and those
	// created on the command line.
	ProvedAt Instant
}

// CommandCaller returns the caller for a command on the server. It has all permissions.
func CommandCaller(actor string) Caller {
	return Caller{UserID: actor, Scopes: AllScopes, Roles: []Role{{Role: RoleOperator}}}
}

// Through returns the id of the OAuth client that a user acts through. It is empty for newsletterd's own sessions and
// commands, and for a client that acts for itself.
func (c Caller) Through() string {
	if c.UserID == "" || c.ClientID == BuiltInClientID {
		return ""
	}
	return c.ClientID
}

// Known reports whether the request was authenticated.
func (c Caller) Known() bool { return c.UserID != "" || c.ClientID != "" }

// Has reports whether the token has the scope.
func (c Caller) Has(scope string) bool { return slices.Contains(c.Scopes, scope) }
