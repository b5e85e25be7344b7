package main

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core/coretest"
)

// TestKilledInTheMiddle repeatedly kills the daemon with SIGKILL. No recipient may be lost, and at most max_unrecorded
// may get a second copy per kill, with the same Message-ID.
func TestKilledInTheMiddle(t *testing.T) {
	daemontest.Parallel(t)
	kills, recipients := 3, 4000
	if daemontest.AtLength() {
		kills, recipients = 10, 20_000
	}
	w := daemontest.NewCampaign(t, recipients)
	for i := range kills {
		w.StartUntil(int64(recipients*i/(kills+1) + 1 + rand.IntN(recipients/(kills+1))))
		w.Kill()
	}
	j := w.Finish()
	duplicates := w.Duplicates(j)
	t.Logf("%d recipients, %d kills: %d messages, %d duplicates", recipients, kills, w.Sink.Count(), duplicates)
	coretest.Promise(t, 3, recipients, max(0, duplicates-kills*daemontest.MaxUnrecorded),
		fmt.Sprintf("recipients over %d kills; %d got a second copy", kills, duplicates))
	coretest.Promise(t, 4, recipients, recipients-int(j.Sent), "recipients of a job that was killed")
	if duplicates > kills*daemontest.MaxUnrecorded {
		t.Errorf("%d duplicates of %d kills, at most %d each", duplicates, kills, daemontest.MaxUnrecorded)
	}
}

// TestStoppedInTheMiddle ends the daemon with SIGTERM during a job, twice at the same moment like timeout(1). No
// recipient may be lost or get two emails, and only one file may be left.
func TestStoppedInTheMiddle(t *testing.T) {
	daemontest.Parallel(t)
	tried := 0
	defer coretest.Held(t, 15, &tried, "SIGTERMs in the middle of a job")
	w := daemontest.NewCampaign(t, 4000)
	for _, at := range []int64{500, 1500, 3000} {
		tried++
		w.StartUntil(at)
		for range 3 { // simultaneous signals count as one
			w.Must(w.Daemon.Process.Signal(syscall.SIGTERM))
		}
		if err := w.Daemon.Wait(); err != nil {
			t.Errorf("exit after SIGTERM: %v\n%s", err, w.Out.String())
		}
		w.LeftNothing()
	}
	if n := w.Duplicates(w.Finish()); n != 0 {
		t.Errorf("%d duplicates without a kill", n)
	}
}
