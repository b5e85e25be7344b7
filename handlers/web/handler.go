package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"github.com/alexedwards/scs/v2"
	"github.com/prometheus/client_golang/prometheus"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
)

// Options configures the handler. Zero values are allowed where noted.
type Options struct {
	Log            *slog.Logger         // nil: discarded
	Registry       *prometheus.Registry // nil: a new one
	PublicURL      string               // public origin
	TrustedProxies []netip.Prefix       // peers whose X-Forwarded-For is trusted
	Store          *store.Store         // nil: only the table can be read
	// ClientAddresses sets which log lines contain the client's address: AddressesNone, AddressesAll or
	// AddressesFailures. An empty value means AddressesFailures.
	ClientAddresses string
	API             API // content of the OpenAPI documents that isn't in the table

	// Bearer verifies an access token. For an invalid token it returns an error of kind core.Unauthenticated.
	Bearer func(ctx context.Context, token string, now core.Instant) (core.Caller, error)
	// Signed checks the webhook headers of a request to path. It returns a check for the raw body that identifies the
	// webhook client.
	Signed func(ctx context.Context, h http.Header, path string,
		now core.Instant) (func(body []byte) (core.Caller, error), error)

	// SmallHeap keeps the heap small until release is called. It is called while a large body is in memory. If it is
	// nil, large bodies don't affect the heap settings.
	SmallHeap func() (release func())
	// DialectOf returns the error dialect for a path that is not in the table. Nil means Member.
	DialectOf func(c *Call, path string) Dialect
	// Inside maps a path that is not in the table to the table's path that serves it, or to an empty string. It is
	// called before Moved, for GET and HEAD. Nil means that there are no such paths.
	Inside func(c *Call, path string) (string, error)
	// Moved returns the URL that a path outside the table has permanently moved to, or an empty string if it hasn't
	// moved. It is called before Fallback. Nil means that no path has moved.
	Moved func(c *Call, path string) (string, error)
	// Fallback renders the page for a path that is not in the table if DialectOf returns Page.
	Fallback func(c *Call, path string) (HTML, error)
	// ErrorPage renders an error page for routes of the dialect Page.
	ErrorPage func(c *Call, status int, e ErrorBody) (HTML, error)
}

// Handler serves a table of routes.
type Handler struct {
	options     Options
	publicURL   string
	routes      []*Route
	router      *router
	cursors     core.CursorKey
	budget      *budget
	metrics     *metrics
	log         *slog.Logger
	refused     refusals
	documents   map[string]func() []byte // OpenAPI documents by name
	sessions    *scs.SessionManager      // browser sessions
	crossOrigin *http.CrossOriginProtection
	// responses wait for the replica
	acknowledges bool
	unlisted     sync.Once // for the warning about a proxy that is not in TrustedProxies
	unreadable   sync.Once // for the warning about an unreadable hop of X-Forwarded-For
}

// New returns a handler for the routes. It returns an error if the table is invalid.
func New(o Options, routes []*Route) (*Handler, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	h := &Handler{
		options: o, publicURL: strings.TrimSuffix(o.PublicURL, "/"), routes: routes, budget: newBudget(), log: o.Log,
		crossOrigin: newCrossOrigin(o.PublicURL),
	}
	if o.Store != nil {
		h.acknowledges = o.Store.Acknowledges()
		key, err := o.Store.PurposeKey(context.Background(), db.PurposeCursor)
		if err != nil {
			return nil, fmt.Errorf("cursor key: %w", err)
		}
		h.cursors = core.CursorKey(key)
		h.sessions = newSessions(o.Store)
	}
	for _, r := range routes {
		if err := r.prepare(); err != nil {
			return nil, err
		}
	}
	var err error
	if h.router, err = newRouter(routes); err != nil {
		return nil, err
	}
	h.metrics = newMetrics(o.Registry)
	h.describe()
	return h, nil
}

// Routes returns the table in its original order.
func (h *Handler) Routes() []*Route { return h.routes }

// Registry returns the registry with all of the server's metrics.
func (h *Handler) Registry() *prometheus.Registry { return h.options.Registry }

// prepare validates a route and sets its derived fields.
func (r *Route) prepare() error {
	if !r.Who.complete() {
		return fmt.Errorf("route %s %s has no access rule, or its rule has no scope", r.Method, r.Path)
	}
	if r.Do.endpoint == nil || r.Do.call == nil || strings.IndexByte("msodpc", byte(r.Dialect)) < 0 || r.Summary == "" {
		return fmt.Errorf("route %s %s is not complete", r.Method, r.Path)
	}
	if r.Do.in != nil {
		for _, f := range r.Do.in.path {
			if !strings.Contains(r.Path+"/", "/:"+f.name+"/") {
				return fmt.Errorf("route %s %s has no parameter :%s", r.Method, r.Path, f.name)
			}
		}
	}
	if rate := r.Do.rate; rate != nil {
		if rate.limiter == nil {
			l, err := NewLimiter(rate.n, rate.per)
			if err != nil {
				return err
			}
			rate.limiter = l
		}
		r.Do.limiter = rate.limiter
	}
	return nil
}
