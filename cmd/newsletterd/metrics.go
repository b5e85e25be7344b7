package main

import (
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/terminal"
	"newsletterd/store"
	"newsletterd/store/db"
	"newsletterd/worker"
)

// newRegistry creates the registry for all metrics, including those of the process and the database.
func newRegistry(s *store.Store, cfg *config.Config) *prometheus.Registry {
	reg := prometheus.NewRegistry()
	v := versionOf()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "newsletterd_build_info", Help: "Always 1; the labels name the build.",
		ConstLabels: prometheus.Labels{"version": v.Version, "commit": v.Commit, "go": v.Go},
	})
	build.Set(1)
	reg.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	counter := func(name, help string, value func(db.Stats) float64) {
		reg.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
			func() float64 { return value(s.Stats()) }))
	}
	gauge := func(name, help string, value func(db.Stats) float64) {
		reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return value(s.Stats()) }))
	}
	counter("newsletterd_db_transactions_total", "Transactions committed by the writer.",
		func(s db.Stats) float64 { return float64(s.Batches) })
	counter("newsletterd_db_operations_total", "Operations in these transactions.",
		func(s db.Stats) float64 { return float64(s.Ops) })
	counter("newsletterd_db_busy_seconds_total", "Time the writer spent in transactions.",
		func(s db.Stats) float64 { return s.Busy.Seconds() })
	gauge("newsletterd_db_wal_bytes", "Size of the -wal file.",
		func(s db.Stats) float64 { return float64(s.WAL) })
	gauge("newsletterd_db_waiting_operations", "Operations waiting for the writer.",
		func(s db.Stats) float64 { return float64(s.Waiting) })
	reg.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "newsletterd_refusing_writes",
		Help: "1 while writes are rejected because the disk is full, read-only or nearly full; otherwise 0.",
	}, func() float64 {
		if s.RefusesWrites() {
			return 1
		}
		return 0
	}))
	reg.MustRegister(batchCollector{s}, figuresCollector{s, cfg})
	return reg
}

// registerSelfCheck adds metrics about the self-check, which compares both sides of each list.
func registerSelfCheck(reg *prometheus.Registry, c *worker.SelfCheck) {
	reg.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "newsletterd_self_check_differing",
			Help: "Subscriptions that differed between the member and send services in the last self-check.",
		}, func() float64 { return float64(c.Figures().Differing) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "newsletterd_self_check_syncs_total", Help: "Full syncs requested by self-checks.",
		}, func() float64 { return float64(c.Figures().Healed) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "newsletterd_self_check_timestamp_seconds",
			Help: "End of the last self-check in Unix time; 0: none since the start.",
		}, func() float64 { return float64(c.Figures().EndedAt) / 1000 }),
	)
}

// metricsServer is the second listener, for metrics and profiles. It is nil if it is off.
type metricsServer struct {
	listener net.Listener
	server   *http.Server
}

func newMetricsServer(c config.Metrics, metrics http.Handler, log *slog.Logger) (*metricsServer, error) {
	if c.Listen == "" {
		return nil, nil
	}
	l, err := terminal.Listen("metrics.listen", c.Listen)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	if c.Pprof {
		for path, h := range map[string]http.HandlerFunc{
			"/debug/pprof/": pprof.Index, "/debug/pprof/cmdline": pprof.Cmdline, "/debug/pprof/profile": pprof.Profile,
			"/debug/pprof/symbol": pprof.Symbol, "/debug/pprof/trace": pprof.Trace,
		} {
			mux.Handle(path, onlyLoopback(h))
		}
	}
	return &metricsServer{listener: l, server: &http.Server{
		Handler: mux, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}}, nil
}

// onlyLoopback responds with 403 to callers on other machines, because profiles reveal memory contents.
func onlyLoopback(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !peer.Addr().Unmap().IsLoopback() {
			http.Error(w, "profiles are only available on this machine", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (m *metricsServer) start(log *slog.Logger) {
	if m != nil {
		go serveSecond("metrics.listen", m.server, m.listener, log)
	}
}

// serveSecond serves an additional listener, named after its configuration key. If the listener fails, the daemon
// continues without it.
func serveSecond(key string, s *http.Server, l net.Listener, log *slog.Logger) {
	if err := s.Serve(l); err != nil && !errors.Is(err, http.ErrServerClosed) {
		log.Error("listener", slog.String("of", key), slog.Any("error", err))
	}
}

func (m *metricsServer) stop() {
	if m != nil {
		_ = m.server.Close()
		_ = m.listener.Close()
	}
}
