package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	"newsletterd/core"
)

// HTML is a page, or a redirect to one.
type HTML struct {
	Status int // 0: 200
	Body   []byte
	To     string // URL of the page: the body is then empty, and the status is 302, or 303 after a form
}

// Redirect redirects the browser with 302 or 303.
type Redirect struct {
	Status int // 0: 302
	URL    string
}

// Text is a response with a media type of its own.
type Text struct {
	Type string
	Body []byte
}

// responseWriter records what was sent. Unwrap gives http.ResponseController access to the connection.
type responseWriter struct {
	http.ResponseWriter
	status int
	bytes  int64
}

func (w *responseWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// acknowledgeWait is how long a response waits for the replica.
const acknowledgeWait = 10 * time.Second

// ErrReplicaBehind is returned if changes that an operation made or read don't reach the replica in time. If this
// machine failed, the one that takes over would not have them.
var ErrReplicaBehind = &core.Error{
	Kind: core.Unavailable, Code: "replica_behind",
	Message: "This may have succeeded, but it isn't in the replica yet. Check the result before you try again.",
}

// acknowledge waits until the replica, if there is one, contains everything that the response may report. Requests that
// only read don't wait.
func (c *Call) acknowledge() error {
	if !c.called || c.acknowledged || !c.frame.acknowledges || !c.route.mayChange() {
		return nil
	}
	if c.Caller.ClientID == core.LoopClientID {
		return nil // a request of the server itself: its changes may reach the replica after the response
	}
	c.acknowledged = true
	ctx, cancel := context.WithTimeout(c.Request.Context(), acknowledgeWait)
	defer cancel()
	if err := c.frame.options.Store.Acknowledged(ctx); err != nil {
		return ErrReplicaBehind.With(err)
	}
	return nil
}

// mayChange reports whether requests of the route may change something.
func (r *Route) mayChange() bool {
	return r.Do.changes || r.Method != http.MethodGet && r.Method != http.MethodHead
}

// reply writes a successful operation's response.
func (c *Call) reply(out any) error {
	if err := c.acknowledge(); err != nil {
		return err
	}
	status := c.route.Do.status
	if c.status != 0 {
		status = c.status
	}
	switch v := out.(type) {
	case None:
		c.w.WriteHeader(status)
	case HTML:
		if v.To != "" {
			c.redirect(v.To)
			return nil
		}
		if v.Body == nil && c.w.status != 0 {
			return nil // the operation has written a file instead of a page
		}
		c.write(cmp.Or(v.Status, status), "text/html; charset=utf-8", v.Body)
	case Text:
		c.write(status, v.Type, v.Body)
	case Redirect:
		c.Header().Set("Location", ASCII(v.URL))
		c.w.WriteHeader(cmp.Or(v.Status, http.StatusFound))
	default:
		b := buffers.Get().(*bytes.Buffer)
		defer buffers.Put(b)
		b.Reset()
		enc := json.NewEncoder(b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(out); err != nil {
			return err
		}
		c.write(status, "application/json", b.Bytes())
	}
	return nil
}

// redirect sends the browser to another page. After a form it uses 303, so that the browser doesn't post again.
func (c *Call) redirect(to string) {
	c.Header().Set("Location", ASCII(to))
	status := http.StatusFound
	if c.Request.Method == http.MethodPost {
		status = http.StatusSeeOther
	}
	c.w.WriteHeader(status)
}

func (c *Call) write(status int, contentType string, body []byte) {
	h := c.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(status)
	_, _ = c.w.Write(body) // fails if the caller has disconnected
}

// streamPages writes the slices that read returns, page by page, as one array. After the first page, an error can no
// longer change the status. Instead it cuts the connection, so that no caller mistakes a part for the whole.
func streamPages(c *Call, read func() (rows any, last bool, err error)) error {
	rows, last, err := read()
	if err != nil {
		return err
	}
	control := http.NewResponseController(c.w)
	c.Header().Set("Content-Type", "application/json")
	c.w.WriteHeader(http.StatusOK)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	separator := byte('[')
	for {
		slice := reflect.ValueOf(rows)
		for i := range slice.Len() {
			b.WriteByte(separator)
			separator = ','
			if err := enc.Encode(slice.Index(i).Addr().Interface()); err != nil {
				c.Cut(err)
			}
		}
		if last && separator == '[' {
			b.WriteByte('[')
		}
		if last {
			b.WriteString("]\n")
		}
		c.stream(control, b.Bytes())
		if last {
			return nil
		}
		b.Reset()
		if rows, last, err = read(); err != nil {
			c.Cut(err)
		}
	}
}

// stream writes in small steps, each with a timeout. A client that reads slowly stays connected, and one that has
// stopped reading is disconnected.
func (c *Call) stream(control *http.ResponseController, b []byte) {
	const step = 4 * KiB
	for len(b) > 0 {
		n := min(step, len(b))
		_ = control.SetWriteDeadline(time.Now().Add(ProgressTimeout))
		if _, err := c.w.Write(b[:n]); err != nil {
			c.Cut(err)
		}
		b = b[n:]
	}
}

// Stream returns the writer for a long response. Each write has its own timeout.
func (c *Call) Stream() http.ResponseWriter { return streamWriter{c.w} }

type streamWriter struct{ *responseWriter }

func (w streamWriter) Write(b []byte) (int, error) {
	_ = http.NewResponseController(w.responseWriter).SetWriteDeadline(time.Now().Add(ProgressTimeout))
	return w.responseWriter.Write(b)
}

// Cut closes the connection in the middle of a response.
func (c *Call) Cut(err error) {
	c.err = err
	panic(http.ErrAbortHandler)
}
