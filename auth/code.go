package auth

import (
	"context"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/store/identity"
)

func (p *Provider) addCode(
	ctx context.Context, reply AuthorizeReply, r AuthorizeRequest, agreed bool, now core.Instant,
) (string, error) {
	a, who := reply.Request, reply.Visitor
	code := core.NewToken()
	c := core.AuthCode{
		Hash: core.HashToken(code), FamilyID: core.NewID(), UserID: who.User.ID, ClientID: a.Client.ID,
		BrowserID:   who.Browser.ID,
		RedirectURI: a.RedirectURI, Challenge: a.Challenge, Nonce: a.Nonce, Scope: strings.Join(reply.Scopes, " "),
		Claims: a.Claims.words(acrOf(who.Browser.AMR)),
		Epoch:  who.User.Epoch, AMR: who.Browser.AMR, Remote: remoteText(r.Remote), UserAgent: r.UserAgent,
		AuthAt: who.Browser.AuthAt, CreatedAt: now, ExpiresAt: now.Add(codeTTL),
	}
	var consent []string
	if agreed {
		consent = reply.Consent
	}
	return code, p.store.AddCode(ctx, c, consent)
}

// CodeGrant exchanges an authorization code for tokens (RFC 6749 section 4.1.3, RFC 7636 section 4.6). A code can be
// used once. Using it again revokes everything that was issued for it. A request with a wrong redirect_uri or
// code_verifier is refused, but the code stays valid for its client. A request without client_id is accepted if the
// code was issued to a public client, because only that client has the verifier.
func (p *Provider) CodeGrant(ctx context.Context, r GrantRequest, now core.Instant) (TokenResponse, error) {
	if r.Client == (ClientCredentials{}) {
		var err error
		if r.Client.ID, err = p.store.CodeClient(ctx, core.HashToken(r.Code)); err != nil {
			return TokenResponse{}, err
		}
	}
	client, err := p.authenticate(ctx, r.Client, now)
	if err != nil {
		return TokenResponse{}, err
	}
	if !mayUse(client, "authorization_code") {
		return TokenResponse{}, ErrUnauthorized
	}
	g := grant{client: client}
	c, err := p.store.RedeemCode(ctx, core.HashToken(r.Code), client.ID, now,
		func(c core.AuthCode) (identity.Redemption, error) {
			if c.RedirectURI != r.RedirectURI {
				return identity.Redemption{}, errRedirect
			}
			if !checkVerifier(c.Challenge, r.Verifier) {
				return identity.Redemption{}, errVerifier
			}
			return p.redemption(&g, c, now), nil
		})
	if err != nil {
		return TokenResponse{}, err
	}
	g.nonce = c.Nonce
	return p.issue(ctx, g, now)
}

var (
	errRedirect = &core.Error{
		Kind: core.Invalid, Code: "invalid_grant",
		Message: "redirect_uri differs from the one in the authorization request. Send the same URL.",
		Field:   "redirect_uri",
	}
	errVerifier = &core.Error{
		Kind: core.Invalid, Code: "invalid_grant",
		Message: "code_verifier is missing or does not match code_challenge. Send the verifier that belongs to the " +
			"authorization request.",
		Field: "code_verifier",
	}
)

// redemption returns the data for redeeming a code, such as the family to create. The family has a refresh token if the
// client is registered for that grant or the user granted offline_access.
func (p *Provider) redemption(g *grant, c core.AuthCode, now core.Instant) identity.Redemption {
	g.family = core.Family{
		ID: c.FamilyID, Kind: core.FamilyCode, UserID: c.UserID, ClientID: c.ClientID, Scope: c.Scope, Claims: c.Claims,
		Epoch: c.Epoch, AMR: c.AMR,
		Remote: c.Remote, UserAgent: c.UserAgent, BrowserID: c.BrowserID, AuthAt: c.AuthAt, CreatedAt: now,
		ExpiresAt: now.Add(p.AccessTTL),
	}
	g.scopes = strings.Fields(c.Scope)
	if !slices.Contains(g.client.GrantTypes, "refresh_token") && !hasScope(c.Scope, core.ScopeOffline) {
		return identity.Redemption{Family: g.family}
	}
	g.refresh = core.NewToken()
	g.family.ExpiresAt = now.Add(p.RefreshTotal)
	return identity.Redemption{
		Family: g.family, RefreshHash: core.HashToken(g.refresh), RefreshExpires: now.Add(min(p.RefreshIdle, p.RefreshTotal)),
	}
}

func hasScope(scope, want string) bool { return slices.Contains(strings.Fields(scope), want) }
