package files

import "newsletterd/store/db"

// Store reads files. Its methods are safe for concurrent use.
type Store struct {
	*db.DB
	chunkReads chan struct{} // limits concurrent reads of chunks
}

// New returns the file store of a database that is not open yet.
func New(d *db.DB) *Store { return &Store{DB: d, chunkReads: make(chan struct{}, chunkReads)} }
