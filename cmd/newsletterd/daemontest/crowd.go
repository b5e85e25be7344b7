package daemontest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"newsletterd/core"
)

// Crowd is a daemon with malicious callers, and a monitor that checks the daemon's health.
type Crowd struct {
	*Process
	Most int64 // largest growth of memory in MiB

	idle int64 // memory in bytes before the crowd arrived
}

// NewCrowd starts a daemon with a token for devices and for sending. It skips the test under the race detector, which
// needs several times the memory.
func NewCrowd(t testing.TB) *Crowd {
	t.Helper()
	if RaceEnabled {
		t.Skip("SKIPPED: under the race detector memory and times say nothing")
	}
	c := &Crowd{Process: New(t)}
	if AtLength() {
		c.Build()
	}
	c.Serve()
	c.Operator(core.ScopeDevices + " " + core.ScopeSend)
	c.idle = Resident(c.PID())
	Usage(c.PID()) // resets the peak
	return c
}

// leastChecks is the minimum number of health checks for a percentile. If do returns early, the remaining checks run
// while the crowd's connections are still open.
const leastChecks = 200

// Served calls do while a monitor checks the daemon's health, over a new connection each time. It returns the 99th
// percentile of the response times. At full length, the test fails if that percentile exceeds most.
func (c *Crowd) Served(what string, most time.Duration, do func()) (p99 time.Duration) {
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
	_, peak := Usage(c.PID())
	grown := (peak - c.idle) >> 20
	c.Most = max(c.Most, grown)
	c.Line(what, "health check %d times, p50 %v, p99 %v, slowest %v; memory grew by %d MiB at most", len(all),
		all[len(all)/2].Round(time.Microsecond), p99.Round(time.Microsecond), all[len(all)-1].Round(time.Microsecond), grown)
	if AtLength() && p99 > most { // otherwise, other work may run on the same machine
		c.Errorf("%s: the 99th percentile of the health check is %v, more than %v", what, p99, most)
	}
	return p99
}

// Endless sends a request whose body never ends. It returns the response and how many bytes of the body were accepted.
// If length is 0, the request doesn't declare a length.
func (c *Crowd) Endless(path, headers string, length int64) (status string, sent int64) {
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

// Trickle sends the beginning of a request, then sends text again and again, byte by byte, until the daemon closes the
// connection. It returns how long that took.
func (c *Crowd) Trickle(beginning, text string) (cut time.Duration) {
	conn, err := net.Dial("tcp", c.Addr())
	if err != nil {
		c.Error(err)
		return 0
	}
	defer conn.Close()
	fmt.Fprint(conn, beginning)
	began, ended := time.Now(), make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		close(ended)
	}()
	tick := time.NewTicker(100 * time.Millisecond)
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
