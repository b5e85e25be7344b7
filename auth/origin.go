package auth

import (
	"context"
	"net/url"
)

// originSet caches the origins of all public clients' redirect URIs for one generation.
type originSet struct {
	generation uint64
	origins    map[string]bool
}

// AllowsOrigin reports whether scripts from an origin may call the endpoints for relying parties. They may if a public
// client has a redirect URI with that origin.
func (p *Provider) AllowsOrigin(ctx context.Context, origin string) (bool, error) {
	generation := p.generation.Load()
	set := p.origins.Load()
	if set == nil || set.generation != generation {
		uris, err := p.store.PublicRedirectURIs(ctx)
		if err != nil {
			return false, err
		}
		set = &originSet{generation, map[string]bool{}}
		for _, uri := range uris {
			if u, err := url.Parse(uri); err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http") {
				set.origins[u.Scheme+"://"+u.Host] = true
			}
		}
		p.origins.Store(set)
	}
	return set.origins[origin], nil
}
