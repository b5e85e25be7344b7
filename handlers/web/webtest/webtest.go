// Package webtest provides helpers for tests of HTTP handlers.
package webtest

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Pipes is a listener for in-memory connections, for testing time limits in a testing/synctest bubble.
type Pipes struct {
	conns chan net.Conn
	done  chan struct{}
}

// Serve serves in-memory connections until the test ends.
func Serve(t *testing.T, srv *http.Server) *Pipes {
	p := &Pipes{conns: make(chan net.Conn), done: make(chan struct{})}
	served := make(chan error)
	go func() { served <- srv.Serve(p) }()
	t.Cleanup(func() {
		_ = srv.Close()
		<-served
	})
	return p
}

// Start serves on loopback until the test ends, and returns the URL.
func Start(t *testing.T, srv *http.Server) (url string) {
	s := httptest.NewUnstartedServer(srv.Handler)
	s.Config = srv
	s.Start()
	t.Cleanup(s.Close)
	return s.URL
}

// Accept returns the server's end of the next connection. It implements net.Listener.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close makes Accept return an error.
func (p *Pipes) Close() error { close(p.done); return nil }

// Addr returns a placeholder address.
func (p *Pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// Dial returns the client's end of a new connection.
func (p *Pipes) Dial() net.Conn {
	a, b := net.Pipe()
	p.conns <- b
	return a
}
