package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"

	"newsletterd/core"
)

// Question is an in-process request from one route to another.
type Question struct {
	Caller core.Caller // the route applies its access rule as if this caller had sent a token
	Method string
	Path   string // including the query
	Header map[string]string
	Body   any // encoded as JSON, except an io.Reader, which is sent unchanged; nil: no body

	// Writer receives the response and its headers as they are produced, for downloads. If nil, call Decode to read the
	// response.
	Writer http.ResponseWriter
}

// Answer is a route's response to a Question.
type Answer struct {
	Status int
	Header http.Header
	body   bytes.Buffer
}

// Body returns the response body.
func (a *Answer) Body() []byte { return a.body.Bytes() }

// Decode decodes the response's JSON into out, a pointer.
func (a *Answer) Decode(out any) error { return json.Unmarshal(a.body.Bytes(), out) }

// Next returns the cursor of the next page of a list, or an empty string on the last page.
func (a *Answer) Next() string {
	raw, _, ok := strings.Cut(strings.TrimPrefix(a.Header.Get("Link"), "<"), ">")
	if !ok {
		return ""
	}
	next, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return next.Query().Get("cursor")
}

// answerWriter is an http.ResponseWriter that stores the response in an Answer.
type answerWriter struct{ answer *Answer }

func (w answerWriter) Header() http.Header         { return w.answer.Header }
func (w answerWriter) WriteHeader(status int)      { w.answer.Status = status }
func (w answerWriter) Write(b []byte) (int, error) { return w.answer.body.Write(b) }

// Ask sends q to its route as part of this request. The route runs all its checks. By default, q has this request's
// language. It is not counted or logged separately. If the route responds with an error, Ask returns that error.
func (c *Call) Ask(q Question) (*Answer, error) {
	body, length, err := q.body()
	if err != nil {
		return nil, err
	}
	ctx := c.Context
	r, err := http.NewRequestWithContext(ctx, q.Method, q.Path, body)
	if err != nil {
		return nil, err
	}
	r.ContentLength = length
	r.Header.Set("Accept-Language", cmp.Or(c.chosen, c.Request.Header.Get("Accept-Language")))
	for name, value := range q.Header {
		r.Header.Set(name, value)
	}
	if body != nil && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", mediaTypes[jsonBody])
	}
	a := &Answer{Header: http.Header{}}
	w := q.Writer
	if w == nil {
		w = answerWriter{a}
	}
	asked := &Call{
		Context: ctx, Now: c.Now, RequestID: c.RequestID, Remote: c.Remote, Request: r, Caller: q.Caller, asked: true,
		w: &responseWriter{ResponseWriter: w}, frame: c.frame,
	}
	if asked.route, asked.params = c.frame.router.find(q.Method, r.URL.EscapedPath()); asked.route == nil {
		return nil, ErrNoRoute
	}
	if !asked.route.Do.streams {
		var cancel context.CancelFunc
		asked.Context, cancel = context.WithTimeout(ctx, handlerTimeout)
		defer cancel()
	}
	defer asked.release()
	if err := asked.serve(); err != nil {
		c.err = err
		return nil, err
	}
	if a.Status == 0 {
		a.Status = asked.w.status
	}
	if asked.err != nil {
		c.err = asked.err // only for the log: the route has already responded
	}
	return a, nil
}

// body returns the body and its length in bytes, or -1 if the length is unknown.
func (q *Question) body() (io.Reader, int64, error) {
	switch v := q.Body.(type) {
	case nil:
		return nil, 0, nil
	case io.Reader:
		return v, -1, nil
	case []byte:
		return bytes.NewReader(v), int64(len(v)), nil
	}
	b, err := json.Marshal(q.Body)
	return bytes.NewReader(b), int64(len(b)), err
}
