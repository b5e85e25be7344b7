package auth

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"newsletterd/core"
	"newsletterd/store/identity"
)

// The values of Config.SecondFactor: which users need a second factor to sign in in a browser. A user who has one must
// always use it.
const (
	FactorOff       = "off"
	FactorOperators = "operators"
	FactorStaff     = "staff" // everyone with a role
	FactorAll       = "all"
)

// pendingTTL is how long a user has to enter the code after the password.
const pendingTTL = 10 * time.Minute

// The authentication methods (amr) of a sign-in (RFC 8176 section 2).
const (
	amrPassword = "pwd"
	amrTOTP     = "pwd otp mfa"
)

// Errors about the second factor.
var (
	// ErrMFARequired is returned for a password grant without otp if the user has a second factor. RFC 6749 has no
	// specific code for it.
	ErrMFARequired = &core.Error{
		Kind: core.Invalid, Code: "invalid_grant", Field: "otp", MFARequired: true,
		Message: "This account uses two-factor authentication. Send a verification code in the field otp.",
	}
	// ErrPasskeyNeeded is returned if the password is correct but not sufficient: the user must have a second factor
	// and has only a passkey.
	ErrPasskeyNeeded = &core.Error{
		Kind: core.Invalid, Code: "invalid_grant", MFARequired: true,
		Message: "This account has a passkey. Sign in with it on the login page.",
	}
	// ErrBadCode is returned for a code that is wrong or was already used.
	ErrBadCode = &core.Error{
		Kind: core.Invalid, Code: "invalid_grant", Field: "otp",
		Message: "The code is wrong or was already used. Enter a new code.",
	}
	// ErrPendingOver is returned if the user took too long to complete a sign-in after entering the password.
	ErrPendingOver = &core.Error{
		Kind: core.Invalid, Code: "invalid_grant", Message: "The sign-in took too long. Start again.",
	}
	// ErrFactorUnverified is returned if a user without a verified address sets up a second factor.
	ErrFactorUnverified = &core.Error{
		Kind: core.Forbidden, Code: "forbidden", Message: "Your email address isn't verified. Verify it first.",
	}
)

// PendingSignIn is a browser sign-in whose password was correct, but which still needs a second factor. It is stored in
// the browser's session.
type PendingSignIn struct {
	UserID string       `json:"user"`
	Email  core.Email   `json:"email"`
	Epoch  int64        `json:"epoch"`
	Key    string       `json:"key"` // key of the failed password counter
	Until  core.Instant `json:"until"`
	SetUp  bool         `json:"set_up"` // the user has no factor yet and must set one up
}

// Text encodes the sign-in for the session.
func (w PendingSignIn) Text() string {
	b, err := json.Marshal(w)
	if err != nil {
		panic(err) // only strings and numbers, which can always be encoded
	}
	return string(b)
}

// ParsePendingSignIn parses the result of PendingSignIn.Text. If text is empty or the sign-in has expired, it returns
// ErrPendingOver.
func ParsePendingSignIn(text string, now core.Instant) (w PendingSignIn, err error) {
	if json.Unmarshal([]byte(text), &w) != nil || w.UserID == "" || w.Until <= now {
		return w, ErrPendingOver
	}
	return w, nil
}

// FactorNeeded is the error that SignIn returns if the password is correct but a second factor is required.
type FactorNeeded struct{ Pending PendingSignIn }

func (*FactorNeeded) Error() string { return "the sign-in requires a second factor" }

// Demands reports whether the configuration requires a user to have a second factor. It returns false for a user with
// an unverified address, which may belong to another person.
func (p *Provider) Demands(u *core.User) bool {
	if !u.EmailVerified {
		return false
	}
	switch p.SecondFactor {
	case FactorOperators:
		return u.Operator()
	case FactorStaff:
		return len(u.Roles) > 0
	case FactorAll:
		return true
	}
	return false
}

// needsPasskey reports whether a correct password isn't enough: a second factor is required, and the user has only a
// passkey. A passkey is a complete sign-in, not a second factor.
func (p *Provider) needsPasskey(try *identity.LoginAttempt) bool {
	return try.Passkey && !try.Factor && p.Demands(&try.User)
}

// postpone suspends a login with a correct password until FinishSignIn completes it. It always returns an error,
// usually a *FactorNeeded.
func (p *Provider) postpone(ctx context.Context, try identity.LoginAttempt, rehashed string, now core.Instant) error {
	pending := PendingSignIn{
		UserID: try.User.ID, Email: try.User.Email, Epoch: try.User.Epoch, Key: try.Key, Until: now.Add(pendingTTL),
		SetUp: !try.Factor,
	}
	if rehashed != "" {
		if err := p.store.RenewHash(ctx, try.User.ID, try.PasswordHash, rehashed); err != nil {
			return err
		}
	}
	if pending.SetUp {
		if err := p.store.SetTOTP(ctx, try.User.ID, newTOTPSecret(), now); err != nil {
			return err
		}
	}
	if err := p.store.ForgiveTry(ctx, try.Key); err != nil {
		return err
	}
	return &FactorNeeded{pending}
}

