package tenants

import (
	"sync"

	"newsletterd/store/db"
)

// gathered is what operations change of the counts of lists and of the events that wait for endpoints. It is written
// once an operation or a transaction, however many rows those have.
type gathered struct {
	store  *Store
	counts counting                  // of the operation that runs
	queues map[string]*endpointQueue // ... by the id of each endpoint
	all    counting                  // of the operations of the transaction that have succeeded
	fed    []string                  // ... the endpoints for which they have written events

	mu    sync.RWMutex // guards feeds
	feeds []func(endpoints []string)
}

func gatheredIn(tx *db.Tx) *gathered { return tx.Kept("tenants").(*gathered) }

// Begin forgets what the operation before has changed.
func (g *gathered) Begin() {
	clear(g.counts)
	clear(g.queues)
}

// Done adds what the operation has changed to what the transaction has.
func (g *gathered) Done() {
	g.all.add(g.counts)
	for id, q := range g.queues {
		if q.fed {
			g.fed = append(g.fed, id)
		}
	}
}

// Committed tells who waits for events of endpoints.
func (g *gathered) Committed() {
	clear(g.all)
	fed := g.fed
	if g.fed = nil; len(fed) == 0 {
		return
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, fn := range g.feeds {
		fn(fed)
	}
}

// Undone forgets what the transaction has changed, and the endpoints that an operation of it may have read while they
// were changed in vain.
func (g *gathered) Undone(all bool) {
	if all {
		clear(g.all)
		g.fed = nil
		g.store.endpoints.Drop()
	}
}
