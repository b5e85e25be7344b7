package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"newsletterd/core/coretest"
)

// trickle sends a request byte by byte until the daemon has enough.
func (c *crowd) trickle(text string, every time.Duration) (cut time.Duration) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		c.Error(err)
		return 0
	}
	defer conn.Close()
	began, ended := time.Now(), make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		close(ended)
	}()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := 0; ; i++ {
		if _, err := conn.Write([]byte{text[i%len(text)]}); err != nil {
			return time.Since(began)
		}
		select {
		case <-ended:
			return time.Since(began)
		case <-tick.C:
		}
	}
}

// TestTortureTricklingConnections holds connections that send a byte now and then, in the head and, at full length, in
// the body.
func TestTortureTricklingConnections(t *testing.T) {
	c := newCrowd(t)
	defer c.stop()
	n := 100
	if tortured() {
		n = 1000
	}
	var heads, bodies atomic.Int64 // slowest, in ms
	p99 := c.served(fmt.Sprint(n, " trickling connections"), 250*time.Millisecond, func() {
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				if i%2 == 0 || !tortured() {
					cut := c.trickle("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "+strings.Repeat("x", 200),
						100*time.Millisecond)
					atomicMax(&heads, cut.Milliseconds())
					return
				}
				cut := c.slowBody()
				atomicMax(&bodies, cut.Milliseconds())
			})
		}
		wg.Wait()
	})
	c.line("", "cut: in the head after %d ms at most, in the body after %d ms", heads.Load(), bodies.Load())
	if heads.Load() > 8_000 || bodies.Load() > 35_000 {
		t.Error("they are cut too late: 5 s for a head, 30 s for a body")
	}
	coretest.Promise(t, 11, n, c.broken(), fmt.Sprintf("trickling connections; p99 of others %v",
		p99.Round(time.Millisecond)))
}

func atomicMax(a *atomic.Int64, n int64) {
	for old := a.Load(); n > old && !a.CompareAndSwap(old, n); old = a.Load() {
	}
}

// slowBody sends a whole head at once and then the body byte by byte.
func (c *crowd) slowBody() time.Duration {
	conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
	if err != nil {
		c.Error(err)
		return 0
	}
	defer conn.Close()
	fmt.Fprint(conn,
		"POST /api/newsletter/subscribe HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "+
			"60000\r\n\r\n")
	began, ended := time.Now(), make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		close(ended)
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return time.Since(began)
		case <-tick.C:
			_, _ = conn.Write([]byte{' '})
		}
	}
}

// TestTortureOpenConnections opens connections, at full length 10,000, asks once over each and leaves them open.
func TestTortureOpenConnections(t *testing.T) {
	c := newCrowd(t)
	defer c.stop()
	n := 500
	if tortured() {
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
	p99 := c.served(fmt.Sprint(n, " open connections"), time.Second, func() {
		var wg sync.WaitGroup
		var next atomic.Int64
		for range 16 {
			wg.Go(func() {
				for {
					i := int(next.Add(1) - 1)
					if i >= n {
						return
					}
					conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "http://"))
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
	if c.most > 250 {
		t.Errorf("memory grew by %d MiB, more than 250", c.most)
	}
	coretest.Promise(t, 11, n, c.broken(), fmt.Sprintf("open connections; p99 of others %v, memory grew by %d MiB",
		p99.Round(time.Millisecond), c.most))
}
