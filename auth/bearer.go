package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"

	"newsletterd/core"
)

// maxTokens is the capacity of each half of the token cache. Together, the halves take about 16 MB.
const maxTokens = 8192

// tokenCache caches verified tokens by their SHA-256. It has two halves. When the younger half is full, the older one
// is dropped. Tokens in use thus stay cached without recording when each was last used.
type tokenCache struct {
	mu       sync.RWMutex
	new, old map[[sha256.Size]byte]*verified
}

// verified is a token whose signature is valid, with its caller as last read from the database.
type verified struct {
	claims     AccessClaims
	caller     core.Caller
	generation uint64       // generation of the Provider when caller was read
	expires    core.Instant // end of the token or of its family, whichever comes first
}

func (c *tokenCache) get(sum [sha256.Size]byte) *verified {
	c.mu.RLock()
	v, young := c.new[sum]
	if !young {
		v = c.old[sum]
	}
	c.mu.RUnlock()
	if v != nil && !young {
		c.put(sum, v)
	}
	return v
}

func (c *tokenCache) put(sum [sha256.Size]byte, v *verified) {
	c.mu.Lock()
	if c.new == nil || len(c.new) >= maxTokens {
		c.old, c.new = c.new, map[[sha256.Size]byte]*verified{}
	}
	c.new[sum] = v
	c.mu.Unlock()
}

// Bearer returns the caller that an access token identifies. It verifies signature and claims once per token. It
// rereads the user, the roles, the client and the session whenever any of them may have changed, so it refuses a
// revoked token immediately. For an invalid token, Bearer returns ErrBadToken; any other error means that the token
// could not be checked. The slices in the result are shared and must not be modified.
func (p *Provider) Bearer(ctx context.Context, token string, now core.Instant) (core.Caller, error) {
	sum := sha256.Sum256([]byte(token))
	v := p.tokens.get(sum)
	// Load the generation before reading the state. If it changes in between, the entry is stale; the reverse order
	// could make stale data look current.
	generation := p.generation.Load()
	if v != nil && v.generation == generation {
		if v.expires <= now {
			return core.Caller{}, ErrBadToken
		}
		return v.caller, nil
	}
	claims := AccessClaims{}
	if v != nil {
		claims = v.claims
	} else {
		var err error
		if claims, err = p.verifyAccess(ctx, token, now); err != nil {
			return core.Caller{}, err
		}
	}
	fresh, err := p.checkState(ctx, claims, now)
	if err != nil {
		return core.Caller{}, err
	}
	fresh.generation = generation
	p.tokens.put(sum, fresh)
	return fresh.caller, nil
}

// checkState reads the current state of the caller that the claims identify, and returns ErrBadToken if the token has
// ended.
func (p *Provider) checkState(ctx context.Context, claims AccessClaims, now core.Instant) (*verified, error) {
	st, err := p.stateOf(ctx, claims, now)
	if errors.Is(err, core.ErrNotFound) {
		return nil, ErrBadToken
	}
	if err != nil {
		return nil, err
	}
	sub := st.UserID
	if sub == "" {
		sub = st.ClientID
	}
	expires := min(core.Instant(claims.ExpiresAt*1000).Add(leeway), st.ExpiresAt)
	if !st.Live || sub != claims.Subject || st.ClientID != claims.ClientID || expires <= now {
		return nil, ErrBadToken
	}
	return &verified{claims: claims, caller: callerOf(st, claims.scopes()), expires: expires}, nil
}

// stateOf returns the state of the sign-in that a token was issued for. If the sign-in doesn't exist, stateOf returns
// core.ErrNotFound.
func (p *Provider) stateOf(ctx context.Context, claims AccessClaims, now core.Instant) (core.TokenState, error) {
	if claims.ClientEpoch == 0 {
		return p.store.TokenState(ctx, claims.SessionID, now)
	}
	return p.clientState(ctx, claims)
}

// clientState returns the state of a token that a client got for itself. Such a token ends when it is revoked, or when
// the client is disabled or deleted.
func (p *Provider) clientState(ctx context.Context, claims AccessClaims) (st core.TokenState, err error) {
	client, err := p.tokenClient(ctx, claims.ClientID)
	if err != nil {
		return st, err
	}
	revoked, err := p.store.ClientTokenRevoked(ctx, claims.SessionID)
	return core.TokenState{
		Family: core.Family{
			ID: claims.SessionID, Kind: core.FamilyClient, ClientID: client.ID, Epoch: claims.ClientEpoch,
			Scope:  claims.Scope,
			AuthAt: core.Instant(claims.AuthTime * 1000), CreatedAt: core.Instant(claims.IssuedAt * 1000),
			ExpiresAt: core.Instant(claims.ExpiresAt * 1000).Add(leeway),
		},
		Client: client,
		Live:   !revoked && !client.Disabled && !client.Suspended && client.Epoch == claims.ClientEpoch,
	}, err
}

// callerOf returns the caller for a token. Its scopes are those of the token that are still allowed.
func callerOf(st core.TokenState, scopes []string) core.Caller {
	c := core.Caller{
		UserID: st.UserID, Email: st.Email, EmailVerified: st.EmailVerified, ClientID: st.ClientID, SessionID: st.ID,
		ClientTenant: st.Client.TenantID,
	}
	if st.ClientID != core.BuiltInClientID {
		scopes = keepScopes(scopes, registeredScopes(st.Client, st.Kind))
	}
	if st.UserID != "" {
		scopes = keepScopes(scopes, core.AllowedScopes(st.Roles, st.Client.TenantID))
		c.Roles = st.Roles
		c.FirstParty = st.ClientID == core.BuiltInClientID || st.Client.FirstParty && st.Kind == core.FamilyPassword
	}
	if st.Kind == core.FamilyPassword || st.Kind == core.FamilyCode {
		c.ProvedAt = st.AuthAt
	}
	c.Scopes = scopes
	return c
}
