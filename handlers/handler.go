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

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/campaigns"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/members"
	"newsletterd/handlers/tenants"
	"newsletterd/handlers/web"
	"newsletterd/mail"
	"newsletterd/mail/report"
	"newsletterd/store"
	"newsletterd/store/db"
)

// Options is what the HTTP edge is made of. cmd fills it; zero values are allowed where said.
type Options struct {
	Log            *slog.Logger         // nil: discarded
	Registry       *prometheus.Registry // nil: a fresh one
	PublicURL      string               // the origin as the world sees it, without a slash at the end
	TrustedProxies []netip.Prefix       // peers whose X-Forwarded-For counts
	Store          *store.Store         // nil: only the table can be read
	// ClientAddresses is that of web.Options.
	ClientAddresses string
	Auth            *auth.Provider   // nil: only the table can be read
	ModelLimits     core.ModelLimits // of uploads; zero: the defaults
	ImportBytes     int64            // of a file of subscribers; zero: the default
	MediaLimits     core.MediaLimits // of pictures; zero: the defaults
	Newsletter      members.Options
	// MayPost returns an Invalid error on url where no event may be posted to a URL; nil: any will do. TestEndpoint
	// posts a test event to an endpoint; nil: there is no route for it in tests that lack it.
	MayPost      func(url string) error
	TestEndpoint func(ctx context.Context, id string) (core.EndpointTest, error)
	// counts what readers open and follow; it must not wait. nil: nothing is
	Engage         func(core.Engagement)
	DuplicateGuard time.Duration                    // in which a send job with the same content is refused; 0: never
	Providers      map[string]*core.ProviderSecrets // mail providers of the configuration; they hide those of the store
	SNS            *report.SNS                      // how messages of Amazon SNS are checked; nil: none is accepted
	// how the TXT records of sender domains and DKIM keys are looked up; nil: no name server answers
	LookupTXT auth.LookupTXT
	DNS       tenants.DNSOptions
	Relay     tenants.RelayOptions
	Checks    *drafts.Checks // how campaigns are checked; nil: only by what LookupTXT finds
	// of unsubscribe tokens; nil: made with the key of the store, as Ident
	Sealer *auth.Sealer
	Ident  *mail.Ident // of Message-IDs
	// SmallHeap keeps the heap small until release, while a large body is in memory. nil: nothing does.
	SmallHeap func() (release func())

	// Doctor looks for what is wrong or rarely meant, on request also in the DNS. nil: it finds nothing
	Doctor func(ctx context.Context, dns bool) []core.Finding

	Versions Versions

	// Snapshot tells of the copy of the database that is kept next to it. nil: none is
	Snapshot func() SnapshotState

	// Bearer verifies an access token. A token that is not valid is core.Unauthenticated.
	Bearer func(ctx context.Context, token string, now core.Instant) (core.Caller, error)
	// Signed checks the four webhook headers of a request to path and returns the check of its raw
	// body, which names the webhook client. nil: against the webhook clients of the store.
	Signed func(ctx context.Context, h http.Header, path string,
		now core.Instant) (func(body []byte) (core.Caller, error), error)
}

// Handler serves every endpoint and page of the daemon.
type Handler struct {
	*web.Handler
	options        Options
	publicURL      string
	sealer         *auth.Sealer // unsubscribe tokens
	ident          *mail.Ident  // names of mails
	log            *slog.Logger
	draining       atomic.Bool
	prober         prober
	uploads        *web.Uploads
	queues         web.Turn          // held by the request that counts whole queues
	subscribes     *web.OriginLimits // requests to subscribe
	leaves         *web.OriginLimits // requests for unsubscribe tokens
	forgets        *web.OriginLimits // of mails for a new password, by API and page
	openapi        openAPIFiles
	operationCache sync.Map // of the page /openapi: the operations of each document, []referenceOperation
}

// New returns the handler of all routes. It fails on a table that is not in order.
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
	h := &Handler{
		options: o, publicURL: strings.TrimSuffix(o.PublicURL, "/"), log: o.Log, prober: prober{store: o.Store},
		uploads: web.NewUploads(),
		queues:  web.NewTurn(),
		sealer:  o.Sealer, ident: o.Ident,
	}
	if o.Store != nil && o.Sealer == nil {
		key, err := o.Store.PurposeKey(context.Background(), db.PurposeUnsubscribe)
		if err != nil {
			return nil, fmt.Errorf("key of unsubscribe tokens: %w", err)
		}
		if h.sealer, err = auth.NewSealer(key); err != nil {
			return nil, err
		}
		if key, err = o.Store.PurposeKey(context.Background(), db.PurposeMessageID); err != nil {
			return nil, fmt.Errorf("key of Message-IDs: %w", err)
		}
		h.ident = mail.NewIdent(key)
	}
	var err error
	for _, l := range []struct {
		to   **web.OriginLimits
		n    int // an hour and address
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
	h.Handler, err = web.New(web.Options{
		Log: o.Log, ClientAddresses: o.ClientAddresses, Registry: o.Registry, PublicURL: o.PublicURL,
		TrustedProxies: o.TrustedProxies, Store: o.Store, API: api,
		Bearer: o.Bearer, Signed: o.Signed, DialectOf: dialectOf, Fallback: h.fallback, ErrorPage: errorPage,
		SmallHeap: o.SmallHeap,
	}, h.table())
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Drain makes the health check answer 503 from now on: the daemon is about to stop.
func (h *Handler) Drain() { h.draining.Store(true) }

const forgotPerAddress = 60 // requests for a new password, an hour and address
