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

// MailToken returns a verify, claim or reset token: an HMAC over the id of its row, with the store's purpose key
// "mail-token". The mailer derives the same token when it renders the email. The database contains only the hash of the
// token.
func MailToken(key []byte, purpose, rowID string) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("user " + purpose + "\n" + rowID))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// MailToken is like the function MailToken, with the key of p.
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

// Register creates a user and emails a link that verifies the address, in the given style. If the address already has
// an account, its owner gets a notice instead. The response then costs the same work and looks the same, but contains a
// user that doesn't exist. These notices are counted per origin; from is the origin of the request. The errors are
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

// Profile returns the user who makes a call. For a client that acts for itself, it returns a forbidden error.
func (p *Provider) Profile(ctx context.Context, caller core.Caller) (core.User, error) {
	if caller.UserID == "" {
		return core.User{}, core.Forbiddenf("This token belongs to a client. Use a user's token.")
	}
	return p.store.UserWithoutRoles(ctx, caller.UserID)
}

// VerifyEmail redeems an emailed verify token and returns the verified address. It refuses claim tokens, whose page
// must also ask for a new password.
func (p *Provider) VerifyEmail(
	ctx context.Context, email core.Email, token string, now core.Instant,
) (core.Email, error) {
	return p.store.VerifyEmail(ctx, core.HashToken(token), email, now)
}

// AddressProof is the result of Provider.ProveAddress.
type AddressProof uint8

// The results of ProveAddress.
const (
	AddressWasVerified AddressProof = iota + 1 // already verified; nothing was changed
	AddressVerified                            // with the existing password
	AddressTaken                               // with a new password: all sessions of the account were ended
)

// CheckAddressToken checks an emailed verify token without redeeming it. verified reports whether the address is
// already verified. The errors are core.ErrInvalidToken and core.ErrTokenExpired.
func (p *Provider) CheckAddressToken(
	ctx context.Context, email core.Email, token string, now core.Instant,
) (verified bool, err error) {
	t, err := p.store.UnverifiedToken(ctx, core.HashToken(token), email, now)
	return t.Verified, err
}

// ProveAddress redeems an emailed verify token together with a password. The password chosen at sign-up verifies the
// address. Any other password becomes the new one and ends all sessions, so that the account belongs to the owner of
// the mailbox even if another person registered it. If a role is pending, the given password is always set. If the
// password is weak, the error refers to field.
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

// Forgot emails a link for a password reset, at most three times per hour. It reports success even for an unknown
// address.
func (p *Provider) Forgot(ctx context.Context, email core.Email, look core.MailStyle, now core.Instant) error {
	return p.store.ForgotPassword(ctx, email, p.newUserToken(look, identity.TokenReset), now)
}

// ResetPassword redeems an emailed reset token and sets the password. It also verifies the address and signs the user
// out everywhere. If the password is weak, the error refers to field.
func (p *Provider) ResetPassword(
	ctx context.Context, email core.Email, token, password, field string, now core.Instant,
) error {
	return p.redeem(ctx, identity.TokenReset, email, token, password, field, now)
}

// ClaimAddress redeems an emailed claim token. It verifies the address, sets the password, and ends all sessions of the
// person who registered the address earlier.
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

// Logout ends the family of a refresh token if the family belongs to the caller.
func (p *Provider) Logout(ctx context.Context, caller core.Caller, refreshToken string, now core.Instant) error {
	if refreshToken == "" {
		return nil
	}
	return p.store.RevokeRefresh(ctx, core.HashToken(refreshToken), caller.UserID, now)
}

// RedeemFunc redeems an emailed token and sets a new password. ResetPassword and ClaimAddress have this type.
type RedeemFunc func(ctx context.Context, email core.Email, token, password, field string, now core.Instant) error

// VerifyAgain emails a new link that verifies a user's address. If the address is already verified, or too many links
// were requested, it does nothing and returns nil.
func (p *Provider) VerifyAgain(ctx context.Context, u core.User, language string, now core.Instant) error {
	return p.store.VerifyAgain(ctx, u.ID, p.newUserToken(core.MailStyle{Language: language}, identity.TokenVerify), now)
}
