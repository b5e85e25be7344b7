package main

import (
	"fmt"
	"os"
	"testing"

	"newsletterd/cmd/newsletterd/figurestest"
)

// TestFiguresOfSubscribing prints the cost of double opt-in. Each request has a new address and queues a confirmation
// email. It also prints the cost of bare inserts in the same run, and compares subscriptions during a full sync of
// twice NEWSLETTERD_FIGURES people with those afterwards, for NEWSLETTERD_FIGURES_ROUNDS rounds.
func TestFiguresOfSubscribing(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench")
	}
	f := figurestest.New(t)
	f.Build()
	f.Serve()
	f.Stop()
	f.Records()
	bare := f.BareInserts(64)
	f.Serve()
	for _, conns := range []int{16, 64} {
		rate, cost := f.Subscribe(conns)
		f.Line(fmt.Sprintf("subscribe, %d connections", conns), "%.0f requests/s, %.2f of bare inserts; %s", rate, rate/bare, cost)
	}
	f.Stop()
	f.Import(f.List, "reader", 2*f.N)
	f.SubscribeDuringSync(max(figurestest.Number("NEWSLETTERD_FIGURES_ROUNDS", 1), 1))
}
