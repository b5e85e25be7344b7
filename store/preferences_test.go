package store

import (
	"testing"
	"testing/synctest"

	"newsletterd/core"
)

// A form that is saved while another change of the preferences is on its way changes its own fields of them, and
// nothing else: what was read when the form was shown, or shortly before the write, is no longer what stands there.
func TestSetFieldsDuringAnotherChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := testNewsletter(t)
		n.active("ann@example.org", now0)
		if _, err := n.SetPreferences(t.Context(), n.list, "ann@example.org", `{"city":"Lyon","vip":false}`,
			now0+5); err != nil {
			t.Fatal(err)
		}
		hold, failed := make(chan struct{}), make(chan error, 3)
		for _, change := range []func() error{
			// the others queue up after it
			func() error { return n.update(t.Context(), func(*Tx) error { <-hold; return nil }) },
			func() error {
				return onlyErr(n.SetPreferences(t.Context(), n.list, "ann@example.org", `{"city":"Paris","vip":true}`,
					now0+10))
			},
			func() error {
				return onlyErr(n.SetFields(t.Context(), n.list, "ann@example.org", map[string]any{"city": "Nantes"},
					now0+10))
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
		sub, err := n.Subscription(t.Context(), n.list, "ann@example.org")
		if want := core.Preferences(`{"city":"Nantes","vip":true}`); err != nil || sub.Preferences != want {
			t.Errorf("%s, %v; want %s", sub.Preferences, err, want)
		}
	})
}
