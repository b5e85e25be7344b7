package objectstest

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// call is one request.
type call struct {
	s       *Server
	w       http.ResponseWriter
	r       *http.Request
	query   url.Values
	faults  Faults
	kind    Kind
	body    []byte
	sum     [md5.Size]byte // MD5 of the body
	client  string
	op, key string
}

// read reads the request and reports whether it can be served.
func (c *call) read() bool {
	c.body = make([]byte, max(c.r.ContentLength, 0))
	if _, err := io.ReadFull(c.r.Body, c.body); err != nil {
		return false // the client is gone
	}
	c.sum = md5.Sum(c.body)
	path, ok := strings.CutPrefix(c.r.URL.Path, "/"+bucket)
	if !ok || path != "" && path[0] != '/' {
		c.refuse(http.StatusNotFound, "NoSuchBucket")
		return false
	}
	if c.key = strings.TrimPrefix(path, "/"); c.key == "" {
		c.key = c.query.Get("prefix")
	}
	c.op = c.operation(path == "" || path == "/")
	if c.op == "" {
		c.refuse(http.StatusMethodNotAllowed, "MethodNotAllowed")
		return false
	}
	c.s.mu.Lock()
	now := time.Now().Add(c.s.faults.Ahead)
	c.s.mu.Unlock()
	c.w.Header().Set("Date", now.UTC().Format(http.TimeFormat))
	client, code := verify(c.r, c.body, now)
	if code != "" {
		c.refuse(http.StatusForbidden, code)
		return false
	}
	c.client = client
	if sum := c.r.Header.Get("Content-MD5"); sum != "" || c.op == "DELETES" {
		if base64.StdEncoding.EncodeToString(c.sum[:]) != sum {
			c.refuse(http.StatusBadRequest, "BadDigest")
			return false
		}
	}
	return true
}

// operation returns the name of the requested operation, or an empty string.
func (c *call) operation(ofBucket bool) string {
	method := c.r.Method
	switch {
	case ofBucket && method == http.MethodGet && c.query.Get("list-type") == "2":
		return "LIST"
	case ofBucket && method == http.MethodPost && c.query.Has("delete"):
		return "DELETES"
	case ofBucket:
		return ""
	case method == http.MethodPost && c.query.Has("uploads"):
		return "BEGIN"
	case method == http.MethodPut && c.query.Has("uploadId"):
		return "PART"
	case method == http.MethodPost && c.query.Has("uploadId"):
		return "COMPLETE"
	case method == http.MethodDelete && c.query.Has("uploadId"):
		return "ABORT"
	case method == http.MethodPut, method == http.MethodGet, method == http.MethodHead, method == http.MethodDelete:
		return method
	}
	return ""
}

// serve carries out the request.
func (c *call) serve() {
	switch c.op {
	case "PUT":
		c.put()
	case "GET", "HEAD":
		c.get()
	case "LIST":
		c.list()
	case "DELETE":
		c.remove()
	case "DELETES":
		c.deletes()
	case "BEGIN":
		c.begin()
	case "PART":
		c.part()
	case "COMPLETE":
		c.complete()
	case "ABORT":
		c.s.mu.Lock()
		delete(c.s.uploads, c.query.Get("uploadId"))
		c.s.mu.Unlock()
		c.answer(http.StatusNoContent, nil)
	}
}

func (c *call) put() {
	c.s.mu.Lock()
	old, is := c.s.objects[c.key]
	match := c.r.Header.Get("If-Match")
	status, code := http.StatusOK, ""
	switch {
	case c.r.Header.Get("If-None-Match") == "*" && is && !c.faults.IgnoresAbsent:
		status, code = http.StatusPreconditionFailed, "PreconditionFailed"
	case match != "" && !c.faults.IgnoresMatch && !is:
		status, code = http.StatusNotFound, "NoSuchKey"
	case match != "" && !c.faults.IgnoresMatch && match != old.etag:
		status, code = http.StatusPreconditionFailed, "PreconditionFailed"
	default:
		c.w.Header().Set("ETag", c.s.put(c.key, c.body, etagOf(c.sum)))
	}
	c.s.mu.Unlock()
	if code != "" {
		c.refuse(status, code)
		return
	}
	c.answer(status, nil)
}

