package auth

import (
	"errors"
	"testing"
	"time"

	"newsletterd/core"
)

// TestADisabledClient checks that a disabled client gets no tokens, that its tokens end immediately, and that they stay
// revoked when the client is enabled again.
func TestADisabledClient(t *testing.T) {
	f := newFlow(t, nil)
	now := t0.Add(time.Minute)
	set := func(disabled bool) {
		t.Helper()
		if _, err := f.s.UpdateClient(t.Context(), f.client.ID, "test", func(c *core.Client) error {
			_, err := c.Change(core.ClientInput{Disabled: &disabled}, true, now)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	refresh := func(token string) error {
		_, err := f.p.RefreshGrant(t.Context(), GrantRequest{Client: f.creds, RefreshToken: token}, now)
		return err
	}
	tokens := f.tokens(now)
	if err := f.bearer(tokens.AccessToken, now); err != nil {
		t.Fatal(err)
	}
	waiting := f.code("", now)
	set(true)
	if err := f.bearer(tokens.AccessToken, now); !errors.Is(err, ErrBadToken) {
		t.Errorf("an access token of a disabled client: %v", err)
	}
	_, codeErr := f.redeem(waiting, now)
	_, introspectErr := f.p.Introspect(t.Context(), f.creds, tokens.AccessToken, now)
	unnamed := GrantRequest{RefreshToken: tokens.RefreshToken}
	_, unnamedErr := f.p.RefreshGrant(t.Context(), unnamed, now)
	for what, err := range map[string]error{
		"code": codeErr, "refresh": refresh(tokens.RefreshToken), "introspect": introspectErr, "unnamed": unnamedErr,
		"revoke": f.p.Revoke(t.Context(), f.creds, tokens.RefreshToken, now),
	} {
		if !errors.Is(err, ErrInvalidClient) {
			t.Errorf("%s of a disabled client: %v", what, err)
		}
	}
	refused := func() *AuthorizeError {
		_, err := f.p.Authorize(t.Context(), AuthorizeRequest{Query: f.query("")}, now)
		e, _ := errors.AsType[*AuthorizeError](err)
		return e
	}
	if e := refused(); e == nil || e.Request != nil || e.Parameter != "client_id" {
		t.Errorf("an authorization request of a disabled client: %v", e)
	}
	set(false)
	if e := refused(); e != nil && e.Parameter == "client_id" {
		t.Errorf("an authorization request of an enabled client: %v", e)
	}
	if err := f.bearer(tokens.AccessToken, now); !errors.Is(err, ErrBadToken) {
		t.Errorf("an access token of before: %v", err)
	}
	if err := refresh(tokens.RefreshToken); !errors.Is(err, ErrInvalidGrant) {
		t.Errorf("a refresh token of before: %v", err)
	}
	if _, err := f.redeem(waiting, now); !errors.Is(err, ErrInvalidGrant) {
		t.Errorf("a code of before: %v", err)
	}
	if err := f.bearer(f.tokens(now).AccessToken, now); err != nil {
		t.Errorf("a token of an enabled client: %v", err)
	}
}

// TestATokenThatADisablingOvertakes checks that a token stays invalid if its client was disabled after the request was
// authenticated, but before the family was stored. Enabling the client again doesn't change that.
func TestATokenThatADisablingOvertakes(t *testing.T) {
	f := newFlow(t, nil)
	set := func(disabled bool) {
		t.Helper()
		if _, err := f.s.UpdateClient(t.Context(), f.client.ID, "test", func(c *core.Client) error {
			_, err := c.Change(core.ClientInput{Disabled: &disabled}, true, t0)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	family := core.Family{
		ID: core.NewID(), Kind: core.FamilyClient, ClientID: f.client.ID, Scope: "openid", AuthAt: t0, CreatedAt: t0,
		ExpiresAt: t0.Add(time.Hour),
	}
	set(true)
	if err := f.p.store.AddFamily(t.Context(), family); err != nil {
		t.Fatal(err)
	}
	set(false)
	state, err := f.p.store.TokenState(t.Context(), family.ID, t0)
	if err != nil || state.Live {
		t.Errorf("live %v, %v", state.Live, err)
	}
}
