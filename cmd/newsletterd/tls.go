package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/acme"
	"golang.org/x/crypto/acme/autocert"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/worker"
)

// loopName is the server name in the daemon's requests to its own HTTPS listener. No certificate authority would issue
// a certificate for this name, so the daemon creates one itself and compares it byte for byte.
const loopName = "loop.newsletterd.invalid"

// certificates provides the certificates for the listener. They come from files, which are reread when they change, or
// from ACME.
type certificates struct {
	cert, key string
	loop      *tls.Certificate
	files     atomic.Pointer[tls.Certificate]
	read      time.Time         // newest modification time of the files when they were read; only used by the loop
	again     atomic.Bool       // whether to reread the files even if they haven't changed
	manager   *autocert.Manager // nil: files
	log       *slog.Logger
}

// newCertificates reads the certificate files or prepares ACME. If the listener uses plain HTTP, it returns nil.
func newCertificates(cfg *config.Config, s *store.Store, log *slog.Logger) (*certificates, error) {
	if !cfg.HTTPS() {
		return nil, nil
	}
	c := &certificates{cert: cfg.Server.TLSCert, key: cfg.Server.TLSKey, log: log}
	var err error
	if c.loop, err = loopCertificate(); err != nil {
		return nil, err
	}
	if len(cfg.Server.ACMEDomains) > 0 {
		c.manager = &autocert.Manager{
			Prompt: autocert.AcceptTOS, HostPolicy: autocert.HostWhitelist(cfg.Server.ACMEDomains...), Cache: acmeCache{s},
			Email: cfg.Server.ACMEEmail, Client: &acme.Client{
				DirectoryURL: cfg.Server.ACMEDirectory,
				UserAgent:    "newsletterd",
				HTTPClient:   &http.Client{Transport: shortAnswers{http.DefaultTransport}},
			},
		}
		return c, nil
	}
	return c, c.load()
}

// load rereads the certificate files. If they can't be used, it keeps the current certificate and returns an error.
func (c *certificates) load() error {
	changed := c.changedAt()
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil {
		return fmt.Errorf("server.tls_cert: %w", err)
	}
	c.files.Store(&pair)
	c.read = changed
	return nil
}

// changedAt returns when one of the certificate files was last changed.
func (c *certificates) changedAt() (at time.Time) {
	for _, name := range []string{c.cert, c.key} {
		if fi, err := os.Stat(name); err == nil && fi.ModTime().After(at) {
			at = fi.ModTime()
		}
	}
	return at
}

// certificateEvery is the interval at which the certificate files are checked for changes.
const certificateEvery = time.Minute

// watch returns the loop that rereads the certificate files when they change or when a reload is requested.
func (c *certificates) watch() *worker.Loop {
	return &worker.Loop{Name: "certificate", Step: func(_ context.Context, at time.Time) time.Time {
		if c.manager == nil && (c.again.Swap(false) || !c.changedAt().Equal(c.read)) {
			if err := c.load(); err != nil {
				c.log.Error("the certificate can't be read; keeping the previous one", slog.Any("error", err))
			} else {
				c.log.Info("certificate reloaded", slog.String("file", c.cert))
			}
		}
		return at.Add(certificateEvery)
	}}
}

func (c *certificates) config() *tls.Config {
	protocols := []string{"http/1.1"}
	if c.manager != nil {
		protocols = append(protocols, acme.ALPNProto)
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols, GetCertificate: c.get}
}

func (c *certificates) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if hello.ServerName == loopName {
		return c.loop, nil
	}
	if c.manager == nil {
		return c.files.Load(), nil
	}
	cert, err := c.manager.GetCertificate(hello)
	if err != nil {
		c.log.Warn("certificate", slog.String("host", hello.ServerName), slog.Any("error", err))
	}
	return cert, err
}

// loopCertificate creates a certificate for the daemon's requests to itself, for the life of this process.
func loopCertificate() (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{loopName},
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, key.Public(), key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, nil
}

// acmeCache stores certificates in the database.
type acmeCache struct{ store *store.Store }

func (a acmeCache) Get(ctx context.Context, name string) ([]byte, error) {
	b, err := a.store.ACMEData(ctx, name)
	if errors.Is(err, core.ErrNotFound) {
		return nil, autocert.ErrCacheMiss
	}
	return b, err
}

func (a acmeCache) Put(ctx context.Context, name string, data []byte) error {
	return a.store.PutACMEData(ctx, name, data, now())
}

func (a acmeCache) Delete(ctx context.Context, name string) error {
	return a.store.DeleteACMEData(ctx, name)
}

// redirector is the plain HTTP listener for ACME. It responds to http-01 challenges (RFC 8555 section 8.3) and
// redirects all other requests to HTTPS. It is nil if it is off.
type redirector struct {
	listener net.Listener
	server   *http.Server
}

func newRedirector(cfg *config.Config, c *certificates, clients *connections, log *slog.Logger) (*redirector, error) {
	if c == nil || c.manager == nil || cfg.Server.ACMEHTTP == "" {
		return nil, nil
	}
	l, err := terminal.Listen("server.acme_http", cfg.Server.ACMEHTTP)
	if err != nil {
		return nil, err
	}
	origin := cfg.Origin()
	challenges := c.manager.HTTPHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "use https", http.StatusBadRequest)
			return
		}
		http.Redirect(w, r, origin+r.URL.RequestURI(), http.StatusFound)
	}))
	return &redirector{listener: clients.listener(l), server: &http.Server{
		ConnState: clients.state,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if host, _, err := net.SplitHostPort(r.Host); err == nil {
				r.Host = host // a private authority may use a port other than 80, and autocert compares the whole host
			}
			challenges.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout:    30 * time.Second,
		MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}, nil
}

func (r *redirector) start(log *slog.Logger) {
	if r != nil {
		go serveSecond("server.acme_http", r.server, r.listener, log)
	}
}

func (r *redirector) stop() {
	if r != nil {
		_ = r.server.Close()
		_ = r.listener.Close()
	}
}
