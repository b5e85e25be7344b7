package core_test

import (
	"fmt"

	"newsletterd/core"
)

// A method changes the record in memory, and returns the event that reports the change. It doesn't use a database.
func ExampleSubscription_Confirm() {
	now := core.Instant(1_790_000_000_000)
	s := core.Subscription{ID: core.NewID(), ListID: core.NewID()}
	s.Subscribe("ann@example.org", "", now)
	fmt.Println(s.Status)

	change, err := s.Confirm(s.Generation, core.ProofMailed, now)
	fmt.Println(s.Status, change.EventType, err)

	again, err := s.Confirm(s.Generation, core.ProofMailed, now) // the same link again
	fmt.Println(s.Status, again == nil, err)
	// Output:
	// pending
	// active subscription.activated <nil>
	// active true <nil>
}
