package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/store"
)

// idle measures the start on a fresh and on a present file, and the memory of a daemon without work.
func (f *figures) idle() {
	first := f.serve()
	f.stop()
	second := f.serve()
	f.line("start", "first %v, second %v", first.Round(time.Millisecond), second.Round(time.Millisecond))
	wait := 5 * time.Second
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
	f.token = f.command("access_token", "admin", "token", "create", "--user", "op@acme.example", "--scope", core.ScopeSend)
}

// importing imports f.n people by the command line.
func (f *figures) importing(name string) {
	file, err := os.Create(filepath.Join(f.dir, name))
	f.must(err)
	w := bufio.NewWriter(file)
	fmt.Fprintln(w, "email,first_name,city")
	for i := range f.n {
		fmt.Fprintf(w, "reader%07d@example.org,Reader%d,Town%d\n", i, i, i%100)
	}
	f.must(errors.Join(w.Flush(), file.Close()))
	f.command("", "admin", "subscriber", "import", "--list", f.list, "--file", file.Name())
}

// arriving measures a CSV import without a daemon, then how long the daemon takes to bring the list to the send side.
func (f *figures) arriving() {
	began := time.Now()
	f.importing("people.csv")
	f.line("import by command", "%d rows, %.0f rows/s", f.n, float64(f.n)/time.Since(began).Seconds())

	began = time.Now()
	f.serve()
	s, err := store.Open(f.Context(), store.Options{Path: filepath.Join(f.dir, "newsletterd.db"), Mode: store.Command})
	f.must(err)
	last := core.Email(fmt.Sprintf("reader%07d@example.org", f.n-1))
	f.every(200*time.Millisecond, func() bool {
		_, err := s.Subscriber(f.Context(), f.list, last)
		subs, more := 0, true
		if err == nil {
			subs, more = f.mirrored(s)
		}
		return !more && subs == f.n
	})
	f.line("full sync over signed HTTP", "%.0f subscribers/s (start of the daemon included)", float64(f.n)/time.Since(began).Seconds())
	f.must(s.Close())
	f.stop()
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

// every asks again and again; it fails after five minutes.
func (f *figures) every(d time.Duration, done func() bool) {
	f.Helper()
	tick := time.NewTicker(d)
	defer tick.Stop()
	for deadline := time.Now().Add(5 * time.Minute); !done(); <-tick.C {
		if time.Now().After(deadline) {
			f.Fatalf("it takes too long\n%s", f.out.String())
		}
	}
}

// letter is a body that makes mails of about 7 KB.
var letter = func() string {
	var b strings.Builder
	b.WriteString("<html><body><p>Dear {{preferences.first_name | default: \"friend\"}},</p>\n")
	for i := range 34 {
		fmt.Fprintf(&b, "<p>Paragraph %d of a letter that has some length, with words and sentences.</p>\n", i)
	}
	b.WriteString("<p>Greetings to {{preferences.city}}</p></body></html>")
	return b.String()
}()

// campaign measures one job over HTTP to the last message at the sink.
func (f *figures) campaign(window int, bare float64) {
	f.serve(fmt.Sprintf("NEWSLETTERD_SEND_MAX_UNRECORDED=%d", window))
	pid := f.daemon.Process.Pid
	before := f.sink.stats()
	cpu0, _ := usage(pid)
	began := time.Now()
	job := f.post("/api/send-jobs", map[string]any{
		"list_id": f.list, "subject": "News for {{preferences.first_name}}", "body_html": letter,
	}, "send_job_id")
	f.every(10*time.Millisecond, func() bool { return f.sink.stats().Count-before.Count >= int64(f.n) })
	took := time.Since(began)
	f.every(5*time.Millisecond, func() bool { return f.get("/api/send-jobs/"+job, "status") == string(core.JobCompleted) })
	cpu, peak := usage(pid)
	after := f.sink.stats()
	rate := float64(f.n) / took.Seconds()
	f.line(fmt.Sprintf("campaign, window %d, 16 connections", window),
		"%.0f mails/s (%d mails of %.1f KB), %.2f of the bare client, %.3f CPU s/1000, peak RSS %d MB", rate, after.Count-before.Count,
		float64(after.Bytes-before.Bytes)/float64(after.Count-before.Count)/1000, rate/bare, (cpu-cpu0).Seconds()*1000/float64(f.n), peak>>20)
	f.stop()
}

// bareClient is the same SMTP client with nothing behind it: mails of the same size, no database, no rendering.
func (f *figures) bareClient(lanes int) float64 {
	data := []byte("Subject: x\r\n\r\n" + strings.Repeat("A line of a letter with seventy-eight characters in it, as lines have.\r\n", 97))
	var left atomic.Int64
	left.Store(int64(f.n))
	smtp := &mail.SMTP{Addr: f.sink.addr}
	began := time.Now()
	var wg sync.WaitGroup
	for range lanes {
		wg.Go(func() {
			err := smtp.Deliver(f.Context(), &mail.Source{
				Next: func(context.Context, bool) (*mail.Envelope, bool) {
					return &mail.Envelope{From: "a@example.org", To: "b@example.org", Data: data}, left.Add(-1) >= 0
				},
				Commit: func(*mail.Envelope) bool { return true },
				Done:   func(*mail.Envelope, mail.Outcome) {},
			})
			if err != nil {
				f.Error(err)
			}
		})
	}
	wg.Wait()
	rate := float64(f.n) / time.Since(began).Seconds()
	f.line(fmt.Sprintf("bare deep-pipelining client, %d connections", lanes), "%.0f mails/s", rate)
	return rate
}

// subscribing measures subscribe requests, each a new address with its confirmation mail queued.
func (f *figures) subscribing() {
	bare := f.bareInserts(64)
	f.serve()
	list, span := f.list, 5*time.Second
	for _, conns := range []int{16, 64} {
		var done, failed atomic.Int64
		ctx, cancel := context.WithTimeout(f.Context(), span)
		began := time.Now()
		var wg sync.WaitGroup
		for c := range conns {
			wg.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					body := fmt.Sprintf(`{"list_id":%q,"email":"new%d-%d-%d@example.net","preferences":{"first_name":"N"}}`, list, conns, c, i)
					res, err := f.httpClient.Post(f.url+"/api/newsletter/subscribe", "application/json", strings.NewReader(body))
					if err != nil || res.StatusCode != http.StatusOK {
						failed.Add(1)
					} else {
						done.Add(1)
					}
					if err == nil {
						_, _ = io.Copy(io.Discard, res.Body)
						res.Body.Close()
					}
				}
			})
		}
		wg.Wait()
		cancel()
		rate := float64(done.Load()) / time.Since(began).Seconds()
		f.line(fmt.Sprintf("subscribe, %d connections", conns), "%.0f requests/s, %d failed, %.2f of bare inserts", rate, failed.Load(), rate/bare)
	}
	f.stop()
}

// bareInserts is group commit with nothing around it: one row a request, synchronous=FULL.
func (f *figures) bareInserts(producers int) float64 {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(f.dir, "bare.db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	f.must(err)
	defer db.Close()
	conn, err := db.Conn(f.Context())
	f.must(err)
	defer conn.Close()
	_, err = conn.ExecContext(f.Context(), "CREATE TABLE t (a TEXT PRIMARY KEY, b TEXT) STRICT, WITHOUT ROWID")
	f.must(err)
	insert, err := conn.PrepareContext(f.Context(), "INSERT INTO t VALUES (?, ?)")
	f.must(err)
	asks, deadline, n := make(chan chan struct{}, 4096), time.Now().Add(3*time.Second), 0
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
