package auth

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"newsletterd/core"
	"newsletterd/store/identity"
)

// ChallengeTTL is how long a browser has to respond to a page's challenge.
const ChallengeTTL = 10 * time.Minute

// The authentication methods of a passkey that has verified its user (RFC 8176 section 2). With the first method, the
// key never leaves its device. With the second, it can be synced to the user's other devices.
const (
	amrDeviceKey = "hwk user mfa"
	amrSyncedKey = "swk user mfa"
)

// Errors about passkeys.
var (
	// ErrPasskeyRefused is returned if a response to a challenge is invalid, whatever the reason.
	ErrPasskeyRefused = &core.Error{
		Kind: core.Invalid, Code: "invalid_grant",
		Message: "The passkey was not accepted. Try again, or sign in another way.",
	}
	// ErrNoPasskeys is returned if passkeys are not offered.
	ErrNoPasskeys = &core.Error{
		Kind: core.Forbidden, Code: "forbidden",
		Message: "Passkeys are not available on this server. Sign in with your password.",
	}
)

// The reasons why passkeys are not offered. Each names the WebAuthn requirement.
const (
	PasskeysNeedHost  = "host"  // a host name instead of an IP address
	PasskeysNeedHTTPS = "https" // or localhost
)

// The WebAuthn ceremonies. Each has separate challenges.
const (
	ceremonySignIn  byte = 1
	ceremonyAdd     byte = 2
	ceremonyConfirm byte = 3
)

// PasskeyHost returns the host (RP id) of an origin's passkeys, or the reason why passkeys are not possible.
func PasskeyHost(origin string) (host, missing string) {
	u, err := url.Parse(origin)
	if err != nil || u.Hostname() == "" {
		return "", PasskeysNeedHost
	}
	host = strings.ToLower(u.Hostname())
	if _, err := netip.ParseAddr(host); err == nil || protocol.ValidateRPID(host) != nil {
		return "", PasskeysNeedHost
	}
	if u.Scheme != "https" && host != "localhost" {
		return "", PasskeysNeedHTTPS
	}
	return host, ""
}

// passkeys is the WebAuthn relying party.
type passkeys struct {
	party   *webauthn.WebAuthn
	missing string // reason why passkeys are not offered; empty: they are
	key     []byte // for the challenges' MAC
}

func newPasskeys(issuer string, key []byte) (p passkeys, err error) {
	origin := strings.TrimSuffix(issuer, "/api")
	host, missing := PasskeyHost(origin)
	if p = (passkeys{missing: missing, key: key}); missing != "" {
		return p, nil
	}
	yes := true
	p.party, err = webauthn.New(&webauthn.Config{
		RPID: host, RPDisplayName: host, RPOrigins: []string{origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: &yes,
			UserVerification: protocol.VerificationRequired,
		},
		ExtensionsUnsolicitedOutputPolicy: protocol.UnsolicitedOutputPolicyIgnore, // extensions are not used
	})
	return p, err
}

// host returns the host whose passkeys can be used to sign in, or an empty string if passkeys are not offered.
func (k passkeys) host() string {
	if k.party == nil {
		return ""
	}
	return k.party.Config.RPID
}

// PasskeysMissing returns the reason why passkeys are not offered on this server, or an empty string if they are.
func (p *Provider) PasskeysMissing() string { return p.passkeys.missing }

// A challenge consists of a time, 128 random bits, and an HMAC over both, the ceremony, the browser's secret and the
// user. It isn't stored until the browser responds, so viewing a page causes no write.
const (
	challengeHead = 8 + 16
	challengeSize = challengeHead + sha256.Size
)

func (k passkeys) challenge(ceremony byte, browser, userID string, now core.Instant) []byte {
	c := binary.BigEndian.AppendUint64(make([]byte, 0, challengeSize), uint64(now.Add(ChallengeTTL)))
	c = c[:challengeHead]
	rand.Read(c[8:])
	return append(c, k.mac(c, ceremony, browser, userID)...)
}

func (k passkeys) mac(head []byte, ceremony byte, browser, userID string) []byte {
	m := hmac.New(sha256.New, k.key)
	m.Write(head)
	m.Write([]byte{ceremony})
	m.Write(core.HashToken(browser))
	m.Write([]byte(userID))
	return m.Sum(nil)
}

