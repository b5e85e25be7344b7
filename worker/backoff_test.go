package worker

import (
	"context"
	"net"
	"net/http"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store/storetest"
)

// TestGatherLosesNothing checks that no result is lost if there are more than one operation records.
func TestGatherLosesNothing(t *testing.T) {
	c := make(chan int, 700)
	for i := range 700 {
		c <- i
	}
	n := 0
	for len(c) > 0 {
		n += len(gather(<-c, c, 256))
	}
	if n != 700 {
		t.Errorf("%d of 700 values came out", n)
	}
}

func TestRetrySchedule(t *testing.T) {
	since := core.At(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	at, tries := since, 0
	for {
		dead, next := retry(since, tries, 0, at)
		if dead {
			break
		}
		if d := next.Sub(at); d < time.Second*8/10 || d > 2*time.Hour*12/10 {
			t.Fatalf("delay %v", d)
		}
		at, tries = next, tries+1
	}
	if life := at.Sub(since); life < 72*time.Hour || life > 75*time.Hour || tries < 35 || tries > 55 {
		t.Errorf("gave up after %v and %d tries", life, tries)
	}
	if _, next := retry(since, 0, time.Hour, since); next.Sub(since) != time.Hour {
		t.Errorf("Retry-After was not heeded: %v", next.Sub(since))
	}
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "17": 17 * time.Second, " 5 ": 5 * time.Second, "-3": 0, "x": 0, "99999999": 24 * time.Hour,
		"Mon, 02 Jan 2006 15:04:05 GMT": 0,
	} {
		if got := retryAfter(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestPostTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := storetest.Seed(t, nil)
		s.Must(s.EnsureLoopClient(t.Context(), make([]byte, 32), s.Time()))
		hangs := coretest.Transport(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, context.Cause(r.Context())
		})
		began := time.Now()
		got := NewPoster(s.Store, "http://receiver.test", hangs).post(t.Context(), eventPath, []byte("{}"))
		if took := time.Since(began); !got.down || took != postTimeout {
			t.Errorf("%+v after %v", got, took)
		}
	})
}

// TestNameServerIsNotTold checks that the log of an endpoint, which tenants can read, doesn't contain the address of
// the operator's name server.
func TestNameServerIsNotTold(t *testing.T) {
	err := &url.Error{Op: "Post", URL: "https://crm.example", Err: &net.OpError{Op: "dial", Err: &net.DNSError{
		Err: "no such host", Name: "crm.example", Server: "10.0.0.53:53", IsNotFound: true,
	}}}
	if got := postError(err); got != "crm.example: no such host" {
		t.Errorf("it says %q", got)
	}
}
