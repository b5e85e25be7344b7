package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/core"
	"newsletterd/handlers/web"
)

// standby listens on the daemon's address until the daemon can serve. It responds to every request with 503, even for
// /healthz, so that a load balancer sends no requests to this machine. When it ends, it closes its connections and
// hands the listener over to the daemon.
type standby struct {
	listener *net.TCPListener
	server   *http.Server
	served   chan struct{}
	metrics  *metricsServer // nil: off
	log      *slog.Logger

	mu     sync.Mutex
	status string // starting, standby
}

// newStandby starts listening. If certificates come from ACME, it uses plain HTTP, because the certificates are in the
// database.
func newStandby(cfg *config.Config, log *slog.Logger) (*standby, error) {
	certs := &certificates{cert: cfg.Server.TLSCert, key: cfg.Server.TLSKey, log: log}
	if certs.cert != "" {
		if err := certs.load(); err != nil {
			return nil, err
		}
	}
	l, err := terminal.Listen("server.listen", cfg.Server.Listen)
	if err != nil {
		return nil, err
	}
	s := &standby{listener: l.(*net.TCPListener), served: make(chan struct{}), log: log, status: "starting"}
	s.server = web.Server(http.HandlerFunc(s.answer))
	s.server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	var serve net.Listener = kept{s.listener}
	if certs.cert != "" {
		serve = tls.NewListener(serve, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certs.get})
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(s)
	s.metrics, err = newMetricsServer(cfg.Metrics, promhttp.HandlerFor(reg, promhttp.HandlerOpts{}), log)
	if err != nil {
		_ = s.listener.Close()
		return nil, err
	}
	s.metrics.start(log)
	go func() {
		_ = s.server.Serve(serve)
		close(s.served)
	}()
	return s, nil
}

// kept is a listener that stays open when the server that uses it closes it.
type kept struct{ *net.TCPListener }

// Close ends a waiting Accept. The listener stays open.
func (k kept) Close() error { return k.SetDeadline(time.Now()) }

// waiting records that another machine, called host, serves the database.
func (s *standby) waiting(host string, _ bool) error {
	s.mu.Lock()
	first := s.status != "standby"
	s.status = "standby"
	s.mu.Unlock()
	if first {
		s.log.Info("standby: another machine serves", slog.String("host", host),
			slog.String("listen", s.listener.Addr().String()))
		_, _ = sd.SdNotify(false, sd.SdNotifyReady+"\nSTATUS=standby")
	}
	return nil
}

// answer handles requests to every path.
func (s *standby) answer(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	status := s.status
	s.mu.Unlock()
	body := map[string]string{
		"error": status, "message": "This machine isn't serving right now. Try again soon.", "request_id": core.NewID(),
	}
	if r.URL.Path == "/healthz" {
		body["status"] = status
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Retry-After", "2")
	w.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(w).Encode(body)
}

// Describe implements prometheus.Collector, for a machine that does not serve.
func (s *standby) Describe(ch chan<- *prometheus.Desc) {
	ch <- replicaStandby
	ch <- replicaFresh
}

// Collect implements prometheus.Collector.
func (s *standby) Collect(ch chan<- prometheus.Metric) {
	s.mu.Lock()
	waits := s.status == "standby"
	s.mu.Unlock()
	ch <- prometheus.MustNewConstMetric(replicaStandby, prometheus.GaugeValue, zeroOrOne(waits))
	ch <- prometheus.MustNewConstMetric(replicaFresh, prometheus.GaugeValue, 0)
}

// leave ends the standby and returns its listener.
func (s *standby) leave() (net.Listener, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
	<-s.served
	s.metrics.stop()
	return s.listener, s.listener.SetDeadline(time.Time{})
}

// abandon is like leave, but also closes the listener. On a nil standby it does nothing.
func (s *standby) abandon() {
	if s == nil {
		return
	}
	_ = s.server.Close()
	_ = s.listener.Close()
	s.metrics.stop()
}