// remove removes an object. With If-Match it must have that ETag.
func (c *call) remove() {
	c.s.mu.Lock()
	match := c.r.Header.Get("If-Match")
	old, is := c.s.objects[c.key]
	kept := is && match != "" && !c.faults.IgnoresMatch && match != old.etag
	if !kept {
		c.s.remove(c.key)
	}
	c.s.mu.Unlock()
	if kept {
		c.refuse(http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	c.answer(http.StatusNoContent, nil)
}

// put writes an object, and returns its ETag. The caller holds the lock.
func (s *Server) put(key string, body []byte, etag string) string {
	s.changed(key)
	s.objects[key] = object{body, etag, time.Now().Add(s.faults.Ahead)}
	return etag
}

// remove removes an object. The caller holds the lock.
func (s *Server) remove(key string) {
	s.changed(key)
	delete(s.objects, key)
}

// changed records the current object of a key before a change, so that listings can show it a while longer.
func (s *Server) changed(key string) {
	now := time.Now()
	if s.faults.Stale == 0 {
		s.changes = nil
		return
	}
	s.changes = slices.DeleteFunc(s.changes, func(c change) bool { return now.Sub(c.at) >= s.faults.Stale })
	before, was := s.objects[key]
	s.changes = append(s.changes, change{key: key, at: now, before: before, was: was})
}

func (c *call) get() {
	c.s.mu.Lock()
	o, is := c.s.objects[c.key]
	c.s.mu.Unlock()
	if !is {
		c.refuse(http.StatusNotFound, "NoSuchKey")
		return
	}
	h := c.w.Header()
	h.Set("ETag", o.etag)
	if c.kind == LostAnswer || c.kind == HalfAnswer && c.op == "HEAD" {
		panic(http.ErrAbortHandler)
	}
	h.Set("Content-Type", "binary/octet-stream")
	w := c.w
	if c.kind == HalfAnswer {
		w = &halfWriter{ResponseWriter: w}
	}
	http.ServeContent(w, c.r, "", o.modified, bytes.NewReader(o.body))
}

// halfWriter cuts the connection in the middle of the body.
type halfWriter struct {
	http.ResponseWriter
	left int
}

// WriteHeader implements http.ResponseWriter.
func (w *halfWriter) WriteHeader(status int) {
	length, _ := strconv.Atoi(w.Header().Get("Content-Length"))
	w.left = length / 2
	w.ResponseWriter.WriteHeader(status)
}

// Write implements io.Writer.
func (w *halfWriter) Write(p []byte) (int, error) {
	if n := min(len(p), w.left); n > 0 {
		w.left -= n
		if _, err := w.ResponseWriter.Write(p[:n]); err != nil || w.left > 0 {
			return n, err
		}
	}
	_ = http.NewResponseController(w.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// deletes removes the objects named in the body.
func (c *call) deletes() {
	var named struct {
		Object []struct{ Key string }
	}
	switch err := xml.Unmarshal(c.body, &named); {
	case c.faults.NoDeletes:
		c.refuse(http.StatusNotImplemented, "NotImplemented")
	case err != nil || len(named.Object) == 0 || len(named.Object) > 1000:
		c.refuse(http.StatusBadRequest, "MalformedXML")
	default:
		for _, o := range named.Object {
			c.s.Remove(o.Key)
		}
		c.answer(http.StatusOK, struct {
			XMLName xml.Name `xml:"DeleteResult"`
		}{})
	}
}

// answer sends an XML response, unless a fault loses it.
func (c *call) answer(status int, body any) {
	if c.kind == LostAnswer {
		panic(http.ErrAbortHandler)
	}
	if body == nil {
		c.w.WriteHeader(status)
		return
	}
	text, err := xml.Marshal(body)
	if err != nil {
		panic(err)
	}
	text = append([]byte(xml.Header), text...)
	c.w.Header().Set("Content-Type", "application/xml")
	c.w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	c.w.WriteHeader(status)
	if c.kind == HalfAnswer {
		_, _ = c.w.Write(text[:len(text)/2])
		_ = http.NewResponseController(c.w).Flush()
		panic(http.ErrAbortHandler)
	}
	_, _ = c.w.Write(text)
}

// fault is an error in the form of S3.
type fault struct {
	XMLName       xml.Name `xml:"Error"`
	Code, Message string
}

// refuse sends an error.
func (c *call) refuse(status int, code string) {
	if c.r.Method == http.MethodHead {
		c.w.WriteHeader(status)
		return
	}
	c.answer(status, fault{Code: code, Message: fmt.Sprintf("%s of %s", code, c.op)})
}
