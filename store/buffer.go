package store

import (
	"io"
	"time"
)

// The states of a row of model_file, in the text of statements, whose plans depend on them.
const (
	sqlFileGrowing = "0" // its chunks arrive
	sqlFileWhole   = "1" // a model names it
	sqlFileDropped = "2" // housekeeping removes it
)

// ChunkSize is the size of a file's parts, in bytes.
const ChunkSize = 1 << 20

// UploadPatch is what an upload's buffer begins with, in bytes.
const UploadPatch = 64 << 10

const uploadDead = 10 * time.Minute // without a chunk: the process that brought it is gone

// UploadKept is how long what has arrived of a file may wait for the rest: housekeeping leaves it alone until then.
const UploadKept = uploadDead - time.Minute

// Grow asks for n bytes of memory for a buffer, and gives them back when n is negative.
type Grow func(n int) error

// buffer is the memory of one upload: it grows to a chunk as bytes arrive, so that a slow sender holds little.
type buffer struct {
	bytes []byte
	grow  Grow
}

// fill reads after the n bytes that are there, until a chunk is full or the file ends, which is io.EOF together with
// what was read last. It returns how many bytes are there then.
func (b *buffer) fill(r io.Reader, n int) (_ int, err error) {
	for n < ChunkSize && err == nil {
		if n == len(b.bytes) {
			if err := b.double(n); err != nil {
				return n, err
			}
		}
		var m int
		m, err = r.Read(b.bytes[n:])
		n += m
	}
	return n, err
}

func (b *buffer) double(n int) error {
	size := min(max(2*n, UploadPatch), ChunkSize)
	if b.grow != nil {
		if err := b.grow(size - n); err != nil {
			return err
		}
	}
	grown := make([]byte, size)
	copy(grown, b.bytes)
	b.bytes = grown
	return nil
}

// release gives the memory back.
func (b *buffer) release() {
	if b.grow != nil && len(b.bytes) > 0 {
		_ = b.grow(-len(b.bytes))
	}
}

const removeBatch = 8 // chunks in one operation: a few milliseconds
