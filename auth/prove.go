package auth

import (
	"context"
	"net/netip"
	"slices"

	"newsletterd/core"
)

// Factors holds a user's authentication factors in addition to the password.
type Factors struct {
	App     bool // an authenticator app
	Passkey bool // a passkey of this host
}

// Factors returns the factors that a user has. The only possible error is core.ErrStorage.
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

// Proved reports whether the user of a browser has recently reauthenticated well enough to change these factors. A user
// who has a factor must have used it, so that a password alone isn't enough to add or remove one.
func (f Factors) Proved(b core.Browser, now core.Instant) bool {
	return core.FreshProof(b.AuthAt, now) && (!f.App && !f.Passkey || acrOf(b.AMR) != acrPassword)
}

// ProvedByPasskey reports whether the user of a browser has recently used a passkey, which replaces the current
// password.
func ProvedByPasskey(b core.Browser, now core.Instant) bool {
	return core.FreshProof(b.AuthAt, now) && acrOf(b.AMR) == acrPasskey
}

// PasswordProof holds what a signed-in user enters to reauthenticate with a password.
type PasswordProof struct {
	Password string
	Code     string // for a user with a second factor
	Remote   netip.Addr
	Device   string // as in SignInRequest
}

// ProveByPassword records that a signed-in user has entered the password and, if there is a second factor, a code. It
// returns the errors of CheckPassword and CheckCode, and core.ErrNotFound if the user has been signed out.
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

// ProveByPasskey records that a signed-in user has used a passkey. It returns the errors of SignInByPasskey, and
// core.ErrNotFound if the user has been signed out.
func (p *Provider) ProveByPasskey(ctx context.Context, v core.Visitor, a PasskeyAnswer, remote netip.Addr,
	now core.Instant,
) error {
	try, use, err := p.checkPasskey(ctx, a, ceremonyConfirm, v.User.ID, remote, now)
	if err != nil {
		return err
	}
	return p.store.ProveBrowser(ctx, v.Browser.ID, v.User.Epoch, methodsOf(try.Passkey), &use, try.Key, now)
}
