package auth

import (
	"context"
	"errors"
	"strings"

	"newsletterd/core"
)

// Revoke ends the sign-in that an access or refresh token was issued for (RFC 7009 section 2). An unknown or expired
// token is not an error. Another client's token is an invalid_grant error.
func (p *Provider) Revoke(ctx context.Context, c ClientCredentials, token string, now core.Instant) error {
	if c.ID == "" && c.Authorization == "" {
		return ErrInvalidClient
	}
	client, err := p.identify(ctx, c, now) // includes clients of a suspended tenant: they may revoke their tokens
	if err != nil {
		return err
	}
	st, _, err := p.tokenState(ctx, token, now)
	if err != nil || st.ID == "" {
		return err
	}
	if st.ClientID != client.ID {
		return ErrInvalidGrant
	}
	return ignoreMissing(p.store.RevokeFamily(ctx, st.ID, now))
}

// tokenState returns the state of a token's family, or a zero state for an unknown token. For an access token, it also
// returns the claims.
func (p *Provider) tokenState(
	ctx context.Context, token string, now core.Instant,
) (st core.TokenState, claims AccessClaims, err error) {
	if strings.Count(token, ".") == 2 {
		if claims, err = p.verifyAccess(ctx, token, now); errors.Is(err, ErrBadToken) {
			return st, claims, nil
		}
		if err == nil {
			st, err = p.stateOf(ctx, claims, now)
		}
	} else {
		st, err = p.store.RefreshState(ctx, core.HashToken(token), now, p.tokenClient)
	}
	return st, claims, ignoreMissing(err)
}

// Introspection is the response defined by RFC 7662 section 2.2. Times are in seconds.
type Introspection struct {
	Active    bool   `json:"active" about:"Whether the token is valid; if false, no other property is set"`
	Scope     string `json:"scope,omitempty"`
	ClientID  string `json:"client_id,omitempty"`
	Username  string `json:"username,omitempty" about:"Email address of the user"`
	TokenType string `json:"token_type,omitempty"`
	ExpiresAt int64  `json:"exp,omitempty" about:"Expiry of the token, in Unix seconds"`
	IssuedAt  int64  `json:"iat,omitempty" about:"Time when the token was issued, in Unix seconds"`
	AuthTime  int64  `json:"auth_time,omitempty" about:"Time of the user's sign-in, in Unix seconds"`
	Subject   string `json:"sub,omitempty" about:"ID of the user; of a client's own token, the client_id"`
	Audience  string `json:"aud,omitempty" about:"Audience of the token"`
	Issuer    string `json:"iss,omitempty" about:"Issuer of the token"`
	ID        string `json:"jti,omitempty" about:"ID of the token"`
	SessionID string `json:"sid,omitempty" about:"ID of the sign-in that the token belongs to"`
}

// Introspect describes a token to a confidential client. A client can introspect access tokens of its tenant's clients
// (or of all clients if it has no tenant) and its own refresh tokens. All other tokens are reported as inactive, as the
// RFC requires.
func (p *Provider) Introspect(
	ctx context.Context, c ClientCredentials, token string, now core.Instant,
) (Introspection, error) {
	if c.ID == "" && c.Authorization == "" {
		return Introspection{}, ErrInvalidClient
	}
	client, err := p.authenticate(ctx, c, now)
	if err != nil {
		return Introspection{}, err
	}
	if !client.Confidential {
		return Introspection{}, ErrInvalidClient
	}
	st, claims, err := p.tokenState(ctx, token, now)
	if err != nil || !st.Live {
		return Introspection{}, err
	}
	if claims.ID == "" {
		return p.introspectRefresh(ctx, client, st, token, now)
	}
	if (client.TenantID != "" && client.TenantID != st.Client.TenantID) || st.ClientID != claims.ClientID {
		return Introspection{}, nil
	}
	caller, err := p.Bearer(ctx, token, now) // the same check as at every endpoint
	if errors.Is(err, ErrBadToken) {
		return Introspection{}, nil
	}
	return Introspection{
		Active: true, Scope: strings.Join(caller.Scopes, " "), ClientID: claims.ClientID,
		Username:  string(caller.Email),
		TokenType: "Bearer",
		ExpiresAt: claims.ExpiresAt, IssuedAt: claims.IssuedAt, AuthTime: claims.AuthTime, Subject: claims.Subject,
		Audience: claims.Audience,
		Issuer:   claims.Issuer, ID: claims.ID, SessionID: claims.SessionID,
	}, err
}

func (p *Provider) introspectRefresh(
	ctx context.Context, client core.TokenClient, st core.TokenState, token string, now core.Instant,
) (Introspection, error) {
	if st.ClientID != client.ID {
		return Introspection{}, nil
	}
	until, err := p.store.RefreshLife(ctx, core.HashToken(token), now)
	if err != nil || until == 0 {
		return Introspection{}, ignoreMissing(err)
	}
	return Introspection{
		Active: true, Scope: st.Scope, ClientID: st.ClientID, Username: string(st.Email), ExpiresAt: seconds(until),
		AuthTime: seconds(st.AuthAt), Subject: st.UserID, Issuer: p.Issuer, SessionID: st.ID,
	}, nil
}
