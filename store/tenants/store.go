package tenants

import (
	"newsletterd/core"
	"newsletterd/store/db"
)

// Store keeps tenants. Its methods may be called from any goroutine.
type Store struct {
	*db.DB
	gathered  *gathered
	lists     db.RecordCache[*core.ListWithTenant]
	senders   db.RecordCache[*core.WebhookSender]
	domains   db.RecordCache[map[string]bool]            // of all active tenants, under one key
	endpoints db.RecordCache[map[string][]core.Endpoint] // the active ones by tenant, under one key
}

// New returns the store of tenants in a file that is not open yet.
func New(d *db.DB) *Store {
	s := &Store{DB: d}
	s.gathered = &gathered{store: s, counts: counting{}, all: counting{}, queues: map[string]*endpointQueue{}}
	d.Keep("tenants", s.gathered)
	for _, drop := range []func(){s.lists.Drop, s.senders.Drop, s.domains.Drop, s.endpoints.Drop} {
		d.OnKick(db.TopicRecords, drop)
	}
	return s
}
