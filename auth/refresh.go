package auth

import (
	"context"
	"errors"
	"strings"

	"newsletterd/core"
	"newsletterd/store/identity"
)

// RefreshGrant exchanges a refresh token for new tokens (RFC 6749 section 6, RFC 9700 section 4.14.2). Each use
// replaces the token. Within the grace period, a used token returns the same successor again if that is unused, so a
// lost response doesn't end the session. Any other use of a used token ends the family. Without client_id, the client
// is the one that the token was issued to, if it is public.
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

// refreshScopes returns the family's scopes that are requested and still allowed. If the client or the family may not
// be used, it returns an error. named means that the request names its client.
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

// sealSuccessor encrypts the successor with the used token as the key, so that the database alone doesn't reveal the
// successor.
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
