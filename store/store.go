package store

import (
	"context"

	"newsletterd/store/audience"
	"newsletterd/store/bulk"
	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/devices"
	"newsletterd/store/files"
	"newsletterd/store/identity"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/polls"
	"newsletterd/store/tenants"
)

// Every store package has a type called Store. The aliases give the embedded fields different names.
type (
	tenantStore   = tenants.Store
	fileStore     = files.Store
	identityStore = identity.Store
	deviceStore   = devices.Store
	memberStore   = members.Store
	campaignStore = campaigns.Store
	audienceStore = audience.Store
	importStore   = imports.Store
	peopleStore   = people.Store
	bulkStore     = bulk.Store
	pollStore     = polls.Store
)

// Store is an open database with the operations of every store package. Its methods are safe for concurrent use.
type Store struct {
	*db.DB
	*tenantStore
	*fileStore
	*identityStore
	*deviceStore
	*memberStore
	*campaignStore
	*audienceStore
	*importStore
	*peopleStore
	*bulkStore
	*pollStore
}

// Open opens the database file and creates it with mode 0600 if it doesn't exist. It rejects a file that belongs to
// another program, has a newer schema, has an older schema while Options.Migrate is false, or is an old copy next to a
// newer -wal file. In Daemon mode, it also rejects a file that another daemon serves.
func Open(ctx context.Context, o db.Options) (*Store, error) {
	d := db.New(o)
	t, f := tenants.New(d), files.New(d)
	r := people.Rooms{
		Tenants: t, Files: f, Identity: identity.New(d, t), Devices: devices.New(d, f), Members: members.New(d, t),
		Campaigns: campaigns.New(d, t, f),
	}
	r.Imports = imports.New(d, t, f, r.Members, r.Campaigns)
	r.Audience = audience.New(d, t, r.Campaigns)
	s := &Store{
		d, t, f, r.Identity, r.Devices, r.Members, r.Campaigns, r.Audience, r.Imports, people.New(d, r),
		bulk.New(d, t, r.Audience), polls.New(d),
	}
	if err := d.Open(ctx, r.Devices.Start); err != nil {
		return nil, err
	}
	return s, nil
}
