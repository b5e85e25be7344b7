package auth

import (
	"context"
	"sync"

	"newsletterd/core"
)

// maxClients is the maximum number of cached clients.
const maxClients = 4096

// clientCache caches clients with the Provider's generation when they were read. Any change to users, clients or
// tenants makes all entries stale.
type clientCache struct {
	mu         sync.RWMutex
	generation uint64
	clients    map[string]core.TokenClient
}

// tokenClient returns a registered client, or the built-in one. The slices in the result are shared and must not be
// modified.
func (p *Provider) tokenClient(ctx context.Context, id string) (core.TokenClient, error) {
	if id == core.BuiltInClientID {
		return builtInClient, nil
	}
	c := &p.clients
	// Load the generation before reading the client. If it changes in between, the entry is stale; the reverse order
	// could make stale data look current.
	generation := p.generation.Load()
	c.mu.RLock()
	client, ok := c.clients[id]
	ok = ok && c.generation == generation
	c.mu.RUnlock()
	if ok {
		return client, nil
	}
	client, err := p.store.TokenClient(ctx, id)
	if err != nil {
		return client, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.generation != generation || len(c.clients) >= maxClients || c.clients == nil {
		if c.generation > generation {
			return client, nil // another request has read the client in a newer generation
		}
		c.generation, c.clients = generation, map[string]core.TokenClient{}
	}
	c.clients[id] = client
	return client, nil
}
