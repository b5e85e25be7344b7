package store_test

import (
	"bytes"
	"errors"
	"testing"

	"newsletterd/core"
	"newsletterd/store/storetest"
	"newsletterd/store/tenants"
)

func TestWebhookClientKeys(t *testing.T) {
	n := storetest.SeedList(t, now0)
	key := func(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }
	w, err := n.AddWebhookClient(t.Context(), n.TenantID, "crm", key(1), "cli", now0)
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string, want ...[]byte) {
		t.Helper()
		got, err := n.WebhookSender(t.Context(), w.ID)
		if err != nil || len(got.Keys) != len(want) {
			t.Fatalf("%s: %v, %v", when, got, err)
		}
		for i := range want {
			if !bytes.Equal(got.Keys[i], want[i]) {
				t.Errorf("%s: key %d is %x", when, i, got.Keys[i])
			}
		}
	}
	check("fresh", key(1))
	if err := n.RotateWebhookSecret(t.Context(), w.ID, key(2), "cli", now0); err != nil {
		t.Fatal(err)
	}
	check("during rotation", key(2), key(1))
	if err := n.RotateWebhookSecret(t.Context(), w.ID, key(3), "cli", now0); core.KindOf(err) != core.Conflict {
		t.Errorf("another rotation: %v", err)
	}
	check("after another rotation", key(2), key(1))
	if err := n.EndWebhookRotation(t.Context(), w.ID, "cli", now0); err != nil {
		t.Fatal(err)
	}
	check("after it", key(2))
	if err := n.UpdateWebhookClient(t.Context(), w.ID, tenants.WebhookClientChange{Disabled: new(true)}, "cli",
		now0); err != nil {
		t.Fatal(err)
	}
	if got, err := n.WebhookSender(t.Context(), w.ID); err != nil || got.DisabledAt != now0 {
		t.Errorf("disabled: %+v, %v", got, err)
	}
	if err := n.DeleteWebhookClient(t.Context(), w.ID, "cli", now0); err != nil {
		t.Fatal(err)
	}
	if _, err := n.WebhookSender(t.Context(), w.ID); !errors.Is(err, core.ErrNotFound) {
		t.Errorf("deleted: %v", err)
	}
	if _, err := n.AddWebhookClient(t.Context(), core.NewID(), "x", key(1), "cli", now0); !errors.Is(err,
		core.ErrNotFound) {
		t.Errorf("unknown tenant: %v", err)
	}
}

func TestLoopClientIsMadeOnce(t *testing.T) {
	n := storetest.SeedList(t, now0)
	for i := range byte(2) {
		if err := n.EnsureLoopClient(t.Context(), bytes.Repeat([]byte{i + 1}, 32), now0); err != nil {
			t.Fatal(err)
		}
	}
	w, err := n.WebhookSender(t.Context(), core.LoopClientID)
	if err != nil || w.TenantID != "" || len(w.Keys) != 1 || w.Keys[0][0] != 1 {
		t.Errorf("%+v, %v", w, err)
	}
	if err := n.DeleteWebhookClient(t.Context(), core.LoopClientID, "cli", now0); core.KindOf(err) != core.Conflict {
		t.Errorf("deleting it: %v", err)
	}
}
