package handlers

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/campaigns"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/members"
	"newsletterd/handlers/tenants"
	"newsletterd/handlers/web"
	"newsletterd/mail"
	"newsletterd/mail/picture"
	"newsletterd/mail/report"
	"newsletterd/store"
	"newsletterd/store/db"
)

// Options configures the handler. Zero values are allowed where noted.
type Options struct {
	Log            *slog.Logger         // nil: discarded
	Registry       *prometheus.Registry // nil: a new one
	PublicURL      string               // public origin without a trailing slash
	TrustedProxies []netip.Prefix       // peers whose X-Forwarded-For is trusted
	Store          *store.Store         // nil: only the table can be read
	// ClientAddresses is as in web.Options.
	ClientAddresses string
	Auth            *auth.Provider   // nil: only the table can be read
	ModelLimits     core.ModelLimits // limits for uploads of models; zero: the defaults
	ImportBytes     int64            // maximum size of an import file; zero: the default
	MediaLimits     core.MediaLimits // limits for images; zero: the defaults
	// PictureMemory limits the memory for decoding images, and is shared with the workers; nil: the handlers have their
	// own.
	PictureMemory *semaphore.Weighted
	Newsletter    members.Options
	// MayPost returns an Invalid error on the field url if events may not be sent to a URL; nil: any URL is allowed.
	// TestEndpoint sends a test event to a webhook endpoint; if it is nil, as in some tests, its route is missing.
	MayPost      func(url string) error
	TestEndpoint func(ctx context.Context, id string) (core.EndpointTest, error)
	// counts opens and clicks without waiting; nil: none are counted
	Engage         func(core.Engagement)
	DuplicateGuard time.Duration                    // period in which a duplicate send job is refused; 0: never
	Providers      map[string]*core.ProviderSecrets // mail providers in the configuration; they override the store's
	SNS            *report.SNS                      // checks messages from Amazon SNS; nil: none is accepted
	// looks up the TXT records of sender domains and DKIM keys; nil: no name server answers
	LookupTXT auth.LookupTXT
	DNS       tenants.DNSOptions
	Relay     tenants.RelayOptions
	Checks    *drafts.Checks // checks of campaigns; nil: only those based on LookupTXT
	Videos    *drafts.Videos // nil: no thumbnails of videos are fetched
	// seals unsubscribe tokens; nil: created with the store's key, like Ident
	Sealer *auth.Sealer
	Ident  *mail.Ident // for Message-IDs
	// SmallHeap keeps the heap small while a large body is in memory, until release is called. If it is nil, large
	// bodies don't affect the heap settings.
	SmallHeap func() (release func())

	// Doctor returns errors and warnings about the server. If dns is true, they include findings about its DNS records.
	// If Doctor is nil, there are no findings.
	Doctor func(ctx context.Context, dns bool) []core.Finding

	Versions Versions

	// Snapshot returns the state of the database snapshot; nil: there is no snapshot
	Snapshot func() SnapshotState

	// Bearer verifies an access token. For an invalid token it returns an error of kind core.Unauthenticated.
	Bearer func(ctx context.Context, token string, now core.Instant) (core.Caller, error)
	// Signed checks the four webhook headers of a request to path and returns a function that checks the raw body and
	// identifies the webhook client. If Signed is nil, the webhook clients of the store are used.
	Signed func(ctx context.Context, h http.Header, path string,
		now core.Instant) (func(body []byte) (core.Caller, error), error)
}

// Handler serves all endpoints and pages of the server.
type Handler struct {
	*web.Handler
	options        Options
	publicURL      string
	sealer         *auth.Sealer // seals unsubscribe tokens
	ident          *mail.Ident  // for tracked links and Message-IDs
	log            *slog.Logger
	draining       atomic.Bool
	prober         prober
	uploads        *web.Uploads
	queues         web.Turn                                       // held by the request that counts whole queues
	subscribes     *web.OriginLimits                              // requests to subscribe
	leaves         *web.OriginLimits                              // requests for unsubscribe tokens
	forgets        *web.OriginLimits                              // password reset emails, through API and page
	inside, moved  func(c *web.Call, path string) (string, error) // nil: without a store
	openapi        openAPIFiles
	operationCache sync.Map // for the page /openapi: the operations of each document, []referenceOperation
}

