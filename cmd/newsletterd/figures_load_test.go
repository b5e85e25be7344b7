package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"newsletterd/core"
	"newsletterd/store"
)

// idle measures the start on a fresh and on a present file, and the memory of a daemon without work.
func (f *figures) idle() {
	first := f.serve()
	f.stop()
	second := f.serve()
	f.line("start", "first %v, second %v", first.Round(time.Millisecond), second.Round(time.Millisecond))
	wait := atMost(f, 5*time.Second, time.Second)
	if os.Getenv("NEWSLETTERD_FIGURES_IDLE") != "" {
		wait = time.Minute
	}
	<-time.After(wait)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.daemon.Process.Pid))
	f.must(err)
	for line := range strings.Lines(string(status)) {
		if rss, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			f.line("idle", "RSS %s after %v", strings.TrimSpace(rss), wait)
		}
	}
	f.stop()
}

// records makes a tenant, a list, an operator and a token by the command line.
func (f *figures) records() {
	f.tenant = f.command("id", "admin", "tenant", "create", "--name", "Acme")
	f.list = f.command("id", "admin", "list", "create", "--tenant", f.tenant, "--name", "Weekly")
	f.command("", "admin", "user", "create", "--email", "op@acme.example", "--role", "operator")
	f.token = f.command("access_token", "admin", "token", "create", "--user", "op@acme.example", "--scope", core.ScopeSend+
		" "+core.ScopeDevices)
}

// importing imports n people into a list by the command line.
func (f *figures) importing(list, name string, n int) {
	file, err := os.Create(filepath.Join(f.dir, name+".csv"))
	f.must(err)
	w := bufio.NewWriter(file)
	fmt.Fprintln(w, "email,first_name,city")
	for i := range n {
		fmt.Fprintf(w, "%s%07d@example.org,Reader%d,Town%d\n", name, i, i, i%100)
	}
	f.must(errors.Join(w.Flush(), file.Close()))
	f.command("", "admin", "subscriber", "import", "--list", list, "--file", file.Name())
}

// arriving measures a CSV import without a daemon, then how long the daemon takes to bring the list to the send side.
func (f *figures) arriving() {
	began := time.Now()
	f.importing(f.list, "reader", f.n)
	f.line("import by command", "%d rows, %.0f rows/s", f.n, float64(f.n)/time.Since(began).Seconds())
	f.line("full sync over signed HTTP", "%.0f subscribers/s (start of the daemon included)",
		float64(f.n)/f.syncing(f.n).Seconds())
}

// syncing starts a daemon and waits until n people stand on the send side.
func (f *figures) syncing(n int) time.Duration {
	began := time.Now()
	f.serve()
	f.every(200*time.Millisecond, func() bool { return f.count("SELECT count(*) FROM subscriber") == n })
	took := time.Since(began)
	f.every(100*time.Millisecond,
		func() bool { return f.count("SELECT count(*) FROM received_sync WHERE removing = 1") == 0 })
	f.stop()
	return took
}

// mirrored counts the subscribers of the list on the send side.
func (f *figures) mirrored(s *store.Store) (n int, more bool) {
	page := core.Page{Limit: 5000}
	for {
		subs, err := s.Subscribers(f.Context(), f.list, page)
		f.must(err)
		n += len(subs)
		if len(subs) < page.Limit {
			return n, false
		}
		page.After = subs[len(subs)-1].ID
	}
}

// count asks the daemon's file.
func (f *figures) count(query string) (n int) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(f.dir, "newsletterd.db")+"?mode=ro&_pragma=busy_timeout(5000)")
	f.must(err)
	defer db.Close()
	f.must(db.QueryRowContext(f.Context(), query).Scan(&n))
	return n
}

