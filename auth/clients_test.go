package auth

import (
	"errors"
	"testing"
	"time"

	"newsletterd/core"
)

// TestChangedClientIsSeenAtOnce checks that the next request uses a client's new secret, or fails if the client was
// deleted.
func TestChangedClientIsSeenAtOnce(t *testing.T) {
	p, s := testProvider(t, nil)
	c, secret := s.NewClient(core.ClientInput{
		ClientType: new(core.ClientConfidential),
		Scopes:     &[]string{"newsletter:send"},
	})
	try := func(secret string) error {
		_, err := p.ClientGrant(t.Context(), GrantRequest{Client: ClientCredentials{ID: c.ID, Secret: secret}}, t0)
		return err
	}
	for range 2 {
		if err := try(secret); err != nil {
			t.Fatal(err)
		}
	}
	fresh := ""
	if _, err := s.UpdateClient(t.Context(), c.ID, "test",
		func(c *core.Client) error { fresh = c.NewSecret(); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := try(secret); !errors.Is(err, ErrInvalidClient) {
		t.Errorf("the old secret: %v", err)
	}
	if err := try(fresh); err != nil {
		t.Errorf("the new secret: %v", err)
	}
	soon := t0.Add(time.Hour)
	other := ""
	rotate := func(overlap time.Duration) (err error) {
		_, err = s.UpdateClient(t.Context(), c.ID, "test", func(c *core.Client) error {
			other, err = c.RotateSecret(overlap, true, t0)
			return err
		})
		return err
	}
	at := func(secret string, now core.Instant) error {
		_, err := p.ClientGrant(t.Context(), GrantRequest{Client: ClientCredentials{ID: c.ID, Secret: secret}}, now)
		return err
	}
	if err := rotate(time.Hour); err != nil {
		t.Fatal(err)
	}
	newest := other
	if before, after := at(fresh, soon-1), at(fresh, soon); before != nil || !errors.Is(after, ErrInvalidClient) {
		t.Errorf("the secret before, within its time: %v, after it: %v", before, after)
	}
	if err := rotate(time.Hour); !errors.Is(err, core.ErrSecretStands) {
		t.Errorf("a third secret: %v", err)
	}
	if one, two := at(newest, t0), at(newest, soon); one != nil || two != nil {
		t.Errorf("the newest secret: %v, %v", one, two)
	}
	if err := rotate(0); err != nil {
		t.Fatal(err)
	}
	for _, ended := range []string{secret, fresh, newest} {
		if err := at(ended, t0); !errors.Is(err, ErrInvalidClient) {
			t.Errorf("a secret that ended at once: %v", err)
		}
	}
	if err := at("", t0); !errors.Is(err, ErrInvalidClient) {
		t.Errorf("no secret: %v", err)
	}
	fresh = other
	if err := s.DeleteClient(t.Context(), c.ID, "test", t0); err != nil {
		t.Fatal(err)
	}
	if err := try(fresh); !errors.Is(err, ErrInvalidClient) {
		t.Errorf("a deleted client: %v", err)
	}
}
