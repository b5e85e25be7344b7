package objects

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// s3 is a bucket of an object storage, or a path in it.
type s3 struct {
	scheme, host string
	path         string // of each address, before the key: /, or /bucket/
	prefix       string // of each key: empty, or ends in a slash
	bucket       string
	signer       signer
	client       *http.Client

	now      func() time.Time
	wait     func(context.Context, time.Duration) error
	partSize int
}

// Type implements Bucket.
func (b *s3) Type() string { return "s3" }

// Put implements Bucket. A Put without a condition is tried again.
func (b *s3) Put(ctx context.Context, key string, body []byte, cond Condition) (string, error) {
	r := &request{op: "put", method: http.MethodPut, key: key, body: body, cond: cond}
	a, err := b.do(ctx, r)
	if err != nil {
		return "", err
	}
	return unquote(a.header.Get("ETag")), nil
}

// Head implements Bucket.
func (b *s3) Head(ctx context.Context, key string) (Info, error) {
	a, err := b.do(ctx, &request{op: "head", method: http.MethodHead, key: key})
	if err != nil {
		return Info{}, err
	}
	size, err := strconv.ParseInt(a.header.Get("Content-Length"), 10, 64)
	if err != nil || size < 0 {
		return Info{}, fmt.Errorf("head %s: the storage does not say how long it is", key)
	}
	modified, err := http.ParseTime(a.header.Get("Last-Modified"))
	if err != nil {
		return Info{}, fmt.Errorf("head %s: the storage does not say when it was written", key)
	}
	return Info{Key: key, Size: size, ETag: unquote(a.header.Get("ETag")), Modified: modified}, nil
}

// Get implements Bucket. Reading ends with an error where nothing comes for some time.
func (b *s3) Get(ctx context.Context, key string, offset, size int64) (io.ReadCloser, error) {
	r := &request{op: "get", method: http.MethodGet, key: key, stream: true}
	from := "bytes=" + strconv.FormatInt(offset, 10) + "-"
	switch {
	case offset < 0 || size < 0:
		return nil, fmt.Errorf("get %s: no range from %d of %d bytes", key, offset, size)
	case size > 0:
		r.header = map[string]string{"Range": from + strconv.FormatInt(offset+size-1, 10)}
	case offset > 0:
		r.header = map[string]string{"Range": from}
	}
	a, err := b.do(ctx, r)
	if err != nil {
		return nil, err
	}
	switch {
	case a.status == http.StatusRequestedRangeNotSatisfiable: // offset is at the end or after it
		a.body.Close()
		return io.NopCloser(bytes.NewReader(nil)), nil
	case r.header == nil, a.header.Get("Content-Length") == "0":
		return a.body, nil
	case a.status != http.StatusPartialContent ||
		!strings.HasPrefix(a.header.Get("Content-Range"), strings.Replace(from, "=", " ", 1)):
		a.body.Close()
		return nil, fmt.Errorf("get %s: the storage gives no ranges", key)
	}
	return a.body, nil
}

// unquote returns an ETag without its quotes. A weak one stays as it is.
func unquote(etag string) string {
	if n := len(etag); n >= 2 && etag[0] == '"' && etag[n-1] == '"' {
		return etag[1 : n-1]
	}
	return etag
}

// quote returns an ETag as headers have it.
func quote(etag string) string {
	if strings.HasPrefix(etag, "W/") {
		return etag
	}
	return `"` + etag + `"`
}
