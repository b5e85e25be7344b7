package auth

import (
	"context"
	"errors"
	"strings"

	"newsletterd/core"
	"newsletterd/store/identity"
)

// RefreshGrant exchanges a refresh token for new tokens (RFC 6749 section 6, RFC 9700 section 4.14.2). Each use
// replaces the token. Within the grace period, a used token can be exchanged again for the same successor if the
// successor is unused, so that a lost response doesn't end the session. Any other use of a used token ends the family.
// A request without client_id is accepted if the token was issued to a public client.
func (p *Provider) RefreshGrant(ctx context.Context, r GrantRequest, now core.Instant) (TokenResponse, error) {
	if r.RefreshToken == "" {
		return TokenResponse{}, core.Invalidf("refresh_token", "refresh_token is missing.")
	}
	if err := checkScope(r.Scope); err != nil {
		return TokenResponse{}, err
	}
	named, client := r.Client.ID != "" || r.Client.Authorization != "", builtInClient
	if named || r.Client.Secret != "" {
		var err error
		if client, err = p.authenticate(ctx, r.Client, now); err != nil {
			return TokenResponse{}, err
		}
	}
	fresh := core.NewToken()
	sealed, err := p.sealSuccessor(r.RefreshToken, fresh)
	if err != nil {
		return TokenResponse{}, err
	}
	signed := func() (r TokenResponse, err error) { return r, err }
	outcome, sealed, err := p.store.RotateRefresh(ctx, identity.Rotation{
		Hash: core.HashToken(r.RefreshToken), SuccessorHash: core.HashToken(fresh), Sealed: sealed,
		Grace: p.RefreshGrace, Idle: p.RefreshIdle, Client: client,
		Admit: func(st core.TokenState) error {
			if named && st.ClientID != client.ID {
				return ErrInvalidGrant
			}
			scopes, err := refreshScopes(st, r.Scope, named)
			if err == nil {
				// The result of an earlier run is dropped. Signing may need the writer, which runs this function.
				signed = p.issueAside(ctx, grant{family: st.Family, scopes: scopes, client: st.Client}, now)
			}
			return err
		},
	}, now)
	tokens, fault := signed()
	switch {
	case errors.Is(err, core.ErrNotFound):
		return TokenResponse{}, ErrInvalidGrant
	case err != nil:
		return TokenResponse{}, err
	case outcome == identity.RefreshRotated:
	case outcome == identity.RefreshRepeated:
		if fresh, err = p.openSuccessor(r.RefreshToken, sealed); err != nil {
			return TokenResponse{}, err
		}
	default:
		return TokenResponse{}, ErrInvalidGrant
	}
	tokens.RefreshToken = fresh
	return tokens, fault
}

// refreshScopes returns the scopes of the family that are requested and still allowed. If the client or the family can
// no longer be used, it returns an error. named is true if the request contains a client_id.
func refreshScopes(st core.TokenState, requested string, named bool) ([]string, error) {
	switch {
	case !named && st.Client.Confidential, st.Client.Disabled:
		return nil, ErrInvalidClient
	case st.Client.Suspended:
		return nil, ErrSuspended
	case !st.Live:
		return nil, ErrInvalidGrant
	case !mayUse(st.Client, "refresh_token") && st.Kind != core.FamilyPassword &&
		!hasScope(st.Scope, core.ScopeOffline):
		return nil, ErrUnauthorized
	}
	allowed := core.ManagementScopes
	if st.UserID != "" {
		allowed = core.AllowedScopes(st.Roles, st.Client.TenantID)
	}
	return grantScopes(requested, keepScopes(strings.Fields(st.Scope), registeredScopes(st.Client, st.Kind)), allowed)
}

// sealSuccessor encrypts the successor of a refresh token with the token as the key, so that the successor can't be
// read from the database alone.
func (p *Provider) sealSuccessor(token, successor string) ([]byte, error) {
	s, err := NewSealer([]byte(token))
	if err != nil {
		return nil, ErrInvalidGrant // shorter than any of this server's tokens
	}
	return []byte(s.Seal(purposeSuccessor, []byte(successor))), nil
}

func (p *Provider) openSuccessor(token string, sealed []byte) (string, error) {
	s, err := NewSealer([]byte(token))
	if err != nil {
		return "", ErrInvalidGrant
	}
	plain, err := s.Open(purposeSuccessor, string(sealed))
	return string(plain), err
}
