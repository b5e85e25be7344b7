package main

import (
	"fmt"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/figurestest"
	"newsletterd/core"
	"newsletterd/core/coretest"
)

// TestImportUnderLoad imports by command while a daemon is under load. No request may fail, and the daemon's caches
// must see the changes. `make torture` imports 100,000 rows and prints how long requests took.
func TestImportUnderLoad(t *testing.T) {
	daemontest.Parallel(t)
	f := figurestest.New(t)
	if f.N = 3000; daemontest.AtLength() {
		f.N = 100_000
	}
	f.Serve()
	f.Records()
	l := f.Visitors(8)
	began := time.Now()
	f.Import(f.List, "reader", f.N)
	took := time.Since(began)
	l.Stop()
	slices.Sort(l.Took)
	if n := len(l.Took); len(l.Other) > 0 || l.Lost > 0 || n == 0 {
		t.Errorf("of %d requests %d were lost, others answered %.3q", len(l.Took), l.Lost, l.Other)
	} else {
		t.Logf("%d rows imported in %v beside %d requests: p50 %v, p99 %v, longest %v", f.N,
			took.Round(time.Millisecond),
			n, l.Took[n/2], l.Took[n*99/100], l.Took[n-1])
	}
	s := f.Open()
	f.Every(20*time.Millisecond, func() bool { // the daemon copies them to the send side
		n := 0
		for page := (core.Page{Limit: 5000}); ; {
			subs, err := s.Subscribers(t.Context(), f.List, page)
			f.Must(err)
			if n += len(subs); len(subs) < page.Limit {
				return n == f.N
			}
			page.After = subs[len(subs)-1].ID
		}
	})
	for _, status := range []string{"inactive", "active"} {
		want := map[string]int{"inactive": http.StatusBadRequest, "active": http.StatusOK}[status]
		f.Run("admin", "list", "update", "--id", f.List, "--status", status)
		f.Every(10*time.Millisecond, func() bool {
			one := map[string]string{"list_id": f.List, "email": "one@example.net"}
			return f.Send("POST", "/api/newsletter/subscribe", one).StatusCode == want
		})
	}
	f.Stop()
}

// TestTerminatedUnderLoad sends SIGTERM under load. Everything acknowledged must be stored, every accepted request must
// have got a response, and only one file may be left.
func TestTerminatedUnderLoad(t *testing.T) {
	daemontest.Parallel(t)
	rounds := 2
	if daemontest.AtLength() {
		rounds = 100
	}
	f := figurestest.New(t)
	f.Serve()
	f.Records()
	f.Stop()
	var acked []core.Email
	for range rounds {
		f.Serve()
		l := f.Visitors(16)
		f.Every(5*time.Millisecond, func() bool { return l.Acknowledged() >= 200 })
		f.Must(f.Daemon.Process.Signal(syscall.SIGTERM))
		err := f.Daemon.Wait()
		l.Stop()
		if err != nil || len(l.Other) > 0 {
			t.Errorf("exit: %v; answers other than 200: %.3q\n%s", err, l.Other, f.Out.String())
		}
		f.LeftNothing()
		acked = append(acked, l.Acked...)
	}
	s := f.Open()
	for _, email := range acked {
		if _, err := s.Subscription(t.Context(), f.List, email); err != nil {
			t.Fatalf("%s was told that it is pending: %v", email, err)
		}
	}
	coretest.Promise(t, 15, rounds, 0, fmt.Sprintf("SIGTERMs under load, %d acknowledged subscriptions", len(acked)))
	t.Logf("%d stops under load, %d acknowledged subscriptions, all there", rounds, len(acked))
}
