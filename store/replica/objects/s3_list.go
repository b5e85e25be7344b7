package objects

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxDeleted is the maximum number of objects that one request removes.
const maxDeleted = 1000

// listing is the response to ListObjectsV2.
type listing struct {
	IsTruncated           bool
	NextContinuationToken string
	EncodingType          string
	Contents              []struct {
		Key, ETag    string
		Size         int64
		LastModified time.Time
	}
}

// List implements Bucket. It fetches each page of 1,000 keys when it is needed.
func (b *s3) List(ctx context.Context, prefix, after string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		params := map[string]string{"list-type": "2", "encoding-type": "url", "prefix": b.prefix + prefix}
		if after != "" {
			params["start-after"] = b.prefix + after
		}
		for last := after; ; {
			page, infos, err := b.page(ctx, params, prefix, last)
			if err != nil {
				yield(Info{}, err)
				return
			}
			for _, info := range infos {
				if last = info.Key; !yield(info, nil) {
					return
				}
			}
			switch next := page.NextContinuationToken; {
			case !page.IsTruncated:
				return
			case next == "", next == params["continuation-token"]:
				yield(Info{}, errors.New("list: the storage returned no continuation token"))
				return
			default:
				params["continuation-token"] = next
			}
		}
	}
}

// page fetches one page of a listing. Its keys come after last.
func (b *s3) page(ctx context.Context, params map[string]string, prefix, last string) (*listing, []Info, error) {
	a, err := b.do(ctx, &request{op: "list", method: http.MethodGet, whole: true, params: params})
	if err != nil {
		return nil, nil, err
	}
	page, err := parseListing(a.text)
	if err != nil {
		return nil, nil, fmt.Errorf("list: %w", err)
	}
	infos := make([]Info, 0, len(page.Contents))
	for _, c := range page.Contents {
		key, ok := strings.CutPrefix(c.Key, b.prefix)
		switch {
		case !ok || !strings.HasPrefix(key, prefix):
			return nil, nil, errors.New("list: the storage returned keys outside the requested prefix")
		case checkKey(key) != nil: // not ours, such as the folder objects that storage consoles create
			continue
		case key <= last && last != "":
			return nil, nil, errors.New("list: the storage didn't return keys in order")
		}
		last = key
		infos = append(infos, Info{Key: key, Size: c.Size, ETag: unquote(c.ETag), Modified: c.LastModified})
	}
	return page, infos, nil
}

// parseListing parses a response to ListObjectsV2 and decodes its keys.
func parseListing(text []byte) (*listing, error) {
	var page struct {
		XMLName xml.Name `xml:"ListBucketResult"`
		listing
	}
	if err := xml.Unmarshal(text, &page); err != nil {
		return nil, fmt.Errorf("the response isn't a listing: %w", err)
	}
	for i := range page.Contents {
		c := &page.Contents[i]
		if c.Size < 0 {
			return nil, errors.New("the response isn't a listing: an object has a negative size")
		}
		if page.EncodingType != "url" { // not every storage encodes keys
			continue
		}
		key, err := url.QueryUnescape(c.Key)
		if err != nil {
			return nil, fmt.Errorf("the response isn't a listing: %w", err)
		}
		c.Key = key
	}
	return &page.listing, nil
}

// Delete implements Bucket.
func (b *s3) Delete(ctx context.Context, keys ...string) error {
	for len(keys) > 1 {
		n := min(len(keys), maxDeleted)
		err := b.deleteMany(ctx, keys[:n])
		if f := new(failure); errors.As(err, &f) && f.status == http.StatusNotImplemented {
			break // some storages can remove only one object per request
		}
		if err != nil {
			return err
		}
		keys = keys[n:]
	}
	for _, key := range keys {
		_, err := b.do(ctx, &request{op: "delete", method: http.MethodDelete, key: key})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Remove implements Bucket.
func (b *s3) Remove(ctx context.Context, key, etag string) error {
	r := &request{op: "remove", method: http.MethodDelete, key: key, header: map[string]string{"If-Match": quote(etag)}}
	_, err := b.do(ctx, r)
	if f := new(failure); errors.As(err, &f) && (f.status == http.StatusNotImplemented || f.status == http.StatusBadRequest) {
		return b.Delete(ctx, key)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// deleteMany removes up to maxDeleted objects with one request.
func (b *s3) deleteMany(ctx context.Context, keys []string) error {
	type object struct{ Key string }
	list := struct {
		XMLName xml.Name `xml:"Delete"`
		Quiet   bool
		Object  []object
	}{Quiet: true}
	for _, key := range keys {
		if err := checkKey(key); err != nil {
			return err
		}
		list.Object = append(list.Object, object{b.prefix + key})
	}
	text, err := xml.Marshal(list)
	if err != nil {
		return err
	}
	a, err := b.do(ctx, &request{
		op: "delete", method: http.MethodPost, whole: true, params: map[string]string{"delete": ""},
		body: text, timeout: time.Minute,
	})
	if err != nil {
		return err
	}
	var result struct {
		XMLName xml.Name `xml:"DeleteResult"`
		Error   []struct{ Key, Code, Message string }
	}
	if err := xml.Unmarshal(a.text, &result); err != nil {
		return fmt.Errorf("delete: the response can't be read: %w", err)
	}
	for _, e := range result.Error {
		if e.Code != "NoSuchKey" {
			return &failure{
				op: "delete", key: b.clean(strings.TrimPrefix(e.Key, b.prefix)), status: a.status,
				code: b.clean(e.Code), text: b.clean(e.Message),
			}
		}
	}
	return nil
}
