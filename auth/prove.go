package auth

import (
	"context"
	"net/netip"
	"slices"

	"newsletterd/core"
)

// Factors is what a user has to prove who it is by, besides a password.
type Factors struct {
	App     bool // an authenticator app
	Passkey bool // a passkey of this host
}

// Factors reads which factors a user has. Its only error is core.ErrStorage.
func (p *Provider) Factors(ctx context.Context, userID string) (f Factors, err error) {
	app, err := p.store.SecondFactor(ctx, userID)
	if err != nil {
		return f, err
	}
	keys, err := p.store.Passkeys(ctx, userID)
	host := p.passkeys.host()
	return Factors{
		App:     app.Set(),
		Passkey: slices.ContainsFunc(keys, func(k core.Passkey) bool { return k.RPID == host }),
	}, err
}

// Proved reports whether the user of a browser has lately proved who it is as well as a change of these factors asks
// for: by a factor where there is one. So a password alone neither adds one to those of its owner nor removes one.
func (f Factors) Proved(b core.Browser, now core.Instant) bool {
	return core.FreshProof(b.AuthAt, now) && (!f.App && !f.Passkey || acrOf(b.AMR) != acrPassword)
}

// ProvedByPasskey reports whether the user of a browser has lately used a passkey. That stands for the present
// password.
func ProvedByPasskey(b core.Browser, now core.Instant) bool {
	return core.FreshProof(b.AuthAt, now) && acrOf(b.AMR) == acrPasskey
}

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
