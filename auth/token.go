package auth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"newsletterd/core"
)

// TokenResponse is the response defined by RFC 6749 section 5.1 and OpenID Connect Core section 3.1.3.3. ExpiresIn is
// in seconds.
type TokenResponse struct {
	AccessToken  string `json:"access_token"`
	RefreshToken string `json:"refresh_token,omitempty"`
	IDToken      string `json:"id_token,omitempty"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"`
	Scope        string `json:"scope"`
}

// grant holds the data for issuing tokens.
type grant struct {
	family  core.Family
	scopes  []string // this access token's scopes: the family's, or fewer
	client  core.TokenClient
	refresh string
	nonce   string
}

// issue signs a grant's tokens.
func (p *Provider) issue(ctx context.Context, g grant, now core.Instant) (TokenResponse, error) {
	end := min(now.Add(p.AccessTTL), g.family.ExpiresAt)
	access, err := p.signAccess(ctx, g.family, g.scopes, now, end)
	if err != nil {
		return TokenResponse{}, err
	}
	r := TokenResponse{
		AccessToken: access, RefreshToken: g.refresh, TokenType: "Bearer",
		ExpiresIn: seconds(end) - seconds(now), Scope: strings.Join(g.scopes, " "),
	}
	for _, s := range g.scopes {
		if s == core.ScopeOpenID && g.family.UserID != "" {
			r.IDToken, err = p.signID(ctx, g, access, now, end)
		}
	}
	return r, err
}

// issueAside signs a grant's tokens in another goroutine while the caller's operation is committed. The returned
// function waits for them.
func (p *Provider) issueAside(ctx context.Context, g grant, now core.Instant) func() (TokenResponse, error) {
	type result struct {
		tokens TokenResponse
		err    error
	}
	done := make(chan result, 1)
	go func() {
		tokens, err := p.issue(ctx, g, now)
		done <- result{tokens, err}
	}()
	return func() (TokenResponse, error) { r := <-done; return r.tokens, r.err }
}

func seconds(i core.Instant) int64 { return i.Time().Unix() }

// signAccess creates an access token for a grant.
func (p *Provider) signAccess(
	ctx context.Context, f core.Family, scopes []string, now, end core.Instant,
) (string, error) {
	sub := f.UserID
	if sub == "" {
		sub = f.ClientID
	}
	claims := AccessClaims{
		Issuer: p.Issuer, Subject: sub, Audience: p.Issuer, ClientID: f.ClientID, Scope: strings.Join(scopes, " "),
		IssuedAt: seconds(now), ExpiresAt: seconds(end), ID: core.NewID(), AuthTime: seconds(f.AuthAt), SessionID: f.ID,
	}
	if f.Kind == core.FamilyClient {
		claims.ClientEpoch = f.Epoch
	}
	return p.sign(ctx, algES256, typAccess, claims, now)
}

// signID creates the id token that is issued with an access token.
func (p *Provider) signID(ctx context.Context, g grant, access string, now, end core.Instant) (string, error) {
	alg := algRS256
	if g.client.IDTokenAlg == algES256 {
		alg = algES256
	}
	claims := IDClaims{
		Issuer: p.Issuer, Subject: g.family.UserID, Audience: g.family.ClientID, IssuedAt: seconds(now),
		ExpiresAt: seconds(end),
		AuthTime:  seconds(g.family.AuthAt), Nonce: g.nonce, AtHash: atHash(access), AMR: strings.Fields(g.family.AMR),
		SessionID: g.family.ID, ACR: acrAnswer(g.family.Claims, g.family.AMR),
	}
	scoped := g.client.IDTokenClaims &&
		(slices.Contains(g.scopes, core.ScopeProfile) || slices.Contains(g.scopes, core.ScopeEmail))
	if scoped || asksForUser(g.family.Claims) {
		u, err := p.store.UserWithoutRoles(ctx, g.family.UserID)
		if err != nil {
			return "", err
		}
		var info UserInfo
		if scoped {
			info.ofScopes(&u, g.scopes)
		}
		info.fill(&u, g.family.Claims, claimsIDToken)
		claims.idTokenUser = idTokenUser{info.Name, info.Username, info.Email, info.EmailVerified, info.UpdatedAt}
	}
	return p.sign(ctx, alg, typID, claims, now)
}

// atHash returns the left half of the token's SHA-256 (OpenID Connect Core section 3.1.3.6; both algorithms use
// SHA-256).
func atHash(access string) string {
	sum := sha256.Sum256([]byte(access))
	return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2])
}

func (p *Provider) sign(ctx context.Context, alg, typ string, claims any, now core.Instant) (string, error) {
	key, err := p.keys.signer(ctx, alg, now)
	if err != nil {
		return "", err
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		return "", err
	}
	return key.sign(typ, payload)
}

