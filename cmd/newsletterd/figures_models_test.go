package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
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

	"newsletterd/store/storetest"
)

// TestFiguresOfModels prints the figures of devices and models: NEWSLETTERD_FIGURES_MODELS models in the library
// (1,000,000), and a file of NEWSLETTERD_FIGURES_MIB (1,024) up once and down eight times at once.
func TestFiguresOfModels(t *testing.T) {
	if os.Getenv(figuresEnv) == "" {
		t.Skip("make bench")
	}
	f := newFigures(t)
	f.build()
	env := []string{"NEWSLETTERD_LIMITS_MODEL_BYTES=2GiB", "NEWSLETTERD_LIMITS_MODEL_BYTES_PER_OWNER=8GiB"}
	f.serve(env...)
	f.command("", "admin", "user", "create", "--email", "op@acme.example", "--role", "operator")
	owner := f.command("id", "admin", "user", "create", "--email", "owner@acme.example", "--verified")
	f.token = f.command("access_token", "admin", "token", "create", "--user", "op@acme.example", "--scope",
		"devices models.read models.write")
	f.stop()
	f.fillLibrary(owner, numberOf("NEWSLETTERD_FIGURES_MODELS", atMost(f, 1_000_000, 10_000)))
	f.serve(env...)
	f.library()
	f.profiles()
	f.files(int64(numberOf("NEWSLETTERD_FIGURES_MIB", atMost(f, 1024, 32))) << 20)
	f.stop()
}

func numberOf(env string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(env)); err == nil {
		return n
	}
	return otherwise
}

// fillLibrary makes models without files, directly in the database: nine of ten public, every name has a rare word.
func (f *figures) fillLibrary(owner string, n int) {
	began := time.Now()
	storetest.Foreign(f.T, filepath.Join(f.dir, "newsletterd.db"), fmt.Sprintf(`
		BEGIN;
		WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %[2]d)
			INSERT INTO model_file (owner_id, state, by_daemon, touched_at) SELECT '%[1]s', 1, 0, 1 FROM n;
		INSERT INTO model (id, owner_id, file_no, name, size, sha256, content_type, created_at, updated_at, visibility)
			SELECT printf('%%08x-0000-7000-8000-%%012x', no, no), '%[1]s', no, 'Model number' || no || ' of series ' || (no %% 100), 0, '', 'model/stl', no, no,
			iif(no %% 10 = 0, 'private', 'public') FROM model_file;
		COMMIT;`, owner, n))()
	f.line("library", "%d models, made in %v", n, time.Since(began).Round(time.Millisecond))
}

// page reads one page of the library and returns its cursor and the time that it took.
func (f *figures) page(query string) (next string, took time.Duration) {
	f.Helper()
	began := time.Now()
	res, body := f.raw(http.MethodGet, "/api/models/library?"+query, nil)
	took = time.Since(began)
	var page struct {
		Items []json.RawMessage `json:"items"`
		Next  string            `json:"next_cursor"`
	}
	f.must(json.Unmarshal(body, &page))
	if res.StatusCode != http.StatusOK || len(page.Items) == 0 {
		f.Fatalf("%s: %d %s", query, res.StatusCode, body)
	}
	return page.Next, took
}

