package bulk

import (
	"newsletterd/store/audience"
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// The embedded stores need different field names, because each of their types is called Store.
type (
	tenantStore   = tenants.Store
	audienceStore = audience.Store
)

// Store stores and performs bulk actions. Its methods are safe for concurrent use.
type Store struct {
	*db.DB
	*tenantStore
	*audienceStore
}

// New returns the bulk action store of a database that is not open yet.
func New(d *db.DB, t *tenants.Store, a *audience.Store) *Store { return &Store{d, t, a} }
