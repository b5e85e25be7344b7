package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/prometheus/client_golang/prometheus"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/store"
)

// Options is what the HTTP edge is made of. cmd fills it; zero values are allowed where said.
type Options struct {
	Log            *slog.Logger         // nil: discarded
	Registry       *prometheus.Registry // nil: a fresh one
	PublicURL      string               // the origin as the world sees it, without a slash at the end
	TrustedProxies []netip.Prefix       // peers whose X-Forwarded-For counts
	Store          *store.Store         // nil: only the table can be read
	Auth           *auth.Provider       // nil: only the table can be read
	ModelLimits    core.ModelLimits     // of uploads; zero: the defaults
	Newsletter     NewsletterOptions
	Engage         func(store.Engagement)            // counts what readers open and follow; it must not wait. nil: nothing is
	DuplicateGuard time.Duration                     // in which a send job with the same content is refused; 0: never
	Providers      map[string]*store.ProviderSecrets // mail providers of the configuration; they hide those of the store
	SNS            *mail.SNS                         // how messages of Amazon SNS are checked; nil: none is accepted

	// Bearer verifies an access token. A token that is not valid is core.Unauthenticated.
	Bearer func(ctx context.Context, token string, now core.Instant) (core.Caller, error)
	// Signed checks the four webhook headers of a request to path and returns the check of its raw
	// body, which names the webhook client. nil: against the webhook clients of the store.
	Signed func(ctx context.Context, h http.Header, path string, now core.Instant) (func(body []byte) (core.Caller, error), error)
}

// Handler serves the table.
type Handler struct {
	options        Options
	publicURL      string
	routes         []*Route
	router         *router
	cursors        core.CursorKey
	sealer         *auth.Sealer // unsubscribe tokens
	ident          *mail.Ident  // names of mails
	budget         *budget
	metrics        *metrics
	log            *slog.Logger
	refused        refusals
	documents      map[string][]byte // OpenAPI, by name
	draining       atomic.Bool
	sessions       *scs.SessionManager // of browsers
	crossOrigin    *http.CrossOriginProtection
	prober         prober
	uploads        *uploads
	subscribes     *subscribeLimits
	unlisted       sync.Once // says that a proxy is not in TrustedProxies
	operationCache sync.Map  // of the page /openapi: the operations of each document, []referenceOperation
}

// New builds the handler. It fails on a table that is not in order.
func New(o Options) (*Handler, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.Signed == nil {
		o.Signed = signedBy(o.Store)
	}
	if o.ModelLimits == (core.ModelLimits{}) {
		o.ModelLimits = core.ModelLimits{
			Bytes: core.DefaultModelBytes, BytesPerOwner: core.DefaultModelBytesPerOwner, PerOwner: core.DefaultModelsPerOwner,
		}
	}
	h := &Handler{
		options: o, publicURL: strings.TrimSuffix(o.PublicURL, "/"), budget: newBudget(), log: o.Log, prober: prober{store: o.Store},
		crossOrigin: newCrossOrigin(o.PublicURL), uploads: newUploads(),
	}
	if o.Store != nil {
		key, err := o.Store.PurposeKey(context.Background(), "cursor")
		if err != nil {
			return nil, fmt.Errorf("key of cursors: %w", err)
		}
		h.cursors = core.CursorKey(key)
		h.sessions = newSessions(o.Store)
		if key, err = o.Store.PurposeKey(context.Background(), "unsubscribe"); err != nil {
			return nil, fmt.Errorf("key of unsubscribe tokens: %w", err)
		}
		if h.sealer, err = auth.NewSealer(key); err != nil {
			return nil, err
		}
		if key, err = o.Store.PurposeKey(context.Background(), "message-id"); err != nil {
			return nil, fmt.Errorf("key of Message-IDs: %w", err)
		}
		h.ident = mail.NewIdent(key)
	}
	var err error
	if h.subscribes, err = newSubscribeLimits(o.Newsletter.SubscribePerAddress, h.publicURL); err != nil {
		return nil, err
	}
	h.routes = h.table()
	for _, r := range h.routes {
		if err := r.prepare(); err != nil {
			return nil, err
		}
	}
	if h.router, err = newRouter(h.routes); err != nil {
		return nil, err
	}
	h.metrics = newMetrics(o.Registry, h.routes)
	if err := h.describe(); err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	return h, nil
}

// Routes is the table, in its order.
func (h *Handler) Routes() []*Route { return h.routes }

// Drain makes the health check answer 503 from now on: the daemon is about to stop.
func (h *Handler) Drain() { h.draining.Store(true) }

// Registry holds every metric of the program.
func (h *Handler) Registry() *prometheus.Registry { return h.options.Registry }

// prepare checks a route and readies what it needs.
func (r *Route) prepare() error {
	if !r.Who.complete() {
		return fmt.Errorf("route %s %s has no access rule, or one that names no scope", r.Method, r.Path)
	}
	if r.Do.call == nil || strings.IndexByte("msodp", byte(r.Dialect)) < 0 || r.Summary == "" {
		return fmt.Errorf("route %s %s is not complete", r.Method, r.Path)
	}
	if r.Do.in != nil {
		for _, f := range r.Do.in.path {
			if !strings.Contains(r.Path+"/", "/:"+f.name+"/") {
				return fmt.Errorf("route %s %s has no parameter :%s", r.Method, r.Path, f.name)
			}
		}
	}
	if r.Do.rate != nil {
		l, err := newLimiter(*r.Do.rate)
		if err != nil {
			return err
		}
		r.Do.limiter = l
	}
	return nil
}
