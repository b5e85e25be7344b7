package tenants

import (
	"context"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// Keys are generated one after another.
func TestKeysTakeTurns(t *testing.T) {
	keys := dkimKeys{turn: web.NewTurn()}
	if err := keys.turn.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := keys.newKey(ctx, core.DKIMEd25519); err == nil {
		t.Error("two keys are made at once")
	}
}
