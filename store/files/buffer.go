package files

import (
	"io"
	"time"
)

// The states of model_file rows as SQL literals. Query plans depend on literal states.
const (
	SQLFileGrowing = "0" // chunks are arriving
	SQLFileWhole   = "1" // a model refers to the file
	SQLFileDropped = "2" // housekeeping removes the file
)

// ChunkSize is the size of a file's chunks in bytes.
const ChunkSize = 1 << 20

// UploadPatch is the initial size of an upload's buffer, in bytes.
const UploadPatch = 64 << 10

const UploadDead = 10 * time.Minute // time without a new chunk after which the uploading process has ended

// UploadKept is how long an incomplete upload can wait for the rest of its file. Housekeeping removes it after that.
const UploadKept = UploadDead - time.Minute

// Grow reserves n bytes of memory for a buffer. A negative n releases them.
type Grow func(n int) error

// Buffer is the memory of one upload. As bytes arrive, it grows up to the size of a chunk, so a slow sender uses little
// memory.
type Buffer struct {
	Bytes []byte
	Grow  Grow
}

// Fill reads into the buffer after its first n bytes, until the chunk is full or the file ends. It returns the new
// number of bytes. At the end of the file, it returns io.EOF together with the last bytes.
func (b *Buffer) Fill(r io.Reader, n int) (_ int, err error) {
	for n < ChunkSize && err == nil {
		if n == len(b.Bytes) {
			if err := b.double(n); err != nil {
				return n, err
			}
		}
		var m int
		m, err = r.Read(b.Bytes[n:])
		n += m
	}
	return n, err
}

func (b *Buffer) double(n int) error {
	size := min(max(2*n, UploadPatch), ChunkSize)
	if b.Grow != nil {
		if err := b.Grow(size - n); err != nil {
			return err
		}
	}
	grown := make([]byte, size)
	copy(grown, b.Bytes)
	b.Bytes = grown
	return nil
}

// Release releases the memory that the buffer has reserved.
func (b *Buffer) Release() {
	if b.Grow != nil && len(b.Bytes) > 0 {
		_ = b.Grow(-len(b.Bytes))
	}
}

const RemoveBatch = 8 // number of chunks to remove in one operation; this takes a few milliseconds
