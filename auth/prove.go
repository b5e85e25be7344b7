package auth

import (
	"context"
	"net/netip"

	"newsletterd/core"
)

// PasswordProof is what a user who is signed in types in to prove who it is again.
type PasswordProof struct {
	Password string
	Code     string // of a user with a second factor
	Remote   netip.Addr
	Device   string // as in SignInRequest
}

// ProveByPassword notes that a user who is signed in knows the password, and a code where there is a second factor. The
// errors are those of CheckPassword and CheckCode; core.ErrNotFound where the user is signed out meanwhile.
func (p *Provider) ProveByPassword(ctx context.Context, v core.Visitor, r PasswordProof, now core.Instant) error {
	try, _, err := p.CheckPassword(ctx, string(v.User.Email), r.Password, r.Remote, r.Device, now)
	if err != nil {
		return err
	}
	amr, err := p.passwordMethods(ctx, try, r.Code, now)
	if err != nil {
		return err
	}
	return p.store.ProveBrowser(ctx, v.Browser.ID, v.User.Epoch, amr, nil, try.Key, now)
}

// ProveByPasskey notes that a user who is signed in has one of the own passkeys. The errors are those of
// SignInByPasskey; core.ErrNotFound where the user is signed out meanwhile.
func (p *Provider) ProveByPasskey(ctx context.Context, v core.Visitor, a PasskeyAnswer, remote netip.Addr,
	now core.Instant,
) error {
	try, use, err := p.checkPasskey(ctx, a, ceremonyConfirm, v.User.ID, remote, now)
	if err != nil {
		return err
	}
	return p.store.ProveBrowser(ctx, v.Browser.ID, v.User.Epoch, methodsOf(try.Passkey), &use, try.Key, now)
}
