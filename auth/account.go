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

// MailToken returns a verify, claim or reset token: an HMAC over its row's id, with the store's purpose key
// "mail-token". The mailer derives the token again when it renders the email. The database holds only the token's hash.
func MailToken(key []byte, purpose, rowID string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("user " + purpose + "\n" + rowID))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// MailToken returns a mailed token. See the function MailToken.
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

// Register creates a user and emails a link that verifies the address, in the given style. from is the origin of the
// request. If the address already has an account, the owner gets an email instead; these emails are counted per origin.
// The response then costs the same work and looks the same, but contains a user that doesn't exist. The errors are
// weak_password, forbidden if sign-up is closed, and already_exists if the configuration enables it.
func (p *Provider) Register(
	ctx context.Context, email core.Email, password string, look core.MailStyle, from netip.Addr, now core.Instant,
) (core.User, error) {
	if p.ClosedRegistration {
		return core.User{}, core.Forbiddenf("Sign-up is closed. Ask an administrator for an invitation.")
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

// Profile returns a caller's user. A client that acts for itself has no profile and gets a forbidden error.
func (p *Provider) Profile(ctx context.Context, caller core.Caller) (core.User, error) {
	if caller.UserID == "" {
		return core.User{}, core.Forbiddenf("This token belongs to a client. Use a user's token.")
	}
	return p.store.UserWithoutRoles(ctx, caller.UserID)
}

// VerifyEmail redeems a mailed verify token and returns the stored address. It refuses a claim token, because that
// requires a new password on its page.
func (p *Provider) VerifyEmail(
	ctx context.Context, email core.Email, token string, now core.Instant,
) (core.Email, error) {
	return p.store.VerifyEmail(ctx, core.HashToken(token), email, now)
}

// AddressProof is the result of redeeming a verify token on its page.
type AddressProof uint8

// The results of ProveAddress.
const (
	AddressWasVerified AddressProof = iota + 1 // previously: nothing was changed
	AddressVerified                            // with the existing password
	AddressTaken                               // with a new password: all sessions of the account were ended
)

// CheckAddressToken checks a mailed verify token. verified reports whether the address is already verified, so that
// there is nothing left to do. The errors are core.ErrInvalidToken and core.ErrTokenExpired.
func (p *Provider) CheckAddressToken(
	ctx context.Context, email core.Email, token string, now core.Instant,
) (verified bool, err error) {
	t, err := p.store.UnverifiedToken(ctx, core.HashToken(token), email, now)
	return t.Verified, err
}

// ProveAddress redeems a mailed verify token with a password. The password from the sign-up verifies the address. Any
// other password becomes the new password and ends every session: the account then belongs to the owner of the mailbox,
// even if another person registered it. If a role is pending, the given password is always set. If the password is
// weak, the error refers to field.
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

// Forgot emails a link for setting a new password, at most three per hour. It succeeds for every address.
func (p *Provider) Forgot(ctx context.Context, email core.Email, look core.MailStyle, now core.Instant) error {
	return p.store.ForgotPassword(ctx, email, p.newUserToken(look, identity.TokenReset), now)
}

// ResetPassword redeems a mailed reset token. It verifies the address and signs the user out everywhere. If the
// password is weak, the error refers to field.
func (p *Provider) ResetPassword(
	ctx context.Context, email core.Email, token, password, field string, now core.Instant,
) error {
	return p.redeem(ctx, identity.TokenReset, email, token, password, field, now)
}

// ClaimAddress redeems a mailed claim token. It verifies the address, sets the given password and ends all sessions of
// the person who registered the address before.
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

// NewPassword checks a new password against the rules and hashes it, for store.AddUser and store.SetPassword.
func (p *Provider) NewPassword(ctx context.Context, field, password string) (string, error) {
	if err := p.rules.Check(field, password); err != nil {
		return "", err
	}
	return p.hasher.Hash(ctx, password)
}

// Logout ends a refresh token's family if that belongs to the caller.
func (p *Provider) Logout(ctx context.Context, caller core.Caller, refreshToken string, now core.Instant) error {
	if refreshToken == "" {
		return nil
	}
	return p.store.RevokeRefresh(ctx, core.HashToken(refreshToken), caller.UserID, now)
}

// RedeemFunc is the type of ResetPassword and ClaimAddress.
type RedeemFunc func(ctx context.Context, email core.Email, token, password, field string, now core.Instant) error

// VerifyAgain emails another link that verifies a user's address. If the address is already verified or too many links
// were requested, it does nothing and returns nil.
func (p *Provider) VerifyAgain(ctx context.Context, u core.User, language string, now core.Instant) error {
	return p.store.VerifyAgain(ctx, u.ID, p.newUserToken(core.MailStyle{Language: language}, identity.TokenVerify), now)
}
