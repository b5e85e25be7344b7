package main

import (
	"bufio"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"newsletterd/cmd/newsletterd/config"
)

// wires is a listener to which a test can connect from any address.
type wires chan net.Conn

func (w wires) Accept() (net.Conn, error) {
	c, ok := <-w
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}

func (wires) Close() error   { return nil }
func (wires) Addr() net.Addr { return &net.TCPAddr{} }

type wire struct {
	net.Conn
	from netip.Addr
}

func (w wire) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(w.from, 40000))
}

// serveWires serves with a limit on connections. It returns a function that connects from an address and reports
// whether the connection was served.
func serveWires(t *testing.T, c *connections) (dial func(from string) (net.Conn, bool)) {
	l := make(wires)
	server := &http.Server{ConnState: c.state, Handler: http.NotFoundHandler()}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(c.listener(l)) }()
	t.Cleanup(func() {
		close(l)
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		_ = server.Close()
	})
	return func(from string) (net.Conn, bool) {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { ours.Close() })
		l <- wire{theirs, netip.MustParseAddr(from)}
		synctest.Wait()
		if _, err := io.WriteString(ours, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			return ours, false
		}
		res, err := http.ReadResponse(bufio.NewReader(ours), nil)
		if err != nil {
			return ours, false
		}
		_, _ = io.Copy(io.Discard, res.Body)
		synctest.Wait()
		return ours, true
	}
}

// TestConnectionsOfOneAddress checks that an address has a limited number of connections, whatever it does with them,
// and that this doesn't affect others.
func TestConnectionsOfOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConnections(1000)
		c.each, c.proxies = 2, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		told := 0
		c.told = func(netip.Addr) { told++ }
		dial := serveWires(t, c)
		refused := 0
		var last net.Conn
		for _, step := range []struct {
			from   string
			served bool
		}{
			{"192.0.2.1", true},
			{"192.0.2.1", true},
			{"192.0.2.1", false},
			{"::ffff:192.0.2.1", false}, // the same address on a dual-stack listener
			{"192.0.2.2", true},
			{"2001:db8::1", true},
			{"2001:db8::2", true},
			{"2001:db8::3:0:0:1", false}, // the whole /64 belongs to one customer
			{"2001:db8:0:1::1", true},
			{"127.0.0.1", true},
			{"127.0.0.1", true},
			{"127.0.0.1", true},
			{"::1", true},
			{"::1", true},
			{"::1", true},
			{"10.1.2.3", true}, // a proxy for many clients
			{"10.1.2.3", true},
			{"::ffff:10.1.2.3", true},
			{"192.0.2.9", true},
			{"192.0.2.9", true},
		} {
			conn, served := dial(step.from)
			if served != step.served {
				t.Errorf("%s: served %v", step.from, served)
			}
			if last = conn; !step.served {
				refused++
			}
		}
		if c.refused != refused || told != 1 {
			t.Errorf("%d refused, the log told of it %d times; want %d, once", c.refused, told, refused)
		}
		last.Close()
		synctest.Wait()
		for _, want := range []bool{true, false} { // one connection is free again
			if _, served := dial("192.0.2.9"); served != want {
				t.Errorf("after one was closed: served %v", served)
			}
		}
		time.Sleep(toldEvery)
		if dial("192.0.2.9"); told != 2 {
			t.Errorf("the log told %d times", told)
		}
	})
}

// TestConnectionsThatMakeRoom checks that a connection closed to make room no longer counts for its address.
func TestConnectionsThatMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newConnections(3)
		c.each = 2
		dial := serveWires(t, c)
		for i, from := range []string{"192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.3", "192.0.2.4"} {
			if _, served := dial(from); !served {
				t.Errorf("%d, %s: not served", i, from)
			}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		total := 0
		for _, n := range c.of {
			total += n
		}
		if total != c.open || c.refused > 0 {
			t.Errorf("%d open, by address %v, %d refused", c.open, c.of, c.refused)
		}
	})
}

// TestConfiguredConnections checks that the limit per address shrinks with the total, and that 0 means no limit.
func TestConfiguredConnections(t *testing.T) {
	var said strings.Builder
	log := slog.New(slog.NewTextHandler(&said, nil))
	c := configuredConnections(config.Server{
		MaxConnections: 1 << 30, MaxConnectionsPerAddress: 1 << 26,
		TrustedProxies: []string{"10.0.0.0/8"},
	}, log)
	if c.each != c.most/16 || len(c.proxies) != 1 {
		t.Errorf("%d of %d connections, proxies %v", c.each, c.most, c.proxies)
	}
	if c.told(netip.MustParseAddr("192.0.2.1")); !strings.Contains(said.String(), "address=192.0.2.1") {
		t.Errorf("%s", &said)
	}
	if c := configuredConnections(config.Server{MaxConnections: 16}, log); c.each != 0 {
		t.Errorf("%d connections of an address", c.each)
	}
}
