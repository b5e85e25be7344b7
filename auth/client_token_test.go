package auth

import (
	"errors"
	"testing"
	"time"

	"newsletterd/auth/authtest"
	"newsletterd/core"
	"newsletterd/store/people"
)

// clientTokens returns a flow whose client gets tokens for itself, and a function that gets one.
func clientTokens(t *testing.T) (*flow, func() string) {
	f := newFlow(t, nil, func(c *core.ClientInput) { c.Scopes = &[]string{core.ScopeSend} })
	return f, func() string {
		t.Helper()
		r, err := f.p.ClientGrant(t.Context(), GrantRequest{Client: f.creds}, t0)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.bearer(r.AccessToken, t0); err != nil {
			t.Fatal(err)
		}
		return r.AccessToken
	}
}

// TestRevokedTokenOfAClient checks that a client's own token ends immediately when the client or an operator revokes
// it, and that others stay valid.
func TestRevokedTokenOfAClient(t *testing.T) {
	f, get := clientTokens(t)
	sid := func(token string) string { return authtest.Claims(t, token)["sid"].(string) }
	for name, revoke := range map[string]func(token string) error{
		"client":   func(token string) error { return f.p.Revoke(t.Context(), f.creds, token, t0) },
		"operator": func(token string) error { return f.s.RevokeFamily(t.Context(), sid(token), t0) },
	} {
		ended, other := get(), get()
		for range 2 {
			if err := revoke(ended); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := f.p.Revoke(t.Context(), f.creds, ended, t0); err != nil {
			t.Errorf("%s, then its client: %v", name, err)
		}
		f.s.Clean(people.Retention{})
		if err := f.bearer(ended, t0); !errors.Is(err, ErrBadToken) {
			t.Errorf("%s: %v", name, err)
		}
		if i, err := f.p.Introspect(t.Context(), f.creds, ended, t0); err != nil || i.Active {
			t.Errorf("%s: %+v, %v", name, i, err)
		}
		i, err := f.p.Introspect(t.Context(), f.creds, other, t0)
		if err != nil || !i.Active || i.SessionID != sid(other) {
			t.Errorf("%s, another token: %+v, %v", name, i, err)
		}
		if err := f.bearer(other, t0); err != nil {
			t.Errorf("%s, another token: %v", name, err)
		}
	}
	id := []byte(sid(get()))
	id[0] ^= 1 // still a hexadecimal digit
	for _, id := range []string{string(id), core.NewID(), f.client.ID, "x"} {
		if err := f.s.RevokeFamily(t.Context(), id, t0); !errors.Is(err, core.ErrNotFound) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestTokensOfADisabledClient checks that a client's own tokens end when it is disabled, and stay invalid when it is
// enabled again. This includes a token whose request was authenticated before.
func TestTokensOfADisabledClient(t *testing.T) {
	f, get := clientTokens(t)
	before, overtaken := get(), f.p.clients.clients[f.client.ID]
	for _, disabled := range []bool{true, false} {
		_, err := f.s.UpdateClient(t.Context(), f.client.ID, "test", func(c *core.Client) error {
			_, err := c.Change(core.ClientInput{Disabled: &disabled}, true, t0)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.bearer(before, t0); !errors.Is(err, ErrBadToken) {
			t.Errorf("disabled %t: %v", disabled, err)
		}
	}
	late, err := f.p.signAccess(t.Context(), core.Family{
		ID: core.NewID(), Kind: core.FamilyClient, ClientID: f.client.ID, Epoch: overtaken.Epoch, AuthAt: t0,
	}, []string{core.ScopeSend}, t0, t0.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.bearer(late, t0); !errors.Is(err, ErrBadToken) {
		t.Errorf("a token that was signed after the client was disabled: %v", err)
	}
	get()
}