func (f *figures) raw(method, path string, body io.Reader) (*http.Response, []byte) {
	f.Helper()
	req, err := http.NewRequest(method, f.url+path, body)
	f.must(err)
	req.Header.Set("Authorization", "Bearer "+f.token)
	res, err := (&http.Client{Transport: f.httpClient.Transport}).Do(req)
	f.must(err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	f.must(err)
	return res, b
}

// library compares pages of 50: the first with the one after 500,000 models, in turns.
func (f *figures) library() {
	deep := 0
	cursor, _ := f.page("limit=100")
	for deep = 100; deep < 10_000*50; deep += 100 {
		next, _ := f.page("limit=100&cursor=" + cursor)
		if next == "" {
			break
		}
		cursor = next
	}
	searches := []string{"limit=50&q=series", "limit=50&q=series+42", "limit=50&q=number77", "limit=50&q=m"}
	took := make([][]time.Duration, 2+len(searches))
	for range 200 {
		for i, query := range append([]string{"limit=50", "limit=50&cursor=" + cursor}, searches...) {
			if i > 1 && len(took[i]) >= 20 {
				continue
			}
			_, d := f.page(query)
			took[i] = append(took[i], d)
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	first, last := took[0][len(took[0])/2], took[1][len(took[1])/2]
	f.line("library page of 50", "page 1 %v, page %d %v, ratio %.2f (medians)", first, deep/50, last,
		float64(last)/float64(first))
	for i, query := range searches {
		f.line("search "+query, "median %v, slowest %v", took[i+2][len(took[i+2])/2], took[i+2][len(took[i+2])-1])
	}
}

// profiles asks for random profiles over 16 connections.
func (f *figures) profiles() {
	took := atMost(f, 5*time.Second, time.Second/4)
	var n atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(took)
	for range 16 {
		wg.Go(func() {
			for time.Now().Before(end) {
				no := rand.IntN(999)*10 + 1 // public ones
				if res, b := f.raw(http.MethodGet, fmt.Sprintf("/api/models/%08x-0000-7000-8000-%012x/profile", no, no),
					nil); res.StatusCode != http.StatusOK {
					f.Errorf("%d %s", res.StatusCode, b)
					return
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	f.line("profile", "%.0f requests/s at 16 connections", float64(n.Load())/took.Seconds())
}

// files sends a file up while others write, and down eight times at once, and compares it with a plain file.
func (f *figures) files(size int64) {
	plain := filepath.Join(f.dir, "plain")
	perSecond := func(n int64, d time.Duration) string { return fmt.Sprintf("%.0f MB/s", float64(n)/1e6/d.Seconds()) }
	write := f.plainFile(plain, size)
	began := time.Now()
	want := f.sum(plain)
	read := time.Since(began)
	usage(f.daemon.Process.Pid)
	stop, writes := make(chan struct{}), make(chan []time.Duration)
	go func() { writes <- f.writing(stop) }()
	file, err := os.Open(plain)
	f.must(err)
	began = time.Now()
	res, body := f.raw(http.MethodPost, "/api/models?name=big&visibility=public", file)
	up := time.Since(began)
	close(stop)
	var m struct{ ID, SHA256 string }
	f.must(json.Unmarshal(body, &m))
	if res.StatusCode != http.StatusCreated || m.SHA256 != want {
		f.Fatalf("upload: %d %s, want sha256 %s", res.StatusCode, body, want)
	}
	others := <-writes
	_, peak := usage(f.daemon.Process.Pid)
	f.line("upload", "%s, a plain file with one fsync %s; peak RSS %d MB", perSecond(size, up), perSecond(size, write),
		peak>>20)
	f.line("other writes meanwhile", "%d, p50 %v, p99 %v, slowest %v", len(others), others[len(others)/2],
		others[len(others)*99/100], others[len(others)-1])
	began = time.Now()
	f.download(m.ID, want)
	one := time.Since(began)
	began = time.Now()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { f.download(m.ID, want) })
	}
	wg.Wait()
	eight := time.Since(began)
	_, peak = usage(f.daemon.Process.Pid)
	f.line("download",
		"one %s, eight at once %s in all, each hashed by its receiver; reading and hashing a plain file %s; peak RSS %d MB",
		perSecond(size, one), perSecond(8*size, eight), perSecond(size, read), peak>>20)
}

func (f *figures) plainFile(name string, size int64) time.Duration {
	began := time.Now()
	out, err := os.Create(name)
	f.must(err)
	defer out.Close()
	_, err = io.CopyBuffer(struct{ io.Writer }{out},
		io.LimitReader(struct{ io.Reader }{rand.NewChaCha8([32]byte{7})}, size), make([]byte, 1<<20))
	f.must(err)
	f.must(out.Sync())
	return time.Since(began)
}

func (f *figures) sum(name string) string {
	in, err := os.Open(name)
	f.must(err)
	defer in.Close()
	h := sha256.New()
	_, err = io.Copy(h, in)
	f.must(err)
	return hex.EncodeToString(h.Sum(nil))
}

func (f *figures) download(id, want string) {
	req, err := http.NewRequest(http.MethodGet, f.url+"/api/models/"+id+"/download", http.NoBody)
	f.must(err)
	req.Header.Set("Authorization", "Bearer "+f.token)
	res, err := (&http.Client{Transport: f.httpClient.Transport}).Do(req)
	f.must(err)
	defer res.Body.Close()
	h := sha256.New()
	_, err = io.Copy(h, res.Body)
	f.must(err)
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		f.Errorf("downloaded %s, want %s", got, want)
	}
}

// writing registers and unregisters a device without pause until stop is closed.
func (f *figures) writing(stop <-chan struct{}) (took []time.Duration) {
	_, b := f.raw(http.MethodGet, "/api/devices", nil)
	var ds []struct{ ID string }
	f.must(json.Unmarshal(b, &ds))
	if len(ds) == 0 {
		ds = append(ds, struct{ ID string }{f.post("/api/devices", map[string]string{"name": "Lamp"}, "id")})
	}
	for i := 0; ; i++ {
		select {
		case <-stop:
			slices.Sort(took)
			return took
		default:
		}
		began := time.Now()
		res, b := f.raw(http.MethodPost, "/api/devices/"+ds[0].ID+"/"+[]string{"register", "unregister"}[i%2], nil)
		if res.StatusCode != http.StatusOK {
			f.Errorf("%d %s", res.StatusCode, strings.TrimSpace(string(b)))
		}
		took = append(took, time.Since(began))
	}
}
