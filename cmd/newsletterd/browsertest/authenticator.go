package browsertest

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
)

// Authenticator is a device with passkeys in a browser. It confirms every request and always verifies its user.
type Authenticator struct {
	b  *Browser
	id webauthn.AuthenticatorID
}

// addKey is webauthn.AddCredential without the extension fields that the authenticator doesn't support.
var addKey = cdp.Command[keyParams, cdp.Empty]{Method: webauthn.CommandAddCredential}

type keyParams struct {
	AuthenticatorID webauthn.AuthenticatorID `json:"authenticatorId"`
	Credential      map[string]any           `json:"credential"`
}

// NewAuthenticator connects an authenticator that holds the given keys.
func (b *Browser) NewAuthenticator(keys ...*webauthn.Credential) *Authenticator {
	b.Helper()
	call(b, webauthn.Enable, webauthn.EnableParams{})
	a := &Authenticator{b, call(b, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{
		Options: &webauthn.VirtualAuthenticatorOptions{
			Protocol: "ctap2", Transport: "internal", HasResidentKey: true, HasUserVerification: true,
			AutomaticPresenceSimulation: true, IsUserVerified: true,
		},
	}).AuthenticatorID}
	for _, k := range keys {
		call(b, addKey, keyParams{a.id, map[string]any{
			"credentialId": k.CredentialID, "isResidentCredential": true, "rpId": k.RpID, "privateKey": k.PrivateKey,
			"userHandle": k.UserHandle, "signCount": k.SignCount,
		}})
	}
	return a
}

// Keys returns the authenticator's keys with their counters.
func (a *Authenticator) Keys() []*webauthn.Credential {
	a.b.Helper()
	return call(a.b, webauthn.GetCredentials, webauthn.GetCredentialsParams{AuthenticatorID: a.id}).Credentials
}

// Unplug removes the authenticator and returns its keys.
func (a *Authenticator) Unplug() []*webauthn.Credential {
	a.b.Helper()
	keys := a.Keys()
	call(a.b, webauthn.RemoveVirtualAuthenticator, webauthn.RemoveVirtualAuthenticatorParams{AuthenticatorID: a.id})
	return keys
}

// ForgetCookies deletes the browser's cookies.
func (b *Browser) ForgetCookies() {
	b.Helper()
	call(b, network.ClearBrowserCookies, cdp.Empty{})
}

// call runs a DevTools protocol command.
func call[P, R any](b *Browser, command cdp.Command[P, R], params P) (result R) {
	b.Helper()
	b.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) (err error) {
		result, err = cdp.Call(ctx, target, command, params)
		return err
	}))
	return result
}
