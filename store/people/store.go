package people

import (
	"newsletterd/store/audience"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/devices"
	"newsletterd/store/files"
	"newsletterd/store/identity"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/tenants"
)

// The embedded stores need different field names, because each of their types is called Store.
type (
	tenantStore   = tenants.Store
	fileStore     = files.Store
	identityStore = identity.Store
	deviceStore   = devices.Store
	memberStore   = members.Store
	campaignStore = campaigns.Store
	importStore   = imports.Store
)

// Rooms holds the stores that a Store spans.
type Rooms struct {
	Tenants   *tenants.Store
	Files     *files.Store
	Identity  *identity.Store
	Devices   *devices.Store
	Members   *members.Store
	Campaigns *campaigns.Store
	Audience  *audience.Store
	Imports   *imports.Store
}

// Store spans all other stores. Its methods are safe for concurrent use.
type Store struct {
	*db.DB
	*tenantStore
	*fileStore
	*identityStore
	*deviceStore
	*memberStore
	*campaignStore
	*importStore

	audience *audience.Store
}

// New returns the store that spans the stores of r, for a database that is not open yet.
func New(d *db.DB, r Rooms) *Store {
	return &Store{d, r.Tenants, r.Files, r.Identity, r.Devices, r.Members, r.Campaigns, r.Imports, r.Audience}
}
