package objects

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"
	"unicode/utf8"
)

// Info describes an object.
type Info struct {
	Key  string
	Size int64
	// ETag changes with the content. It is empty in the listing of a folder, because computing it would read every
	// file.
	ETag string
	// Modified is the time when the object was written, by the clock of the storage.
	Modified time.Time
}

// Condition restricts when a Put has an effect. The zero value always holds.
type Condition struct {
	Absent bool   // no object has the key (If-None-Match: *)
	Match  string // the object has this ETag (If-Match)
}

// Bucket stores objects by key. All methods are safe for concurrent use. Keys are UTF-8 paths without a leading slash,
// at most 512 bytes long; every method returns an error for an invalid key.
type Bucket interface {
	// Put writes a whole object and returns its ETag. It returns ErrPrecondition if the condition does not hold, and
	// ErrAmbiguous if the object may or may not have been written.
	Put(ctx context.Context, key string, body []byte, cond Condition) (etag string, err error)
	// PutStream writes the content of r, which can have any size. The object becomes visible only when it is complete.
	PutStream(ctx context.Context, key string, r io.Reader) (Info, error)
	// Get reads size bytes starting at offset, or fewer if the object ends earlier; size 0 means to the end. It returns
	// fs.ErrNotExist if there is no such object. The caller closes the reader.
	Get(ctx context.Context, key string, offset, size int64) (io.ReadCloser, error)
	// Head returns the Info of an object, or fs.ErrNotExist if there is no such object.
	Head(ctx context.Context, key string) (Info, error)
	// List yields the objects whose keys start with prefix and sort after the key after, in ascending byte order. It
	// stops at the first error.
	List(ctx context.Context, prefix, after string) iter.Seq2[Info, error]
	// Delete removes objects. A missing object is not an error.
	Delete(ctx context.Context, keys ...string) error
	// Remove removes an object if it has this ETag, and returns ErrPrecondition if it has a different one. Storages
	// without conditional deletes remove it in any case. A missing object is not an error.
	Remove(ctx context.Context, key, etag string) error
	// Type returns "s3" or "file".
	Type() string
}

// ErrPrecondition is returned by Put if its condition did not hold and nothing was written. The reason can be an
// earlier Put of the same caller whose response was lost; use Own to find out.
var ErrPrecondition = errors.New("the object was changed by someone else")

// ErrAmbiguous is returned by a conditional Put if no response shows whether it had an effect. The caller can repeat
// the same Put.
var ErrAmbiguous = errors.New("the write may or may not have succeeded")

const maxKey = 512 // S3 allows 1,024 bytes, including the path in the address of the bucket

// checkKey returns an error for keys that some kind of bucket can't store, and for keys that lead out of the folder of
// a bucket.
func checkKey(key string) error {
	switch {
	case key == "" || len(key) > maxKey:
		return fmt.Errorf("key %.64q: must have 1 to %d bytes", key, maxKey)
	case !utf8.ValidString(key) || strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("key %.64q: must be text without control characters", key)
	}
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "" || segment == "." || segment == ".." || segment == privateFolder {
			return fmt.Errorf("key %.64q: %q is not allowed in it", key, segment)
		}
	}
	return nil
}
