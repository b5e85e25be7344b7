package core

import "slices"

// The scopes that a token may carry.
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
	BuiltInClientID  = "newsletterd" // the public client of a password grant without client_id
	TenantNone       = ""            // of a Caller or client: bound to no tenant
)

// The scopes in two lists, each in the order in which answers name them.
var (
	// UserScopes are what every user may grant a client. A new client is registered for them.
	UserScopes = []string{
		ScopeOpenID, ScopeProfile, ScopeEmail, ScopeOffline, ScopeDevices, ScopeModelsRead, ScopeModelsWrite,
	}
	// ManagementScopes are what roles allow, and what a client may have for itself.
	ManagementScopes = []string{ScopeListRead, ScopeEventsWrite, ScopeSend, ScopeAdmin}
	// AllScopes are both.
	AllScopes = slices.Concat(UserScopes, ManagementScopes)
)

// Caller is who authenticated a request: a user with a token, or a client by its own credentials. The zero Caller may
// do nothing.
type Caller struct {
	UserID        string
	Email         Email // of the user; empty for a client
	EmailVerified bool
	ClientID      string
	SessionID     string   // sid: the refresh family or grant; its row is checked at each use
	Scopes        []string // granted to the token
	Roles         []Role   // of the user, those that count now
	ClientTenant  string   // the client is bound to this tenant; empty: to none
	// FirstParty reports that no third party holds the token: the user signed in by password without a client_id or at
	// a first-party client, or the token was made on the command line. Other tokens are a client's.
	FirstParty bool
	// ProvedAt is when the user signed in; 0: nothing asks, since the token is a client's own or was made on the command
	// line.
	ProvedAt Instant
}

// CommandCaller is the caller of a command on the machine, who may do everything.
func CommandCaller(actor string) Caller {
	return Caller{UserID: actor, Scopes: AllScopes, Roles: []Role{{Role: RoleOperator}}}
}

// Through returns the id of the OAuth client that a user acts through; empty: none, as in a session of ours, at our own
// commands and for a client that acts for itself.
func (c Caller) Through() string {
	if c.UserID == "" || c.ClientID == BuiltInClientID {
		return ""
	}
	return c.ClientID
}

// Known reports whether the request was authenticated.
func (c Caller) Known() bool { return c.UserID != "" || c.ClientID != "" }

// Has reports whether the token carries the scope.
func (c Caller) Has(scope string) bool { return slices.Contains(c.Scopes, scope) }
