package store

import (
	"context"

	"newsletterd/core"
	"newsletterd/store/db"
	"newsletterd/store/devices"
	"newsletterd/store/files"
	"newsletterd/store/identity"
	"newsletterd/store/tenants"
)

// The rooms are embedded under names of their own: each calls its part Store.
type (
	tenantStore   = tenants.Store
	fileStore     = files.Store
	identityStore = identity.Store
	deviceStore   = devices.Store
)

// Store is the open file with all that is kept in it. Its methods may be called from any goroutine.
type Store struct {
	*db.DB
	*tenantStore
	*fileStore
	*identityStore
	*deviceStore
	providers db.RecordCache[*core.ProviderSecrets]
}

// Open opens the file, makes it with mode 0600 if it is missing, and refuses it where it is not ours, newer, older
// (without Migrate), served by another daemon (Daemon mode), or an old copy next to a newer -wal.
func Open(ctx context.Context, o db.Options) (*Store, error) {
	d := db.New(o)
	t, f := tenants.New(d), files.New(d)
	s := &Store{DB: d, tenantStore: t, fileStore: f, identityStore: identity.New(d, t), deviceStore: devices.New(d, f)}
	d.Keep("campaigns", &openJobs{left: map[int64]int64{}})
	d.OnKick(db.TopicRecords, s.providers.Drop)
	if err := d.Open(ctx, s.deviceStore.Start); err != nil {
		return nil, err
	}
	return s, nil
}
