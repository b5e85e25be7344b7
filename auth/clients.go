package auth

import (
	"context"
	"sync"

	"newsletterd/core"
)

// maxClients bounds the clients that are remembered.
const maxClients = 4096

// clientCache remembers clients as read under a generation of the Provider: any change of users, clients or tenants
// makes all of them stale.
type clientCache struct {
	mu         sync.RWMutex
	generation uint64
	clients    map[string]core.TokenClient
}

// tokenClient reads a registered client. The slices of what it returns are shared: they must not be changed.
func (p *Provider) tokenClient(ctx context.Context, id string) (core.TokenClient, error) {
	c := &p.clients
	// Loaded before the client is read: a change between the two makes the entry stale, never the reverse.
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
			return client, nil // another request has read under a younger one
		}
		c.generation, c.clients = generation, map[string]core.TokenClient{}
	}
	c.clients[id] = client
	return client, nil
}
