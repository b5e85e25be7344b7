package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/mailtest"
	"newsletterd/store"
)

// The torture test kills the real program in the middle of a job and counts at an SMTP server of its own. `make
// torture` sets tortureEnv for the long run; `make test` does a short one.
const (
	tortureEnv    = "NEWSLETTERD_TORTURE"
	maxUnrecorded = 64
)

// torture is one database, one job and the SMTP server that its mails go to.
type torture struct {
	*testing.T
	dir   string
	sink  *mailtest.Sink
	taken func() int64 // messages that the server has taken
	job   core.SendJob
	n     int
	out   bytes.Buffer // of the daemon that runs now
}

func newTorture(t *testing.T, recipients int) *torture {
	sink, err := mailtest.NewSink("127.0.0.1:0", mailtest.SinkOptions{Records: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sink.Close() })
	w := newTortureAt(t, recipients, sink.Addr())
	w.sink, w.taken = sink, sink.Count
	return w
}

// newTortureAt is one whose mails go to a server of the caller's.
func newTortureAt(t *testing.T, recipients int, addr string) *torture {
	w := &torture{T: t, dir: t.TempDir(), n: recipients}
	exe, err := os.Executable()
	w.must(err)
	w.must(os.Symlink(exe, filepath.Join(w.dir, "newsletterd"))) // TestMain is the program when it is called so
	_, port, err := net.SplitHostPort(addr)
	w.must(err)
	w.must(os.WriteFile(filepath.Join(w.dir, "newsletterd.toml"), fmt.Appendf(nil, `
[server]
listen = "127.0.0.1:0"
[database]
path = %q
[mail]
transport = "smtp"
[mail.smtp]
host = "127.0.0.1"
port = %s
tls = "none"
[send]
max_unrecorded = %d
[log]
level = "warn"
[metrics]
listen = ""
`, filepath.Join(w.dir, "newsletterd.db"), port, maxUnrecorded), 0o600))
	w.seed()
	return w
}

func (w *torture) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *torture) open(migrate bool) *store.Store {
	s, err := store.Open(w.Context(), store.Options{
		Path: filepath.Join(w.dir, "newsletterd.db"), Mode: store.Command,
		Migrate: migrate,
	})
	w.must(err)
	return s
}

// seed makes a list and a job that is due at once.
func (w *torture) seed() {
	s, ctx, now := w.open(true), w.Context(), core.At(time.Now())
	tenant, err := core.NewTenant(core.TenantInput{Name: new("Acme")}, now)
	w.must(err)
	list, err := core.NewList(core.ListInput{TenantID: &tenant.ID, Name: new("Weekly")}, now)
	w.must(err)
	w.must(errors.Join(s.AddTenant(ctx, tenant, "test"), s.AddList(ctx, list, "test")))
	for i := 0; i < w.n; i += 1000 {
		f := core.FullSync{
			SyncID: core.NewID(), BatchNo: 1, BatchTotal: 2, TenantID: tenant.ID, ListID: list.ID,
			OccurredAt: now,
		}
		for k := i; k < min(i+1000, w.n); k++ {
			f.Subscribers = append(f.Subscribers,
				core.EventSubscriber{ID: core.NewID(), Email: core.Email(fmt.Sprintf("r%06d@example.org", k)), Status: "active"})
		}
		w.must(s.ApplyBatch(ctx, store.Nonce{ClientID: "c", Nonce: core.NewID()}, f, now))
	}
	w.job, _, err = s.AddSendJob(ctx, store.JobRequest{
		NewJob: core.NewJob{ListID: list.ID, Subject: "Hello", BodyText: strings.Repeat("A line of the letter.\n", 100)},
		Caller: core.CommandCaller("u"),
	}, now)
	w.must(errors.Join(err, s.Close()))
}

// start runs the daemon as a process of its own.
func (w *torture) start() *exec.Cmd {
	w.out.Reset()
	c := exec.Command(filepath.Join(w.dir, "newsletterd"), "serve", "--config", filepath.Join(w.dir, "newsletterd.toml"))
	c.Dir, c.Stdout, c.Stderr = w.dir, &w.out, &w.out
	w.must(c.Start())
	w.Cleanup(func() { _ = c.Process.Kill() })
	return c
}

