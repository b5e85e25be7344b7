package files

import (
	"context"
	"errors"
	"fmt"
	"io"

	"newsletterd/core"
	"newsletterd/store/db"
)

// File reads the file of a model or of a picture: an io.ReadSeeker for one goroutine. Each piece is a read of its own,
// so that no snapshot is held while a slow receiver takes its time.
type File struct {
	ctx    context.Context
	store  *Store
	query  string // of a piece
	no     int64
	size   int64
	offset int64
	at     int64 // number of the piece held; -1: none
	piece  piece
	err    error
}

// OpenFile begins to read the file of a model.
func (s *Store) OpenFile(ctx context.Context, m *core.Model) *File {
	return s.OpenPieces(ctx, readPiece, m.FileNo, m.Size)
}

// OpenPieces begins to read a file of so many bytes by a query of its pieces, such as readMediaPiece.
func (s *Store) OpenPieces(ctx context.Context, query string, no, size int64) *File {
	return &File{ctx: ctx, store: s, query: query, no: no, size: size, at: -1}
}

// Err is the error that a Read ended with, io.EOF apart; for callers whose copying swallows it.
func (f *File) Err() error { return f.err }

// Read implements io.Reader. A file that is removed meanwhile ends in core.ErrNotFound.
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

// PieceSize is what is held of a file at once, in bytes: a part of a chunk, since many may be downloading. SQLite reads
// the whole chunk each time, so smaller pieces would cost more than they save.
const PieceSize = ChunkSize / 2

// chunkReads is the number of chunks that are read at once: each costs some MiB while it lasts, and a connection that
// others wait for.
const chunkReads = 2

// piece takes a column's bytes as the driver made them. They are its own copy and stay as they are after the row, which
// database/sql does not promise and a test watches; another copy would double the memory of a download.
type piece []byte

// Scan implements sql.Scanner.
func (c *piece) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok && src != nil {
		return fmt.Errorf("store: a piece of type %T", src)
	}
	*c = b
	return nil
}

const (
	readPiece = "SELECT substr(data, ?3, ?4) FROM model_chunk WHERE file_no = ?1 AND chunk_no = ?2"
	// ReadMediaPiece reads a piece of a picture's file.
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
		return fmt.Errorf("store: %d bytes of file %d at %d, not %d", len(p), f.no, at, want)
	}
	f.piece, f.at = p, no
	return nil
}

// Seek implements io.Seeker; it reads nothing.
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
