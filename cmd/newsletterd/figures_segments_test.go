package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/figurestest"
)

// TestFiguresOfSegmentedSending compares a campaign to everyone on a list with campaigns to segments of that list, in
// NEWSLETTERD_FIGURES_ROUNDS rounds. The list has NEWSLETTERD_FIGURES subscribers.
func TestFiguresOfSegmentedSending(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench")
	}
	f := figurestest.New(t)
	f.Build()
	f.Serve()
	f.Stop()
	f.Records()
	f.Import(f.List, "reader", f.N)
	f.Sync(f.N)
	f.Serve("NEWSLETTERD_SEND_MAX_UNRECORDED=256")
	towns := make([]string, 100)
	for i := range towns {
		towns[i] = fmt.Sprintf(`"Town%d"`, i)
	}
	shares := []int{100, 50, 10, 1} // percent
	segments := map[int]string{}
	for _, share := range shares[1:] {
		segments[share] = f.Send("POST", "/api/segments", fmt.Sprintf(`{"tenant_id": %q, "name": "%d%%", "rule":
			{"field": "city", "is": [%s]}}`, f.Tenant, share, strings.Join(towns[:share], ","))).OK().Field("id")
	}
	costs, ratios, firsts := map[int][]float64{}, map[int][]float64{}, map[int][]time.Duration{}
	for range max(figurestest.Number("NEWSLETTERD_FIGURES_ROUNDS", 1), 1) {
		var whole float64
		for _, share := range shares {
			var more map[string]any
			if segments[share] != "" {
				more = map[string]any{"segment_id": segments[share]}
			}
			n, before := int64(f.N*share/100), f.Sink.Stats().Count
			cpu0, _ := daemontest.Usage(f.PID())
			began := time.Now()
			job := f.Mail(f.List, more)
			f.Every(5*time.Millisecond, func() bool { return f.Sink.Stats().Count > before })
			first := time.Since(began)
			f.Every(100*time.Millisecond, func() bool { return f.Sink.Stats().Count-before >= n })
			f.Every(5*time.Millisecond, func() bool { return f.JobField(job, "status") == "completed" })
			cpu, _ := daemontest.Usage(f.PID())
			cost := max(cpu-cpu0, 10*time.Millisecond).Seconds() * 1000 / float64(n) // the system counts in such steps
			if share == 100 {
				whole = cost
			}
			costs[share], ratios[share] = append(costs[share], cost), append(ratios[share], whole/cost)
			firsts[share] = append(firsts[share], first)
			if got := f.Sink.Stats().Count - before; got != n {
				t.Errorf("%d emails instead of %d", got, n)
			}
		}
	}
	for _, share := range shares {
		slices.Sort(costs[share])
		slices.Sort(ratios[share])
		slices.Sort(firsts[share])
		half := len(costs[share]) / 2
		f.Line(fmt.Sprintf("campaign to %d%% of the list", share),
			"%.4f CPU s/1000, %.2f of the rate by CPU, first email after %v", costs[share][half], ratios[share][half],
			firsts[share][half].Round(time.Millisecond))
	}
}
