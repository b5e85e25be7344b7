package tenants

import (
	"sync"

	"newsletterd/store/db"
)

// gathered collects the changes that operations make to the counts of lists and the queues of endpoints. It writes them
// once per operation or transaction, however many rows change.
type gathered struct {
	store  *Store
	counts counting                  // changes by the current operation
	queues map[string]*endpointQueue // queues changed by the current operation, by endpoint id
	all    counting                  // count changes by the transaction's successful operations
	fed    []string                  // ids of endpoints for which these operations have written events

	mu    sync.RWMutex // guards feeds
	feeds []func(endpoints []string)
}

func gatheredIn(tx *db.Tx) *gathered { return tx.Kept("tenants").(*gathered) }

// Begin drops the changes of the previous operation.
func (g *gathered) Begin() {
	clear(g.counts)
	clear(g.queues)
}

// End writes the operation's changes to the queues of endpoints, one row for each endpoint.
func (g *gathered) End(tx *db.Tx) error {
	for id, q := range g.queues {
		if len(q.dropped.Counts) > 0 {
			if err := tellDropped(tx, id, q); err != nil {
				return err
			}
		}
		if q.change == 0 && q.grown == 0 && len(q.dropped.Counts) == 0 {
			continue
		}
		_, err := tx.Exec("UPDATE webhook_endpoint SET waiting = waiting + ?1, waiting_bytes = waiting_bytes + ?4, "+
			"dropped_id = iif(?2 > 0, ?2, dropped_id) WHERE id = ?3", q.change, q.droppedID, id, q.grown)
		if err != nil {
			return err
		}
	}
	return nil
}

// Done adds the operation's changes to those of the transaction.
func (g *gathered) Done() {
	g.all.add(g.counts)
	for id, q := range g.queues {
		if q.fed {
			g.fed = append(g.fed, id)
		}
	}
}

// Committed calls the functions registered with OnFed, if events were written for endpoints.
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

// Undone drops the transaction's changes. It also drops the cached endpoints, because an operation may have read them
// during a change that was rolled back.
func (g *gathered) Undone(all bool) {
	if all {
		clear(g.all)
		g.fed = nil
		g.store.endpoints.Drop()
	}
}
