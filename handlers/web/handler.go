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

// frameOptions is what the frame needs of the program. Zero values are allowed where said.
type Options struct {
	Log            *slog.Logger         // nil: discarded
	Registry       *prometheus.Registry // nil: a fresh one
	PublicURL      string               // the origin as the world sees it
	TrustedProxies []netip.Prefix       // peers whose X-Forwarded-For counts
	Store          *store.Store         // nil: only the table can be read
	// ClientAddresses says which log lines tell the address of the client: AddressesNone, AddressesAll, or (also where it
	// is empty) AddressesFailures.
	ClientAddresses string
	API             API // what the documents say beyond the table

	// Bearer verifies an access token. A token that is not valid is core.Unauthenticated.
	Bearer func(ctx context.Context, token string, now core.Instant) (core.Caller, error)
	// Signed checks the webhook headers of a request to path and returns the check of its raw body, which names the
	// webhook client.
	Signed func(ctx context.Context, h http.Header, path string,
		now core.Instant) (func(body []byte) (core.Caller, error), error)

	// SmallHeap keeps the heap small until release, while a large body is in memory. nil: nothing does.
	SmallHeap func() (release func())
	// DialectOf returns the form of errors at a path that the table does not have. nil: member.
	DialectOf func(c *Call, path string) Dialect
	// Fallback makes the page for a path that the table does not have, where DialectOf says page.
	Fallback func(c *Call, path string) (HTML, error)
	// ErrorPage makes the page of an error on routes of the dialect page.
	ErrorPage func(c *Call, status int, e ErrorBody) (HTML, error)
}

// frame serves a table of routes.
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
	documents   map[string]func() []byte // OpenAPI, by name
	sessions    *scs.SessionManager      // of browsers
	crossOrigin *http.CrossOriginProtection
	// answers wait for the replica
	acknowledges bool
	unlisted     sync.Once // says that a proxy is not in TrustedProxies
	unreadable   sync.Once // says that a hop of X-Forwarded-For can't be read
}

// New returns a handler of the routes. It fails on a table that is not in order.
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
			return nil, fmt.Errorf("key of cursors: %w", err)
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
	h.metrics = newMetrics(o.Registry, routes)
	h.describe()
	return h, nil
}

// Routes returns the table, in its order.
func (h *Handler) Routes() []*Route { return h.routes }

// Registry returns the registry that holds every metric of the program.
func (h *Handler) Registry() *prometheus.Registry { return h.options.Registry }

// prepare checks a route and readies what it needs.
func (r *Route) prepare() error {
	if !r.Who.complete() {
		return fmt.Errorf("route %s %s has no access rule, or one that names no scope", r.Method, r.Path)
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
