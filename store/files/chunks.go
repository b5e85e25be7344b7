package files

import (
	"context"
	"errors"
	"fmt"
	"io"

	"newsletterd/core"
	"newsletterd/store/db"
)

// File reads the file of a model or an image. It is an io.ReadSeeker and not safe for concurrent use. It reads each
// piece in a separate transaction, so that a slow receiver doesn't hold a snapshot.
type File struct {
	ctx    context.Context
	store  *Store
	query  string // query for a piece
	no     int64
	size   int64
	offset int64
	at     int64 // number of the piece in memory; -1 means none
	piece  piece
	err    error
}

// OpenFile returns a File for a model.
func (s *Store) OpenFile(ctx context.Context, m *core.Model) *File {
	return s.OpenPieces(ctx, readPiece, m.FileNo, m.Size)
}

// OpenPieces returns a File of size bytes that reads the pieces of the file with number no, using query, such as
// ReadMediaPiece.
func (s *Store) OpenPieces(ctx context.Context, query string, no, size int64) *File {
	return &File{ctx: ctx, store: s, query: query, no: no, size: size, at: -1}
}

// Err returns the error that ended a Read, except io.EOF. Callers need it if they copy the file with a function that
// drops the error.
func (f *File) Err() error { return f.err }

// Read implements io.Reader. If the file is removed while it is read, Read returns core.ErrNotFound.
func (f *File) Read(p []byte) (int, error) {
	if f.offset >= f.size {
		return 0, io.EOF
	}
	no := f.offset / PieceSize
	if f.at != no {
		if err := f.load(no); err != nil {
			f.err = err
			return 0, err
		}
	}
	n := copy(p, f.piece[f.offset%PieceSize:])
	f.offset += int64(n)
	return n, nil
}

// PieceSize is the number of bytes of a file that a File holds in memory. It is less than a chunk, because many
// downloads may run at the same time. SQLite reads the whole chunk for each piece, so smaller pieces would cost more
// than they save.
const PieceSize = ChunkSize / 2

// chunkReads is the maximum number of concurrent chunk reads. Each read uses a few MiB of memory, and a connection that
// other readers need.
const chunkReads = 2

// piece takes the bytes of a column from the driver without copying them, because a copy would double the memory of a
// download. The bytes are the driver's own copy and outlive the row. database/sql doesn't promise that, but a test
// checks it.
type piece []byte

// Scan implements sql.Scanner.
func (c *piece) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok && src != nil {
		return fmt.Errorf("store: file data has the unexpected type %T", src)
	}
	*c = b
	return nil
}

const (
	readPiece = "SELECT substr(data, ?3, ?4) FROM model_chunk WHERE file_no = ?1 AND chunk_no = ?2"
	// ReadMediaPiece is a query for a piece of an image's file.
	ReadMediaPiece = "SELECT substr(data, ?3, ?4) FROM media_chunk WHERE file_no = ?1 AND chunk_no = ?2"
)

func (f *File) load(no int64) error {
	st, err := f.store.Prepared(f.ctx, f.query)
	if err != nil {
		return err
	}
	select {
	case f.store.chunkReads <- struct{}{}:
		defer func() { <-f.store.chunkReads }()
	case <-f.ctx.Done():
		return core.ErrStorage.With(f.ctx.Err())
	}
	f.piece, f.at = nil, -1
	at := no * PieceSize
	var p piece
	if err := db.Translate(st.QueryRow(f.no, at/ChunkSize, at%ChunkSize+1, PieceSize).Scan(&p)); err != nil {
		return err
	}
	if want := min(f.size-at, PieceSize); int64(len(p)) != want {
		return fmt.Errorf("store: file %d has %d bytes at offset %d, not %d", f.no, len(p), at, want)
	}
	f.piece, f.at = p, no
	return nil
}

// Seek implements io.Seeker. It doesn't access the database.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 {
		return 0, errors.New("store: seek before the start of a file")
	}
	f.offset = offset
	return offset, nil
}
