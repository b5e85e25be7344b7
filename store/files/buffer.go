package files

import (
	"io"
	"time"
)

// The states of a row of model_file, in the text of statements, whose plans depend on them.
const (
	SQLFileGrowing = "0" // its chunks arrive
	SQLFileWhole   = "1" // a model names it
	SQLFileDropped = "2" // housekeeping removes it
)

// ChunkSize is the size of a file's parts, in bytes.
const ChunkSize = 1 << 20

// UploadPatch is what an upload's buffer begins with, in bytes.
const UploadPatch = 64 << 10

const UploadDead = 10 * time.Minute // without a chunk: the process that brought it is gone

// UploadKept is how long what has arrived of a file may wait for the rest: housekeeping leaves it alone until then.
const UploadKept = UploadDead - time.Minute

// Grow asks for n bytes of memory for a buffer, and gives them back when n is negative.
type Grow func(n int) error

// Buffer is the memory of one upload: it grows to a chunk as bytes arrive, so that a slow sender holds little.
type Buffer struct {
	Bytes []byte
	Grow  Grow
}

// Fill reads after the n bytes that are there, until a chunk is full or the file ends, which is io.EOF together with
// what was read last. It returns how many bytes are there then.
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

// Release gives the memory back.
func (b *Buffer) Release() {
	if b.Grow != nil && len(b.Bytes) > 0 {
		_ = b.Grow(-len(b.Bytes))
	}
}

const RemoveBatch = 8 // chunks in one operation: a few milliseconds
