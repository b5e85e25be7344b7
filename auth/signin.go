package auth

import (
	"context"
	"encoding/base64"
	"errors"
	"net/netip"

	"newsletterd/core"
	"newsletterd/store/identity"
)

// SignInRequest is a login on the page.
type SignInRequest struct {
	Email     string
	Password  string
	BrowserID string // that the session was signed in as before; it is signed out
	Device    string // the browser's cookie of earlier sign-ins; empty: it has none
	Remote    netip.Addr
	UserAgent string
	Language  string // of mails: of core.Languages; empty: the first
}

// SignIn signs a user in in a browser, with the same checks, work and throttling as the password grant. The
// returned device is the cookie by which the browser is known from now on. For a user who has a second factor or must
// have one the error is *FactorNeeded: then FinishSignIn signs the user in. ErrPasskeyNeeded: who must have a factor
// has a passkey alone.
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

// addBrowser records the sign-in of a user who has proved everything.
func (p *Provider) addBrowser(ctx context.Context, r SignInRequest, try identity.LoginAttempt, rehashed, amr string,
	now core.Instant,
) (b core.Browser, device string, err error) {
	b, device, in := newBrowser(r, try, amr, now)
	in.OldHash, in.NewHash = try.PasswordHash, rehashed
	return b, device, p.store.AddBrowser(ctx, in, b, r.BrowserID, now)
}

// newBrowser is the browser of a sign-in, the cookie by which it is known from now on, and what the store notes of it.
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

// ChangePassword sets another password for a signed-in user who knows the present one. Every other sign-in ends.
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

// CheckPresent asks a signed-in user for the present password, with the throttling of CheckPassword. None is needed of
// one who has lately used a passkey.
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

// deviceKey is what a browser's cookie is stored as; the cookie itself is not.
func deviceKey(device string) string {
	if device == "" {
		return ""
	}
	return "device " + base64.RawURLEncoding.EncodeToString(core.HashToken(device))
}
