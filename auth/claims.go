package auth

import (
	"encoding/json"
	"strings"
	"time"

	"newsletterd/core"
)

// AccessClaims holds the claims of an access token (RFC 9068 section 2.2). Times are in seconds.
type AccessClaims struct {
	Issuer    string `json:"iss"`
	Subject   string `json:"sub"`
	Audience  string `json:"aud"`
	ClientID  string `json:"client_id"`
	Scope     string `json:"scope"`
	IssuedAt  int64  `json:"iat"`
	ExpiresAt int64  `json:"exp"`
	ID        string `json:"jti"`
	AuthTime  int64  `json:"auth_time,omitempty"`
	SessionID string `json:"sid"`
	// ClientEpoch is set in a token that a client got for itself, which has no family. See core.TokenClient.
	ClientEpoch int64 `json:"client_epoch,omitempty"`
}

// IDClaims holds the claims of an id token (OpenID Connect Core section 2).
type IDClaims struct {
	Issuer    string   `json:"iss"`
	Subject   string   `json:"sub"`
	Audience  string   `json:"aud"`
	IssuedAt  int64    `json:"iat"`
	ExpiresAt int64    `json:"exp"`
	AuthTime  int64    `json:"auth_time"`
	Nonce     string   `json:"nonce,omitempty"`
	AtHash    string   `json:"at_hash,omitempty"`
	ACR       string   `json:"acr,omitempty"` // only if requested
	AMR       []string `json:"amr,omitempty"`
	SessionID string   `json:"sid"`
	idTokenUser
}

// idTokenUser holds the claims about the user in an id token: those that the claims parameter requests by name and, if
// the client is registered with id_token_claims, those of the granted scopes.
type idTokenUser struct {
	Name          string      `json:"name,omitempty"`
	Username      string      `json:"preferred_username,omitempty"`
	Email         *core.Email `json:"email,omitempty"`
	EmailVerified *bool       `json:"email_verified,omitempty"`
	UpdatedAt     int64       `json:"updated_at,omitempty"`
}

// leeway is the tolerated clock difference. It is small because this server verifies only its own signatures.
const leeway = 5 * time.Second

// parsedClaims is like AccessClaims, but distinguishes absent claims from zero values.
type parsedClaims struct {
	Issuer    *string `json:"iss"`
	Subject   *string `json:"sub"`
	Audience  *string `json:"aud"` // never a list in this server's tokens
	ClientID  *string `json:"client_id"`
	Scope     *string `json:"scope"`
	IssuedAt  *int64  `json:"iat"`
	ExpiresAt *int64  `json:"exp"`
	NotBefore *int64  `json:"nbf"`
	ID        string  `json:"jti"`
	AuthTime  int64   `json:"auth_time"`
	SessionID *string `json:"sid"`

	ClientEpoch int64 `json:"client_epoch"`
}

// readClaims reads the payload of a token with a valid signature and validates it as an access token at now. The
// claims exp, iat, iss, aud, sub, client_id, scope and sid are required.
func readClaims(payload []byte, issuer string, now core.Instant) (AccessClaims, bool) {
	var c parsedClaims
	if json.Unmarshal(payload, &c) != nil {
		return AccessClaims{}, false
	}
	for _, s := range [...]*string{c.Issuer, c.Subject, c.Audience, c.ClientID, c.Scope, c.SessionID} {
		if s == nil || *s == "" {
			return AccessClaims{}, false
		}
	}
	if c.ExpiresAt == nil || c.IssuedAt == nil || *c.Issuer != issuer || *c.Audience != issuer {
		return AccessClaims{}, false
	}
	sec, slack := now.Time().Unix(), int64(leeway/time.Second)
	if *c.ExpiresAt <= sec-slack || *c.IssuedAt > sec+slack || (c.NotBefore != nil && *c.NotBefore > sec+slack) {
		return AccessClaims{}, false
	}
	return AccessClaims{
		Issuer: *c.Issuer, Subject: *c.Subject, Audience: *c.Audience, ClientID: *c.ClientID, Scope: *c.Scope,
		IssuedAt: *c.IssuedAt, ExpiresAt: *c.ExpiresAt, ID: c.ID, AuthTime: c.AuthTime, SessionID: *c.SessionID,
		ClientEpoch: c.ClientEpoch,
	}, true
}

func (c AccessClaims) scopes() []string { return strings.Fields(c.Scope) }
