package figurestest

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/store/storetest"
)

// Answer is a response from the token endpoint.
type Answer struct {
	Status  int    `json:"-"`
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
}

// Load runs 8 workers for a while and prints their rate. worker returns worker i's function, which creates each request
// from the response to the previous one.
func (f *Figures) Load(name string, goal float64, worker func(i int) func(answer Answer) []byte) {
	f.Helper()
	const workers, warm = 8, time.Second / 2
	long := AtMost(f, 4*time.Second, time.Second/4)
	var done, failed atomic.Int64
	var counting, over atomic.Bool
	var wg sync.WaitGroup
	for i := range workers {
		next := worker(i)
		c := f.Dial()
		wg.Go(func() {
			defer c.Close()
			var a Answer
			for !over.Load() {
				status, body, err := c.Do(next(a))
				if err != nil {
					failed.Add(1)
					return
				}
				if a = (Answer{Status: status}); bytes.HasPrefix(body, []byte(`{"access_token"`)) {
					_ = json.Unmarshal(body, &a)
				}
				if status != http.StatusOK {
					failed.Add(1)
				}
				if counting.Load() {
					done.Add(1)
				}
			}
		})
	}
	<-time.After(warm)
	daemon, generator := daemontest.CPU(f.PID()), daemontest.CPU(os.Getpid())
	counting.Store(true)
	began := time.Now()
	<-time.After(long)
	counting.Store(false)
	took := time.Since(began)
	daemon, generator = daemontest.CPU(f.PID())-daemon, daemontest.CPU(os.Getpid())-generator
	over.Store(true)
	wg.Wait()
	n := float64(done.Load())
	f.Line(name, "%.0f/s (goal %.0f), %d failed; µs of CPU a request: %.0f, load generator %.0f", n/took.Seconds(),
		goal,
		failed.Load(),
		float64(daemon.Microseconds())/n, float64(generator.Microseconds())/n)
	if failed.Load() > 0 {
		f.Errorf("%s: %d requests failed", name, failed.Load())
	}
}

// BareInserts measures only group commit, with one row per request and synchronous=FULL. It returns the rows per
// second.
func (f *Figures) BareInserts(producers int) float64 {
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
	asks, deadline, n := make(chan chan struct{}, 4096), time.Now().Add(AtMost(f, 3*time.Second, time.Second/4)), 0
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

// Models starts a daemon with NEWSLETTERD_FIGURES_MODELS models without files; the default is many. Nine out of ten are
// public, and every name contains a rare word.
func Models(t testing.TB, many int) *Figures {
	t.Helper()
	if os.Getenv(Env) == "" {
		t.Skip("make bench")
	}
	f := New(t)
	f.Env = append(f.Env, "NEWSLETTERD_LIMITS_MODEL_BYTES=2GiB", "NEWSLETTERD_LIMITS_MODEL_BYTES_PER_OWNER=8GiB")
	f.HTTP.Timeout = 0 // large libraries take a long time
	f.Build()
	f.Serve()
	f.Operator("devices models.read models.write")
	owner := f.Field("id", "admin", "user", "create", "--email", "owner@acme.example", "--verified")
	f.Stop()
	n := Number("NEWSLETTERD_FIGURES_MODELS", AtMost(f, many, 10_000))
	began := time.Now()
	storetest.Foreign(t, f.Database(), fmt.Sprintf(`
		BEGIN;
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %[2]d)
			INSERT INTO model_file (owner_id, state, by_daemon, touched_at) SELECT '%[1]s', 1, 0, 1 FROM n;
		INSERT INTO model (id, owner_id, file_no, name, size, sha256, content_type, created_at, updated_at, visibility)
			SELECT printf('%%08x-0000-7000-8000-%%012x', no, no), '%[1]s', no, 'Model number' || no || ' of series ' || (no %% 100), 0, '', 'model/stl', no, no,
			iif(no %% 10 = 0, 'private', 'public') FROM model_file;
		COMMIT;`, owner, n))()
	f.Line("library", "%d models, made in %v", n, time.Since(began).Round(time.Millisecond))
	f.Serve()
	return f
}

// Number returns the number in an environment variable, or otherwise if there is none.
func Number(env string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(env)); err == nil {
		return n
	}
	return otherwise
}

// Forgetful returns the address of the i-th user who forgets a password.
func Forgetful(i int) string { return fmt.Sprintf("forgetful%d%s", i, daemontest.Watched) }

// MailsToOne requests an email every 50 ms until done returns true. It returns the median and maximum delivery times,
// and the number of emails.
func (f *Figures) MailsToOne(name string, done func(asked int) bool) (took [2]time.Duration, n int) {
	f.Helper()
	began := map[string]time.Time{}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for ; !done(len(began)); <-tick.C {
		i := len(began)
		to, path, body := Forgetful(i/2), "/api/auth/password/forgot", map[string]string{}
		if i%2 == 0 {
			to, path = fmt.Sprintf("%s%d%s", name, i, daemontest.Watched), "/api/newsletter/subscribe"
			body["list_id"] = f.List
		}
		body["email"] = to
		began[to] = time.Now()
		f.Send("POST", path, body).OK()
	}
	var all []time.Duration
	f.Every(20*time.Millisecond, func() bool {
		all = all[:0]
		for _, r := range f.Sink.Records() {
			if at, ok := began[r.Rcpt]; ok && r.At.After(at) { // not from another measurement
				all = append(all, r.At.Sub(at))
			}
		}
		return len(all) >= len(began)
	})
	slices.Sort(all)
	return [2]time.Duration{all[len(all)/2].Round(time.Millisecond), all[len(all)-1].Round(time.Millisecond)}, len(all)
}
