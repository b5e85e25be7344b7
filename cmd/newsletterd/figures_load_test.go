package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/cmd/newsletterd/figurestest"
)

// TestFiguresOfSubscribing prints what double opt-in costs, each request a new address with its confirmation mail
// queued, and what bare inserts cost in the same run.
func TestFiguresOfSubscribing(t *testing.T) {
	if os.Getenv(figurestest.Env) == "" {
		t.Skip("make bench")
	}
	f := figurestest.New(t)
	f.Build()
	f.Serve()
	f.Stop()
	f.Records()
	bare := f.BareInserts(64)
	f.Serve()
	list, span := f.List, figurestest.AtMost(f, 5*time.Second, time.Second/2)
	for _, conns := range []int{16, 64} {
		var done, failed atomic.Int64
		ctx, cancel := context.WithTimeout(f.Context(), span)
		cpu0, _ := daemontest.Usage(f.PID())
		began := time.Now()
		var wg sync.WaitGroup
		for c := range conns {
			client := f.Dial()
			wg.Go(func() {
				defer client.Close()
				for i := 0; ctx.Err() == nil; i++ {
					body := fmt.Sprintf(`{"list_id":%q,"email":"new%d-%d-%d@example.net","preferences":{"first_name":"N"}}`, list,
						conns, c, i)
					status, _, err := client.Do(fmt.Appendf(nil,
						"POST /api/newsletter/subscribe HTTP/1.1\r\nHost: localhost\r\nUser-Agent: "+
							"figures\r\nContent-Type: "+
							"application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
					if err != nil {
						failed.Add(1)
						return
					}
					if status != http.StatusOK {
						failed.Add(1)
					} else {
						done.Add(1)
					}
				}
			})
		}
		wg.Wait()
		cancel()
		rate := float64(done.Load()) / time.Since(began).Seconds()
		cpu, peak := daemontest.Usage(f.PID())
		f.Line(fmt.Sprintf("subscribe, %d connections", conns),
			"%.0f requests/s, %d failed, %.2f of bare inserts; µs of CPU a request, its mail included: %d, peak RSS %d MB",
			rate, failed.Load(), rate/bare, (cpu-cpu0).Microseconds()/max(done.Load(), 1), peak>>20)
		if failed.Load() > 0 {
			f.Errorf("%d requests failed", failed.Load())
		}
	}
	f.Stop()
}
