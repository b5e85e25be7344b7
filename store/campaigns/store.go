package campaigns

import (
	"newsletterd/store/db"
	"newsletterd/store/files"
	"newsletterd/store/tenants"
)

// The embedded stores need different field names, because each of their types is called Store.
type (
	tenantStore = tenants.Store
	fileStore   = files.Store
)

// Store stores campaigns. Its methods are safe for concurrent use.
type Store struct {
	*db.DB
	*tenantStore
	*fileStore
	jobs *changedJobs
}

// New returns the campaign store of a database that is not open yet.
func New(d *db.DB, t *tenants.Store, f *files.Store) *Store {
	s := &Store{DB: d, tenantStore: t, fileStore: f, jobs: &changedJobs{open: map[int64]int64{}}}
	d.Keep("campaigns", s.jobs)
	return s
}
