package web

import (
	"bytes"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"newsletterd/core"
)

// TestRefusalsInTheLog checks that a flood of refused requests writes ten lines a second, and then one with the number
// of omitted lines. All other requests are logged.
func TestRefusalsInTheLog(t *testing.T) {
	var log bytes.Buffer
	h, err := New(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(status int, now core.Instant) {
		c := &Call{
			frame: h, Now: now, w: &responseWriter{status: status},
			Request: httptest.NewRequest("GET", "/", nil),
		}
		h.logRequest(c, 0)
	}
	for i := range 500 {
		answer(429, core.Instant(1000+i))
		answer(503, core.Instant(1000+i))
		answer(200, core.Instant(1000+i))
	}
	if n := strings.Count(log.String(), "status=429"); n != refusalsLogged {
		t.Errorf("%d lines of 429 in a second, want %d", n, refusalsLogged)
	}
	if n := strings.Count(log.String(), "status=200"); n != 500 {
		t.Errorf("%d lines of 200, want 500", n)
	}
	log.Reset()
	answer(429, 2000)
	answer(429, 2001)
	if got := log.String(); strings.Count(got, "status=429") != 2 || strings.Count(got, "left_out=490") != 1 {
		t.Errorf("the next second has\n%s", got)
	}
}
