package auth

import (
	"context"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"newsletterd/core"
	"newsletterd/store/identity"
)

// AuthorizeRequest is an authorization request with the state of the browser that sent it.
type AuthorizeRequest struct {
	Query     url.Values
	BrowserID string // of the session; empty: no user is signed in
	Fresh     bool   // the user has just signed in for this request
	AgreedBy  string // the user who has just consented to this request
	Denied    bool   // the user has just refused consent
	Remote    netip.Addr
	UserAgent string
}

// AuthorizeReply is the result of an authorization request.
type AuthorizeReply struct {
	Step     Step // StepCode: the answer is complete, with a code or an error
	Request  *Authorization
	Scopes   []string     // scopes that can be granted
	Consent  []string     // scopes to ask the user for, including those of claims requested by name
	Visitor  core.Visitor // the signed-in user; zero: none
	Fields   [][2]string  // parameters of the answer
	Location string       // redirect URI with these parameters if the response mode is query
	Error    string       // error code, if the answer is an error
	// Fault is the error in the request, for the log; nil means none. A visitor who isn't signed in must sign in
	// before the client receives the error (StepLogin).
	Fault *AuthorizeError
}

// Authorize evaluates an authorization request and answers it if no further step is needed (RFC 6749 section 4.1,
// OpenID Connect Core section 3.1.2). If the redirect URI can't be trusted, it returns an *AuthorizeError. Other
// errors mean that the request could not be evaluated. Any other error in the request goes to the redirect URI after
// the user has signed in (RFC 9700 section 4.11.2), or immediately with prompt=none.
func (p *Provider) Authorize(ctx context.Context, r AuthorizeRequest, now core.Instant) (AuthorizeReply, error) {
	a, err := ParseAuthorization(r.Query, func(id string) (core.Client, error) { return p.store.Client(ctx, id) })
	if err != nil {
		return p.refuseVisitor(ctx, err, r, now)
	}
	reply := AuthorizeReply{Request: a}
	var v Visit
	if v, reply.Visitor, err = p.visit(ctx, a, r, now); err != nil {
		return p.refuseVisitor(ctx, err, r, now)
	}
	if r.Denied && v.UserID != "" {
		return p.refuse(a.Deny())
	}
	step, scopes, fault := a.Next(v, now)
	if fault != nil {
		return p.refuse(fault)
	}
	reply.Step, reply.Scopes, reply.Consent = step, scopes, a.Claims.scopes(scopes)
	if step != StepCode {
		return reply, nil
	}
	code, err := p.addCode(ctx, reply, r, v.Agreed, now)
	if err != nil {
		return reply, err
	}
	reply.Fields, reply.Location = a.Answer([2]string{"code", code}, [2]string{"state", a.State},
		[2]string{"iss", p.Issuer})
	return reply, nil
}

// refuseVisitor is like refuse, but asks a visitor who isn't signed in to sign in first. Otherwise anyone could use a
// faulty link to a client of theirs to turn the endpoint into an open redirector.
func (p *Provider) refuseVisitor(
	ctx context.Context, err error, r AuthorizeRequest, now core.Instant,
) (AuthorizeReply, error) {
	e, ok := errors.AsType[*AuthorizeError](err)
	if ok && e.Request != nil && r.Query.Get("prompt") != "none" {
		_, err := p.store.Visitor(ctx, r.BrowserID, e.Request.Client.ID, now)
		if errors.Is(err, core.ErrNotFound) {
			return AuthorizeReply{Step: StepLogin, Request: e.Request, Fault: e}, nil
		}
		if err != nil {
			return AuthorizeReply{}, err
		}
	}
	return p.refuse(err)
}

// refuse converts an error to the client's answer if the redirect URI is trusted (RFC 6749 section 4.1.2.1, RFC
// 9207).
func (p *Provider) refuse(err error) (AuthorizeReply, error) {
	e, ok := errors.AsType[*AuthorizeError](err)
	if !ok || e.Request == nil {
		return AuthorizeReply{}, err
	}
	reply := AuthorizeReply{Step: StepCode, Request: e.Request, Error: e.Code, Fault: e}
	reply.Fields, reply.Location = e.Request.Answer(
		[2]string{"error", e.Code}, [2]string{"error_description", e.Description}, [2]string{"state", e.Request.State},
		[2]string{"iss", p.Issuer})
	return reply, nil
}

// visit reads the signed-in user and the scopes that the user granted to the client.
func (p *Provider) visit(
	ctx context.Context, a *Authorization, r AuthorizeRequest, now core.Instant,
) (v Visit, who core.Visitor, err error) {
	if a.IDTokenHint != "" {
		hint, err := p.readHint(ctx, a.IDTokenHint, now)
		if err != nil {
			return v, who, err
		}
		if hint.Audience != a.Client.ID {
			e := invalid("id_token_hint", "id_token_hint is not an ID token of this client.")
			e.Request, e.Client = a, &a.Client
			return v, who, e
		}
		v.HintUser = hint.Subject
	}
	if r.BrowserID == "" {
		return v, who, nil
	}
	who, err = p.store.Visitor(ctx, r.BrowserID, a.Client.ID, now)
	if errors.Is(err, core.ErrNotFound) {
		return v, core.Visitor{}, nil
	}
	v.UserID, v.AuthAt, v.Consented, v.ACR = who.User.ID, who.Browser.AuthAt, who.Consent, acrOf(who.Browser.AMR)
	v.Fresh, v.Agreed = r.Fresh, r.AgreedBy == who.User.ID
	v.Allowed = core.AllowedScopes(who.User.Roles, a.Client.TenantID)
	return v, who, err
}

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

// CodeGrant exchanges an authorization code for tokens (RFC 6749 section 4.1.3, RFC 7636 section 4.6). A code is
// valid once. Using it again ends everything that was issued for it. A request with a wrong redirect_uri or
// code_verifier is refused, but the code stays valid for its client.
func (p *Provider) CodeGrant(ctx context.Context, r GrantRequest, now core.Instant) (TokenResponse, error) {
	if r.Client.ID == "" && r.Client.Authorization == "" {
		return TokenResponse{}, ErrInvalidClient
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
		Message: "redirect_uri is not the one from the authorization request. Send the same URL.",
		Field:   "redirect_uri",
	}
	errVerifier = &core.Error{
		Kind: core.Invalid, Code: "invalid_grant",
		Message: "code_verifier does not match the code_challenge of the authorization request.",
		Field:   "code_verifier",
	}
)

// redemption returns the family for a code. The family has a refresh token if the client is registered for that grant
// or the user granted offline_access.
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
