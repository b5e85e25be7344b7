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
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/figurestest"
)

// TestFiguresOfModels prints the figures of a library of 1,000,000 models.
func TestFiguresOfModels(t *testing.T) {
	f := figurestest.Models(t, 1_000_000)
	page := func(query string) (next string, took time.Duration) {
		t.Helper()
		began := time.Now()
		r := f.Get("/api/models/library?" + query).OK()
		took = time.Since(began)
		var page struct {
			Items []json.RawMessage `json:"items"`
			Next  string            `json:"next_cursor"`
		}
		if r.JSON(&page); len(page.Items) == 0 {
			t.Fatalf("%s: %s", query, r.Text)
		}
		return page.Next, took
	}

	// Pages of 50 alternate between the first one and the one after 500,000 models.
	deep := 0
	cursor, _ := page("limit=100")
	for deep = 100; deep < 10_000*50; deep += 100 {
		next, _ := page("limit=100&cursor=" + cursor)
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
			_, d := page(query)
			took[i] = append(took[i], d)
		}
	}
	for i := range took {
		slices.Sort(took[i])
	}
	first, last := took[0][len(took[0])/2], took[1][len(took[1])/2]
	f.Line("library page of 50", "page 1 %v, page %d %v, ratio %.2f (medians)", first, deep/50, last,
		float64(last)/float64(first))
	for i, query := range searches {
		f.Line("search "+query, "median %v, slowest %v", took[i+2][len(took[i+2])/2], took[i+2][len(took[i+2])-1])
	}

	// This reads random models over 16 connections.
	span := figurestest.AtMost(f, 5*time.Second, time.Second/4)
	var n atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(span)
	for range 16 {
		wg.Go(func() {
			for time.Now().Before(end) {
				no := rand.IntN(999)*10 + 1 // public models
				r, err := f.Try("GET", fmt.Sprintf("/api/models/%08x-0000-7000-8000-%012x/profile", no, no), nil)
				if err != nil || r.StatusCode != http.StatusOK {
					t.Errorf("%v %s", err, r.Text)
					return
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	f.Line("profile", "%.0f requests/s at 16 connections", float64(n.Load())/span.Seconds())
	f.Stop()
}

// TestFiguresOfModelFiles uploads a file of NEWSLETTERD_FIGURES_MIB (1,024) while others write, and downloads it eight
// times in parallel. It compares this with a plain file.
func TestFiguresOfModelFiles(t *testing.T) {
	f := figurestest.Models(t, 10_000)
	size := int64(figurestest.Number("NEWSLETTERD_FIGURES_MIB", figurestest.AtMost(f, 1024, 32))) << 20
	perSecond := func(n int64, d time.Duration) string { return fmt.Sprintf("%.0f MB/s", float64(n)/1e6/d.Seconds()) }
	sum := func(in io.Reader) string {
		h := sha256.New()
		if _, err := io.Copy(h, in); err != nil {
			t.Error(err)
		}
		return hex.EncodeToString(h.Sum(nil))
	}
	plain, err := os.Create(filepath.Join(f.Dir, "plain"))
	f.Must(err)
	defer plain.Close()
	began := time.Now()
	_, err = io.CopyBuffer(struct{ io.Writer }{plain},
		io.LimitReader(struct{ io.Reader }{rand.NewChaCha8([32]byte{7})}, size), make([]byte, 1<<20))
	f.Must(err)
	f.Must(plain.Sync())
	write := time.Since(began)
	rewind := func() {
		_, err := plain.Seek(0, io.SeekStart)
		f.Must(err)
	}
	rewind()
	began = time.Now()
	want := sum(plain)
	read := time.Since(began)
	rewind()

	lamp := f.Send("POST", "/api/devices", map[string]string{"name": "Lamp"}).OK().Field("id")
	daemontest.Usage(f.PID())
	stop, writes := make(chan struct{}), make(chan []time.Duration)
	go func() { // registers and unregisters the lamp continuously
		var took []time.Duration
		for i := 0; ; i++ {
			select {
			case <-stop:
				slices.Sort(took)
				writes <- took
				return
			default:
			}
			began := time.Now()
			r, err := f.Try("POST", "/api/devices/"+lamp+"/"+[]string{"register", "unregister"}[i%2], nil)
			if err != nil || r.StatusCode != http.StatusOK {
				t.Errorf("%v %s", err, r.Text)
			}
			took = append(took, time.Since(began))
		}
	}()
	began = time.Now()
	var m struct{ ID, SHA256 string }
	up := f.Send("POST", "/api/models?name=big&visibility=public", plain, "Content-Type", "model/stl").OK()
	took := time.Since(began)
	close(stop)
	if up.JSON(&m); m.SHA256 != want {
		t.Fatalf("upload: %s, want sha256 %s", up.Text, want)
	}
	others := <-writes
	_, peak := daemontest.Usage(f.PID())
	f.Line("upload", "%s, a plain file with one fsync %s; peak RSS %d MB", perSecond(size, took),
		perSecond(size, write),
		peak>>20)
	f.Line("other writes meanwhile", "%d, p50 %v, p99 %v, slowest %v", len(others), others[len(others)/2],
		others[len(others)*99/100], others[len(others)-1])

	download := func() {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.URL+"/api/models/"+m.ID+"/download", nil)
		if err == nil {
			req.Header.Set("Authorization", "Bearer "+f.Token)
			var res *http.Response
			if res, err = f.HTTP.Do(req); err == nil {
				defer res.Body.Close()
				if got := sum(res.Body); got != want {
					t.Errorf("downloaded %s, want %s", got, want)
				}
			}
		}
		if err != nil {
			t.Error(err)
		}
	}
	began = time.Now()
	download()
	one := time.Since(began)
	began = time.Now()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(download)
	}
	wg.Wait()
	eight := time.Since(began)
	_, peak = daemontest.Usage(f.PID())
	f.Line("download",
		"one %s, eight at once %s in all, each hashed by its receiver; reading and hashing a plain file %s; peak RSS %d MB",
		perSecond(size, one), perSecond(8*size, eight), perSecond(size, read), peak>>20)
	f.Stop()
}
