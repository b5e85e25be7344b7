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
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
)

// csv writes a file of n people and returns its path.
func (f *figures) csv(name string, n int) string {
	file, err := os.Create(filepath.Join(f.Dir, name+".csv"))
	f.Must(err)
	w := bufio.NewWriter(file)
	fmt.Fprintln(w, "email,first_name,city")
	for i := range n {
		fmt.Fprintf(w, "%s%07d@example.org,Reader%d,Town%d\n", name, i, i, i%100)
	}
	f.Must(errors.Join(w.Flush(), file.Close()))
	return file.Name()
}

// importing imports n people into a list by the command line.
func (f *figures) importing(list, name string, n int) {
	f.Run("admin", "subscriber", "import", "--list", list, "--file", f.csv(name, n))
}

// syncing starts a daemon and waits until n people stand on the send side.
func (f *figures) syncing(n int) time.Duration {
	began := time.Now()
	f.Serve()
	f.Every(200*time.Millisecond, func() bool { return f.Number("SELECT count(*) FROM subscriber") == n })
	took := time.Since(began)
	f.Every(100*time.Millisecond,
		func() bool { return f.Number("SELECT count(*) FROM received_sync WHERE removing = 1") == 0 })
	f.Stop()
	return took
}

// TestFiguresOfSubscribing prints what double opt-in costs, each request a new address with its confirmation mail
// queued, and what bare inserts cost in the same run.
func TestFiguresOfSubscribing(t *testing.T) {
	if os.Getenv(figuresEnv) == "" {
		t.Skip("make bench")
	}
	f := newFigures(t)
	f.Build()
	f.Serve()
	f.Stop()
	f.Records()
	bare := f.bareInserts(64)
	f.Serve()
	list, span := f.List, atMost(f, 5*time.Second, time.Second/2)
	for _, conns := range []int{16, 64} {
		var done, failed atomic.Int64
		ctx, cancel := context.WithTimeout(f.Context(), span)
		cpu0, _ := daemontest.Usage(f.PID())
		began := time.Now()
		var wg sync.WaitGroup
		for c := range conns {
			client := f.Dial()
			wg.Go(func() {
				defer client.Close()
				for i := 0; ctx.Err() == nil; i++ {
					body := fmt.Sprintf(`{"list_id":%q,"email":"new%d-%d-%d@example.net","preferences":{"first_name":"N"}}`, list,
						conns, c, i)
					status, _, err := client.Do(fmt.Appendf(nil,
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
		cpu, peak := daemontest.Usage(f.PID())
		f.Line(fmt.Sprintf("subscribe, %d connections", conns),
			"%.0f requests/s, %d failed, %.2f of bare inserts; µs of CPU a request, its mail included: %d, peak RSS %d MB",
			rate, failed.Load(), rate/bare, (cpu-cpu0).Microseconds()/max(done.Load(), 1), peak>>20)
		if failed.Load() > 0 {
			f.Errorf("%d requests failed", failed.Load())
		}
	}
	f.Stop()
}

// bareInserts is group commit with nothing around it: one row a request, synchronous=FULL.
func (f *figures) bareInserts(producers int) float64 {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(f.Dir, "bare.db")+
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	f.Must(err)
	defer db.Close()
	conn, err := db.Conn(f.Context())
	f.Must(err)
	defer conn.Close()
	_, err = conn.ExecContext(f.Context(), "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT) STRICT, WITHOUT ROWID")
	f.Must(err)
	insert, err := conn.PrepareContext(f.Context(), "INSERT INTO t VALUES (?, ?)")
	f.Must(err)
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
		f.Must(err)
		for range batch {
			n++
			_, err := insert.Exec(fmt.Sprintf("new%d@example.net", n), strings.Repeat("x", 100))
			f.Must(err)
		}
		_, err = conn.ExecContext(f.Context(), "COMMIT")
		f.Must(err)
		for _, done := range batch {
			done <- struct{}{}
		}
	}
	rate := float64(n) / time.Since(began).Seconds()
	f.Line(fmt.Sprintf("bare group commit, %d producers", producers), "%.0f inserts/s", rate)
	return rate
}