// until waits for the SMTP server to have so many messages.
func (w *torture) until(count int64) {
	w.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(2 * time.Minute); w.taken() < count; <-tick.C {
		if time.Now().After(deadline) {
			w.Fatalf("%d of %d messages, then nothing more\n%s", w.taken(), count, w.out.String())
		}
	}
}

// finished waits for the end of the job and returns it.
func (w *torture) finished() core.SendJob {
	w.Helper()
	s := w.open(false)
	defer s.Close()
	ctx, cancel := context.WithTimeout(w.Context(), 12*time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for ; ; <-tick.C {
		j, err := s.SendJob(ctx, w.job.ID)
		w.must(err)
		if j.Status.Final() {
			return j
		}
	}
}

// count holds what arrived against what should have: no recipient is lost, and every copy is the same message.
func (w *torture) count() (duplicates int) {
	w.Helper()
	ids := map[string]string{}
	for _, r := range w.sink.Records() {
		before, again := ids[r.Rcpt]
		if again {
			duplicates++
		}
		if again && before != r.MessageID {
			w.Errorf("%s got %s and %s", r.Rcpt, before, r.MessageID)
		}
		ids[r.Rcpt] = r.MessageID
	}
	if lost := w.n - len(ids); lost != 0 {
		w.Errorf("%d of %d recipients got nothing", lost, w.n)
	}
	return duplicates
}

func (w *torture) addsUp(j core.SendJob) {
	w.Helper()
	if j.Status != core.JobCompleted || j.Recipients != int64(w.n) || j.Sent != int64(w.n) || j.Failed+j.Skipped != 0 {
		w.Errorf("%s: %d recipients, sent %d, failed %d, skipped %d", j.Status, j.Recipients, j.Sent, j.Failed, j.Skipped)
	}
}

// TestKilledInTheMiddle kills the daemon with SIGKILL again and again: no recipient is lost, and at most max_unrecorded
// get a second copy per kill, with the same Message-ID.
func TestKilledInTheMiddle(t *testing.T) {
	sideBySide(t)
	kills, recipients := 3, 4000
	if os.Getenv(tortureEnv) != "" {
		kills, recipients = 10, 20_000
	}
	w := newTorture(t, recipients)
	for i := range kills {
		c := w.start()
		w.until(int64(recipients*i/(kills+1) + 1 + rand.IntN(recipients/(kills+1))))
		w.must(c.Process.Kill())
		_ = c.Wait()
	}
	c := w.start()
	j := w.finished()
	w.must(c.Process.Signal(syscall.SIGTERM))
	if err := c.Wait(); err != nil {
		t.Errorf("%v\n%s", err, w.out.String())
	}
	w.addsUp(j)
	duplicates := w.count()
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
	sideBySide(t)
	tried := 0
	defer coretest.Held(t, 15, &tried, "SIGTERMs in the middle of a job")
	w := newTorture(t, 4000)
	for _, at := range []int64{500, 1500, 3000} {
		tried++
		c := w.start()
		w.until(at)
		for range 3 { // signals that meet are one
			w.must(c.Process.Signal(syscall.SIGTERM))
		}
		if err := c.Wait(); err != nil {
			t.Errorf("exit after SIGTERM: %v\n%s", err, w.out.String())
		}
		for _, suffix := range []string{"-wal", "-shm"} {
			if _, err := os.Stat(filepath.Join(w.dir, "newsletterd.db"+suffix)); err == nil {
				t.Errorf("%s is left", suffix)
			}
		}
	}
	c := w.start()
	j := w.finished()
	w.must(c.Process.Signal(syscall.SIGTERM))
	w.must(c.Wait())
	w.addsUp(j)
	if n := w.count(); n != 0 {
		t.Errorf("%d duplicates without a kill", n)
	}
}
