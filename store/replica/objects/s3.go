package objects

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// s3 is a bucket in an object storage, or a path in a bucket.
type s3 struct {
	scheme, host string
	path         string // start of each URL path, before the key: /, or /bucket/
	prefix       string // start of each key: empty, or ends in a slash
	bucket       string
	keys         *keyring
	signer       signer
	client       *http.Client

	now      func() time.Time
	wait     func(context.Context, time.Duration) error
	timeout  time.Duration // for a request without a body
	idle     time.Duration // maximum time between two reads of an object
	partSize int
}

// Type implements Bucket.
func (b *s3) Type() string { return "s3" }

// Put implements Bucket. A Put without a condition is retried, and may overwrite an object that another process wrote
// in between.
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
		return Info{}, fmt.Errorf("head %s: the storage returned no size", key)
	}
	modified, err := http.ParseTime(a.header.Get("Last-Modified"))
	if err != nil {
		return Info{}, fmt.Errorf("head %s: the storage returned no modification time", key)
	}
	return Info{Key: key, Size: size, ETag: unquote(a.header.Get("ETag")), Modified: modified}, nil
}

// unquote returns an ETag without its quotes. A weak ETag stays unchanged.
func unquote(etag string) string {
	if n := len(etag); n >= 2 && etag[0] == '"' && etag[n-1] == '"' {
		return etag[1 : n-1]
	}
	return etag
}

// quote returns an ETag in the form used in headers.
func quote(etag string) string {
	if strings.HasPrefix(etag, "W/") {
		return etag
	}
	return `"` + etag + `"`
}
