package auth

import (
	"context"
	"net/netip"

	"newsletterd/core"
	"newsletterd/store/identity"
)

// EmailChangeRequest is a user's request to use a different email address.
type EmailChangeRequest struct {
	Email    core.Email // new address
	Password string     // current password
	Remote   netip.Addr
	Device   string // as in SignInRequest
	Language string // language of the emails, from core.Languages; empty: the first
}

// AskEmailChange starts changing the address of a signed-in user, who must give the password or have recently used a
// passkey. It emails a link to the new address and a notice to the old one. It doesn't reveal whether the new address
// already has an account.
func (p *Provider) AskEmailChange(ctx context.Context, v core.Visitor, r EmailChangeRequest, now core.Instant) error {
	if err := p.CheckPresent(ctx, v, r.Password, r.Remote, r.Device, now); err != nil {
		return err
	}
	token := p.newUserToken(core.MailStyle{Language: r.Language}, identity.TokenChange)
	return p.store.AskEmailChange(ctx, v.User.ID, v.User.Epoch, r.Email, token, now)
}

// ChangeEmail redeems the token that AskEmailChange emailed, for the signed-in user who requested the change. Another
// user can't redeem it, because that would verify the address for the requester's account.
func (p *Provider) ChangeEmail(
	ctx context.Context, userID string, email core.Email, token, language string, now core.Instant,
) error {
	return p.store.ChangeEmail(ctx, userID, core.HashToken(token), email, core.MailStyle{Language: language}, now)
}
