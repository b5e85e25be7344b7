package web

import (
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"newsletterd/core"
)

type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight prometheus.Gauge
}

// newMetrics registers the request metrics. Requests are counted by route and status. Their durations are measured by
// area, because per-route durations would double the size of a scrape. The log has the duration of each request.
func newMetrics(reg *prometheus.Registry) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "newsletterd_http_requests_total", Help: "Requests, by route and status.",
		}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "newsletterd_http_request_seconds", Help: "Time from the header to the end of the reply, by area.",
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 15},
		}, []string{"area"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "newsletterd_http_in_flight", Help: "Requests being served now.",
		}),
	}
	reg.MustRegister(m.requests, m.seconds, m.inFlight)
	for _, a := range areas {
		m.seconds.WithLabelValues(a.name)
	}
	m.seconds.WithLabelValues(otherArea)
	return m
}

// areas groups routes for the histogram of request durations. A route belongs to the first area with a prefix of its
// path, otherwise to otherArea.
var areas = []struct {
	name     string
	prefixes []string
}{
	{"oauth", []string{"/api/oauth/", "/api/.well-known/", "/.well-known/"}},
	{"api", []string{"/api/"}},
	{"console", []string{"/console", "/operator", "/own"}},
	{"tracking", []string{"/t/"}},
	{"webhooks", []string{"/webhooks"}},
}

const otherArea = "pages"

func areaOf(path string) string {
	for _, a := range areas {
		for _, prefix := range a.prefixes {
			if strings.HasPrefix(path, prefix) {
				return a.name
			}
		}
	}
	return otherArea
}

func (m *metrics) begin() { m.inFlight.Inc() }

func (m *metrics) end(c *Call, took time.Duration) {
	m.inFlight.Dec()
	method, path := "other", "none" // paths from unknown requests must not become labels
	if c.route != nil {
		method, path = c.route.Method, c.route.Path
	}
	m.requests.WithLabelValues(method, path, strconv.Itoa(c.w.status)).Inc()
	m.seconds.WithLabelValues(areaOf(path)).Observe(took.Seconds())
}

// Metrics serves the registry in the Prometheus text format, for a separate listener.
func (h *Handler) Metrics() http.Handler {
	return promhttp.HandlerFor(h.options.Registry, promhttp.HandlerOpts{Registry: h.options.Registry})
}

// logRequest writes a request's log line. It leaves out the query, since it may contain tokens, and all headers except
// the caller's own request id. It logs a bounded number of refused requests (see refusals).
func (h *Handler) logRequest(c *Call, took time.Duration) {
	level := slog.LevelInfo
	switch {
	case c.w.status >= 500 && core.KindOf(c.err) == core.Internal:
		level = slog.LevelError
	case c.w.status >= 500:
		level = slog.LevelWarn
	case c.route != nil && c.route.Do.quiet:
		level = slog.LevelDebug
	}
	if !h.log.Enabled(c, level) {
		return
	}
	leftOut, ok := h.refused.admit(c.w.status, c.Now)
	if !ok {
		return
	}
	attrs := make([]slog.Attr, 0, 12)
	path := "none"
	if c.route != nil {
		path = c.route.Path
	}
	attrs = append(attrs,
		slog.String("method", cut(c.Request.Method, 16)), slog.String("route", path), slog.Int("status", c.w.status),
		slog.Float64("ms", float64(took.Microseconds())/1000), slog.Int64("bytes", c.w.bytes),
		slog.String("request_id", c.RequestID))
	if id := c.Caller.UserID; id != "" {
		attrs = append(attrs, slog.String("user", id))
	}
	if id := c.Caller.ClientID; id != "" {
		attrs = append(attrs, slog.String("client", id))
	}
	if t := c.Tenant; t != "" {
		attrs = append(attrs, slog.String("tenant", t))
	}
	if id := c.Request.Header.Get("X-Request-Id"); id != "" {
		attrs = append(attrs, slog.String("client_request_id", cut(id, 64)))
	}
	if h.tellsAddress(c) {
		attrs = append(attrs, slog.String("remote", c.Remote.String()))
	}
	if c.err != nil {
		attrs = append(attrs, slog.String("error", c.err.Error()))
	}
	if leftOut > 0 {
		attrs = append(attrs, slog.Int64("left_out", leftOut))
	}
	h.log.LogAttrs(c, level, "request", attrs...)
}

// Values of [Options.ClientAddresses].
const (
	AddressesNone     = "none"
	AddressesFailures = "failures" // failed sign-ins and requests over a limit
	AddressesAll      = "all"
)

// tellsAddress reports whether the log line contains the client's address. A sign-in has failed if the status is 401 or
// the error is invalid_grant or invalid_client (RFC 6749 section 5.2).
func (h *Handler) tellsAddress(c *Call) bool {
	if !c.Remote.IsValid() || h.options.ClientAddresses == AddressesNone {
		return false
	}
	if h.options.ClientAddresses == AddressesAll {
		return true
	}
	e, _ := errors.AsType[*core.Error](c.err)
	return c.w.status == http.StatusTooManyRequests || c.w.status == http.StatusUnauthorized ||
		e != nil && (e.Code == "invalid_grant" || e.Code == "invalid_client")
}

func cut(s string, n int) string { return s[:min(len(s), n)] }
