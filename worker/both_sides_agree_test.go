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

// Whatever happens in whatever order, on a link that loses requests and answers and with daemons that die, in the end
// both sides agree, and no subscriber who has left, was disabled or complained is mailable. AGREEMENT_CHECKS is how
// many stories are told (default 15 of each kind, 6 with -short).
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

// bubble runs fn with fake time. rapid must not see that time, since it limits itself by the clock, and takes a panic
// for a failure: one is carried out of the bubble.
func bubble(t *testing.T, fn func(*testing.T)) {
	var failure any
	coretest.Bubble(t, func(t *testing.T) {
		defer func() { failure = recover() }()
		fn(t)
	})
	switch {
	case failure == nil:
	// a line of its own: rapid tells failures apart by where they come from
	case fmt.Sprintf("%T", failure) == "rapid.invalidData":
		panic(failure)
	default:
		panic(failure)
	}
}

// setChecks lets a plain run tell the same stories each time; new ones are told where AGREEMENT_CHECKS or a flag of
// rapid's asks.
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
