package main

import (
	"crypto/tls"
	"io"
	stdlog "log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	pebbleca "github.com/letsencrypt/pebble/v2/ca"
	pebbledb "github.com/letsencrypt/pebble/v2/db"
	pebbleva "github.com/letsencrypt/pebble/v2/va"
	pebblewfe "github.com/letsencrypt/pebble/v2/wfe"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/handlers/web/webtest"
)

// TestCertificateIsReadAgain checks that changed files take effect at SIGHUP. If they can't be read, the previous
// certificate stays.
func TestCertificateIsReadAgain(t *testing.T) {
	daemontest.Parallel(t)
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	daemontest.WriteCertificate(t, cert, key, 1)
	r := start(t, func(c *config.Config) { c.Server.TLSCert, c.Server.TLSKey = cert, key })
	addr := r.listener.Addr().String()
	hangup := make(chan os.Signal)
	ended := make(chan struct{})
	go func() { r.reload(hangup); close(ended) }()
	t.Cleanup(func() { close(hangup); <-ended })
	if n := daemontest.Presented(t, addr, "localhost").SerialNumber.Int64(); n != 1 {
		t.Fatalf("serial %d", n)
	}
	if err := os.WriteFile(cert, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	hangup <- os.Interrupt
	daemontest.Await(t, "the log", func() bool {
		return r.log.Has("the certificate can't be read; keeping the " +
			"previous one")
	})
	if n := daemontest.Presented(t, addr, "localhost").SerialNumber.Int64(); n != 1 {
		t.Errorf("serial %d after a broken file", n)
	}
	daemontest.WriteCertificate(t, cert, key, 2)
	hangup <- os.Interrupt
	daemontest.Await(t, "the log", func() bool { return r.log.Has("certificate reloaded") })
	if n := daemontest.Presented(t, addr, "localhost").SerialNumber.Int64(); n != 2 {
		t.Errorf("serial %d after the change", n)
	}
	if n := daemontest.Presented(t, addr, loopName).SerialNumber.Int64(); n != 1 ||
		daemontest.Presented(t, addr, loopName).DNSNames[0] != loopName {
		t.Error("the daemon's own posts see another certificate than their own")
	}
}

// authority runs Let's Encrypt's test server in this process. It validates host names on this machine, at the ports of
// two given addresses.
func authority(t *testing.T, plain, listen, dns string) *httptest.Server {
	t.Helper()
	ports := [2]int{}
	for i, addr := range []string{plain, listen} {
		at, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		ports[i] = at.Port
	}
	t.Setenv("PEBBLE_VA_NOSLEEP", "1")
	t.Setenv("PEBBLE_WFE_NONCEREJECT", "0")
	quiet := stdlog.New(io.Discard, "", 0)
	db := pebbledb.NewMemoryStore()
	ca := pebbleca.New(quiet, db, "", "ecdsa", 0, 1, map[string]pebbleca.Profile{"default": {Description: "The default"}})
	va := pebbleva.New(quiet, ports[0], ports[1], true, dns, db)
	wfe := pebblewfe.New(quiet, db, va, ca, []string{"pebble.example"}, true, false, 1, 1)
	s := httptest.NewTLSServer(wfe.Handler())
	t.Cleanup(s.Close)
	return s
}

// TestACME gets a certificate from an ACME authority, keeps it in the database across a restart, and redirects plain
// http to https.
func TestACME(t *testing.T) {
	listen, plain := daemontest.FreeAddr(t), daemontest.FreeAddr(t)
	dns := daemontest.DNS(t, map[string][]string{"news.example.org A": {"127.0.0.1"}})
	ca := authority(t, plain, listen, dns)
	path := filepath.Join(t.TempDir(), "newsletterd.db")
	run := func() *running {
		return start(t, func(c *config.Config) {
			c.Server.Listen, c.Server.ACMEHTTP, c.Database.Path = listen, plain, path
			c.Server.ACMEDomains, c.Server.ACMEDirectory, c.Server.PublicURL = []string{"news.example.org"},
				ca.URL+"/dir",
				"https://news.example.org"
		})
	}
	r := run()
	r.certs.manager.Client.HTTPClient = ca.Client()
	leaf := daemontest.Presented(t, listen, "news.example.org")
	if !strings.HasPrefix(leaf.Issuer.CommonName, "Pebble") || leaf.VerifyHostname("news.example.org") != nil {
		t.Errorf("issued by %q for %q", leaf.Issuer.CommonName, leaf.DNSNames)
	}
	if c, err := tls.Dial("tcp", listen, &tls.Config{
		ServerName:         "other.example.org",
		InsecureSkipVerify: true,
	}); err == nil {
		c.Close()
		t.Error("a certificate for a foreign host")
	}
	client := &webtest.Client{TB: t, URL: "http://" + plain, HTTP: webtest.Staying()}
	redirected := client.Get("/l/abc?x=1").Wants(http.StatusFound)
	if got := redirected.Header.Get("Location"); got != "https://news.example.org/l/abc?x=1" {
		t.Error(got)
	}
	if err := r.quit(); err != nil {
		t.Fatal(err)
	}
	ca.Close() // the database has everything needed
	again := run()
	if got := daemontest.Presented(t, listen, "news.example.org"); !got.Equal(leaf) {
		t.Error("another certificate after a restart")
	}
	if err := again.quit(); err != nil {
		t.Fatal(err)
	}
}

// TestACMEByPlainHTTP gets a certificate if the authority can't reach the https listener, for example because of a
// proxy. It then uses the plain one (http-01, RFC 8555 section 8.3).
func TestACMEByPlainHTTP(t *testing.T) {
	listen, plain := daemontest.FreeAddr(t), daemontest.FreeAddr(t)
	dns := daemontest.DNS(t, map[string][]string{"news.example.org A": {"127.0.0.1"}})
	ca := authority(t, plain, daemontest.FreeAddr(t), dns)
	r := start(t, func(c *config.Config) {
		c.Server.Listen, c.Server.ACMEHTTP = listen, plain
		c.Server.ACMEDomains, c.Server.ACMEDirectory, c.Server.PublicURL = []string{"news.example.org"}, ca.URL+"/dir",
			"https://news.example.org"
	})
	r.certs.manager.Client.HTTPClient = ca.Client()
	leaf := daemontest.Presented(t, listen, "news.example.org")
	if !strings.HasPrefix(leaf.Issuer.CommonName, "Pebble") || leaf.VerifyHostname("news.example.org") != nil {
		t.Errorf("issued by %q for %q", leaf.Issuer.CommonName, leaf.DNSNames)
	}
	client := &webtest.Client{TB: t, URL: "http://" + plain, HTTP: webtest.Staying()}
	if got := client.Get("/.well-known/acme-challenge/unknown"); got.StatusCode != http.StatusNotFound &&
		got.StatusCode != http.StatusForbidden {
		t.Errorf("an unknown challenge: %s %s", got.Status, got.Text)
	}
}

// TestSystemdIsTold waits for READY=1 when the daemon responds, and for STOPPING=1 when it starts to stop
// (sd_notify(3)).
func TestSystemdIsTold(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	t.Setenv("NOTIFY_SOCKET", socket)
	hear := func() string {
		buf := make([]byte, 100)
		_ = l.SetReadDeadline(time.Now().Add(20 * time.Second))
		n, err := l.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		return string(buf[:n])
	}
	r := start(t, nil)
	if got := hear(); got != "READY=1" {
		t.Errorf("%q", got)
	}
	r.Get("/healthz").OK()
	if err := r.quit(); err != nil {
		t.Fatal(err)
	}
	if got := hear(); got != "STOPPING=1" {
		t.Errorf("%q", got)
	}
}
