package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"

	"newsletterd/core"
)

// File reads a model's file: an io.ReadSeeker for one goroutine. Each chunk is a read of its own, so that no snapshot
// is held while a slow receiver takes its time. Close gives its memory back.
type File struct {
	ctx    context.Context
	store  *Store
	no     int64
	size   int64
	offset int64
	at     int64 // number of the chunk in buf; -1: none
	buf    *[]byte
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
	n := copy(p, (*f.buf)[f.offset%ChunkSize:])
	f.offset += int64(n)
	return n, nil
}

// load reads one chunk. Its bytes are copied out of the driver's, which lives no longer than the row.
func (f *File) load(no int64) error {
	st, err := f.store.readStmtFor(f.ctx, "SELECT data FROM model_chunk WHERE file_no = ? AND chunk_no = ?")
	if err != nil {
		return err
	}
	rows, err := st.Query(f.no, no)
	if err != nil {
		return translate(err)
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return translate(err)
		}
		return core.ErrNotFound
	}
	var raw sql.RawBytes
	if err := rows.Scan(&raw); err != nil {
		return translate(err)
	}
	if want := min(f.size-no*ChunkSize, ChunkSize); int64(len(raw)) != want {
		return fmt.Errorf("store: chunk %d of file %d has %d bytes, not %d", no, f.no, len(raw), want)
	}
	if f.buf == nil {
		f.buf = chunks.Get().(*[]byte)
	}
	*f.buf, f.at = append((*f.buf)[:0], raw...), no
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

// Close gives the buffer back.
func (f *File) Close() {
	if f.buf != nil {
		chunks.Put(f.buf)
		f.buf, f.at = nil, -1
	}
}
