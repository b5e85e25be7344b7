package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core/coretest"
)

// TestTortureLedger kills the daemon at random moments while visitors register, subscribe, confirm, create jobs and
// send webhooks and reports. Everything acknowledged is stored afterwards.
func TestTortureLedger(t *testing.T) {
	daemontest.Parallel(t)
	kills := 3
	if daemontest.AtLength() {
		kills = 200
	}
	l := daemontest.NewLedger(t)
	lost, all := 0, 0
	for round := range kills {
		stop := l.Visits(fmt.Sprint("v", round), 6)
		select { // a random moment
		case <-time.After(time.Duration(100+rand.IntN(400)) * time.Millisecond):
		case <-t.Context().Done():
		}
		l.Kill()
		stop()
		l.Serve()
		s := l.Open()
		for what, there := range l.Acked {
			if err := there(s); err != nil {
				l.Errorf("round %d: %s was acknowledged: %v", round, what, err)
				lost++
			}
		}
		if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
			l.Errorf("round %d: %v %v", round, found, err)
			lost++
		}
		l.Must(s.Close())
		all += len(l.Acked)
		if round%20 != 19 && round != kills-1 { // old entries are only checked occasionally
			clear(l.Acked)
		}
	}
	l.Stop()
	t.Logf("%d kills, acknowledged: %v", kills, slices.Sorted(maps.Keys(l.Kinds)))
	total := 0
	for _, n := range l.Kinds {
		total += n
	}
	coretest.Promise(t, 1, total, lost, fmt.Sprintf("writes acknowledged before one of %d kills", kills))
}
