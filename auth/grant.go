package auth

import (
	"context"
	"errors"
	"net/netip"
	"strings"

	"newsletterd/core"
	"newsletterd/store/identity"
)

// GrantRequest holds the parameters of a token request, for all grants.
type GrantRequest struct {
	Client       ClientCredentials
	Scope        string // unparsed
	Username     string // password grant
	Password     string
	OTP          string // for a user with a second factor
	RefreshToken string
	Code         string // authorization_code grant
	RedirectURI  string
	Verifier     string
	Remote       netip.Addr
	UserAgent    string
}

// GrantFunc handles a token request for one grant type.
type GrantFunc func(ctx context.Context, r GrantRequest, now core.Instant) (TokenResponse, error)

// Grant returns the function for a grant_type at the token endpoint. For an unsupported type, that function returns
// unsupported_grant_type. The password grant has a separate endpoint.
func (p *Provider) Grant(grantType string) GrantFunc {
	switch grantType {
	case "authorization_code":
		return p.CodeGrant
	case "refresh_token":
		return p.RefreshGrant
	case "client_credentials":
		return p.ClientGrant
	}
	return func(context.Context, GrantRequest, core.Instant) (TokenResponse, error) {
		return TokenResponse{}, ErrUnsupportedGrant
	}
}

// PasswordGrant signs a user in (RFC 6749 section 4.3). An unknown address, a wrong password and a disabled user get
// the same response and cost the same work. Failures are counted per user, before the password is checked, and per
// remote address.
func (p *Provider) PasswordGrant(ctx context.Context, r GrantRequest, now core.Instant) (TokenResponse, error) {
	client, err := p.authenticate(ctx, r.Client, now)
	if err != nil {
		return TokenResponse{}, err
	}
	if err := checkScope(r.Scope); err != nil {
		return TokenResponse{}, err
	}
	if !mayUse(client, "password") {
		return TokenResponse{}, ErrUnauthorized
	}
	try, rehashed, err := p.CheckPassword(ctx, r.Username, r.Password, r.Remote, "", now)
	if err != nil {
		return TokenResponse{}, err
	}
	amr, err := p.passwordMethods(ctx, try, r.OTP, now)
	if err != nil {
		return TokenResponse{}, err
	}
	scopes, err := grantScopes(r.Scope, registeredScopes(client, core.FamilyPassword),
		core.AllowedScopes(try.User.Roles, client.TenantID))
	if err != nil {
		return TokenResponse{}, errors.Join(err, p.store.ForgiveTry(ctx, try.Key))
	}
	refresh := core.NewToken()
	in := identity.SignIn{
		Family: core.Family{
			ID: core.NewID(), Kind: core.FamilyPassword, UserID: try.User.ID, ClientID: client.ID,
			Scope: strings.Join(scopes, " "),
			Epoch: try.User.Epoch, AMR: amr, Remote: remoteText(r.Remote), UserAgent: r.UserAgent,
			AuthAt: now, CreatedAt: now, ExpiresAt: now.Add(p.RefreshTotal),
		},
		RefreshHash: core.HashToken(refresh), RefreshExpires: now.Add(min(p.RefreshIdle, p.RefreshTotal)),
		Key: try.Key, Devices: []string{remoteKey(r.Remote)}, OldHash: try.PasswordHash, NewHash: rehashed,
	}
	if err := p.store.AddSignIn(ctx, in, now); err != nil {
		return TokenResponse{}, err
	}
	return p.issue(ctx, grant{family: in.Family, scopes: scopes, client: client, refresh: refresh}, now)
}

