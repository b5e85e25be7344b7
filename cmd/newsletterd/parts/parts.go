package parts

import (
	"context"
	"net"
	"net/http"
	"net/url"

	"newsletterd/auth"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/handlers/drafts"
	"newsletterd/handlers/identity"
	"newsletterd/netguard"
	"newsletterd/store"
)

// AuthConfig returns the configuration of the auth package from the [auth] section.
func AuthConfig(cfg *config.Config) auth.Config {
	return auth.Config{
		Issuer: cfg.Origin() + "/api", AccessTTL: cfg.Auth.AccessTTL.Std(), RefreshIdle: cfg.Auth.RefreshIdle.Std(),
		RefreshTotal: cfg.Auth.RefreshTotal.Std(), RefreshGrace: cfg.Auth.RefreshGrace.Std(),
		ClosedRegistration: cfg.Auth.Registration == "closed",
		RegisterConflict:   cfg.Auth.RegisterExisting == "conflict",
		CommonPasswords:    cfg.Auth.CommonPasswords, SecondFactor: cfg.Auth.SecondFactor,
		SmallHeap: SmallHeap,
	}
}

// ModelLimits returns the limits on models from the [limits] section.
func ModelLimits(cfg *config.Config) core.ModelLimits {
	return core.ModelLimits{
		Bytes: int64(cfg.Limits.ModelBytes), BytesPerOwner: int64(cfg.Limits.ModelBytesPerOwner),
		BytesTotal: int64(cfg.Limits.ModelBytesTotal), PerOwner: cfg.Limits.ModelsPerOwner,
	}
}

// MediaLimits returns the limits on images and attachments from the [limits] section.
func MediaLimits(cfg *config.Config) core.MediaLimits {
	return core.MediaLimits{
		Bytes: int64(cfg.Limits.MediaBytes), BytesPerTenant: int64(cfg.Limits.MediaBytesPerTenant),
	}
}

// Providers returns the configured email providers by name, in the form that handlers use.
func Providers(cfg *config.Config) map[string]*core.ProviderSecrets {
	records := map[string]*core.ProviderSecrets{}
	for name, p := range cfg.Providers {
		r := &core.ProviderSecrets{
			Provider: core.Provider{Name: name, Kind: p.Kind, TenantID: p.Tenant, Topics: p.Topics},
			Secrets:  p.RevealedSecrets(),
		}
		if !p.Enabled {
			r.DisabledAt = 1
		}
		records[name] = r
	}
	return records
}

// CampaignChecks returns the checks for campaigns. They request links through the same guard as webhooks.
func CampaignChecks(cfg *config.Config) *drafts.Checks {
	return &drafts.Checks{
		LookupTXT: Resolver(cfg.Mail.DNSServer).LookupTXT,
		Client:    (&netguard.Guard{Allow: cfg.Webhooks.Allow}).Client(), NotPublic: netguard.ErrNotPublic,
		Sender: cfg.Mail.From, Kept: cfg.ServerInDatabase(), BounceDomain: cfg.Mail.BounceDomain,
	}
}

// Videos returns a client that fetches video thumbnails. It connects only to public addresses, because tenants choose
// the URLs.
func Videos() *drafts.Videos { return &drafts.Videos{Client: (&netguard.Guard{}).Client()} }

// Resolver returns a DNS resolver that queries server or, if that is empty, the machine's name servers.
func Resolver(server string) *net.Resolver {
	r := &net.Resolver{PreferGo: true}
	if server != "" {
		r.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, server)
		}
	}
	return r
}

// EndpointClient returns an HTTP client for posting to tenants' webhook endpoints.
func EndpointClient(cfg *config.Config) *http.Client {
	client := (&netguard.Guard{Allow: cfg.Webhooks.Allow}).Client()
	client.Timeout = 0 // each attempt has its own timeout
	return client
}

// MayPost returns an error for a webhook URL that the guard would always refuse.
func MayPost(cfg *config.Config, text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return nil // the record's check has a better message
	}
	guard := netguard.Guard{Allow: cfg.Webhooks.Allow}
	addr := netguard.HostPort(u)
	if err := guard.Check(addr); err != nil {
		return core.Invalidf("url", "%s is not public. To allow it, add it to allow in the [webhooks] section of the "+
			"server's configuration file.", addr)
	}
	if u.Scheme == "http" && !guard.Allows(addr) {
		return core.Invalidf("url", "The URL is not https, but events contain personal data. Use https, or add its "+
			"host:port to allow in the [webhooks] section of the server's configuration file.")
	}
	return nil
}

// SetupLink returns the setup link for the first server administrator. It returns an error if there already is one.
func SetupLink(ctx context.Context, cfg *config.Config, s *store.Store, at core.Instant) (string, error) {
	token, err := auth.SetupToken(ctx, s, at)
	return cfg.Origin() + identity.SetupPath(token), err
}
