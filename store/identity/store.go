package identity

import (
	"newsletterd/store/db"
	"newsletterd/store/tenants"
)

// Every store package names its type Store. The alias gives the embedded field its own name.
type tenantStore = tenants.Store

// Store stores identities. Its methods are safe for concurrent use.
type Store struct {
	*db.DB
	*tenantStore
}

// New returns the identity store of a database that is not open yet.
func New(d *db.DB, t *tenants.Store) *Store { return &Store{d, t} }
