package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/mail/mailtest"
)

// tortureCount is a number of the torture test: that of its variable, else of `make torture` or of `make test`.
func tortureCount(name string, short, long int) int {
	if n, err := strconv.Atoi(os.Getenv(tortureEnv + "_" + name)); err == nil {
		return n
	}
	if os.Getenv(tortureEnv) != "" {
		return long
	}
	return short
}

// fault is a relay that misbehaves towards some recipients, by their numbers, once each but for those it refuses for
// good.
type fault struct {
	mu     sync.Mutex
	seen   map[string]bool
	defers bool // costs five minutes
	cuts   int  // replies to a dot that were withheld
}

func (f *fault) first(what string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.seen[what]
	f.seen[what] = true
	return !was
}

func number(address string) int {
	var k int
	if _, err := fmt.Sscanf(address, "r%06d@", &k); err != nil {
		return -1
	}
	return k
}

// refused tells who is refused for good.
func (f *fault) refused(k int) bool { return k%200 == 11 }

func (f *fault) answer(e mailtest.Event) mailtest.Action {
	k := number(e.Arg)
	switch {
	case k < 0:
	case e.Verb == "RCPT" && f.refused(k):
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

// TestKilledAmongFaults kills and stops the daemon again and again while the relay misbehaves: no recipient is lost,
// each second mail is the same message, and there are no more of them than the window allows for each kill, except
// those whose reply the relay did not send.
func TestKilledAmongFaults(t *testing.T) {
	sideBySide(t)
	kills, terms, n := tortureCount("KILLS", 2, 50), tortureCount("TERMS", 1, 20), tortureCount("RECIPIENTS", 1500, 20_000)
	f := &fault{seen: map[string]bool{}, defers: os.Getenv(tortureEnv) != ""}
	server, err := mailtest.NewServer(mailtest.Script{On: f.answer})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	w := newTortureAt(t, n, server.Addr())
	w.taken = func() int64 { return int64(server.Seen("DOT")) }
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
		before := w.taken()
		c := w.start()
		w.until(max(int64((n*i+rand.IntN(n))/(len(ends)+1)*9/10), before+1)) // in the midst of sending
		w.must(c.Process.Signal(end))
		if err := c.Wait(); err != nil && end == syscall.SIGTERM {
			t.Errorf("exit after SIGTERM: %v\n%s", err, w.out.String())
		}
	}
	c := w.start()
	j := w.finished()
	w.must(c.Process.Signal(syscall.SIGTERM))
	if err := c.Wait(); err != nil {
		t.Errorf("%v\n%s", err, w.out.String())
	}
	w.countFaults(f, server, j, kills, terms, began)
	coretest.Held(t, 3, &n, fmt.Sprintf("recipients over %d kills and %d SIGTERMs with a relay that misbehaves", kills,
		terms))
}

// countFaults holds what arrived, and what the books say, against what should be.
func (w *torture) countFaults(f *fault, server *mailtest.Server, j core.SendJob, kills, terms int, began time.Time) {
	w.Helper()
	ids, duplicates, refused := map[string]string{}, 0, 0
	for _, m := range server.Messages() {
		_, rest, _ := bytes.Cut(m.Data, []byte("Message-ID:"))
		id, _, _ := strings.Cut(strings.TrimSpace(string(rest[:min(len(rest), 200)])), "\r\n")
		before, again := ids[m.To]
		if again {
			duplicates++
		}
		if again && before != id {
			w.Errorf("%s got %s and %s", m.To, before, id)
		}
		ids[m.To] = id
	}
	for k := range w.n {
		_, got := ids[fmt.Sprintf("r%06d@example.org", k)]
		if f.refused(k) {
			refused++
		}
		if got == f.refused(k) {
			w.Errorf("recipient %d: got it %v, is refused %v", k, got, f.refused(k))
		}
	}
	if j.Status != core.JobCompleted || j.Recipients != int64(w.n) || j.Sent != int64(w.n-refused) ||
		j.Failed != int64(refused) || j.Skipped != 0 {
		w.Errorf("%s: %d recipients, sent %d, failed %d (%d refused), skipped %d", j.Status, j.Recipients, j.Sent, j.Failed,
			refused, j.Skipped)
	}
	w.Logf("%d recipients, %d kills, %d stops in %v: %d messages, %d duplicates, %d replies withheld, %d refused, "+
		"ambiguous %d, connections %d",
		w.n, kills, terms, time.Since(began).Round(time.Second), len(server.Messages()), duplicates, f.cuts, refused, j.Ambiguous, server.Seen("CONNECT"))
	if duplicates > kills*maxUnrecorded+f.cuts {
		w.Errorf("%d duplicates of %d kills, at most %d each, and %d replies withheld", duplicates, kills, maxUnrecorded,
			f.cuts)
	}
}
