package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/config"
)

// TestAnswersOfACMEEnd checks that an endless response of a certificate authority is cut off, and that a finite one is
// read completely.
func TestAnswersOfACMEEnd(t *testing.T) {
	ended := make(chan int64, 10)
	authority := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/short" {
			_, _ = io.WriteString(w, `{"newNonce":"https://a.example/"}`)
			return
		}
		_, _ = io.WriteString(w, `{"newNonce":"`)
		piece, sent := strings.Repeat("a", 64<<10), int64(0)
		for sent < 64<<20 {
			n, err := io.WriteString(w, piece)
			if sent += int64(n); err != nil {
				break
			}
		}
		ended <- sent
	}))
	defer authority.Close()
	for path, most := range map[string]int64{"/short": 0, "/endless": 16 << 20} {
		cfg := config.Default()
		cfg.Server.ACMEDomains, cfg.Server.ACMEDirectory = []string{"a.example"}, authority.URL+path
		c, err := newCertificates(cfg, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.manager.Client.Discover(t.Context())
		if path == "/short" {
			if errors.Is(err, errLongAnswer) {
				t.Error(err)
			}
			continue
		}
		if !errors.Is(err, errLongAnswer) {
			t.Errorf("an endless answer: %v", err)
		}
		if sent := <-ended; sent > most {
			t.Errorf("%d bytes of it were sent", sent)
		}
	}
}
