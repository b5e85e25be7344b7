package files

import "newsletterd/store/db"

// Store reads files. Its methods may be called from any goroutine.
type Store struct {
	*db.DB
	chunkReads chan struct{} // places of those who read chunks
}

// New returns the store of files in a file that is not open yet.
func New(d *db.DB) *Store { return &Store{DB: d, chunkReads: make(chan struct{}, chunkReads)} }
