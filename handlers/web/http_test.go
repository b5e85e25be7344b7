package web

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"newsletterd/handlers/web/webtest"
)

// TestRequestsAtTheEdgeOfHTTP checks that every request that reaches the table gets a response in the table's form. If
// net/http can't read a request, it responds itself in plain text, as docs/reference.md says. The test also detects a
// Go version that responds differently.
func TestRequestsAtTheEdgeOfHTTP(t *testing.T) {
	url := webtest.Start(t, Server(bare(t, lineOf("POST", "/api/echo", Public(), Member, JSON(large), "Echo"))))
	const post = "POST /api/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	for _, tt := range []struct {
		name, request string
		status        int
		ours          bool
	}{
		{"good", post + "Content-Length: 12\r\n\r\n{\"name\":\"x\"}", 200, true},
		{"old", "GET /api/echo HTTP/1.0\r\n\r\n", 405, true},
		{"whole URL", "GET http://elsewhere.test/api/echo HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, true},
		{"method of one's own", "BREW /api/echo HTTP/1.1\r\nHost: localhost\r\n\r\n", 405, true},
		{"CONNECT", "CONNECT elsewhere.test:443 HTTP/1.1\r\nHost: elsewhere.test:443\r\n\r\n", 404, true},
		{"asterisk", "GET * HTTP/1.1\r\nHost: localhost\r\n\r\n", 404, true},
		{"chunked", post + "Transfer-Encoding: chunked\r\n\r\nc\r\n{\"name\":\"x\"}\r\n0\r\n\r\n", 200, true},
		{"bad chunk", post + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, true},
		{
			"both lengths", post + "Content-Length: 3\r\nTransfer-Encoding: " +
				"chunked\r\n\r\nc\r\n{\"name\":\"x\"}\r\n0\r\n\r\n",
			200, true,
		},
		{"100-continue", post + "Expect: 100-continue\r\nContent-Length: 70000\r\n\r\n", 413, true},
		{
			"upgrade",
			"GET /api/echo HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n" +
				"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n", 405, true,
		},
		{"preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 404, true},

		{"no request", "hello\r\n\r\n", 400, false},
		{"bad escape", "GET /%zz HTTP/1.1\r\nHost: localhost\r\n\r\n", 400, false},
		{"no host", "GET / HTTP/1.1\r\n\r\n", 400, false},
		{"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, false},
		{"bad field name", "GET / HTTP/1.1\r\nHost: localhost\r\nX Y: z\r\n\r\n", 400, false},
		{"control in a field", "GET / HTTP/1.1\r\nHost: localhost\r\nX: \x01\r\n\r\n", 400, false},
		{"bad length", post + "Content-Length: -1\r\n\r\n", 400, false},
		{"two lengths", post + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", 400, false},
		{
			"large head", "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + strings.Repeat("x", 20000) + "\r\n\r\n", 431,
			false,
		},
		{"transfer encoding", post + "Transfer-Encoding: gzip\r\n\r\n", 501, false},
		{"version", "GET / HTTP/3.0\r\nHost: localhost\r\n\r\n", 505, false},
		{"expectation", "GET / HTTP/1.1\r\nHost: localhost\r\nExpect: wonders\r\n\r\n", 417, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			if _, err := io.WriteString(conn, tt.request); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			b, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			ours := res.Header.Get("X-Request-Id") != ""
			if res.StatusCode != tt.status || ours != tt.ours {
				t.Errorf("%s, ours %v: %s", res.Status, ours, b)
			}
			var reply ErrorBody
			if ours && res.StatusCode >= 400 && (json.Unmarshal(b, &reply) != nil || reply.Error == "" ||
				reply.Message == "" ||
				reply.RequestID == "") {
				t.Errorf("%s is not in our form: %s", res.Status, b)
			}
		})
	}
}

// TestRefusedBodiesAreReadToTheEnd checks that a client that sends a large body before it reads the response gets the
// refusal, and not a reset.
func TestRefusedBodiesAreReadToTheEnd(t *testing.T) {
	url := webtest.Start(t, Server(bare(t, lineOf("POST", "/api/echo", Public(), Member, JSON(large), "Echo"))))
	body := strings.Repeat(" ", 16<<20)
	for name, framed := range map[string]string{
		"length": "Content-Length: 16777216\r\n\r\n" + body,
		"chunks": "Transfer-Encoding: chunked\r\n\r\n1000000\r\n" + body + "\r\n0\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, err = io.WriteString(conn, "POST /api/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"+framed)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %v, %v", name, res, err)
		}
	}
}
