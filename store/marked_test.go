package store_test

import (
	"errors"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/people"
	"newsletterd/store/storetest"
)

// An unconfirmed person whom a file marks as unsubscribed is neither asked again nor removed. If the person were
// removed, a later file would make them active.
func TestHygieneLeavesMarkedPeopleAlone(t *testing.T) {
	n := storetest.SeedList(t, now0)
	n.Pending(n.ListID, "waits@example.org")
	n.Pending(n.ListID, "left@example.org")
	n = n.At(n.Now + 1000)
	imported(n, n.Now, leaves("left@example.org", 0))
	later := n.Now.Add(30 * day)
	asked, _, err := n.AskAgain(
		t.Context(),
		people.AskAgain{ListID: n.ListID, Who: core.AskUnconfirmed, Actor: "test"},
		later,
	)
	if n.Must(err); asked != 1 {
		t.Errorf("%d were asked, want the one who waits", asked)
	}
	removed, _, err := n.RemoveUnconfirmed(t.Context(), n.ListID, "test", time.Minute, later.Add(60*day))
	if n.Must(err); removed != 1 {
		t.Errorf("%d were removed, want the one who waits", removed)
	}
	imported(n, n.Now+2000, joins("left@example.org"))
	if sub, err := n.Subscription(t.Context(), n.ListID, "left@example.org"); err != nil ||
		sub.Status == core.SubscriptionActive {
		t.Errorf("a file made them active: %+v, %v", sub, err)
	}
}

// The endpoints of a tenant are deleted with the tenant. Otherwise, they would still get events about its subscribers.
func TestEndpointsGoWithTheirTenant(t *testing.T) {
	n := storetest.SeedList(t, now0)
	e := n.NewEndpoint(core.EndpointInput{URL: new("https://crm.test/all")})
	n.Active(n.ListID, "a@example.org")
	n.Must(n.DeleteTenant(t.Context(), n.TenantID, "test", n.Now+1000))
	if _, err := n.Endpoint(t.Context(), e.ID); !errors.Is(err, core.ErrNotFound) {
		t.Error("the endpoint is still there:", err)
	}
	if state, err := n.EndpointState(t.Context()); err != nil || state.Waiting != 0 {
		t.Errorf("%+v, %v", state, err)
	}
}