// every asks again and again; it fails after five minutes, or more where there is much to do.
func (f *figures) every(d time.Duration, done func() bool) {
	f.Helper()
	tick := time.NewTicker(d)
	defer tick.Stop()
	for deadline := time.Now().Add(5*time.Minute + time.Duration(f.n)*time.Millisecond); !done(); <-tick.C {
		if time.Now().After(deadline) {
			_ = f.daemon.Process.Signal(syscall.SIGQUIT) // it tells what each goroutine does
			f.Fatalf("it takes too long: %v\n%s", f.daemon.Wait(), f.out.String())
		}
	}
}

// subscribing measures subscribe requests, each a new address with its confirmation mail queued.
func (f *figures) subscribing() {
	bare := f.bareInserts(64)
	f.serve()
	list, span := f.list, atMost(f, 5*time.Second, time.Second/2)
	for _, conns := range []int{16, 64} {
		var done, failed atomic.Int64
		ctx, cancel := context.WithTimeout(f.Context(), span)
		cpu0, _ := usage(f.daemon.Process.Pid)
		began := time.Now()
		var wg sync.WaitGroup
		for c := range conns {
			client := f.dial()
			wg.Go(func() {
				defer client.conn.Close()
				for i := 0; ctx.Err() == nil; i++ {
					body := fmt.Sprintf(`{"list_id":%q,"email":"new%d-%d-%d@example.net","preferences":{"first_name":"N"}}`, list,
						conns, c, i)
					status, _, err := client.do(fmt.Appendf(nil,
						"POST /api/newsletter/subscribe HTTP/1.1\r\nHost: localhost\r\nUser-Agent: figures\r\nContent-Type: "+
							"application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
					if err != nil {
						failed.Add(1)
						return
					}
					if status != http.StatusOK {
						failed.Add(1)
					} else {
						done.Add(1)
					}
				}
			})
		}
		wg.Wait()
		cancel()
		rate := float64(done.Load()) / time.Since(began).Seconds()
		cpu, peak := usage(f.daemon.Process.Pid)
		f.line(fmt.Sprintf("subscribe, %d connections", conns),
			"%.0f requests/s, %d failed, %.2f of bare inserts; µs of CPU a request, its mail included: %d, peak RSS %d MB",
			rate, failed.Load(), rate/bare, (cpu-cpu0).Microseconds()/max(done.Load(), 1), peak>>20)
		if failed.Load() > 0 {
			f.Errorf("%d requests failed", failed.Load())
		}
	}
	f.stop()
}

// bareInserts is group commit with nothing around it: one row a request, synchronous=FULL.
func (f *figures) bareInserts(producers int) float64 {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(f.dir, "bare.db")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	f.must(err)
	defer db.Close()
	conn, err := db.Conn(f.Context())
	f.must(err)
	defer conn.Close()
	_, err = conn.ExecContext(f.Context(), "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT) STRICT, WITHOUT ROWID")
	f.must(err)
	insert, err := conn.PrepareContext(f.Context(), "INSERT INTO t VALUES (?, ?)")
	f.must(err)
	asks, deadline, n := make(chan chan struct{}, 4096), time.Now().Add(atMost(f, 3*time.Second, time.Second/4)), 0
	for range producers {
		go func() {
			for done := make(chan struct{}, 1); ; <-done {
				asks <- done
			}
		}()
	}
	began := time.Now()
	for time.Now().Before(deadline) {
		batch := []chan struct{}{<-asks}
		for len(batch) < 256 && len(asks) > 0 {
			batch = append(batch, <-asks)
		}
		_, err := conn.ExecContext(f.Context(), "BEGIN IMMEDIATE")
		f.must(err)
		for range batch {
			n++
			_, err := insert.Exec(fmt.Sprintf("new%d@example.net", n), strings.Repeat("x", 100))
			f.must(err)
		}
		_, err = conn.ExecContext(f.Context(), "COMMIT")
		f.must(err)
		for _, done := range batch {
			done <- struct{}{}
		}
	}
	rate := float64(n) / time.Since(began).Seconds()
	f.line(fmt.Sprintf("bare group commit, %d producers", producers), "%.0f inserts/s", rate)
	return rate
}
