package main

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"newsletterd/auth"
	"newsletterd/handlers"
	"newsletterd/store"
	"newsletterd/worker"
)

// daemon is everything that serves, built and not yet running.
type daemon struct {
	cfg      *Config
	log      *slog.Logger
	store    *store.Store
	listener net.Listener
	auth     *auth.Provider
	handler  *handlers.Handler
	server   *http.Server
	workers  *worker.Group // what claims and sends
	keepers  *worker.Group // housekeeping, which stops last
	metrics  *metricsServer
}

// build opens and wires everything. Production and tests call it alike; a port 0 is possible everywhere. What was
// opened is closed again if it fails.
func build(ctx context.Context, cfg *Config, log *slog.Logger) (_ *daemon, err error) {
	d := &daemon{cfg: cfg, log: log}
	defer func() {
		if err != nil {
			d.abandon()
		}
	}()
	o, err := storeOptions(cfg, log)
	if err != nil {
		return nil, err
	}
	o.Migrate = true
	if d.store, err = store.Open(ctx, o); err != nil {
		return nil, err
	}
	if d.listener, err = listen(cfg); err != nil {
		return nil, err
	}
	if cfg.Server.PublicURL == "" && strings.HasSuffix(cfg.Server.Listen, ":0") {
		cfg.Server.Listen = d.listener.Addr().String() // the port that links must name
	}
	registry := newRegistry(d.store)
	if err := d.wire(ctx, registry); err != nil {
		return nil, err
	}
	d.server = handlers.Server(d.handler)
	d.server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	d.metrics, err = newMetricsServer(cfg.Metrics, d.handler.Metrics(), log)
	return d, err
}

// wire makes handlers and workers over the store.
func (d *daemon) wire(ctx context.Context, registry *prometheus.Registry) (err error) {
	d.handler, err = handlers.New(handlers.Options{
		Log: d.log, Registry: registry, PublicURL: d.cfg.Origin(), TrustedProxies: proxies(d.cfg.Server.TrustedProxies),
		Store: d.store,
	})
	if err != nil {
		return err
	}
	d.workers = worker.NewGroup(d.log)
	d.keepers = worker.NewGroup(d.log, worker.Housekeeping(d.store, retention(d.cfg), d.log))
	return nil
}

// abandon closes what a failed build has opened.
func (d *daemon) abandon() {
	if d.listener != nil {
		_ = d.listener.Close()
	}
	if d.store != nil {
		_ = d.store.Close()
	}
}

func storeOptions(cfg *Config, log *slog.Logger) (store.Options, error) {
	key, err := masterKey(cfg.Auth.KeyFile)
	return store.Options{
		Path: cfg.Database.Path, ExternalCheckpoints: cfg.Database.Checkpoints == "external", MasterKey: key, Log: log,
	}, err
}

const masterKeyBytes = 32

// masterKey reads the key that seals secrets at rest; nil where there is none. A file that others may read is refused.
func masterKey(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	fi, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("auth.key_file: %w", err)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("auth.key_file: %s may be read by others (mode %04o): chmod 600 it", file, fi.Mode().Perm())
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("auth.key_file: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(b)))
	if err != nil || len(key) != masterKeyBytes {
		return nil, fmt.Errorf("auth.key_file: %s must hold %d bytes in base64 (head -c 32 /dev/urandom | base64)", file, masterKeyBytes)
	}
	return key, nil
}

func listen(cfg *Config) (net.Listener, error) {
	l, err := net.Listen("tcp", cfg.Server.Listen)
	if err != nil {
		return nil, fmt.Errorf("server.listen: %w", err)
	}
	if cfg.Server.TLSCert == "" {
		return l, nil
	}
	cert, err := tls.LoadX509KeyPair(cfg.Server.TLSCert, cfg.Server.TLSKey)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server.tls_cert: %w", err), l.Close())
	}
	return tls.NewListener(l, &tls.Config{
		Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"},
	}), nil
}

// proxies turns addresses and ranges, which check has looked at, into ranges.
func proxies(words []string) []netip.Prefix {
	var out []netip.Prefix
	for _, w := range words {
		if p, err := netip.ParsePrefix(w); err == nil {
			out = append(out, p.Masked())
		} else if a, err := netip.ParseAddr(w); err == nil {
			out = append(out, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return out
}

func retention(cfg *Config) store.Retention {
	const day = 24 * time.Hour
	return store.Retention{
		Pending: cfg.Newsletter.PendingTTL.Std(), Recipients: 400 * day, Deleted: 30 * day, Mail: 30 * day, Events: 30 * day,
	}
}