// FinishSignIn completes a sign-in with a code. r describes the browser. If the user had to set up an authenticator
// app, the code confirms the app, and the returned recovery codes must be shown once. The errors are ErrBadCode,
// ErrPendingOver, identity.ErrSignInStale if the user has changed since, and one of kind TooMany.
func (p *Provider) FinishSignIn(ctx context.Context, pending PendingSignIn, code string, r SignInRequest,
	now core.Instant,
) (b core.Browser, device string, recovery []string, err error) {
	if pending.Until <= now {
		return b, "", nil, ErrPendingOver
	}
	if pending.SetUp {
		recovery, err = p.confirmTOTP(ctx, identity.NewTOTP{
			UserID: pending.UserID, Epoch: pending.Epoch, Host: p.passkeys.host(),
			Look: core.MailStyle{Language: r.Language},
		}, code, now)
	} else {
		err = p.CheckCode(ctx, pending.UserID, code, now)
	}
	if pending.SetUp && errors.Is(err, core.ErrNotFound) {
		err = ErrPendingOver // another browser has set one up in the meantime
	}
	if err != nil {
		return b, "", nil, err
	}
	try := identity.LoginAttempt{User: core.User{ID: pending.UserID, Epoch: pending.Epoch}, Key: pending.Key}
	b, device, err = p.addBrowser(ctx, r, try, "", amrTOTP, now)
	return b, device, recovery, err
}

// CheckCode checks a code from a user's authenticator app, or a recovery code. It accepts each code only once. Failures
// are counted per user before the code is checked. The errors are ErrBadCode and one of kind TooMany.
func (p *Provider) CheckCode(ctx context.Context, userID, code string, now core.Instant) error {
	try, err := p.store.TryFactor(ctx, userID, now)
	if errors.Is(err, core.ErrNotFound) {
		return ErrBadCode
	}
	if err != nil {
		return err
	}
	if try.Blocked {
		return tooMany("Too many wrong codes for this account. Try again later.", now, try.Until)
	}
	if code = typedCode(code); len(code) == totpDigits {
		step, ok := matchTOTP(try.Secret, code, try.LastStep, now)
		if !ok {
			return ErrBadCode
		}
		err = p.store.UseTOTP(ctx, userID, step)
	} else {
		err = p.store.UseRecoveryCode(ctx, userID, core.HashToken(code))
	}
	if errors.Is(err, core.ErrNotFound) {
		return ErrBadCode
	}
	return err
}

// TOTPSetup holds the data for setting up an authenticator app.
type TOTPSetup struct {
	Secret string // base32, in groups of four
	URI    string // otpauth
}

// SetUpTOTP creates the secret for a new authenticator app. If the user's address is not verified, it returns
// ErrFactorUnverified. If the user has a second factor, it returns identity.ErrFactorSet.
func (p *Provider) SetUpTOTP(ctx context.Context, u core.User, now core.Instant) error {
	if !u.EmailVerified {
		return ErrFactorUnverified
	}
	return p.store.SetTOTP(ctx, u.ID, newTOTPSecret(), now)
}

// NewTOTP returns the setup that SetUpTOTP created, if the user has not confirmed it yet. If there is none, it returns
// core.ErrNotFound.
func (p *Provider) NewTOTP(ctx context.Context, userID string, email core.Email) (TOTPSetup, error) {
	secret, err := p.store.NewTOTP(ctx, userID)
	if err != nil {
		return TOTPSetup{}, err
	}
	text := totpText.EncodeToString(secret)
	var groups []string
	for ; len(text) > recoveryGroup; text = text[recoveryGroup:] {
		groups = append(groups, text[:recoveryGroup])
	}
	return TOTPSetup{strings.Join(append(groups, text), " "), totpURI(p.host(), string(email), secret)}, nil
}

// host returns the name that authenticator apps show for accounts on this server.
func (p *Provider) host() string {
	_, rest, _ := strings.Cut(p.Issuer, "://")
	host, _, _ := strings.Cut(rest, "/")
	return host
}

// ConfirmTOTP makes the app prepared by SetUpTOTP the user's second factor and returns the recovery codes, which must
// be shown once. If the code is wrong, it returns ErrBadCode. If no setup is pending, it returns core.ErrNotFound. If
// the user has changed since the sign-in, it returns identity.ErrSignInStale.
func (p *Provider) ConfirmTOTP(ctx context.Context, u core.User, code string, look core.MailStyle, now core.Instant) (
	[]string, error,
) {
	return p.confirmTOTP(ctx, identity.NewTOTP{UserID: u.ID, Epoch: u.Epoch, Look: look}, code, now)
}

func (p *Provider) confirmTOTP(ctx context.Context, n identity.NewTOTP, code string, now core.Instant) ([]string, error) {
	secret, err := p.store.NewTOTP(ctx, n.UserID)
	if err != nil {
		return nil, err
	}
	step, ok := matchTOTP(secret, typedCode(code), 0, now)
	if !ok {
		return nil, ErrBadCode
	}
	codes, hashes := newRecoveryCodes()
	n.Step, n.Codes = step, hashes
	if err := p.store.ConfirmTOTP(ctx, n, now); err != nil {
		return nil, err
	}
	return codes, nil
}

// RenewRecoveryCodes replaces a user's recovery codes and returns the new ones, which must be shown once. If the user
// has no second factor, it returns core.ErrNotFound.
func (p *Provider) RenewRecoveryCodes(ctx context.Context, userID string, look core.MailStyle, now core.Instant) (
	[]string, error,
) {
	codes, hashes := newRecoveryCodes()
	return codes, p.store.SetRecoveryCodes(ctx, userID, hashes, look, now)
}
