package handlers

import (
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/store/storetest"
)

func TestHealth(t *testing.T) {
	path := t.TempDir() + "/newsletterd.db"
	s := storetest.OpenAt(t, path)
	h, err := New(Options{Store: s})
	if err != nil {
		t.Fatal(err)
	}
	look := func(want int, words ...string) {
		t.Helper()
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", "/healthz", nil))
		if rec.Code != want {
			t.Errorf("%d %s, want %d", rec.Code, rec.Body, want)
		}
		for _, w := range words {
			if !strings.Contains(rec.Body.String(), w) {
				t.Errorf("%s does not tell %s", rec.Body, w)
			}
		}
		if (rec.Header().Get("Retry-After") != "") != (want == 503) {
			t.Errorf("headers %v", rec.Header())
		}
	}
	lookedAt := func(at time.Time) { h.prober.mu.Lock(); h.prober.at = at; h.prober.mu.Unlock() }
	look(200, `{"status":"ok","database":"ok","session_store":"ok"}`)
	if err := os.Rename(path, path+".away"); err != nil {
		t.Fatal(err)
	}
	lookedAt(time.Now().Truncate(time.Millisecond)) // calls count in whole milliseconds
	look(200)                                       // within the same second, there is no second check
	lookedAt(time.Time{})
	look(503, `"database":"database_replaced"`, `"error":"storage_unavailable"`, `"request_id"`)
	if err := os.Rename(path+".away", path); err != nil {
		t.Fatal(err)
	}
	lookedAt(time.Time{})
	look(503) // until the daemon restarts
}

// TestHealthAnswersWhateverHangs checks the response while a check hangs.
func TestHealthAnswersWhateverHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := prober{running: make(chan struct{})}
		start := time.Now()
		database, sessions := p.look(time.Now())
		if took := time.Since(start); database == nil || sessions == nil || took != healthTimeout {
			t.Errorf("%v, %v after %v", database, sessions, took)
		}
	})
}

func TestHealthWhileDraining(t *testing.T) {
	h, err := New(Options{Store: storetest.Open(t)})
	if err != nil {
		t.Fatal(err)
	}
	h.Drain()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest("GET", "/healthz", nil))
	if rec.Code != 503 || !strings.Contains(rec.Body.String(), `"status":"draining","database":"ok"`) {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// TestHealthTellsOfDamage checks that damage found next to the running daemon leads to status 503.
func TestHealthTellsOfDamage(t *testing.T) {
	path := t.TempDir() + "/newsletterd.db"
	look := func(path string) *httptest.ResponseRecorder {
		t.Helper()
		s, err := store.Open(t.Context(), db.Options{Path: path, Migrate: true})
		if err != nil {
			return nil
		}
		defer s.Close()
		done := make(chan []string)
		s.QuickCheckInBackground(func(found []string, _ error) { done <- found })
		<-done
		h, err := New(Options{Store: s})
		if err != nil {
			t.Fatal(err)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequest("GET", "/healthz", nil))
		return rec
	}
	if rec := look(path); rec.Code != 200 || strings.Contains(rec.Body.String(), "quick_check") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	answered := 0
	for page := len(whole)/4096 - 1; page > 0 && answered == 0; page-- { // some pages are needed to open it
		damaged := slices.Clone(whole)
		for i := range 4096 {
			damaged[page*4096+i] = 0xff
		}
		if err := os.WriteFile(path+".bad", damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if rec := look(path + ".bad"); rec != nil && rec.Code == 503 &&
			strings.Contains(rec.Body.String(), `"database":"damaged"`) {
			answered++
		}
	}
	if answered == 0 {
		t.Error("no damage was answered")
	}
}
