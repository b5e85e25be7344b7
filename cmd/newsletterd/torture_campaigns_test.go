package main

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core/coretest"
)

// TestCampaignsSurviveKills kills the daemon at random moments while people write, view, approve, send, undo, pause,
// resume and cancel campaigns in any order, and edit their layouts and designs. Recipients may get only what was
// approved, by a second person if required, and no one may get it twice, except up to max_unrecorded recipients per
// kill. Nothing may be sent after an acknowledged undo or cancellation, and only the first recipients may get it before
// the rest is requested. In the end, all recipients must have it.
func TestCampaignsSurviveKills(t *testing.T) {
	if testing.Short() {
		t.Skip("takes too long for a short run")
	}
	daemontest.Parallel(t)
	l := daemontest.NewCampaigns(t)
	campaigns := int64(daemontest.Count("CAMPAIGNS", 150, 10_000))
	var begun, done atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for no := begun.Add(1); no <= campaigns && !t.Failed(); no = begun.Add(1) {
				l.Write(int(no), rand.New(rand.NewPCG(uint64(no), 15)))
				done.Add(1)
			}
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	kills := 0
	for at, writing := time.NewTimer(0), true; writing; {
		at.Reset(100*time.Millisecond + rand.N(time.Second))
		select {
		case <-at.C:
			l.Kill()
			l.Serve()
			kills++
		case <-ended:
			writing = false
		}
	}
	l.Finish()
	sent, mails, copies := l.Check()
	t.Logf("%d of %d campaigns sent over %d kills and %d requests: %d mails, %d second copies", sent, done.Load(), kills,
		l.Steps.Load(), mails, copies)
	if copies > kills*daemontest.MaxUnrecorded {
		t.Errorf("%d second copies over %d kills", copies, kills)
	}
	if sent == 0 || kills == 0 {
		t.Errorf("%d campaigns sent, %d kills", sent, kills)
	}
	l.Stop()
	failed := 0
	if t.Failed() {
		failed = 1
	}
	coretest.Promise(t, 31, int(done.Load()), failed, fmt.Sprintf("campaigns of random steps over %d kills, %d of them sent", kills, sent))
}
