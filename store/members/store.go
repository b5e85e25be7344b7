package members

import (
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// tenantStore gives the embedded store its own name, because the type is called Store in each package.
type tenantStore = tenants.Store

// Store stores subscriptions. Its methods are safe for concurrent use.
type Store struct {
	*db.DB
	*tenantStore
}

// New returns the subscription store of a database that is not open yet.
func New(d *db.DB, t *tenants.Store) *Store { return &Store{d, t} }
