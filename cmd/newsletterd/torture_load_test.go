package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core/coretest"
)

// TestTortureLargeBodies sends bodies of a gigabyte and endless bodies, 50 in parallel, to routes that accept small and
// large ones.
func TestTortureLargeBodies(t *testing.T) {
	c := daemontest.NewCrowd(t)
	defer c.Stop()
	const json = "Content-Type: application/json\r\n"
	bearer := "Authorization: Bearer " + c.Token + "\r\n"
	signed := fmt.Sprintf("X-Client-Id: c1\r\nX-Timestamp: %d\r\nX-Nonce: 0123456789abcdef\r\nX-Signature: v1=%064x\r\n",
		time.Now().Unix(), 1)
	targets := []struct{ path, headers string }{
		{"/api/newsletter/subscribe", json},
		{"/api/send-jobs", json + bearer},
		{"/webhooks/lists/full-sync", json + signed},
		{"/webhooks/mailprovider", json + fmt.Sprintf("X-Mailprovider-Sns-Signature: t=%d,v1=%064x\r\n",
			time.Now().Unix(), 1)},
		{"/api/auth/login", "Content-Type: application/x-www-form-urlencoded\r\n"},
	}
	rounds := 1
	if daemontest.AtLength() {
		rounds = 3
	}
	for what, length := range map[string]int64{"50 bodies without an end": 0, "50 bodies of 1 GB": 1e9} {
		var mu sync.Mutex
		answers := map[string]int{}
		var most int64
		c.Served(what, time.Second, func() {
			for range rounds {
				var wg sync.WaitGroup
				for i := range 50 {
					wg.Go(func() {
						target := targets[i%len(targets)]
						status, sent := c.Endless(target.path, target.headers, length)
						mu.Lock()
						defer mu.Unlock()
						most = max(most, sent)
						answers[strings.TrimPrefix(status, "HTTP/1.1 ")]++
					})
				}
				wg.Wait()
			}
		})
		c.Line("", "answers %v; at most %d MiB of one were taken", answers, most>>20)
		for status := range answers {
			// An unknown sender gets a 401 before its body is read.
			if !strings.HasPrefix(status, "413 ") && !strings.HasPrefix(status, "503 ") && !strings.HasPrefix(status, "401 ") &&
				status != "" {
				t.Errorf("an answer %q", status)
			}
		}
	}
	if c.Most > 96 {
		t.Errorf("memory grew by %d MiB, more than 96", c.Most)
	}
	coretest.Held(t, 10, new(2*50*rounds),
		fmt.Sprintf("endless and 1 GB bodies, 50 at once; memory grew by %d MiB of 96", c.Most))
}
