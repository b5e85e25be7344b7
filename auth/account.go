package auth

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/netip"

	"newsletterd/core"
	"newsletterd/store/identity"
)

// MailToken is the text of a verify, claim or reset token: an HMAC over the id of its row. The mailer makes it
// again when it renders the mail, with the store's purpose key "mail-token"; the database holds its hash alone.
func MailToken(key []byte, purpose, rowID string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("user " + purpose + "\n" + rowID))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// MailToken makes the text of a mailed token; see the function of that name.
func (p *Provider) MailToken(purpose, rowID string) string {
	return MailToken(p.mailKey, purpose, rowID)
}

func (p *Provider) newUserToken(look core.MailStyle, purposes ...string) identity.UserToken {
	t := identity.UserToken{ID: core.NewID(), Hashes: map[string][]byte{}, Style: look}
	for _, purpose := range purposes {
		t.Hashes[purpose] = core.HashToken(p.MailToken(purpose, t.ID))
	}
	return t
}

// Register makes a user and mails a link that verifies the address, in the given style. from is where the request came
// from: mails to the owner of an address that exists are counted by it. For an address that exists the answer is of the
// same form, after the same work: a user that does not exist. The error is weak_password, forbidden where registration
// is closed, and already_exists where the configuration says so.
func (p *Provider) Register(
	ctx context.Context, email core.Email, password string, look core.MailStyle, from netip.Addr, now core.Instant,
) (core.User, error) {
	if p.ClosedRegistration {
		return core.User{}, core.Forbiddenf("Registration is closed. Ask an administrator for an invitation.")
	}
	if err := p.rules.Check("password", password); err != nil {
		return core.User{}, err
	}
	hash, err := p.hasher.Hash(ctx, password)
	if err != nil {
		return core.User{}, err
	}
	u := core.NewUser(email, now)
	_, err = p.store.Register(ctx, identity.Registration{
		User: u, PasswordHash: hash, Conflict: p.RegisterConflict, Origin: remoteKey(from),
		Token: p.newUserToken(look, identity.TokenVerify, identity.TokenClaim),
	}, now)
	if err != nil {
		return core.User{}, err
	}
	return u, nil
}

// Profile reads the user that a caller is. A client acting for itself has no profile: that is forbidden.
func (p *Provider) Profile(ctx context.Context, caller core.Caller) (core.User, error) {
	if caller.UserID == "" {
		return core.User{}, core.Forbiddenf("This token belongs to a client. Use the token of a user.")
	}
	return p.store.UserWithoutRoles(ctx, caller.UserID)
}

// VerifyEmail redeems a mailed verify token and returns the address as it is stored. A claim token is invalid
// here: it wants a new password, on its page.
func (p *Provider) VerifyEmail(
	ctx context.Context, email core.Email, token string, now core.Instant,
) (core.Email, error) {
	return p.store.VerifyEmail(ctx, core.HashToken(token), email, now)
}

// AddressProof is what becomes of a verify token on its page.
type AddressProof uint8

// The results of ProveAddress.
const (
	AddressWasVerified AddressProof = iota + 1 // before: nothing was changed
	AddressVerified                            // by the password that stood
	AddressTaken                               // by a new password: all sessions of the account were ended
)

// CheckAddressToken looks at a mailed verify token; verified reports that there is nothing left to do.
// core.ErrInvalidToken, core.ErrTokenExpired.
func (p *Provider) CheckAddressToken(
	ctx context.Context, email core.Email, token string, now core.Instant,
) (verified bool, err error) {
	t, err := p.store.UnverifiedToken(ctx, core.HashToken(token), email, now)
	return t.Verified, err
}

// ProveAddress redeems a mailed verify token with a password. The one that was set at the registration verifies the
// address. Any other becomes the password, and ends every session: the account then belongs to the owner of the
// mailbox, also where another person registered it. Where a role is pending, the given password is always set anew.
// field names the input of the password in the error of a weak one.
func (p *Provider) ProveAddress(
	ctx context.Context, email core.Email, token, password, field string, now core.Instant,
) (AddressProof, error) {
	hash := core.HashToken(token)
	t, err := p.store.UnverifiedToken(ctx, hash, email, now)
	if err != nil {
		return 0, err
	}
	if t.Verified {
		return AddressWasVerified, nil
	}
	if t.PasswordHash != "" && !t.RolesPending {
		same, _, err := p.hasher.Verify(ctx, t.PasswordHash, password)
		if err != nil {
			return 0, err
		}
		if same {
			_, err := p.store.VerifyEmail(ctx, hash, email, now)
			return AddressVerified, err
		}
	}
	phc, err := p.NewPassword(ctx, field, password)
	if err != nil {
		return 0, err
	}
	return AddressTaken, p.store.RedeemUserToken(ctx, identity.TokenVerify, hash, email, phc, now)
}

// Forgot mails a link for a new password, three an hour at most; it succeeds for every address.
func (p *Provider) Forgot(ctx context.Context, email core.Email, look core.MailStyle, now core.Instant) error {
	return p.store.ForgotPassword(ctx, email, p.newUserToken(look, identity.TokenReset), now)
}

// ResetPassword redeems a mailed reset token: the user is signed out everywhere, the address verified.
// field names the input of the password in the error of a weak one.
func (p *Provider) ResetPassword(
	ctx context.Context, email core.Email, token, password, field string, now core.Instant,
) error {
	return p.redeem(ctx, identity.TokenReset, email, token, password, field, now)
}

// ClaimAddress redeems a mailed claim token: the address becomes verified, the password is the given one, and
// all sessions of the person who registered the address before end.
func (p *Provider) ClaimAddress(
	ctx context.Context, email core.Email, token, password, field string, now core.Instant,
) error {
	return p.redeem(ctx, identity.TokenClaim, email, token, password, field, now)
}

func (p *Provider) redeem(
	ctx context.Context, purpose string, email core.Email, token, password, field string, now core.Instant,
) error {
	hash := core.HashToken(token)
	if err := p.store.CheckUserToken(ctx, purpose, hash, email, now); err != nil {
		return err
	}
	phc, err := p.NewPassword(ctx, field, password)
	if err != nil {
		return err
	}
	return p.store.RedeemUserToken(ctx, purpose, hash, email, phc, now)
}

// NewPassword holds a new password against the rules and hashes it, for store.AddUser and store.SetPassword.
func (p *Provider) NewPassword(ctx context.Context, field, password string) (string, error) {
	if err := p.rules.Check(field, password); err != nil {
		return "", err
	}
	return p.hasher.Hash(ctx, password)
}

// Logout ends the family of a refresh token, if it is the caller's own.
func (p *Provider) Logout(ctx context.Context, caller core.Caller, refreshToken string, now core.Instant) error {
	if refreshToken == "" {
		return nil
	}
	return p.store.RevokeRefresh(ctx, core.HashToken(refreshToken), caller.UserID, now)
}

// RedeemFunc is ResetPassword or ClaimAddress.
type RedeemFunc func(ctx context.Context, email core.Email, token, password, field string, now core.Instant) error

// VerifyAgain mails the link that verifies a user's address once more; without a word when it is verified, or was
// asked for too often.
func (p *Provider) VerifyAgain(ctx context.Context, u core.User, language string, now core.Instant) error {
	return p.store.VerifyAgain(ctx, u.ID, p.newUserToken(core.MailStyle{Language: language}, identity.TokenVerify), now)
}
