package auth

import (
	"context"
	"errors"
	"strings"

	"newsletterd/core"
)

// Revoke ends what a token was issued from, access or refresh token alike (RFC 7009 section 2): the whole
// sign-in. A token that is unknown or no longer good is no error; another client's is invalid_grant.
func (p *Provider) Revoke(ctx context.Context, c ClientCredentials, token string, now core.Instant) error {
	if c.ID == "" && c.Authorization == "" {
		return ErrInvalidClient
	}
	client, err := p.identify(ctx, c, now) // also of a suspended tenant: it may end what it has
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

// tokenState finds what a token belongs to; a zero state where it is none of ours. claims are those of an
// access token, zero for a refresh token.
func (p *Provider) tokenState(
	ctx context.Context, token string, now core.Instant,
) (st core.TokenState, claims AccessClaims, err error) {
	if strings.Count(token, ".") == 2 {
		if claims, err = p.verifyAccess(ctx, token, now); errors.Is(err, ErrBadToken) {
			return st, claims, nil
		}
		if err == nil {
			st, err = p.store.TokenState(ctx, claims.SessionID, now)
		}
	} else {
		st, err = p.store.RefreshState(ctx, core.HashToken(token), now)
	}
	return st, claims, ignoreMissing(err)
}

// Introspection is the answer of RFC 7662 section 2.2. Times are in seconds.
type Introspection struct {
	Active    bool   `json:"active"`
	Scope     string `json:"scope,omitempty"`
	ClientID  string `json:"client_id,omitempty"`
	Username  string `json:"username,omitempty"`
	TokenType string `json:"token_type,omitempty"`
	ExpiresAt int64  `json:"exp,omitempty"`
	IssuedAt  int64  `json:"iat,omitempty"`
	AuthTime  int64  `json:"auth_time,omitempty"`
	Subject   string `json:"sub,omitempty"`
	Audience  string `json:"aud,omitempty"`
	Issuer    string `json:"iss,omitempty"`
	ID        string `json:"jti,omitempty"`
	SessionID string `json:"sid,omitempty"`
}

// Introspect tells a confidential client what a token is good for. It learns of access tokens of its tenant's clients
// (of all, when it belongs to no tenant), and of its own refresh tokens; any other token is told as not active, as the
// RFC wants it.
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
	caller, err := p.Bearer(ctx, token, now) // the same word as at every endpoint
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