// New returns the handler for all routes. It returns an error if the table is invalid.
func New(o Options) (*Handler, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.LookupTXT == nil {
		o.LookupTXT = func(_ context.Context, name string) ([]string, error) {
			return nil, &net.DNSError{Name: name, IsTimeout: true}
		}
	}
	if o.Checks == nil {
		o.Checks = &drafts.Checks{LookupTXT: o.LookupTXT}
	}
	if err := o.Checks.Init(); err != nil {
		return nil, err
	}
	if o.Signed == nil {
		o.Signed = campaigns.SignedBy(o.Store)
	}
	if o.ModelLimits == (core.ModelLimits{}) {
		o.ModelLimits = core.ModelLimits{
			Bytes: core.DefaultModelBytes, BytesPerOwner: core.DefaultModelBytesPerOwner, PerOwner: core.DefaultModelsPerOwner,
		}
	}
	if o.MediaLimits == (core.MediaLimits{}) {
		o.MediaLimits = core.MediaLimits{Bytes: core.DefaultMediaBytes, BytesPerTenant: core.DefaultMediaBytesPerTenant}
	}
	if o.PictureMemory == nil {
		o.PictureMemory = semaphore.NewWeighted(picture.MaxMemory)
	}
	h := &Handler{
		options: o, publicURL: strings.TrimSuffix(o.PublicURL, "/"), log: o.Log, prober: prober{store: o.Store},
		uploads: web.NewUploads(),
		queues:  web.NewTurn(),
		sealer:  o.Sealer, ident: o.Ident,
	}
	if o.Store != nil && o.Sealer == nil {
		key, err := o.Store.PurposeKey(context.Background(), db.PurposeUnsubscribe)
		if err != nil {
			return nil, fmt.Errorf("read the unsubscribe token key: %w", err)
		}
		if h.sealer, err = auth.NewSealer(key); err != nil {
			return nil, err
		}
		if key, err = o.Store.PurposeKey(context.Background(), db.PurposeMessageID); err != nil {
			return nil, fmt.Errorf("read the Message-ID key: %w", err)
		}
		h.ident = mail.NewIdent(key)
	}
	var err error
	for _, l := range []struct {
		to   **web.OriginLimits
		n    int // number per hour and address
		what string
	}{
		{&h.subscribes, o.Newsletter.SubscribePerAddress, "subscriptions"},
		{&h.leaves, o.Newsletter.SubscribePerAddress, "unsubscribe tokens"},
		{&h.forgets, forgotPerAddress, "new passwords"},
	} {
		if *l.to, err = web.NewOriginLimits(l.n, l.what, h.publicURL, o.TrustedProxies, h.log); err != nil {
			return nil, err
		}
	}
	h.openapi = h.newOpenAPIFiles()
	table := h.table()
	h.Handler, err = web.New(web.Options{
		Log: o.Log, ClientAddresses: o.ClientAddresses, Registry: o.Registry, PublicURL: o.PublicURL,
		TrustedProxies: o.TrustedProxies, Store: o.Store, API: api,
		Bearer: o.Bearer, Signed: o.Signed, DialectOf: dialectOf, Inside: h.inside, Moved: h.moved,
		Fallback: h.fallback, ErrorPage: errorPage, SmallHeap: o.SmallHeap,
	}, table)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Drain makes the health check respond with 503 before the server stops.
func (h *Handler) Drain() { h.draining.Store(true) }

const forgotPerAddress = 60 // password reset requests per hour and address
