package auth

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"newsletterd/core"
)

// AuthorizeRequest is an authorization request together with the state of the browser that sent it.
type AuthorizeRequest struct {
	Query     url.Values
	BrowserID string // of the session; empty: not signed in
	Fresh     bool   // the user has just signed in for this request
	AgreedBy  string // the user who has just consented to this request
	Denied    bool   // the user has just refused consent
	Remote    netip.Addr
	UserAgent string
}

// AuthorizeReply is the result of an authorization request.
type AuthorizeReply struct {
	Step     Step // StepCode: the response is complete, with a code or an error
	Request  *Authorization
	Scopes   []string     // scopes that can be granted
	Consent  []string     // scopes to ask the user for, including those of claims requested by name
	Visitor  core.Visitor // the signed-in user; zero: none
	Fields   [][2]string  // parameters of the response
	Location string       // redirect URI with these parameters if the response mode is query
	Error    string       // error code, if the response is an error
	// Fault is the error in the request, for the log; nil: none. A visitor who isn't signed in must first sign in
	// (StepLogin), before the client receives the error.
	Fault *AuthorizeError
}

// Authorize evaluates an authorization request and responds if no further step is needed (RFC 6749 section 4.1, OpenID
// Connect Core section 3.1.2). If the redirect URI can't be trusted, it returns an *AuthorizeError. An error of another
// type means that the request could not be evaluated. All other errors in the request are sent to the redirect URI:
// after the user has signed in (RFC 9700 section 4.11.2) or, with prompt=none, immediately.
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

// refuseVisitor is like refuse, but requires a visitor to sign in first. Otherwise, anyone who owns a client could use
// a faulty link to turn the endpoint into an open redirector.
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

// refuse converts an error to the client's response if the redirect URI is trusted (RFC 6749 section 4.1.2.1, RFC
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

// visit reads the user who is signed in to the browser, and the scopes that the user has granted to the client.
func (p *Provider) visit(
	ctx context.Context, a *Authorization, r AuthorizeRequest, now core.Instant,
) (v Visit, who core.Visitor, err error) {
	if a.IDTokenHint != "" {
		hint, err := p.readHint(ctx, a.IDTokenHint, now)
		if err != nil {
			return v, who, err
		}
		if hint.Audience != a.Client.ID {
			e := invalid("id_token_hint", "id_token_hint was not issued to this client. Leave it out, or send an ID "+
				"token of this client.")
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

// Step is the next step in an authorization request.
type Step uint8

// The steps in order.
const (
	StepLogin   Step = iota + 1 // the user must sign in (again)
	StepConsent                 // the user must consent
	StepCode                    // the code can be issued
)

// Visit is the state of the browser and its user that the next step of an authorization request depends on.
type Visit struct {
	UserID    string // empty: no user is signed in
	AuthAt    core.Instant
	ACR       string   // authentication context class of the sign-in; empty: that of a password
	Fresh     bool     // the user signed in for this request
	Agreed    bool     // the user has just consented to this request
	HintUser  string   // sub of the id_token_hint; empty: none
	Allowed   []string // scopes that the user's roles allow at this client
	Consented []string // scopes that the user previously granted to this client
}

// Next returns the next step of the request: sign-in, consent or code. It also returns the scopes that can be granted.
// A request with prompt=none that needs interaction is an error (OpenID Connect Core section 3.1.2.6).
func (a *Authorization) Next(v Visit, now core.Instant) (Step, []string, *AuthorizeError) {
	silent := slices.Contains(a.prompt, "none")
	if a.needsLogin(v, now) {
		switch {
		case silent:
			return 0, nil, a.fail(codeLoginRequired, "The user is not signed in. Start again without prompt=none.")
		case v.Fresh:
			return 0, nil, a.fail(codeLoginRequired, "The request asks for a different user than the one signed in. "+
				"Sign in as the requested user.")
		}
		return StepLogin, nil, nil
	}
	if _, ok := a.Claims.reaches(cmp.Or(v.ACR, acrPassword)); !ok {
		return 0, nil, a.fail(codeUnmet, "The sign-in doesn't meet any of the required acr values. Sign in with a "+
			"stronger method.")
	}
	scopes := keepScopes(a.Scopes, v.Allowed)
	if len(scopes) == 0 {
		return 0, nil, a.fail(codeInvalidScope, "None of the requested scopes can be granted to this user. Ask an "+
			"administrator for a role.")
	}
	if !v.Agreed && a.needsConsent(v, a.Claims.scopes(scopes)) {
		if silent {
			return 0, nil, a.fail(codeConsentRequired, "The user has not consented. Start again without prompt=none.")
		}
		return StepConsent, scopes, nil
	}
	return StepCode, scopes, nil
}

func (a *Authorization) needsLogin(v Visit, now core.Instant) bool {
	if v.UserID == "" || (v.HintUser != "" && v.HintUser != v.UserID) ||
		(a.Claims.Subject != "" && a.Claims.Subject != v.UserID) {
		return true
	}
	if v.Fresh {
		return false
	}
	return slices.Contains(a.prompt, "login") || slices.Contains(a.prompt, "select_account") ||
		a.HasMaxAge && now.Sub(v.AuthAt) > a.MaxAge
}

// needsConsent reports whether the user must be asked for consent to the scopes. The scope admin always requires
// consent.
func (a *Authorization) needsConsent(v Visit, scopes []string) bool {
	if slices.Contains(a.prompt, "consent") {
		return true
	}
	for _, s := range scopes {
		if !slices.Contains(v.Consented, s) && (!a.Client.FirstParty || s == core.ScopeAdmin) {
			return true
		}
	}
	return false
}

// Deny returns the error for a user who refuses consent.
func (a *Authorization) Deny() *AuthorizeError {
	return a.fail(codeAccessDenied, "The user denied access.")
}

func (a *Authorization) fail(code, description string) *AuthorizeError {
	return &AuthorizeError{Code: code, Description: description, Client: &a.Client, Request: a}
}

// Answer returns the non-empty parameters of a response in order. location is the redirect URI with these parameters,
// for the response mode query.
func (a *Authorization) Answer(params ...[2]string) (fields [][2]string, location string) {
	var b strings.Builder
	b.WriteString(a.RedirectURI)
	separator := byte('?')
	if strings.Contains(a.RedirectURI, "?") {
		separator = '&'
		if strings.HasSuffix(a.RedirectURI, "?") || strings.HasSuffix(a.RedirectURI, "&") {
			separator = 0
		}
	}
	for _, p := range params {
		if p[1] == "" {
			continue
		}
		fields = append(fields, p)
		if separator != 0 {
			b.WriteByte(separator)
		}
		separator = '&'
		b.WriteString(p[0] + "=" + url.QueryEscape(p[1]))
	}
	return fields, b.String()
}
