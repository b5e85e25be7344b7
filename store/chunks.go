package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"newsletterd/core"
)

// File reads a model's file: an io.ReadSeeker for one goroutine. Each chunk is a read of its own, so that no snapshot
// is held while a slow receiver takes its time.
type File struct {
	ctx    context.Context
	store  *Store
	no     int64
	size   int64
	offset int64
	at     int64 // number of the chunk held; -1: none
	chunk  chunk
	err    error
}

// OpenFile begins to read the file of a model.
func (s *Store) OpenFile(ctx context.Context, m *core.Model) *File {
	return &File{ctx: ctx, store: s, no: m.FileNo, size: m.Size, at: -1}
}

// Err is the error that a Read ended with, io.EOF apart; for callers whose copying swallows it.
func (f *File) Err() error { return f.err }

// Read implements io.Reader. A file that is removed meanwhile ends in core.ErrNotFound.
func (f *File) Read(p []byte) (int, error) {
	if f.offset >= f.size {
		return 0, io.EOF
	}
	no := f.offset / ChunkSize
	if f.at != no {
		if err := f.load(no); err != nil {
			f.err = err
			return 0, err
		}
	}
	n := copy(p, f.chunk[f.offset%ChunkSize:])
	f.offset += int64(n)
	return n, nil
}

// chunkReads is the number of chunks that are read at once: each costs a few MiB while it lasts, and a connection that
// others wait for.
const chunkReads = 2

// chunk takes a column's bytes as the driver made them. They are its own copy and stay as they are behind the row, which
// database/sql does not promise and a test watches; another copy would double the memory of a download.
type chunk []byte

// Scan implements sql.Scanner.
func (c *chunk) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok && src != nil {
		return fmt.Errorf("store: a chunk of type %T", src)
	}
	*c = b
	return nil
}

func (f *File) load(no int64) error {
	st, err := f.store.readStmtFor(f.ctx, "SELECT data FROM model_chunk WHERE file_no = ? AND chunk_no = ?")
	if err != nil {
		return err
	}
	select {
	case f.store.chunkReads <- struct{}{}:
		defer func() { <-f.store.chunkReads }()
	case <-f.ctx.Done():
		return core.ErrStorage.With(f.ctx.Err())
	}
	f.chunk, f.at = nil, -1
	var c chunk
	if err := translate(st.QueryRow(f.no, no).Scan(&c)); err != nil {
		return err
	}
	if want := min(f.size-no*ChunkSize, ChunkSize); int64(len(c)) != want {
		return fmt.Errorf("store: chunk %d of file %d has %d bytes, not %d", no, f.no, len(c), want)
	}
	f.chunk, f.at = c, no
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
