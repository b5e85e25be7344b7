package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/mailtest"
)

// fault is a relay that misbehaves for some recipients, chosen by their numbers: once each, except for those it refuses
// permanently.
type fault struct {
	mu     sync.Mutex
	seen   map[string]bool
	defers bool // delays the recipient by five minutes
	cuts   int  // number of withheld replies to a final dot
}

// refused reports whether a recipient is refused permanently.
func refused(k int) bool { return k%200 == 11 }

func (f *fault) first(what string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.seen[what]
	f.seen[what] = true
	return !was
}

func (f *fault) answer(e mailtest.Event) mailtest.Action {
	var k int
	if _, err := fmt.Sscanf(e.Arg, "r%06d@", &k); err != nil {
		return mailtest.Action{}
	}
	switch {
	case e.Verb == "RCPT" && refused(k):
		return mailtest.Action{Reply: "550 5.1.1 no such user"}
	case e.Verb == "RCPT" && f.defers && k%100 == 7 && f.first("later"+e.Arg):
		return mailtest.Action{Reply: "451 4.3.0 later"}
	case e.Verb == "RCPT" && k%4000 == 1999 && f.first("421"+e.Arg):
		return mailtest.Action{Reply: "421 4.3.2 too many", Close: true}
	case e.Verb == "CONTENT" && k%4000 == 999 && f.first("content"+e.Arg):
		return mailtest.Action{Close: true}
	case e.Verb == "DOT" && k%1000 == 499 && f.first("dot"+e.Arg):
		f.mu.Lock()
		f.cuts++
		f.mu.Unlock()
		return mailtest.Action{Reply: "-", Close: true}
	case e.Verb == "DOT" && k%500 == 3:
		return mailtest.Action{Wait: 50 * time.Millisecond}
	}
	return mailtest.Action{}
}

// TestKilledAmongFaults repeatedly kills and stops the daemon while the relay misbehaves. No recipient may be lost, and
// each second copy must be the same message. There may be only as many second copies as the window allows per kill, not
// counting those whose reply the relay withheld.
func TestKilledAmongFaults(t *testing.T) {
	daemontest.Parallel(t)
	kills, terms := daemontest.Count("KILLS", 2, 50), daemontest.Count("TERMS", 1, 20)
	n := daemontest.Count("RECIPIENTS", 1500, 20_000)
	f := &fault{seen: map[string]bool{}, defers: daemontest.AtLength()}
	server := mailtest.Start(t, mailtest.Script{On: f.answer})
	w := daemontest.NewCampaign(t, n, server)
	ends := make([]os.Signal, 0, kills+terms)
	for i := range kills + terms {
		var end os.Signal = syscall.SIGKILL
		if i < terms {
			end = syscall.SIGTERM
		}
		ends = append(ends, end)
	}
	rand.Shuffle(len(ends), func(a, b int) { ends[a], ends[b] = ends[b], ends[a] })
	began := time.Now()
	for i, end := range ends {
		before := w.Taken()
		w.StartUntil(max(int64((n*i+rand.IntN(n))/(len(ends)+1)*9/10), before+1)) // while it sends
		w.Must(w.Daemon.Process.Signal(end))
		if err := w.Daemon.Wait(); err != nil && end == syscall.SIGTERM {
			t.Errorf("exit after SIGTERM: %v\n%s", err, w.Out.String())
		}
	}
	j := w.Finish()
	ids, duplicates, denied := map[string]string{}, 0, 0
	for _, m := range server.Messages() {
		_, rest, _ := bytes.Cut(m.Data, []byte("Message-ID:"))
		id, _, _ := strings.Cut(strings.TrimSpace(string(rest[:min(len(rest), 200)])), "\r\n")
		before, again := ids[m.To]
		if again {
			duplicates++
		}
		if again && before != id {
			t.Errorf("%s got %s and %s", m.To, before, id)
		}
		ids[m.To] = id
	}
	for k := range w.Recipients {
		_, got := ids[fmt.Sprintf("r%06d@example.org", k)]
		if refused(k) {
			denied++
		}
		if got == refused(k) {
			t.Errorf("recipient %d: got it %v, is refused %v", k, got, refused(k))
		}
	}
	if j.Status != core.JobCompleted || j.Recipients != int64(w.Recipients) || j.Sent != int64(w.Recipients-denied) ||
		j.Failed != int64(denied) || j.Skipped != 0 {
		t.Errorf("%s: %d recipients, sent %d, failed %d (%d refused), skipped %d", j.Status, j.Recipients, j.Sent,
			j.Failed,
			denied, j.Skipped)
	}
	t.Logf("%d recipients, %d kills, %d stops in %v: %d messages, %d duplicates, %d replies withheld, %d refused, "+
		"ambiguous %d, connections %d",
		w.Recipients, kills, terms, time.Since(began).Round(time.Second), len(server.Messages()), duplicates, f.cuts,
		denied, j.Ambiguous, server.Seen("CONNECT"))
	if duplicates > kills*daemontest.MaxUnrecorded+f.cuts {
		t.Errorf("%d duplicates of %d kills, at most %d each, and %d replies withheld", duplicates, kills,
			daemontest.MaxUnrecorded,
			f.cuts)
	}
	coretest.Held(t, 3, &n, fmt.Sprintf("recipients over %d kills and %d SIGTERMs with a relay that misbehaves", kills,
		terms))
}
