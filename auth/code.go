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

// AuthorizeRequest is an authorization request as a browser brings it.
type AuthorizeRequest struct {
	Query     url.Values
	BrowserID string // of the session; empty: no user is signed in
	Fresh     bool   // the user has just signed in because this very request asked for it
	AgreedBy  string // the user who has just agreed to this very request
	Denied    bool   // the user has just refused
	Remote    netip.Addr
	UserAgent string
}

// AuthorizeReply says what becomes of an authorization request.
type AuthorizeReply struct {
	Step     Step // StepCode: it is answered, with a code or an error
	Request  *Authorization
	Scopes   []string     // that can be given
	Consent  []string     // what the user is asked for: the scopes, and those that stand for claims asked for by name
	Visitor  core.Visitor // who is signed in; zero: no user
	Fields   [][2]string  // the answer: parameters …
	Location string       // … and the address that carries them where the response mode is query
	Error    string       // of an answer that is an error
	// what is wrong with the request, for the log; nil: nothing. Someone who isn't signed in signs in before the client is
	// told (StepLogin).
	Fault *AuthorizeError
}

// Authorize judges an authorization request and answers it if nothing more is needed (RFC 6749 section 4.1, OpenID
// Connect Core section 3.1.2). A request whose redirect URI can't be trusted is an *AuthorizeError; other errors mean
// that it could not be judged. What is wrong with another request goes to its redirect URI after the user has signed in
// (RFC 9700 section 4.11.2), unless it says prompt=none.
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

// refuseVisitor is refuse for a user who may not be signed in yet, and is asked to then: an error that is redirected
// at once would make an open redirector of the endpoint, for anyone who can write a faulty link to a client of theirs.
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

// refuse makes an error the client's answer, where its redirect URI is trusted (RFC 6749 section 4.1.2.1, RFC 9207).
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

// visit reads who is signed in and what that user allowed the client.
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

// CodeGrant exchanges an authorization code for tokens (RFC 6749 section 4.1.3, RFC 7636 section 4.6). A code is good
// once; used again it ends what was issued for it. One whose redirect_uri or code_verifier is wrong is refused, and
// stays good for the client that it belongs to.
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

// redemption makes the family of a code, with a refresh token where the client is registered for that grant or the
// user allowed offline_access.
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
