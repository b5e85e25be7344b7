package web

import (
	"bytes"
	"compress/gzip"
	"io"
	"strings"
	"sync"
)

// File is a static file that is sent compressed to browsers that accept gzip (RFC 9110 section 12.5.3). Don't use it
// for pages with personal data: their compressed length would reveal something about the content. It is safe for
// concurrent use.
type File struct {
	mediaType     string
	whole, packed func() []byte // packed returns nil if compression saves nothing
}

// NewFile returns a file with a media type. It is compressed on first use.
func NewFile(mediaType string, body []byte) *File {
	return NewLazyFile(mediaType, func() []byte { return body })
}

// NewLazyFile is like NewFile, but calls make for the body on the first request.
func NewLazyFile(mediaType string, make func() []byte) *File {
	whole := sync.OnceValue(make)
	return &File{mediaType, whole, sync.OnceValue(func() []byte {
		var b bytes.Buffer
		body, w := whole(), gzip.NewWriter(&b)
		_, err := w.Write(body)
		if err == nil {
			err = w.Close()
		}
		if err != nil || b.Len() >= len(body) {
			return nil
		}
		return b.Bytes()
	})}
}

// NewPackedFile returns a file that is already compressed with gzip. It calls read on the first request, and unpacks
// the file on the first request that doesn't accept gzip.
func NewPackedFile(mediaType string, read func() []byte) *File {
	packed := sync.OnceValue(read)
	return &File{mediaType, sync.OnceValue(func() []byte {
		r, err := gzip.NewReader(bytes.NewReader(packed()))
		if err != nil {
			panic(err) // the file is embedded
		}
		body, err := io.ReadAll(r)
		if err != nil {
			panic(err)
		}
		return body
	}), packed}
}

// For returns the file, compressed if the request accepts gzip.
func (f *File) For(c *Call) Text {
	c.Header().Set("Vary", "Accept-Encoding")
	if takesGzip(strings.Join(c.Request.Header.Values("Accept-Encoding"), ",")) {
		if packed := f.packed(); packed != nil {
			c.Header().Set("Content-Encoding", "gzip")
			return Text{Type: f.mediaType, Body: packed}
		}
	}
	return Text{Type: f.mediaType, Body: f.whole()}
}

// takesGzip reports whether an Accept-Encoding value contains gzip with a weight above zero.
func takesGzip(accepted string) bool {
	for coding := range strings.SplitSeq(accepted, ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		_, q, weighted := strings.Cut(strings.ToLower(strings.ReplaceAll(weight, " ", "")), "q=")
		return !weighted || strings.Trim(q, "0.") != ""
	}
	return false
}
