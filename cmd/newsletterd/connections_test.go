package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
)

// TestConnectionsAreBounded fills the daemon with connections. Beyond the limit, the connection that has been idle
// longest is closed. While all are busy, a new one waits until another one is done.
func TestConnectionsAreBounded(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			const most = 16
			r := start(t, func(c *config.Config) {
				c.Server.MaxConnections = most
				if scheme == "https" {
					c.Server.TLSCert, c.Server.TLSKey = filepath.Join(t.TempDir(), "cert.pem"),
						filepath.Join(t.TempDir(), "key.pem")
					daemontest.WriteCertificate(t, c.Server.TLSCert, c.Server.TLSKey, 1)
				}
			})
			dial := func() net.Conn {
				c, err := net.Dial("tcp", r.listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { c.Close() })
				if scheme == "https" {
					return tls.Client(c, &tls.Config{ServerName: "localhost", InsecureSkipVerify: true})
				}
				return c
			}
			ask := func(c net.Conn, text string) {
				if _, err := io.WriteString(c, text); err != nil {
					t.Fatal(err)
				}
			}
			idleAre := func(want int) { // idle connections
				daemontest.Await(t, fmt.Sprint(want, " idle connections"), func() bool {
					r.clients.mu.Lock()
					defer r.clients.mu.Unlock()
					return r.clients.idle.Len() == want
				})
			}
			const whole = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
			var idle []net.Conn
			for i := range most + 1 {
				c := dial()
				ask(c, whole)
				readAnswer(t, c)
				idle = append(idle, c)
				idleAre(min(i+1, most-1)) // there is always room for the next
			}
			_ = idle[0].SetReadDeadline(time.Now().Add(20 * time.Second))
			if _, err := idle[0].Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("the connection that waited longest: %v", err)
			}

			// All are busy: one more waits until one of them is done.
			const begin = "POST /api/newsletter/subscribe HTTP/1.1\r\nHost: localhost\r\nContent-Type: " +
				"application/json\r\nContent-Length: 2\r\n\r\n{"
			busy := idle[2:]
			for _, c := range busy {
				ask(c, begin)
			}
			idleAre(0)
			ask(dial(), begin)
			daemontest.Await(t, "a connection more", func() bool { return r.clients.inUse() == most })
			late := make(chan error, 1)
			go func() {
				c := dial()
				_, err := io.WriteString(c, whole) // with TLS the wait is here
				if err == nil {
					_, err = http.ReadResponse(bufio.NewReader(c), nil)
				}
				late <- err
			}()
			select {
			case err := <-late:
				t.Errorf("served beyond the bound: %v", err)
			case <-time.After(50 * time.Millisecond): // long enough to be served without a limit
			}
			ask(busy[0], "}")
			readAnswer(t, busy[0])
			if err := <-late; err != nil {
				t.Error(err)
			}
			if n := r.clients.inUse(); n > most {
				t.Errorf("%v connections", n)
			}
		})
	}
}

// readAnswer reads a whole response.
func readAnswer(t *testing.T, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	res.Body.Close()
}

// TestFilesBoundConnections checks that any configuration leaves files for the database and the relay.
func TestFilesBoundConnections(t *testing.T) {
	var said strings.Builder
	log := slog.New(slog.NewTextHandler(&said, nil))
	files := maxFiles()
	if got := mostConnections(16, log); got != 16 || said.Len() > 0 {
		t.Errorf("%d connections of %d files: %s", got, files, &said)
	}
	if got := mostConnections(1<<40, log); got >= files ||
		!strings.Contains(said.String(), fmt.Sprint("connections=", got)) {
		t.Errorf("%d connections of %d files: %s", got, files, &said)
	}
}
