package objects

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Get implements Bucket. If the connection is lost while the object is read, the reader reconnects and continues where
// it was, unless the object has changed.
func (b *s3) Get(ctx context.Context, key string, offset, size int64) (io.ReadCloser, error) {
	if offset < 0 || size < 0 {
		return nil, fmt.Errorf("get %s: invalid range of %d bytes at offset %d", key, size, offset)
	}
	r := &objectReader{b: b, ctx: ctx, key: key, at: offset}
	if size > 0 {
		r.end = offset + size
	}
	if err := r.open(); err != nil {
		return nil, err
	}
	return r, nil
}

// objectReader reads an object, or a range of it.
type objectReader struct {
	b       *s3
	ctx     context.Context
	key     string
	at, end int64  // range to read; end 0: to the end
	etag    string // quoted ETag of the object being read
	body    io.ReadCloser
	losses  int   // consecutive lost connections
	failed  error // error after which nothing more is read
}

// open requests the rest of the range.
func (r *objectReader) open() error {
	q := &request{op: "get", method: http.MethodGet, key: r.key, stream: true, header: map[string]string{}}
	from := strconv.FormatInt(r.at, 10) + "-"
	switch {
	case r.end > 0:
		q.header["Range"] = "bytes=" + from + strconv.FormatInt(r.end-1, 10)
	case r.at > 0:
		q.header["Range"] = "bytes=" + from
	}
	if r.etag != "" {
		q.header["If-Match"] = r.etag
	}
	a, err := r.b.do(r.ctx, q)
	if err != nil {
		return err
	}
	r.body, r.etag = a.body, a.header.Get("ETag")
	switch {
	case a.status == http.StatusRequestedRangeNotSatisfiable: // the offset is at or after the end of the object
		a.body.Close()
		r.body = io.NopCloser(bytes.NewReader(nil))
	case q.header["Range"] == "", a.header.Get("Content-Length") == "0":
	case a.status != http.StatusPartialContent ||
		!strings.HasPrefix(a.header.Get("Content-Range"), "bytes "+from):
		a.body.Close()
		return fmt.Errorf("get %s: the storage doesn't support ranges", r.key)
	}
	return nil
}

// Read implements io.Reader.
func (r *objectReader) Read(p []byte) (int, error) {
	for r.failed == nil {
		n, err := r.body.Read(p)
		r.at += int64(n)
		if n > 0 {
			r.losses = 0
		}
		switch {
		case err == nil || err == io.EOF:
			return n, err
		case n > 0:
			return n, nil // the next Read returns the error again
		}
		r.body.Close()
		r.losses++
		if r.losses == maxTries || r.etag == "" || r.ctx.Err() != nil ||
			r.b.wait(r.ctx, backoff(r.losses-1)) != nil {
			r.failed = fmt.Errorf("get %s: %w", r.key, err)
		} else {
			r.failed = r.open()
		}
	}
	return 0, r.failed
}

// Close implements io.Closer.
func (r *objectReader) Close() error { return r.body.Close() }
