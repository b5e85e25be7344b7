package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"sync"

	"newsletterd/core"
)

// maxTokens bounds each half of the cache of verified tokens: about 16 MB when both are full.
const maxTokens = 8192

// tokenCache remembers verified tokens by their SHA-256. It has two halves: when the younger is full, the
// older is dropped, so what is used stays and nothing needs an order.
type tokenCache struct {
	mu       sync.RWMutex
	new, old map[[sha256.Size]byte]*verified
}

// verified is a token whose signature was good, with the caller as last read from the database.
type verified struct {
	claims     AccessClaims
	caller     core.Caller
	generation uint64       // of the Provider when caller was read
	expires    core.Instant // of the token and its family, whichever is first
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

// Bearer turns an access token into the caller that it speaks for. Signature and claims are proved once per
// token; whether user, roles, client and session still stand is read again whenever any of those may have
// changed, so a revoked token is refused at once. ErrBadToken for every token that is not good; other errors mean
// that it could not be told. The slices of the caller are shared: they must not be changed.
func (p *Provider) Bearer(ctx context.Context, token string, now core.Instant) (core.Caller, error) {
	sum := sha256.Sum256([]byte(token))
	v := p.tokens.get(sum)
	// Loaded before the state is read: a change between the two makes the entry stale, never the reverse.
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

// checkState reads who the claims speak for at this moment.
func (p *Provider) checkState(ctx context.Context, claims AccessClaims, now core.Instant) (*verified, error) {
	st, err := p.store.TokenState(ctx, claims.SessionID, now)
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

// callerOf says who acts, with the scopes of the token as far as they are still allowed.
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
