package auth

import (
	"context"
	"net/netip"

	"newsletterd/core"
	"newsletterd/store/identity"
)

// EmailChangeRequest is what a user says who wants another address.
type EmailChangeRequest struct {
	Email    core.Email // the new one
	Password string     // the present one
	Remote   netip.Addr
	Device   string // as in SignInRequest
	Language string // of the mails: of core.Languages; empty: the first
}

// AskEmailChange asks for another address of a signed-in user who knows the password, or has lately used a
// passkey: a link goes to the new address,
// and a notice to the old one. Whether the new one has an account already is not told.
func (p *Provider) AskEmailChange(ctx context.Context, v core.Visitor, r EmailChangeRequest, now core.Instant) error {
	if err := p.CheckPresent(ctx, v, r.Password, r.Remote, r.Device, now); err != nil {
		return err
	}
	token := p.newUserToken(core.MailStyle{Language: r.Language}, identity.TokenChange)
	return p.store.AskEmailChange(ctx, v.User.ID, v.User.Epoch, r.Email, token, now)
}

// ChangeEmail redeems the token of that link for the user who is signed in and had asked. Another user can't redeem it:
// one who has not asked would verify the address for the person who has, and who knows another password.
func (p *Provider) ChangeEmail(
	ctx context.Context, userID string, email core.Email, token, language string, now core.Instant,
) error {
	return p.store.ChangeEmail(ctx, userID, core.HashToken(token), email, core.MailStyle{Language: language}, now)
}
