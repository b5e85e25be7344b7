package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core/coretest"
	"newsletterd/mail/smtp"
	"newsletterd/store/replica/objectstest"
)

// replicaSettings returns the settings of a daemon that keeps its database at an address, with a short lease.
func replicaSettings(url string) []string {
	return append(objectstest.Environ("machine"), "NEWSLETTERD_REPLICA_URL="+url, "NEWSLETTERD_REPLICA_TTL=3s")
}

// TestMachineDies kills the daemon during a campaign while people subscribe, deletes its disk, and starts it on an
// empty one. Every acknowledged subscription must exist, every recipient must get the email, and at most max_unrecorded
// may get a second copy per kill.
func TestMachineDies(t *testing.T) {
	kills, recipients := 1, 3000
	if daemontest.AtLength() {
		kills, recipients = 20, 60_000
	}
	for _, place := range []struct {
		name    string
		latency time.Duration
		folder  bool
		window  int
		long    bool // only at full length
	}{
		{name: "folder", folder: true, window: 64},
		{name: "folder-256", folder: true, window: 256, long: true},
		{name: "0ms", window: 64, long: true},
		{name: "0ms-256", window: 256, long: true},
		{name: "5ms", latency: 5 * time.Millisecond, window: 64, long: true},
		{name: "5ms-256", latency: 5 * time.Millisecond, window: 256},
		{name: "30ms", latency: 30 * time.Millisecond, window: 64, long: true},
		{name: "30ms-256", latency: 30 * time.Millisecond, window: 256, long: true},
	} {
		if place.long && !daemontest.AtLength() {
			continue
		}
		t.Run(place.name, func(t *testing.T) {
			daemontest.Parallel(t)
			url := "file://" + t.TempDir()
			if !place.folder {
				storage := objectstest.New(t)
				storage.Set(objectstest.Faults{Latency: place.latency})
				url = storage.URL()
			}
			w := daemontest.NewCampaign(t, recipients)
			w.Env = append(append(w.Env, replicaSettings(url)...),
				fmt.Sprint("NEWSLETTERD_SEND_MAX_UNRECORDED=", place.window))
			var slowest time.Duration
			told, lost := 0, 0
			for kill := range kills {
				at := int64(recipients*kill/(kills+1) + 1 + rand.IntN(recipients/(kills+1)))
				slowest = max(slowest, w.Serve())
				visitors := w.Visitors(4)
				w.Every(time.Millisecond, func() bool { return w.Taken() >= at && visitors.Acknowledged() > 20 })
				w.Kill()
				visitors.Stop()
				w.LoseDisk()
				slowest = max(slowest, w.Serve())
				told += len(visitors.Acked)
				s := w.Open()
				for _, email := range visitors.Acked {
					if _, err := s.Subscription(t.Context(), w.List, email); err != nil {
						lost++
						t.Errorf("kill %d: %s was told to be subscribed: %v", kill, email, err)
					}
				}
				if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
					t.Errorf("kill %d: %v %v", kill, found, err)
				}
				w.Must(s.Close())
				w.Stop()
			}
			j := w.Finish()
			copies := w.Duplicates(j)
			t.Logf("%d kills with the disk, window %d: %d subscriptions acknowledged, %d second copies of %d mails, "+
				"healthy again after %v at the most", kills, place.window, told, copies, recipients, slowest)
			if copies > kills*place.window {
				t.Errorf("%d second copies in %d kills, at most %d each", copies, kills, place.window)
			}
			coretest.Promise(t, 1, told, lost, fmt.Sprintf("writes acknowledged before one of %d machines died", kills))
		})
	}
}