// check verifies that a challenge was issued by this server for this ceremony, browser and user, and hasn't expired.
func (k passkeys) check(text string, ceremony byte, browser, userID string, now core.Instant) (a identity.Answer,
	err error,
) {
	c, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(c) != challengeSize || browser == "" ||
		!hmac.Equal(c[challengeHead:], k.mac(c[:challengeHead], ceremony, browser, userID)) {
		return a, ErrPasskeyRefused
	}
	a = identity.Answer{Hash: core.HashToken(text), ExpiresAt: core.Instant(binary.BigEndian.Uint64(c))}
	if a.ExpiresAt <= now {
		return a, ErrPendingOver
	}
	return a, nil
}

// passkeyUser implements webauthn.User.
type passkeyUser struct {
	user core.User
	keys []core.Passkey
}

func (u passkeyUser) WebAuthnID() []byte          { return []byte(u.user.ID) }
func (u passkeyUser) WebAuthnName() string        { return string(u.user.Email) }
func (u passkeyUser) WebAuthnDisplayName() string { return string(u.user.Email) }

func (u passkeyUser) WebAuthnCredentials() []webauthn.Credential {
	all := make([]webauthn.Credential, len(u.keys))
	for i, k := range u.keys {
		all[i] = webauthn.Credential{
			ID: k.Credential, PublicKey: k.PublicKey, Flags: webauthn.CredentialFlags{BackupEligible: k.Synced},
			Authenticator: webauthn.Authenticator{SignCount: uint32(k.SignCount)},
		}
	}
	return all
}

// PasskeyOptions returns the options of navigator.credentials.get as JSON (WebAuthn section 5.4). browser is the
// browser's secret. If userID is set, the response must come from one of that user's passkeys. It returns ErrNoPasskeys
// if passkeys are not offered.
func (p *Provider) PasskeyOptions(browser, userID string, now core.Instant) (string, error) {
	if p.passkeys.party == nil {
		return "", ErrNoPasskeys
	}
	ceremony := ceremonySignIn
	if userID != "" {
		ceremony = ceremonyConfirm
	}
	o, _, err := p.passkeys.party.BeginDiscoverableLogin(
		webauthn.WithChallenge(p.passkeys.challenge(ceremony, browser, userID, now)))
	if err != nil {
		return "", err
	}
	return jsonText(o.Response)
}

// NewPasskeyOptions returns the options of navigator.credentials.create as JSON for a signed-in user. They exclude
// the authenticators of the user's existing passkeys. The errors are ErrNoPasskeys and ErrFactorUnverified.
func (p *Provider) NewPasskeyOptions(ctx context.Context, u core.User, browser string, now core.Instant) (string,
	error,
) {
	if p.passkeys.party == nil {
		return "", ErrNoPasskeys
	}
	if !u.EmailVerified {
		return "", ErrFactorUnverified
	}
	keys, err := p.store.Passkeys(ctx, u.ID)
	if err != nil {
		return "", err
	}
	user := passkeyUser{u, keys}
	o, _, err := p.passkeys.party.BeginRegistration(user,
		webauthn.WithExclusions(webauthn.Credentials(user.WebAuthnCredentials()).CredentialDescriptors()),
		func(o *protocol.PublicKeyCredentialCreationOptions) error {
			o.Challenge = p.passkeys.challenge(ceremonyAdd, browser, u.ID, now)
			return nil
		})
	if err != nil {
		return "", err
	}
	return jsonText(o.Response)
}

