package main

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
)

// TestReverseProxies runs nginx and Caddy with the blocks of docs/proxy.md in front of a daemon. A body over nginx's
// default limit reaches newsletterd, nginx forwards the refusal before it has the whole body, and the log has the real
// address of a client that claims a different one.
func TestReverseProxies(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SKIPPED: clients need another loopback address than the proxy, which only Linux has")
	}
	text := guide(t, "proxy.md")
	for _, name := range []string{"nginx", "caddy"} {
		t.Run(name, func(t *testing.T) {
			exe, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("SKIPPED: no %s on this machine, so its block in docs/proxy.md is not run", name)
			}
			_, block, found := strings.Cut(text, "```"+name+"\n")
			block, _, ended := strings.Cut(block, "```\n")
			if !found || !ended {
				t.Fatalf("docs/proxy.md has no block for %s", name)
			}
			d := start(t, func(cfg *config.Config) {
				cfg.Server.PublicURL = "https://news.example.org"
				cfg.Server.TrustedProxies = []string{"127.0.0.1"}
			})
			p := &proxy{T: t, addr: daemontest.FreeAddr(t), daemon: d, early: name == "nginx"}
			p.run(exe, block)
			p.check()
		})
	}
}

// proxy is a server in front of a daemon.
type proxy struct {
	*testing.T
	addr   string
	daemon *running
	early  bool // forwards a response before the body is complete, unlike Caddy and other servers in Go
}

// run starts the program with a block of the guide, changed to a test certificate and other addresses, and waits until
// it listens.
func (p *proxy) run(exe, block string) {
	p.Helper()
	dir := p.TempDir()
	file, cert, key := filepath.Join(dir, "config"), filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	daemontest.WriteCertificate(p, cert, key, 1)
	_, port, _ := net.SplitHostPort(p.addr)
	block = strings.NewReplacer("listen 443", "listen "+p.addr, "127.0.0.1:8080", p.daemon.listener.Addr().String(),
		"/etc/ssl/news.example.org.pem", cert, "/etc/ssl/private/news.example.org.key", key,
		"news.example.org {\n", "https://news.example.org:"+port+" {\n bind 127.0.0.1\n tls "+cert+" "+key+"\n").Replace(block)
	var args []string
	if filepath.Base(exe) == "nginx" {
		temporary := ""
		for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
			temporary += fmt.Sprintf("%s_temp_path %s;\n", kind, filepath.Join(dir, kind))
		}
		block = fmt.Sprintf("daemon off;\nerror_log stderr;\npid %s;\nevents {}\nhttp {\naccess_log off;\n%s%s}\n",
			filepath.Join(dir, "pid"), temporary, block)
		args = []string{"-p", dir, "-c", file}
	} else {
		block = "{\n admin off\n auto_https off\n}\n" + block
		args = []string{"run", "--adapter", "caddyfile", "--config", file}
	}
	if err := os.WriteFile(file, []byte(block), 0o600); err != nil {
		p.Fatal(err)
	}
	c := exec.Command(exe, args...)
	c.Env = append(os.Environ(), "HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	startOther(p.T, c, func() bool {
		conn, err := net.Dial("tcp", p.addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// ask sends a request from 127.0.0.2. The body can be shorter than the declared length.
func (p *proxy) ask(body string, length int) *http.Response {
	p.Helper()
	from := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	conn, err := tls.DialWithDialer(from, "tcp", p.addr, &tls.Config{
		ServerName:         "news.example.org",
		InsecureSkipVerify: true,
	})
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { conn.Close() })
	sent := make(chan error, 1)
	go func() {
		_, err := fmt.Fprintf(conn, "POST /api/auth/login HTTP/1.1\r\nHost: news.example.org\r\nX-Forwarded-For: 203.0.113.9\r\n"+
			"Content-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n%s", length, body)
		sent <- err
	}()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		p.Fatalf("%v (request: %v)", err, <-sent)
	}
	return res
}

func (p *proxy) check() {
	p.Helper()
	wrong := "grant_type=password&username=ann%40example.org&password=wrong"
	if res := p.ask(wrong, len(wrong)); res.StatusCode != http.StatusBadRequest {
		p.Errorf("a wrong password is answered %s", res.Status)
	}
	if log := p.daemon.log.String(); !strings.Contains(log, `"remote":"127.0.0.2"`) ||
		strings.Contains(log, "203.0.113.9") {
		p.Errorf("the log doesn't have the client's address:\n%s", log)
	}
	const large = 2 << 20
	p.refused("a body over 1 MB", p.ask(strings.Repeat("x", large), large))
	if p.early {
		p.refused("an upload without a body", p.ask("", large))
	}
}

// refused fails the test if a response isn't newsletterd's refusal of a body.
func (p *proxy) refused(what string, res *http.Response) {
	p.Helper()
	if kind := res.Header.Get("Content-Type"); res.StatusCode != http.StatusRequestEntityTooLarge ||
		!strings.Contains(kind, "json") {
		p.Errorf("%s is answered %s of type %q, not by newsletterd", what, res.Status, kind)
	}
}