// passwordMethods returns the authentication methods that a password grant with a correct password has used. It checks
// the second factor, which a user who has one must always use. If a factor is required and the user has only a passkey,
// it returns ErrPasskeyNeeded.
func (p *Provider) passwordMethods(ctx context.Context, try identity.LoginAttempt, otp string,
	now core.Instant,
) (string, error) {
	if p.needsPasskey(&try) {
		return "", errors.Join(ErrPasskeyNeeded, p.store.ForgiveTry(ctx, try.Key))
	}
	if !try.Factor {
		return amrPassword, nil
	}
	if otp == "" {
		return "", errors.Join(ErrMFARequired, p.store.ForgiveTry(ctx, try.Key))
	}
	return amrTOTP, p.CheckCode(ctx, try.User.ID, otp, now)
}

// CheckPassword verifies a user by address and password, with all throttling, and returns the counted attempt. It
// doesn't sign the user in; store.AddSignIn does, and resets the count. If the stored hash has a different cost,
// rehashed is a new hash with the current cost. device is the browser's cookie from earlier sign-ins, if any.
func (p *Provider) CheckPassword(
	ctx context.Context, username, password string, remote netip.Addr, device string, now core.Instant,
) (_ identity.LoginAttempt, rehashed string, err error) {
	key := remoteKey(remote)
	if until, ok := p.logins.enter(key, now); !ok {
		return identity.LoginAttempt{}, "", tooMany("Too many failed sign-ins from this IP address. Try again later.",
			now,
			until)
	}
	failed := false
	defer func() {
		if !failed {
			p.logins.leave(key)
		}
	}()
	email, err := core.ParseEmail(username)
	if err != nil {
		email = "" // handle an invalid address like an unknown one
	}
	try, err := p.store.TryLogin(ctx, email, p.passkeys.host(), []string{deviceKey(device), key}, now)
	if err != nil {
		return try, "", err
	}
	if try.Blocked {
		failed = true
		return try, "", tooMany("Too many failed sign-ins to this account. Try again later.", now, try.Until)
	}
	ok, stale, err := p.hasher.Verify(ctx, try.PasswordHash, password)
	if err != nil { // too busy: not a failure of the user
		return try, "", errors.Join(err, p.store.ForgiveTry(context.WithoutCancel(ctx), try.Key))
	}
	if !ok || !try.Known {
		failed = true
		return try, "", ErrBadCredentials
	}
	if stale {
		// If the hasher is too busy, accept the login. The next login renews the hash.
		rehashed, _ = p.hasher.Hash(ctx, password)
	}
	return try, rehashed, nil
}

// ClientGrant issues a confidential client a token for itself (RFC 6749 section 4.4). The token has the client's
// registered scopes for its tenant, and there is no refresh token. User scopes are left out, because the client owns no
// data. The grant stores nothing. See clientState for what ends such a token.
func (p *Provider) ClientGrant(ctx context.Context, r GrantRequest, now core.Instant) (TokenResponse, error) {
	client, err := p.authenticate(ctx, r.Client, now)
	if err != nil {
		return TokenResponse{}, err
	}
	if err := checkScope(r.Scope); err != nil {
		return TokenResponse{}, err
	}
	if !client.Confidential || !mayUse(client, "client_credentials") {
		return TokenResponse{}, ErrUnauthorized
	}
	scopes, err := grantScopes(r.Scope, client.Scopes, core.ManagementScopes)
	if err != nil {
		return TokenResponse{}, err
	}
	sid, err := p.store.ClientTokenID(ctx)
	if err != nil {
		return TokenResponse{}, err
	}
	f := core.Family{
		ID: sid, Kind: core.FamilyClient, ClientID: client.ID, Epoch: client.Epoch, AuthAt: now,
		ExpiresAt: now.Add(p.AccessTTL),
	}
	return p.issue(ctx, grant{family: f, scopes: scopes, client: client}, now)
}

// checkScope returns an error if a scope parameter is malformed or too long.
func checkScope(scope string) error {
	if strings.Trim(scope, " ") != "" && (len(scope) > 1000 || !validScopeText(scope)) {
		return ErrInvalidScope
	}
	return nil
}

func remoteText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.Unmap().String()
}
