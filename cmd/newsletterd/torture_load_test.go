package main

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/core/coretest"
)

// crowd is a daemon with callers that mean no good, and one who asks for its health meanwhile.
type crowd struct {
	*figures
	idle int64 // MiB that it held before
	most int64 // MiB that it ever grew by
}

func newCrowd(t *testing.T) *crowd {
	if raceEnabled {
		t.Skip("SKIPPED: under the race detector memory and times say nothing")
	}
	f := newProcess(t)
	if tortured() {
		f.build()
	}
	f.serve()
	f.command("", "admin", "user", "create", "--email", "op@acme.example", "--role", "operator")
	f.token = f.command("access_token", "admin", "token", "create", "--user", "op@acme.example", "--scope",
		core.ScopeDevices+" "+core.ScopeSend)
	c := &crowd{figures: f, idle: resident(f.daemon.Process.Pid)}
	usage(f.daemon.Process.Pid) // the peak begins anew
	return c
}

func tortured() bool { return os.Getenv(tortureEnv) != "" }

// grown is the most that the daemon held since the last call, beyond what it held before, in MiB.
func (c *crowd) grown() int64 {
	_, peak := usage(c.daemon.Process.Pid)
	n := peak>>20 - c.idle
	c.most = max(c.most, n)
	return n
}

// health asks over a connection of its own each time, as a monitor does, until stop is closed.
func (c *crowd) health(stop <-chan struct{}) (took []time.Duration) {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	for ended := false; !ended || len(took) < leastChecks; {
		select {
		case <-stop:
			ended = true
		case <-time.After(5 * time.Millisecond):
		}
		began := time.Now()
		res, err := client.Get(c.url + "/healthz")
		if err != nil {
			c.Errorf("health check: %v", err)
			return nil
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			c.Errorf("health check: %d", res.StatusCode)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took
}

// leastChecks is how many health checks a percentile is made of: where what the crowd does is soon done, some follow
// while its connections are open.
const leastChecks = 200

// served runs what the crowd does, holds the health check's 99th percentile against a limit, and returns it.
func (c *crowd) served(what string, most time.Duration, do func()) (p99 time.Duration) {
	stop, took := make(chan struct{}), make(chan []time.Duration)
	go func() { took <- c.health(stop) }()
	do()
	close(stop)
	all := <-took
	if all == nil {
		c.FailNow()
	}
	p99 = all[len(all)*99/100]
	c.line(what, "health check %d times, p50 %v, p99 %v, slowest %v; memory grew by %d MiB at most", len(all),
		all[len(all)/2].Round(time.Microsecond), p99.Round(time.Microsecond), all[len(all)-1].Round(time.Microsecond), c.grown())
	if p99 > most {
		c.Errorf("%s: the 99th percentile of the health check is %v, more than %v", what, p99, most)
	}
	return p99
}

// broken is 1 if anything of the test has failed.
func (c *crowd) broken() int {
	if c.Failed() {
		return 1
	}
	return 0
}

// endless is a request whose body never ends; length 0 leaves it open.
func (c *crowd) endless(path, headers string, length int64) (status string, sent int64) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
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
	defer c.stop()
	const json = "Content-Type: application/json\r\n"
	bearer := "Authorization: Bearer " + c.token + "\r\n"
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
	if tortured() {
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
		c.line("", "answers %v; at most %d MiB of one were taken", answers, most>>20)
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
	coretest.Promise(t, 10, 2*50*rounds, c.broken(),
		fmt.Sprintf("endless and 1 GB bodies, 50 at once; memory grew by %d MiB of 96", c.most))
}
