package daemontest

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"newsletterd/core"
)

// Receiver is a webhook endpoint outside the daemon. It redirects requests for /moved to /hook.
type Receiver struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	heard  []string // paths and types of accepted events
	came   chan struct{}
}

// NewReceiver returns a Receiver that responds with 200 until the test ends.
func NewReceiver(t testing.TB) *Receiver {
	l := &Receiver{status: 200, came: make(chan struct{}, 100)}
	l.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var e core.Event
		if err != nil || json.Unmarshal(body, &e) != nil {
			return
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if r.URL.Path == "/moved" {
			http.Redirect(w, r, "/hook", http.StatusTemporaryRedirect)
			return
		}
		if l.status == 200 {
			l.heard = append(l.heard, r.URL.Path+" "+e.Type)
		}
		w.WriteHeader(l.status)
		l.came <- struct{}{}
	}))
	t.Cleanup(l.Close)
	return l
}

// Say sets the status of later responses.
func (l *Receiver) Say(status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status = status
}

// Wait waits for n more requests.
func (l *Receiver) Wait(t testing.TB, n int) {
	t.Helper()
	for range n {
		select {
		case <-l.came:
		case <-time.After(30 * time.Second):
			t.Fatal("no request came")
		}
	}
}

// Count returns how many events with a path and a type, such as "/hook webhook.test", got the response 200.
func (l *Receiver) Count(what string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.heard {
		if h == what {
			n++
		}
	}
	return n
}
