package tenants

import (
	"newsletterd/core"
	"newsletterd/store/db"
)

// Store stores tenants. Its methods are safe for concurrent use.
type Store struct {
	*db.DB
	gathered  *gathered
	lists     db.RecordCache[*core.ListWithTenant]
	senders   db.RecordCache[*core.WebhookSender]
	providers db.RecordCache[*core.ProviderSecrets]
	domains   db.RecordCache[map[string]bool]            // domains of all active tenants, under one key
	endpoints db.RecordCache[map[string][]core.Endpoint] // active endpoints by tenant, under one key
}

// New returns the tenant store of a database that is not open yet.
func New(d *db.DB) *Store {
	s := &Store{DB: d}
	s.gathered = &gathered{store: s, counts: counting{}, all: counting{}, queues: map[string]*endpointQueue{}}
	d.Keep("tenants", s.gathered)
	for _, drop := range []func(){s.lists.Drop, s.senders.Drop, s.providers.Drop, s.domains.Drop, s.endpoints.Drop} {
		d.OnKick(db.TopicRecords, drop)
	}
	return s
}
