package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"net/netip"

	"newsletterd/core"
	"newsletterd/store/identity"
)

// SignInRequest is a sign-in on the login page.
type SignInRequest struct {
	Email     string
	Password  string
	BrowserID string // of the session's previous sign-in, which the new one ends
	Device    string // the browser's cookie of earlier sign-ins; empty: none
	Remote    netip.Addr
	UserAgent string
	Language  string // language of emails, from core.Languages; empty: the first
}

// SignIn signs a user in to a browser session, with the same checks, work and throttling as the password grant. It
// returns a new cookie, device, that identifies the browser. If the user has or must have a second factor, the error is
// *FactorNeeded, and FinishSignIn completes the sign-in. If a factor is required and the user has only a passkey, it
// returns ErrPasskeyNeeded.
func (p *Provider) SignIn(
	ctx context.Context, r SignInRequest, now core.Instant,
) (b core.Browser, device string, err error) {
	try, rehashed, err := p.CheckPassword(ctx, r.Email, r.Password, r.Remote, r.Device, now)
	if err != nil {
		return b, "", err
	}
	if p.needsPasskey(&try) {
		return b, "", errors.Join(ErrPasskeyNeeded, p.store.ForgiveTry(ctx, try.Key))
	}
	if try.Factor || p.Demands(&try.User) {
		return b, "", p.postpone(ctx, try, rehashed, now)
	}
	return p.addBrowser(ctx, r, try, rehashed, amrPassword, now)
}

// addBrowser records the sign-in of a fully authenticated user.
func (p *Provider) addBrowser(ctx context.Context, r SignInRequest, try identity.LoginAttempt, rehashed, amr string,
	now core.Instant,
) (b core.Browser, device string, err error) {
	b, device, in := newBrowser(r, try, amr, now)
	in.OldHash, in.NewHash = try.PasswordHash, rehashed
	return b, device, p.store.AddBrowser(ctx, in, b, r.BrowserID, now)
}

// newBrowser returns the browser record for a sign-in, the browser's new cookie, and the data that the store records
// about the sign-in.
func newBrowser(r SignInRequest, try identity.LoginAttempt, amr string, now core.Instant) (b core.Browser, device string,
	in identity.SignIn,
) {
	if device = r.Device; device == "" {
		device = core.NewToken()
	}
	b = core.Browser{
		ID: core.NewID(), UserID: try.User.ID, Epoch: try.User.Epoch, AMR: amr, Remote: remoteText(r.Remote),
		UserAgent: r.UserAgent,
		AuthAt:    now, UsedAt: now, ExpiresAt: now.Add(BrowserTTL),
	}
	return b, device, identity.SignIn{Key: try.Key, Devices: []string{deviceKey(device), remoteKey(r.Remote)}}
}

// ChangePassword sets a new password for a signed-in user who knows the current one. It ends all other sign-ins.
func (p *Provider) ChangePassword(
	ctx context.Context, v core.Visitor, present, password string, remote netip.Addr, device string, now core.Instant,
) error {
	if err := p.rules.Check("new_password", password); err != nil {
		return err
	}
	if err := p.CheckPresent(ctx, v, present, remote, device, now); err != nil {
		return err
	}
	hash, err := p.hasher.Hash(ctx, password)
	if err != nil {
		return err
	}
	return p.store.ChangePassword(ctx, v.User.ID, v.User.Epoch, hash, v.Browser.ID, now)
}

// CheckPresent checks a signed-in user's current password, with the throttling of CheckPassword. A user who has
// recently used a passkey needs no password.
func (p *Provider) CheckPresent(
	ctx context.Context, v core.Visitor, password string, remote netip.Addr, device string, now core.Instant,
) error {
	if password == "" && ProvedByPasskey(v.Browser, now) {
		return nil
	}
	try, _, err := p.CheckPassword(ctx, string(v.User.Email), password, remote, device, now)
	if err != nil {
		return err
	}
	return p.store.ForgiveTry(ctx, try.Key)
}

// deviceKey returns the form in which a browser's cookie is stored. The cookie itself isn't stored.
func deviceKey(device string) string {
	if device == "" {
		return ""
	}
	return "device " + base64.RawURLEncoding.EncodeToString(core.HashToken(device))
}
