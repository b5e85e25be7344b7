package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/core/coretest"
)

// TestTortureTricklingConnections keeps connections open by sending a byte from time to time, in the header and, at
// full length, in the body.
func TestTortureTricklingConnections(t *testing.T) {
	c := daemontest.NewCrowd(t)
	defer c.Stop()
	n := 100
	if daemontest.AtLength() {
		n = 1000
	}
	var mu sync.Mutex
	var heads, bodies time.Duration // the longest times
	p99 := c.Served(fmt.Sprint(n, " trickling connections"), 250*time.Millisecond, func() {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				head, body, slowest := "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", "x", &heads
				if i%2 == 1 && daemontest.AtLength() {
					head = "POST /api/newsletter/subscribe HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
						"application/json\r\nContent-Length: 60000\r\n\r\n"
					body, slowest = " ", &bodies
				} else {
					head, body = "", head+strings.Repeat(body, 200)
				}
				cut := c.Trickle(head, body)
				mu.Lock()
				defer mu.Unlock()
				*slowest = max(*slowest, cut)
			})
		}
		wg.Wait()
	})
	c.Line("", "cut: in the head after %v at most, in the body after %v", heads, bodies)
	// In a normal run, other work may run on the same machine.
	if daemontest.AtLength() && (heads > 8*time.Second || bodies > 35*time.Second) {
		t.Error("they are cut too late: 5 s for a head, 30 s for a body")
	}
	coretest.Held(t, 11, &n, fmt.Sprintf("trickling connections; p99 of others %v",
		p99.Round(time.Millisecond)))
}

// TestTortureOpenConnections opens connections, 10,000 at full length, sends one request over each and leaves them
// open.
func TestTortureOpenConnections(t *testing.T) {
	c := daemontest.NewCrowd(t)
	defer c.Stop()
	n := 500
	if daemontest.AtLength() {
		n = 10_000
	}
	conns := make([]net.Conn, n)
	defer func() {
		for _, conn := range conns {
			if conn != nil {
				_ = conn.Close()
			}
		}
	}()
	p99 := c.Served(fmt.Sprint(n, " open connections"), time.Second, func() {
		var wg sync.WaitGroup
		var next atomic.Int64
		for range 16 {
			wg.Go(func() {
				for {
					i := int(next.Add(1) - 1)
					if i >= n {
						return
					}
					conn, err := net.Dial("tcp", c.Addr())
					if err != nil {
						t.Error(err)
						return
					}
					conns[i] = conn
					fmt.Fprint(conn, "GET /api/.well-known/jwks.json HTTP/1.1\r\nHost: localhost\r\n\r\n")
					if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, " 200 ") {
						t.Errorf("connection %d: %q %v", i, line, err)
						return
					}
				}
			})
		}
		wg.Wait()
	})
	if c.Most > 250 {
		t.Errorf("memory grew by %d MiB, more than 250", c.Most)
	}
	coretest.Held(t, 11, &n, fmt.Sprintf("open connections; p99 of others %v, memory grew by %d MiB",
		p99.Round(time.Millisecond), c.Most))
}
