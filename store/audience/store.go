package audience

import (
	"sync"

	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// The embedded stores need different field names, because each of their types is called Store.
type (
	tenantStore   = tenants.Store
	campaignStore = campaigns.Store
)

// Store stores segments. Its methods are safe for concurrent use.
type Store struct {
	*db.DB
	*tenantStore
	*campaignStore
	second sync.Mutex // held by the count that uses a second goroutine
}

// New returns the segment store of a database that is not open yet.
func New(d *db.DB, t *tenants.Store, c *campaigns.Store) *Store {
	return &Store{DB: d, tenantStore: t, campaignStore: c}
}
