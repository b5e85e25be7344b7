package worker_test

import (
	flags "flag"
	"fmt"
	"os"
	"testing"

	"pgregory.net/rapid"

	"newsletterd/core/coretest"
	"newsletterd/worker/workertest"
)

// TestBothSidesAgree runs random actions over a link that loses requests and responses, with daemons that are killed.
// In the end both sides must agree, and no one who unsubscribed, was blocked or complained may be emailed.
// AGREEMENT_CHECKS is the number of stories; the default is 15 of each kind, or 6 with -short.
func TestBothSidesAgree(t *testing.T) {
	for _, split := range []bool{false, true} {
		t.Run(map[bool]string{false: "one file", true: "two services"}[split], func(t *testing.T) {
			setChecks(t)
			master := workertest.Master(t)
			rapid.Check(t, func(rt *rapid.T) {
				bubble(t, func(t *testing.T) {
					w := workertest.NewWorld(t, rt, master, split)
					defer w.Close()
					rt.Repeat(w.Actions())
					w.Settle()
					w.Agree("when all is delivered")
					w.SyncAll()
					w.Settle()
					w.Agree("after a full sync of every list")
				})
			})
		})
	}
}

// bubble runs fn in fake time. rapid must not see that time, because it limits itself by the clock. It also takes a
// panic for a failure, so a panic in the bubble is passed on outside of it.
func bubble(t *testing.T, fn func(*testing.T)) {
	var failure any
	coretest.Bubble(t, func(t *testing.T) {
		defer func() { failure = recover() }()
		fn(t)
	})
	switch {
	case failure == nil:
	// must be on a separate line, because rapid distinguishes failures by their position
	case fmt.Sprintf("%T", failure) == "rapid.invalidData":
		panic(failure)
	default:
		panic(failure)
	}
}

// setChecks makes an ordinary run use the same stories each time. New stories run if AGREEMENT_CHECKS or a flag of
// rapid is set.
func setChecks(t *testing.T) {
	set := func(name, value string) {
		f := flags.Lookup(name)
		if f.Value.String() == f.DefValue {
			if err := f.Value.Set(value); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
		}
	}
	if n := os.Getenv("AGREEMENT_CHECKS"); n != "" {
		set("rapid.checks", n)
	} else if flags.Lookup("rapid.checks").Value.String() == flags.Lookup("rapid.checks").DefValue {
		set("rapid.seed", "1")
		set("rapid.checks", map[bool]string{false: "15", true: "6"}[testing.Short()])
	}
}
