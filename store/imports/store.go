package imports

import (
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/files"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// The embedded stores need different field names, because each of their types is called Store.
type (
	tenantStore   = tenants.Store
	fileStore     = files.Store
	memberStore   = members.Store
	campaignStore = campaigns.Store
)

// Store stores imports. Its methods are safe for concurrent use.
type Store struct {
	*db.DB
	*tenantStore
	*fileStore
	*memberStore
	*campaignStore
}

// New returns the import store of a database that is not open yet.
func New(d *db.DB, t *tenants.Store, f *files.Store, m *members.Store, c *campaigns.Store) *Store {
	return &Store{d, t, f, m, c}
}