// maxJWT is the maximum length of an access token in bytes.
const maxJWT = 4096

var accessAlgs = []jose.SignatureAlgorithm{algES256}

// verifyAccess verifies the signature, type and claims of this server's access tokens. It doesn't check whether the
// session is still valid.
func (p *Provider) verifyAccess(ctx context.Context, token string, now core.Instant) (AccessClaims, error) {
	if len(token) > maxJWT || strings.Count(token, ".") != 2 {
		return AccessClaims{}, ErrBadToken
	}
	jws, err := jose.ParseSignedCompact(token, accessAlgs)
	if err != nil || len(jws.Signatures) != 1 {
		return AccessClaims{}, ErrBadToken
	}
	h := jws.Signatures[0].Protected
	typ, _ := h.ExtraHeaders[jose.HeaderType].(string)
	_, crit := h.ExtraHeaders["crit"]
	// RFC 9068 section 4: an id token, or any other JWT from this server, is not an access token.
	if !strings.EqualFold(typ, typAccess) || crit || h.KeyID == "" {
		return AccessClaims{}, ErrBadToken
	}
	key, err := p.keys.byID(ctx, h.KeyID, now)
	if err != nil {
		return AccessClaims{}, err
	}
	// The key determines the algorithm, never the token (RFC 8725 section 3.1).
	if key == nil || h.Algorithm != key.Alg {
		return AccessClaims{}, ErrBadToken
	}
	payload, err := jws.Verify(key.public)
	if err != nil {
		return AccessClaims{}, ErrBadToken
	}
	claims, ok := readClaims(payload, p.Issuer, now)
	if !ok {
		return AccessClaims{}, p.badClaims(payload)
	}
	return claims, nil
}

// badClaims returns ErrBadToken for invalid claims with a valid signature. If the issuer differs, the message explains
// that listen or public_url was changed, because the caller couldn't know that otherwise.
func (p *Provider) badClaims(payload []byte) error {
	var c struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(payload, &c) != nil || c.Issuer == "" || c.Issuer == p.Issuer {
		return ErrBadToken
	}
	return ErrBadToken.Sayf("The token was created for %s, but this server is now %s. Create a new token.", c.Issuer,
		p.Issuer)
}

// AdminToken creates an access token for scripts. It belongs to a user and the built-in client. It has the given
// lifetime and no refresh token. The user's roles limit its scopes. To revoke the token, pass the returned sid to
// store.RevokeFamily.
func (p *Provider) AdminToken(
	ctx context.Context, u core.User, scope string, ttl time.Duration, now core.Instant,
) (TokenResponse, string, error) {
	if u.Disabled() {
		return TokenResponse{}, "", core.Invalidf("user", "The user is disabled. Enable the user first.")
	}
	if ttl < time.Second {
		return TokenResponse{}, "", core.Invalidf("ttl", "ttl must be at least 1 second.")
	}
	scopes, err := grantScopes(scope, core.AllScopes, core.AllowedScopes(u.Roles, core.TenantNone))
	if err != nil {
		return TokenResponse{}, "", err
	}
	f := core.Family{
		ID: core.NewID(), Kind: core.FamilyAdmin, UserID: u.ID, ClientID: core.BuiltInClientID,
		Scope: strings.Join(scopes, " "),
		Epoch: u.Epoch, AuthAt: now, CreatedAt: now, ExpiresAt: now.Add(ttl),
	}
	if err := p.store.AddFamily(ctx, f); err != nil {
		return TokenResponse{}, "", err
	}
	access, err := p.signAccess(ctx, f, scopes, now, f.ExpiresAt)
	if err != nil {
		return TokenResponse{}, "", err
	}
	return TokenResponse{
		AccessToken: access, TokenType: "Bearer", ExpiresIn: seconds(f.ExpiresAt) - seconds(now),
		Scope: f.Scope,
	}, f.ID, nil
}

// OwnToken creates a short-lived access token with one scope, with which the server calls its own member service on
// behalf of a tenant. The token belongs to the built-in client.
func (p *Provider) OwnToken(ctx context.Context, tenantID, scope string, now core.Instant) (string, error) {
	f := core.Family{
		ID: core.NewID(), Kind: core.FamilyClient, ClientID: core.BuiltInClientID, TenantID: tenantID, Scope: scope,
		AuthAt: now, CreatedAt: now, ExpiresAt: now.Add(ownTokenTTL),
	}
	if err := p.store.AddFamily(ctx, f); err != nil {
		return "", err
	}
	return p.signAccess(ctx, f, []string{scope}, now, f.ExpiresAt)
}
