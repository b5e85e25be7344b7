package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTortureTimesTellNothing compares how long answers take for addresses with and without an account, in interleaved pairs.
// On a busy machine single answers tell nothing; medians of many do.
func TestTortureTimesTellNothing(t *testing.T) {
	if os.Getenv("NEWSLETTERD_TORTURE") == "" {
		t.Skip("make torture")
	}
	const pairs = 200
	f := newProcess(t)
	f.people(pairs)
	f.serve()
	defer f.stop()
	ask := func(path, media, body string) time.Duration {
		began := time.Now()
		res, err := f.httpClient.Post(f.url+path, media, strings.NewReader(body))
		f.must(err)
		_, _ = io.Copy(io.Discard, res.Body)
		f.must(res.Body.Close())
		if res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500 {
			t.Fatalf("%s: %d", path, res.StatusCode)
		}
		return time.Since(began)
	}
	const jsonType, formType = "application/json", "application/x-www-form-urlencoded"
	for _, tt := range []struct {
		path, media string
		body        func(email string) string
	}{
		{"/api/auth/login", formType, func(email string) string {
			return url.Values{"grant_type": {"password"}, "username": {email}, "password": {"a wrong one"}}.Encode()
		}},
		{"/api/auth/register", jsonType, func(email string) string { return fmt.Sprintf(`{"email":%q,"password":"one of my own"}`, email) }},
		{"/api/auth/password/forgot", jsonType, func(email string) string { return fmt.Sprintf(`{"email":%q}`, email) }},
	} {
		var known, unknown []time.Duration
		for i := range pairs {
			stranger := fmt.Sprintf("nobody%s%d@example.org", strings.ReplaceAll(tt.path, "/", "-"), i)
			known = append(known, ask(tt.path, tt.media, tt.body(person(i))))
			unknown = append(unknown, ask(tt.path, tt.media, tt.body(stranger)))
		}
		slices.Sort(known)
		slices.Sort(unknown)
		a, b := known[pairs/2], unknown[pairs/2]
		ratio := float64(a) / float64(b)
		t.Logf("%-28s known %v, unknown %v, ratio %.2f", tt.path, a.Round(10*time.Microsecond), b.Round(10*time.Microsecond), ratio)
		if ratio < 0.8 || ratio > 1.25 {
			t.Errorf("%s: known %v, unknown %v", tt.path, a, b)
		}
	}
}