// TestLedgerOutlivesItsMachine kills the daemon at random moments, deletes its disk, and starts it on an empty one.
// Everything acknowledged must be stored afterwards.
func TestLedgerOutlivesItsMachine(t *testing.T) {
	daemontest.Parallel(t)
	kills := 1
	if daemontest.AtLength() {
		kills = 20
	}
	storage := objectstest.New(t)
	storage.Set(objectstest.Faults{Latency: 2 * time.Millisecond})
	l := daemontest.NewLedger(t, replicaSettings(storage.URL())...)
	for round := range kills {
		stop := l.Visits(fmt.Sprint("m", round), 6)
		<-time.After(time.Duration(300+rand.IntN(400)) * time.Millisecond)
		l.Kill()
		stop()
		l.LoseDisk()
		l.Serve()
		s := l.Open()
		for what, there := range l.Acked {
			if err := there(s); err != nil {
				l.Errorf("round %d: %s was acknowledged: %v", round, what, err)
			}
		}
		if found, err := s.Check(t.Context()); err != nil || len(found) > 0 {
			l.Errorf("round %d: %v %v", round, found, err)
		}
		l.Must(s.Close())
	}
	l.Stop()
	t.Logf("%d machines died, acknowledged: %v", kills, l.Kinds)
}

// TestFrozenMachine stops the daemon with SIGSTOP for longer than its lease, lets another one take over, and continues
// it. It must exit immediately with a separate code, and may have sent only the emails that its connections had ready
// to be written. A response whose last check of the lease was before the freeze can still be sent, one per waiting
// client; what it acknowledges must be stored.
func TestFrozenMachine(t *testing.T) {
	daemontest.Parallel(t)
	storage := objectstest.New(t)
	const recipients, connections, people = 20_000, 4, 4
	w := daemontest.NewCampaign(t, recipients)
	w.Env = append(append(w.Env, replicaSettings(storage.URL())...),
		fmt.Sprint("NEWSLETTERD_MAIL_SMTP_CONNECTIONS=", connections))
	w.Serve()
	other := daemontest.NewIn(t, t.TempDir(), w.Env...)
	other.List = w.List
	other.Start()
	other.Every(10*time.Millisecond, func() bool {
		r, err := other.Try(http.MethodGet, "/healthz", nil)
		return err == nil && r.StatusCode == http.StatusServiceUnavailable && strings.Contains(r.Text, `"status":"standby"`)
	})
	visitors := w.Visitors(people)
	w.Every(time.Millisecond, func() bool { return w.Taken() > 500 && visitors.Acknowledged() > 20 })
	w.Must(w.Daemon.Process.Signal(syscall.SIGSTOP))
	before := visitors.Acknowledged()
	other.Every(10*time.Millisecond, func() bool {
		r, err := other.Try(http.MethodGet, "/healthz", nil)
		return err == nil && r.StatusCode == http.StatusOK
	})
	w.Must(other.Daemon.Process.Signal(syscall.SIGSTOP)) // everything that arrives from now on is from the first one
	<-time.After(100 * time.Millisecond)
	sent, answered := w.Sink.Count(), visitors.Acknowledged()
	w.Must(w.Daemon.Process.Signal(syscall.SIGCONT))
	err := w.Daemon.Wait()
	if code := w.Daemon.ProcessState.ExitCode(); code != cli.ExitLost {
		t.Errorf("exit code %d, %v\n%s", code, err, w.Out.String())
	}
	visitors.Stop()
	if n := w.Sink.Count() - sent; n > connections*smtp.MaxBurst {
		t.Errorf("%d mails after the lease was lost, over %d connections", n, connections)
	}
	if n := len(visitors.Acked) - answered; n > people {
		t.Errorf("%d answers to %d people after the lease was lost; %d before it was frozen", n, people, before)
	}
	w.Must(other.Daemon.Process.Signal(syscall.SIGCONT))
	s := other.Open()
	for _, email := range visitors.Acked {
		if _, err := s.Subscription(t.Context(), w.List, email); err != nil {
			t.Errorf("%s was told to be subscribed: %v", email, err)
		}
	}
	w.Must(s.Close())
	other.Stop()
}
