package tenants

import (
	"context"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store"
)

// Room holds the dependencies of the endpoints for tenants and their settings.
type Room struct {
	Store        *store.Store
	Sealer       *auth.Sealer // seals links to DNS records
	Origin       string       // public URL of the server
	ConfirmToken string       // default of confirm_token for lists, from the configuration
	LookupTXT    auth.LookupTXT
	DNS          DNSOptions
	Relay        *RelayOptions
	Providers    map[string]*core.ProviderSecrets // mail providers in the configuration; they override the store's
	// MayPost returns an Invalid error on the field url if events may not be sent to a URL. If MayPost is nil, any URL
	// is allowed.
	MayPost func(url string) error
	// TestEndpoint sends a test event to a webhook endpoint.
	TestEndpoint func(ctx context.Context, id string) (core.EndpointTest, error)
}

// Routes adds the endpoints.
func (r *Room) Routes(t *web.Table) {
	r.tenantRoutes(t)
	r.listRoutes(t)
	r.restoreRoutes(t)
	r.templateRoutes(t)
	r.themeRoutes(t)
	r.webhookClientRoutes(t)
	r.endpointRoutes(t)
	r.senderDomainRoutes(t)
	r.dkimRoutes(t)
	r.relayRoutes(t)
	r.mailServerRoutes(t)
	r.mailProviderRoutes(t)
	r.outboxRoutes(t)
}
