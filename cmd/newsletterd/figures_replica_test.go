package main

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/store/replica/objectstest"
)

// TestFiguresOfReplica prints the cost of a replica: for subscriptions and campaigns without a replica, with one that
// no caller waits for, and with a distant one that callers wait for. The storage is in this process, which also creates
// the load. NEWSLETTERD_FIGURES_ROUNDS is the number of rounds. Ratios compare with the round's own run without a
// replica, and their medians are printed.
func TestFiguresOfReplica(t *testing.T) {
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
	bare := f.Env
	ratios := map[string][]float64{}
	for round := range max(1, figurestest.Number("NEWSLETTERD_FIGURES_ROUNDS", 1)) {
		alone := map[string]float64{}
		for k, far := range []struct {
			name    string
			latency time.Duration
			wait    bool
		}{
			{name: "alone"},
			{name: "not waited for"},
			{name: "0 ms away", wait: true},
			{"5 ms away", 5 * time.Millisecond, true},
			{"30 ms away", 30 * time.Millisecond, true},
		} {
			if far.latency > 0 && figurestest.AtMost(f, 1, 0) == 0 {
				continue
			}
			f.Env = bare
			if k > 0 {
				storage := objectstest.New(t)
				storage.Set(objectstest.Faults{Latency: far.latency})
				f.Env = append(append(slices.Clip(bare), objectstest.Environ("figures")...),
					"NEWSLETTERD_REPLICA_URL="+storage.URL(), fmt.Sprint("NEWSLETTERD_REPLICA_ACKNOWLEDGE=", far.wait))
			}
			told := func(what string, rate float64, most int, cost string) {
				ceiling := ""
				if far.latency > 0 {
					ceiling = fmt.Sprintf(", %.0f at the most", float64(most)/far.latency.Seconds())
				}
				if k == 0 {
					alone[what] = rate
				}
				name := what + ", replica " + far.name
				ratios[name] = append(ratios[name], rate/alone[what])
				f.Line(name, "%.0f/s, %.2f of alone%s; %s", rate, rate/alone[what], ceiling, cost)
				if round > 0 {
					slices.Sort(ratios[name])
					f.Line(name, "median of %d rounds: %.2f of alone (%.2f to %.2f)", len(ratios[name]),
						ratios[name][len(ratios[name])/2], ratios[name][0], ratios[name][len(ratios[name])-1])
				}
			}
			f.Serve() // first, because after campaigns their log is compacted meanwhile
			for _, callers := range []int{64, 512} {
				rate, cost := f.Subscribe(callers)
				told(fmt.Sprintf("subscribe, %d callers", callers), rate, callers, cost)
			}
			f.Stop()
			for _, window := range []int{64, 256, 1024} {
				f.Serve(fmt.Sprint("NEWSLETTERD_SEND_MAX_UNRECORDED=", window))
				r := f.Job(f.N, func() string { return f.Mail(f.List) })
				told(fmt.Sprintf("campaign, window %d", window), r.Rate, window, r.Cost)
				f.Stop()
			}
			f.DropMails()
		}
	}
}
