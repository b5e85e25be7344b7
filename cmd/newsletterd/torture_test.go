package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/mailtest"
	"newsletterd/store"
	"newsletterd/store/storetest"
)

// maxUnrecorded is how many recipients may get a second copy after a crash.
const maxUnrecorded = 64

// torture is a daemon with one job, and the SMTP server that its mails go to.
type torture struct {
	*daemontest.Process
	sink  *mailtest.Sink
	taken func() int64 // messages that the server has taken
	job   core.SendJob
	n     int
}

// newTorture makes a list, and a job that is due at once. Its mails go to a server of the caller's, or to a sink.
func newTorture(t *testing.T, recipients int, server ...*mailtest.Server) *torture {
	w := &torture{n: recipients}
	addr := ""
	if len(server) > 0 {
		addr, w.taken = server[0].Addr(), func() int64 { return int64(server[0].Seen("DOT")) }
	} else {
		sink, err := mailtest.NewSink("127.0.0.1:0", mailtest.SinkOptions{Records: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { sink.Close() })
		addr, w.sink, w.taken = sink.Addr(), sink, sink.Count
	}
	w.Process = daemontest.New(t, daemontest.Relay(addr)...)
	w.Env = append(w.Env, fmt.Sprint("NEWSLETTERD_SEND_MAX_UNRECORDED=", maxUnrecorded))
	w.Prepare(func(s *storetest.Seeder) {
		list := s.NewList()
		s.Readers(list, w.n)
		w.job = s.NewJob(list.ID, func(r *store.JobRequest) { r.BodyText = strings.Repeat("A line of the letter.\n", 100) })
	})
	return w
}

// startUntil starts the daemon and waits for the SMTP server to have so many messages.
func (w *torture) startUntil(count int64) {
	w.Helper()
	w.Start()
	w.Every(time.Millisecond, func() bool { return w.taken() >= count })
}

// finish starts the daemon, waits for the end of the job, stops the daemon and returns the job.
func (w *torture) finish() (j core.SendJob) {
	w.Helper()
	w.Start()
	s := w.Open()
	w.Patience = 12 * time.Minute
	w.Every(20*time.Millisecond, func() bool {
		var err error
		j, err = s.SendJob(w.Context(), w.job.ID)
		w.Must(err)
		return j.Status.Final()
	})
	w.Must(s.Close())
	w.Stop()
	return j
}

// duplicates holds what arrived, and what the job says, against what should have: no recipient is lost, and every copy
// is the same message.
func (w *torture) duplicates(j core.SendJob) (n int) {
	w.Helper()
	if j.Status != core.JobCompleted || j.Recipients != int64(w.n) || j.Sent != int64(w.n) || j.Failed+j.Skipped != 0 {
		w.Errorf("%s: %d recipients, sent %d, failed %d, skipped %d", j.Status, j.Recipients, j.Sent, j.Failed, j.Skipped)
	}
	ids := map[string]string{}
	for _, r := range w.sink.Records() {
		before, again := ids[r.Rcpt]
		if again {
			n++
		}
		if again && before != r.MessageID {
			w.Errorf("%s got %s and %s", r.Rcpt, before, r.MessageID)
		}
		ids[r.Rcpt] = r.MessageID
	}
	if lost := w.n - len(ids); lost != 0 {
		w.Errorf("%d of %d recipients got nothing", lost, w.n)
	}
	return n
}

// TestKilledInTheMiddle kills the daemon with SIGKILL again and again: no recipient is lost, and at most max_unrecorded
// get a second copy per kill, with the same Message-ID.
func TestKilledInTheMiddle(t *testing.T) {
	daemontest.Parallel(t)
	kills, recipients := 3, 4000
	if daemontest.AtLength() {
		kills, recipients = 10, 20_000
	}
	w := newTorture(t, recipients)
	for i := range kills {
		w.startUntil(int64(recipients*i/(kills+1) + 1 + rand.IntN(recipients/(kills+1))))
		w.Kill()
	}
	j := w.finish()
	duplicates := w.duplicates(j)
	t.Logf("%d recipients, %d kills: %d messages, %d duplicates", recipients, kills, w.sink.Count(), duplicates)
	coretest.Promise(t, 3, recipients, max(0, duplicates-kills*maxUnrecorded),
		fmt.Sprintf("recipients over %d kills; %d got a second copy", kills, duplicates))
	coretest.Promise(t, 4, recipients, recipients-int(j.Sent), "recipients of a job that was killed")
	if duplicates > kills*maxUnrecorded {
		t.Errorf("%d duplicates of %d kills, at most %d each", duplicates, kills, maxUnrecorded)
	}
}

// TestStoppedInTheMiddle ends the daemon with SIGTERM in the middle of a job, twice in the same moment as timeout(1)
// does: no recipient is lost or gets two mails, and one file is left.
func TestStoppedInTheMiddle(t *testing.T) {
	daemontest.Parallel(t)
	tried := 0
	defer coretest.Held(t, 15, &tried, "SIGTERMs in the middle of a job")
	w := newTorture(t, 4000)
	for _, at := range []int64{500, 1500, 3000} {
		tried++
		w.startUntil(at)
		for range 3 { // signals that meet are one
			w.Must(w.Daemon.Process.Signal(syscall.SIGTERM))
		}
		if err := w.Daemon.Wait(); err != nil {
			t.Errorf("exit after SIGTERM: %v\n%s", err, w.Out.String())
		}
		w.LeftNothing()
	}
	if n := w.duplicates(w.finish()); n != 0 {
		t.Errorf("%d duplicates without a kill", n)
	}
}
