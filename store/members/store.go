package members

import (
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// tenantStore is embedded under a name of its own: each room calls its part Store.
type tenantStore = tenants.Store

// Store keeps subscriptions. Its methods may be called from any goroutine.
type Store struct {
	*db.DB
	*tenantStore
}

// New returns the store of subscriptions in a file that is not open yet.
func New(d *db.DB, t *tenants.Store) *Store { return &Store{d, t} }
