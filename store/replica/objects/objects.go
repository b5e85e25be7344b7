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

// Info is what a bucket knows of an object.
type Info struct {
	Key  string
	Size int64
	// ETag changes with the content. A listing of a folder leaves it empty, for it would have to read each file.
	ETag string
	// Modified is when the object was written, by the clock of the storage.
	Modified time.Time
}

// Condition is what must hold for a Put to have an effect. The zero value always holds.
type Condition struct {
	Absent bool   // there is no object with the key (If-None-Match: *)
	Match  string // the object has this ETag (If-Match)
}

// Bucket holds objects by their keys. All methods are safe for concurrent use. Keys are paths without a leading slash,
// in UTF-8, of 512 bytes at most; an invalid one is an error of every method.
type Bucket interface {
	// Put writes an object whole and returns its ETag. It fails with ErrPrecondition where the condition does not hold,
	// and with ErrAmbiguous where the object may or may not have been written.
	Put(ctx context.Context, key string, body []byte, cond Condition) (etag string, err error)
	// PutStream writes what is read from r, of any size. Nothing is seen of it before it is whole.
	PutStream(ctx context.Context, key string, r io.Reader) (Info, error)
	// Get reads size bytes from offset on, or fewer where the object ends before; size 0 means to its end. The error is
	// fs.ErrNotExist where there is no such object. The caller closes the reader.
	Get(ctx context.Context, key string, offset, size int64) (io.ReadCloser, error)
	// Head returns fs.ErrNotExist where there is no such object.
	Head(ctx context.Context, key string) (Info, error)
	// List yields the objects whose keys begin with prefix and come after the key after, in ascending order of their
	// bytes. It ends with the first error.
	List(ctx context.Context, prefix, after string) iter.Seq2[Info, error]
	// Delete removes objects. What isn't there is no error.
	Delete(ctx context.Context, keys ...string) error
	// Remove removes an object if it has this ETag, and returns ErrPrecondition where it has another one. Storages that
	// know no condition for that remove it in any case. What isn't there is no error.
	Remove(ctx context.Context, key, etag string) error
	// Type returns "s3" or "file".
	Type() string
}

// ErrPrecondition is returned by Put where its condition did not hold, so that it had no effect; an earlier Put of the
// same caller, whose answer was lost, may be why (Own).
var ErrPrecondition = errors.New("the object was changed by someone else")

// ErrAmbiguous is returned by a conditional Put of which no answer says whether it had an effect: the caller may put the
// same again.
var ErrAmbiguous = errors.New("the write may or may not have succeeded")

const maxKey = 512 // S3 allows 1,024 bytes with the path of the bucket's address in front

// checkKey refuses keys that one kind of bucket can't hold or that would leave its folder.
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
