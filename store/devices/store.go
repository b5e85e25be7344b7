package devices

import (
	"context"

	"newsletterd/store/db"
	"newsletterd/store/files"
)

// fileStore is embedded under a name of its own: each room calls its part Store.
type fileStore = files.Store

// Store keeps devices and models. Its methods may be called from any goroutine.
type Store struct {
	*db.DB
	*fileStore
}

// New returns the store of devices and models in a file that is not open yet.
func New(d *db.DB, f *files.Store) *Store { return &Store{d, f} }

// Start lets go of the uploads that the daemon before this one was busy with. Its only error is core.ErrStorage.
func (s *Store) Start(ctx context.Context) error {
	if s.Options().Mode != db.Daemon {
		return nil
	}
	return s.dropUploads(ctx)
}
