package auth

import (
	"context"
	"errors"
	"strings"

	"newsletterd/core"
	"newsletterd/store/identity"
)

// RefreshGrant exchanges a refresh token for new tokens (RFC 6749 section 6, RFC 9700 section 4.14.2). Each use
// replaces the token. Within the grace period, a used token returns the same successor again if the successor is
// unused. A lost response thus doesn't end the session. Any other use of a used token ends the family. Without
// client_id, the client is the token's client if that is public.
func (p *Provider) RefreshGrant(ctx context.Context, r GrantRequest, now core.Instant) (TokenResponse, error) {
	if r.RefreshToken == "" {
		return TokenResponse{}, core.Invalidf("refresh_token", "refresh_token is missing.")
	}
	if err := checkScope(r.Scope); err != nil {
		return TokenResponse{}, err
	}
	named := r.Client.ID != "" || r.Client.Authorization != ""
	var client core.TokenClient
	if named || r.Client.Secret != "" {
		var err error
		if client, err = p.authenticate(ctx, r.Client, now); err != nil {
			return TokenResponse{}, err
		}
	}
	hash := core.HashToken(r.RefreshToken)
	st, err := p.store.RefreshState(ctx, hash, now, p.tokenClient)
	if errors.Is(err, core.ErrNotFound) {
		return TokenResponse{}, ErrInvalidGrant
	}
	if err != nil {
		return TokenResponse{}, err
	}
	switch {
	case !named && st.Client.Confidential, st.Client.Disabled:
		return TokenResponse{}, ErrInvalidClient
	case named && st.ClientID != client.ID:
		return TokenResponse{}, ErrInvalidGrant
	case st.Client.Suspended:
		return TokenResponse{}, ErrSuspended
	case !st.Live:
		return TokenResponse{}, ErrInvalidGrant
	case !mayUse(st.Client, "refresh_token") && st.Kind != core.FamilyPassword && !hasScope(st.Scope,
		core.ScopeOffline):
		return TokenResponse{}, ErrUnauthorized
	}
	scopes, err := refreshScopes(st, r.Scope)
	if err != nil {
		return TokenResponse{}, err
	}
	return p.issueWhile(ctx, grant{family: st.Family, scopes: scopes, client: st.Client}, now, func() (string, error) {
		return p.rotate(ctx, r.RefreshToken, hash, now)
	})
}

// refreshScopes returns the family's scopes that are requested and still allowed.
func refreshScopes(st core.TokenState, requested string) ([]string, error) {
	allowed := core.ManagementScopes
	if st.UserID != "" {
		allowed = core.AllowedScopes(st.Roles, st.Client.TenantID)
	}
	return grantScopes(requested, keepScopes(strings.Fields(st.Scope), registeredScopes(st.Client, st.Kind)), allowed)
}

// rotate replaces a refresh token and returns its successor.
func (p *Provider) rotate(ctx context.Context, token string, hash []byte, now core.Instant) (string, error) {
	fresh := core.NewToken()
	sealed, err := p.sealSuccessor(token, fresh)
	if err != nil {
		return "", err
	}
	outcome, sealed, err := p.store.RotateRefresh(ctx, identity.Rotation{
		Hash: hash, SuccessorHash: core.HashToken(fresh), Sealed: sealed, Grace: p.RefreshGrace, Idle: p.RefreshIdle,
	}, now)
	if err != nil {
		return "", err
	}
	switch outcome {
	case identity.RefreshRotated:
		return fresh, nil
	case identity.RefreshRepeated:
		return p.openSuccessor(token, sealed)
	default:
		return "", ErrInvalidGrant
	}
}

// sealSuccessor encrypts the successor with the used token as the key, so that the database alone doesn't reveal the
// successor.
func (p *Provider) sealSuccessor(token, successor string) ([]byte, error) {
	s, err := NewSealer([]byte(token))
	if err != nil {
		return nil, ErrInvalidGrant // shorter than any token of this server
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
