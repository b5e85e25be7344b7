package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store"
)

// load is visitors who subscribe, each as soon as the answer before is there.
type load struct {
	mu    sync.Mutex
	took  []time.Duration
	acked []core.Email
	other []string // answers that were not 200
	lost  atomic.Int64
	end   context.CancelFunc
	wg    sync.WaitGroup
}

// visitors starts n of them on a list.
func (f *figures) visitors(n int) *load {
	ctx, end := context.WithCancel(f.Context())
	l := &load{end: end}
	for v := range n {
		l.wg.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				l.subscribe(f, core.Email(fmt.Sprintf("visitor%d-%d@example.net", v, i)))
			}
		})
	}
	return l
}

func (l *load) subscribe(f *figures, email core.Email) {
	body, _ := json.Marshal(map[string]any{"list_id": f.list, "email": email})
	began := time.Now()
	res, err := f.httpClient.Post(f.url+"/api/newsletter/subscribe", "application/json", bytes.NewReader(body))
	if err != nil { // refused or not answered: the daemon may be gone
		l.lost.Add(1)
		return
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took = append(l.took, time.Since(began))
	if res.StatusCode != http.StatusOK || err != nil {
		l.other = append(l.other, fmt.Sprint(res.StatusCode, " ", string(text), err))
		return
	}
	l.acked = append(l.acked, email)
}

func (l *load) stop() {
	l.end()
	l.wg.Wait()
}

func (l *load) percentile(p float64) time.Duration {
	slices.Sort(l.took)
	return l.took[min(int(float64(len(l.took))*p), len(l.took)-1)]
}

func (f *figures) open() *store.Store {
	s, err := store.Open(f.Context(), store.Options{Path: filepath.Join(f.dir, "newsletterd.db"), Mode: store.Command})
	f.must(err)
	f.Cleanup(func() { _ = s.Close() })
	return s
}

// An import by the command line while a daemon is under load: no request fails, and the daemon's caches see what the
// command line changed. `make torture` imports 100,000 rows and prints how long requests took.
func TestImportUnderLoad(t *testing.T) {
	sideBySide(t)
	f := newFigures(t)
	if f.n = 3000; os.Getenv(tortureEnv) != "" {
		f.n = 100_000
	}
	f.serve()
	f.records()
	l := f.visitors(8)
	began := time.Now()
	f.importing(f.list, "reader", f.n)
	took := time.Since(began)
	l.stop()
	if len(l.other) > 0 || l.lost.Load() > 0 || len(l.took) == 0 {
		t.Errorf("of %d requests %d were lost, others answered %.3q", len(l.took), l.lost.Load(), l.other)
	} else {
		t.Logf("%d rows imported in %v beside %d requests: p50 %v, p99 %v, longest %v", f.n, took.Round(time.Millisecond),
			len(l.took), l.percentile(.5), l.percentile(.99), l.percentile(1))
	}
	s := f.open()
	f.every(20*time.Millisecond, func() bool { // the daemon brings them to the send side by itself
		subs, more := f.mirrored(s)
		return !more && subs == f.n
	})
	f.command("", "admin", "list", "update", "--id", f.list, "--status", "inactive")
	f.every(10*time.Millisecond, func() bool { return f.subscribeStatus() == http.StatusBadRequest })
	f.command("", "admin", "list", "update", "--id", f.list, "--status", "active")
	f.every(10*time.Millisecond, func() bool { return f.subscribeStatus() == http.StatusOK })
	f.stop()
}

func (f *figures) subscribeStatus() int {
	res, err := f.httpClient.Post(f.url+"/api/newsletter/subscribe", "application/json",
		strings.NewReader(fmt.Sprintf(`{"list_id":%q,"email":"one@example.net"}`, f.list)))
	f.must(err)
	defer res.Body.Close()
	return res.StatusCode
}

// SIGTERM under load: what was acknowledged is there afterwards, what was accepted was answered, one file is left.
func TestTerminatedUnderLoad(t *testing.T) {
	sideBySide(t)
	rounds := 2
	if os.Getenv(tortureEnv) != "" {
		rounds = 100
	}
	f := newFigures(t)
	f.serve()
	f.records()
	f.stop()
	var acked []core.Email
	for range rounds {
		f.serve()
		l := f.visitors(16)
		f.every(5*time.Millisecond, func() bool { l.mu.Lock(); defer l.mu.Unlock(); return len(l.acked) >= 200 })
		f.must(f.daemon.Process.Signal(syscall.SIGTERM))
		err := f.daemon.Wait()
		l.stop()
		if err != nil || len(l.other) > 0 {
			t.Errorf("exit: %v; answers other than 200: %.3q\n%s", err, l.other, f.out.String())
		}
		for _, end := range []string{"-wal", "-shm"} {
			if _, err := os.Stat(filepath.Join(f.dir, "newsletterd.db"+end)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left: %v", end, err)
			}
		}
		acked = append(acked, l.acked...)
	}
	s := f.open()
	for _, email := range acked {
		if _, err := s.Subscription(t.Context(), f.list, email); err != nil {
			t.Fatalf("%s was told that it is pending: %v", email, err)
		}
	}
	coretest.Promise(t, 15, rounds, 0, fmt.Sprintf("SIGTERMs under load, %d acknowledged subscriptions", len(acked)))
	t.Logf("%d stops under load, %d acknowledged subscriptions, all there", rounds, len(acked))
}
