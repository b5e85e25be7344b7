package store_test

import (
	"testing"
	"testing/synctest"

	"newsletterd/core"
	"newsletterd/store/storetest"
)

// A form saved during another change of the preferences changes only its own fields. The values that were read when the
// form was shown, or shortly before the write, are outdated by then.
func TestSetFieldsDuringAnotherChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := storetest.SeedList(t, now0)
		n.Active(n.ListID, "ann@example.org")
		if _, err := n.SetPreferences(t.Context(), n.ListID, "ann@example.org", `{"city":"Lyon","vip":false}`,
			now0+5); err != nil {
			t.Fatal(err)
		}
		hold, failed := make(chan struct{}), make(chan error, 3)
		for _, change := range []func() error{
			// the other changes wait for it
			func() error {
				_, err := n.UpdateTenant(t.Context(), n.TenantID, "test",
					func(*core.Tenant) error { <-hold; return nil })
				return err
			},
			func() error {
				_, err := n.SetPreferences(t.Context(), n.ListID, "ann@example.org", `{"city":"Paris","vip":true}`,
					now0+10)
				return err
			},
			func() error {
				_, err := n.SetFields(t.Context(), n.ListID, "ann@example.org", map[string]any{"city": "Nantes"},
					now0+10)
				return err
			},
		} {
			go func() { failed <- change() }()
			synctest.Wait()
		}
		close(hold)
		for range cap(failed) {
			if err := <-failed; err != nil {
				t.Error(err)
			}
		}
		sub, err := n.Subscription(t.Context(), n.ListID, "ann@example.org")
		if want := core.Preferences(`{"city":"Nantes","vip":true}`); err != nil || sub.Preferences != want {
			t.Errorf("%s, %v; want %s", sub.Preferences, err, want)
		}
	})
}
