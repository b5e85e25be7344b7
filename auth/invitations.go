package auth

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/identity"
)

// Invite stores an invitation and emails its link, in language or, if that is empty, in the tenant's language. It
// returns the errors of store.AddInvitation.
func (p *Provider) Invite(
	ctx context.Context, in core.InvitationInput, language, actor string, now core.Instant,
) (core.Invitation, error) {
	token := p.newUserToken(core.MailStyle{Language: language}, identity.TokenInvitation)
	return p.store.AddInvitation(ctx, in, token, actor, now)
}

// JoinByInvitation creates an account with the invited address, which the mailed token verifies. If language is empty,
// the account has none. It returns weak_password, core.ErrInvalidToken or core.ErrTokenExpired.
func (p *Provider) JoinByInvitation(
	ctx context.Context, token, name, password, language string, now core.Instant,
) error {
	hash := core.HashToken(token)
	i, err := p.store.Invited(ctx, hash, now)
	if err != nil {
		return err
	}
	if i.Proved {
		return core.ErrInvalidToken
	}
	passwordHash, err := p.NewPassword(ctx, "password", password)
	if err != nil {
		return err
	}
	return p.store.JoinByInvitation(ctx, hash, name, passwordHash, language, now)
}
