package devices

import (
	"context"

	"newsletterd/store/db"
	"newsletterd/store/files"
)

// Every store package names its type Store. The alias gives the embedded field its own name.
type fileStore = files.Store

// Store stores devices and models. Its methods are safe for concurrent use.
type Store struct {
	*db.DB
	*fileStore
}

// New returns the device and model store of a database that is not open yet.
func New(d *db.DB, f *files.Store) *Store { return &Store{d, f} }

// Start discards the unfinished uploads of the previous daemon. The only error is core.ErrStorage.
func (s *Store) Start(ctx context.Context) error {
	if s.Options().Mode != db.Daemon {
		return nil
	}
	return s.dropUploads(ctx)
}
