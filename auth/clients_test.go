package auth

import (
	"errors"
	"testing"

	"newsletterd/core"
)

// A client's change is seen by the next request: another secret, or its end.
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
	if err := s.DeleteClient(t.Context(), c.ID, "test", t0); err != nil {
		t.Fatal(err)
	}
	if err := try(fresh); !errors.Is(err, ErrInvalidClient) {
		t.Errorf("a deleted client: %v", err)
	}
}
