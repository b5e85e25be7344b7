package objects

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"time"
)

const (
	defaultPartSize = 16 << 20 // in bytes; S3 allows 10,000 parts of equal size, which gives objects of 156 GiB
	maxParts        = 10_000
)

// part is a part of an upload that the storage has received.
type part struct {
	PartNumber int
	ETag       string
}

// PutStream implements Bucket. It holds one part in memory. Content that fits in one part is put like other objects.
// Larger content is uploaded in parts; if a part fails, the upload is aborted.
func (b *s3) PutStream(ctx context.Context, key string, r io.Reader) (Info, error) {
	buf, last, err := fill(r, nil, b.partSize)
	if err != nil {
		return Info{}, fmt.Errorf("put %s: %w", key, err)
	}
	if last {
		if _, err := b.Put(ctx, key, buf, Condition{}); err != nil {
			return Info{}, err
		}
		return b.Head(ctx, key)
	}
	old, err := b.Head(ctx, key)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Info{}, err
	}
	id, err := b.begin(ctx, key)
	if err != nil {
		return Info{}, err
	}
	size, err := b.upload(ctx, key, id, buf, r, old.ETag)
	if err != nil {
		// Parts of an unfinished upload cost money until it is aborted.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		_, _ = b.do(ctx, &request{
			op: "abort", method: http.MethodDelete, key: key, params: map[string]string{"uploadId": id},
		})
		return Info{}, err
	}
	info, err := b.Head(ctx, key)
	if err == nil && info.Size != size {
		err = fmt.Errorf("put %s: %d bytes were written, but the storage has %d", key, size, info.Size)
	}
	return info, err
}

// begin starts an upload and returns its id.
func (b *s3) begin(ctx context.Context, key string) (string, error) {
	a, err := b.do(ctx, &request{
		op: "start upload", method: http.MethodPost, key: key, params: map[string]string{"uploads": ""},
	})
	if err != nil {
		return "", err
	}
	var begun struct {
		XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
		UploadId string   // spelled as in S3
	}
	if err := xml.Unmarshal(a.text, &begun); err != nil || begun.UploadId == "" {
		return "", fmt.Errorf("start upload %s: the storage returned no upload ID", key)
	}
	return begun.UploadId, nil
}

// upload uploads buf as the first part, then the rest of r, and completes the object. It returns the object's size.
// before is the ETag of the current object.
func (b *s3) upload(ctx context.Context, key, id string, buf []byte, r io.Reader, before string) (int64, error) {
	var (
		parts []part
		size  int64
		last  bool
		err   error
	)
	for {
		if len(parts) == maxParts {
			return 0, fmt.Errorf("put %s: too large, more than %d parts of %d bytes", key, maxParts, b.partSize)
		}
		n := len(parts) + 1
		a, err := b.do(ctx, &request{
			op: "put part " + strconv.Itoa(n) + " of", method: http.MethodPut, key: key, body: buf,
			params: map[string]string{"uploadId": id, "partNumber": strconv.Itoa(n)},
		})
		if err != nil {
			return 0, err
		}
		parts, size = append(parts, part{n, a.header.Get("ETag")}), size+int64(len(buf))
		if last {
			break
		}
		if buf, last, err = fill(r, buf, b.partSize); err != nil {
			return 0, fmt.Errorf("put %s: %w", key, err)
		}
		if len(buf) == 0 {
			break
		}
	}
	if err = b.complete(ctx, key, id, parts); err == nil {
		return size, nil
	}
	if f := new(failure); errors.As(err, &f) && f.status == http.StatusNotFound {
		// An earlier attempt has completed the upload, but its response was lost.
		if info, headErr := b.Head(ctx, key); headErr == nil && info.Size == size && info.ETag != before {
			return size, nil
		}
	}
	return 0, err
}

// complete combines the parts into an object. The storage can start its response before it knows the result.
func (b *s3) complete(ctx context.Context, key, id string, parts []part) error {
	text, err := xml.Marshal(struct {
		XMLName xml.Name `xml:"CompleteMultipartUpload"`
		Part    []part
	}{Part: parts})
	if err != nil {
		return err
	}
	r := &request{
		op: "complete upload", method: http.MethodPost, key: key, body: text,
		params: map[string]string{"uploadId": id}, timeout: 5 * time.Minute,
	}
	for try := 0; ; try++ {
		a, err := b.do(ctx, r)
		if err != nil {
			return err
		}
		var done struct {
			XMLName       xml.Name
			Code, Message string
		}
		if err := xml.Unmarshal(a.text, &done); err != nil {
			return fmt.Errorf("complete upload %s: the response can't be read: %w", key, err)
		}
		if done.XMLName.Local == "CompleteMultipartUploadResult" {
			return nil
		}
		f := &failure{op: r.op, key: key, status: a.status, code: b.clean(done.Code), text: b.clean(done.Message)}
		if f.code != "InternalError" || try == maxTries-1 || b.wait(ctx, backoff(try)) != nil {
			return f
		}
	}
}

// fill reads from r into the memory of buf until it holds size bytes or r ends, and reports whether r has ended.
func fill(r io.Reader, buf []byte, size int) (full []byte, last bool, err error) {
	buf = buf[:0]
	for len(buf) < size {
		if len(buf) == cap(buf) {
			grown := make([]byte, len(buf), min(max(2*cap(buf), 256<<10), size))
			copy(grown, buf)
			buf = grown
		}
		n, err := r.Read(buf[len(buf):min(cap(buf), size)])
		buf = buf[:len(buf)+n]
		if err == io.EOF {
			return buf, true, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return buf, false, nil
}
