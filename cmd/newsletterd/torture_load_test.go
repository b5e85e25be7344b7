package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core"
	"newsletterd/core/coretest"
)

// crowd is a daemon with callers that mean no good, and one who asks for its health meanwhile.
type crowd struct {
	*daemontest.Process
	idle int64 // bytes that it held before
	most int64 // MiB that it ever grew by
}

func newCrowd(t *testing.T) *crowd {
	if raceEnabled {
		t.Skip("SKIPPED: under the race detector memory and times say nothing")
	}
	c := &crowd{Process: daemontest.New(t)}
	if daemontest.AtLength() {
		c.Build()
	}
	c.Serve()
	c.Operator(core.ScopeDevices + " " + core.ScopeSend)
	c.idle = daemontest.Resident(c.PID())
	daemontest.Usage(c.PID()) // the peak begins anew
	return c
}

// leastChecks is how many health checks a percentile is made of: where what the crowd does is soon done, some follow
// while its connections are open.
const leastChecks = 200

// served runs what the crowd does, while a monitor asks for the daemon's health, over a connection of its own each
// time. It holds the 99th percentile of those answers against a limit, and returns it.
func (c *crowd) served(what string, most time.Duration, do func()) (p99 time.Duration) {
	stop, took := make(chan struct{}), make(chan []time.Duration)
	go func() {
		var all []time.Duration
		defer func() { took <- all }()
		monitor := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
		for ended := false; !ended || len(all) < leastChecks; {
			select {
			case <-stop:
				ended = true
			case <-time.After(5 * time.Millisecond):
			}
			began := time.Now()
			res, err := monitor.Get(c.URL + "/healthz")
			if err != nil {
				c.Errorf("health check: %v", err)
				all = nil
				return
			}
			_ = res.Body.Close()
			if res.StatusCode != http.StatusOK {
				c.Errorf("health check: %d", res.StatusCode)
			}
			all = append(all, time.Since(began))
		}
	}()
	do()
	close(stop)
	all := <-took
	if all == nil {
		c.FailNow()
	}
	slices.Sort(all)
	p99 = all[len(all)*99/100]
	_, peak := daemontest.Usage(c.PID())
	grown := (peak - c.idle) >> 20
	c.most = max(c.most, grown)
	c.Line(what, "health check %d times, p50 %v, p99 %v, slowest %v; memory grew by %d MiB at most", len(all),
		all[len(all)/2].Round(time.Microsecond), p99.Round(time.Microsecond), all[len(all)-1].Round(time.Microsecond), grown)
	if p99 > most {
		c.Errorf("%s: the 99th percentile of the health check is %v, more than %v", what, p99, most)
	}
	return p99
}

// endless is a request whose body never ends; length 0 leaves it open.
func (c *crowd) endless(path, headers string, length int64) (status string, sent int64) {
	conn, err := net.Dial("tcp", c.Addr())
	if err != nil {
		c.Error(err)
		return "", 0
	}
	defer conn.Close()
	framing := "Transfer-Encoding: chunked"
	if length > 0 {
		framing = fmt.Sprintf("Content-Length: %d", length)
	}
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n\r\n", path, headers, framing)
	done := make(chan struct{})
	go func() {
		defer close(done)
		line, _ := bufio.NewReader(conn).ReadString('\n')
		status = strings.TrimSpace(line)
		_ = conn.Close()
	}()
	block := []byte(strings.Repeat(" ", 64<<10))
	for {
		if length == 0 {
			_, err = fmt.Fprintf(conn, "%x\r\n%s\r\n", len(block), block)
		} else {
			_, err = conn.Write(block)
		}
		if err != nil {
			break
		}
		sent += int64(len(block))
	}
	<-done
	return status, sent
}

// TestTortureLargeBodies sends bodies of a gigabyte, and bodies without an end, 50 at once, to what takes small and
// large ones.
func TestTortureLargeBodies(t *testing.T) {
	c := newCrowd(t)
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
		c.served(what, time.Second, func() {
			for range rounds {
				var wg sync.WaitGroup
				for i := range 50 {
					wg.Go(func() {
						target := targets[i%len(targets)]
						status, sent := c.endless(target.path, target.headers, length)
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
			// 401: of a sender that is not known, before its body
			if !strings.HasPrefix(status, "413 ") && !strings.HasPrefix(status, "503 ") && !strings.HasPrefix(status, "401 ") &&
				status != "" {
				t.Errorf("an answer %q", status)
			}
		}
	}
	if c.most > 96 {
		t.Errorf("memory grew by %d MiB, more than 96", c.most)
	}
	coretest.Held(t, 10, new(2*50*rounds),
		fmt.Sprintf("endless and 1 GB bodies, 50 at once; memory grew by %d MiB of 96", c.most))
}
