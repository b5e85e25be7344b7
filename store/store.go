package store

import (
	"context"

	"newsletterd/store/campaigns"
	"newsletterd/store/db"
	"newsletterd/store/devices"
	"newsletterd/store/files"
	"newsletterd/store/identity"
	"newsletterd/store/imports"
	"newsletterd/store/members"
	"newsletterd/store/people"
	"newsletterd/store/tenants"
)

// The rooms are embedded under names of their own: each calls its part Store.
type (
	tenantStore   = tenants.Store
	fileStore     = files.Store
	identityStore = identity.Store
	deviceStore   = devices.Store
	memberStore   = members.Store
	campaignStore = campaigns.Store
	importStore   = imports.Store
	peopleStore   = people.Store
)

// Store is the open file with all that is kept in it. Its methods may be called from any goroutine.
type Store struct {
	*db.DB
	*tenantStore
	*fileStore
	*identityStore
	*deviceStore
	*memberStore
	*campaignStore
	*importStore
	*peopleStore
}

// Open opens the file, makes it with mode 0600 if it is missing, and refuses it where it is not ours, newer, older
// (without Migrate), served by another daemon (Daemon mode), or an old copy next to a newer -wal.
func Open(ctx context.Context, o db.Options) (*Store, error) {
	d := db.New(o)
	t, f := tenants.New(d), files.New(d)
	r := people.Rooms{
		Tenants: t, Files: f, Identity: identity.New(d, t), Devices: devices.New(d, f), Members: members.New(d, t),
		Campaigns: campaigns.New(d, t, f),
	}
	r.Imports = imports.New(d, t, f, r.Members, r.Campaigns)
	s := &Store{d, t, f, r.Identity, r.Devices, r.Members, r.Campaigns, r.Imports, people.New(d, r)}
	if err := d.Open(ctx, r.Devices.Start); err != nil {
		return nil, err
	}
	return s, nil
}