func jsonText(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

// NewPasskey holds the data for adding a passkey.
type NewPasskey struct {
	Name     string
	Browser  string // the browser's secret
	Response string // result of navigator.credentials.create as JSON
	Language string // language of the email, from core.Languages; empty: the first
}

// AddPasskey adds a passkey for a signed-in user. It returns ErrPasskeyRefused, ErrPendingOver, ErrNoPasskeys,
// ErrFactorUnverified and the errors of store.AddPasskey.
func (p *Provider) AddPasskey(ctx context.Context, v core.Visitor, n NewPasskey, now core.Instant) error {
	if p.passkeys.party == nil {
		return ErrNoPasskeys
	}
	if !v.User.EmailVerified {
		return ErrFactorUnverified
	}
	parsed, err := protocol.ParseCredentialCreationResponseBytes([]byte(n.Response))
	if err != nil {
		return ErrPasskeyRefused.With(err)
	}
	challenge := parsed.Response.CollectedClientData.Challenge
	answer, err := p.passkeys.check(challenge, ceremonyAdd, n.Browser, v.User.ID, now)
	if err != nil {
		return err
	}
	made, err := p.passkeys.party.CreateCredential(passkeyUser{user: v.User}, webauthn.SessionData{
		Challenge: challenge, UserID: []byte(v.User.ID), UserVerification: protocol.VerificationRequired,
		CredParams: webauthn.CredentialParametersDefault(),
	}, parsed)
	if err != nil {
		return ErrPasskeyRefused.With(err)
	}
	k := core.Passkey{
		ID: core.NewID(), UserID: v.User.ID, RPID: p.passkeys.party.Config.RPID, Name: strings.TrimSpace(n.Name),
		Credential: made.ID, PublicKey: made.PublicKey, SignCount: int64(made.Authenticator.SignCount),
		Synced: made.Flags.BackupEligible, CreatedAt: now,
	}
	if err := k.Validate(); err != nil {
		return err
	}
	return p.store.AddPasskey(ctx, k, v.User.Epoch, answer, core.MailStyle{Language: n.Language}, now)
}

// PasskeyAnswer is a browser's response to a challenge.
type PasskeyAnswer struct {
	Browser  string // the browser's secret
	Response string // result of navigator.credentials.get as JSON
}

// SignInByPasskey signs a user in with a passkey that has verified its user, which counts as both factors. The errors
// are ErrPasskeyRefused, ErrPendingOver, ErrNoPasskeys, identity.ErrPasskeyGone, identity.ErrPasskeyCopied and one
// of kind TooMany.
func (p *Provider) SignInByPasskey(ctx context.Context, a PasskeyAnswer, r SignInRequest, now core.Instant) (
	b core.Browser, device string, err error,
) {
	try, use, err := p.checkPasskey(ctx, a, ceremonySignIn, "", r.Remote, now)
	if err != nil {
		return b, "", err
	}
	b, device, in := newBrowser(r, identity.LoginAttempt{User: try.User, Key: try.Key}, methodsOf(try.Passkey), now)
	return b, device, p.store.AddBrowserByPasskey(ctx, use, in, b, r.BrowserID, now)
}

func methodsOf(k core.Passkey) string {
	if k.Synced {
		return amrSyncedKey
	}
	return amrDeviceKey
}

// checkPasskey counts an attempt to use a passkey and then verifies the browser's response. If userID is set, the
// passkey must belong to that user.
func (p *Provider) checkPasskey(ctx context.Context, a PasskeyAnswer, ceremony byte, userID string, remote netip.Addr,
	now core.Instant,
) (try identity.PasskeyAttempt, use identity.PasskeyUse, err error) {
	if p.passkeys.party == nil {
		return try, use, ErrNoPasskeys
	}
	parsed, err := protocol.ParseCredentialRequestResponseBytes([]byte(a.Response))
	if err != nil {
		return try, use, ErrPasskeyRefused.With(err)
	}
	challenge := parsed.Response.CollectedClientData.Challenge
	answer, err := p.passkeys.check(challenge, ceremony, a.Browser, userID, now)
	if err != nil {
		return try, use, err
	}
	if try, err = p.store.TryPasskey(ctx, parsed.RawID, remoteKey(remote), now); err != nil {
		return try, use, err
	}
	if try.Blocked {
		return try, use, tooMany("Too many failed sign-ins from this IP address. Try again later.", now, try.Until)
	}
	if userID != "" && try.User.ID != userID {
		return try, use, identity.ErrPasskeyGone
	}
	if !try.Known || try.Passkey.RPID != p.passkeys.party.Config.RPID {
		return try, use, ErrPasskeyRefused
	}
	owner := func(_, handle []byte) (webauthn.User, error) {
		if !bytes.Equal(handle, []byte(try.User.ID)) {
			return nil, ErrPasskeyRefused
		}
		return passkeyUser{try.User, []core.Passkey{try.Passkey}}, nil
	}
	if _, _, err = p.passkeys.party.ValidatePasskeyLogin(owner, webauthn.SessionData{
		Challenge: challenge, UserVerification: protocol.VerificationRequired,
	}, parsed); err != nil {
		return try, use, ErrPasskeyRefused.With(err)
	}
	return try, identity.PasskeyUse{
		ID: try.Passkey.ID, UserID: try.User.ID, Count: int64(parsed.Response.AuthenticatorData.Counter), Answer: answer,
	}, nil
}
