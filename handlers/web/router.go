package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/julienschmidt/httprouter"

	"newsletterd/core"
)

// Route is one row of the table.
type Route struct {
	Method  string
	Path    string
	Who     Access
	Dialect Dialect
	Do      Endpoint
	Summary string

	name     string    // name in the documents; empty: derived from the method and the path
	example  Object    // body in the documents; nil: made of samples
	refusals []Refusal // in addition to the schemas
	required []string  // properties of a body that creates a record, if its type requires fewer
	limits   Object    // limits of such a body, in place of its type's
}

// Table holds a server's routes in order.
type Table []*Route

// Add adds a row to the table. Neither Add nor the methods that complete the row are inlined, because that would
// enlarge the code for each of the hundreds of rows.
//
//go:noinline
func (t *Table) Add(method, path string, who Access, d Dialect, do Endpoint, summary string) *Route {
	r := &Route{Method: method, Path: path, Who: who, Dialect: d, Do: do, Summary: summary}
	*t = append(*t, r)
	return r
}

// Named sets the name of the operation in the documents: the name a developer would give the function.
//
//go:noinline
func (r *Route) Named(name string) *Route { r.name = name; return r }

// Example sets the body that the documents show.
//
//go:noinline
func (r *Route) Example(body Object) *Route { r.example = body; return r }

// Refuses adds refusals that the schemas don't express.
//
//go:noinline
func (r *Route) Refuses(what ...Refusal) *Route { r.refusals = append(r.refusals, what...); return r }

// Requires sets the properties that a body must have to create a record. A change of the record keeps the values of
// absent properties, so the type doesn't require them.
//
//go:noinline
func (r *Route) Requires(properties ...string) *Route { r.required = properties; return r }

// Limits sets limits in the schema of the body, in addition to those of its type.
//
//go:noinline
func (r *Route) Limits(limits Object) *Route { r.limits = limits; return r }

// router finds the route for a request. A path without parameters is looked up literally, with all its methods. The
// tree holds the other paths, because httprouter can't hold a literal next to a parameter. Paths must match exactly:
// there are no redirects for case or slashes.
type router struct {
	literal map[string]map[string]*Route // path → method
	tree    *httprouter.Router
	methods []string // methods in the tree
}

func newRouter(routes []*Route) (t *router, err error) {
	t = &router{literal: map[string]map[string]*Route{}, tree: httprouter.New()}
	defer func() {
		if v := recover(); v != nil { // httprouter panics on an invalid table
			err = fmt.Errorf("route table: %v", v)
		}
	}()
	for _, r := range routes {
		if strings.Contains(r.Path, ":") {
			t.tree.Handle(r.Method, r.Path, func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) {
				w.(*catcher).route = r
			})
			if !slices.Contains(t.methods, r.Method) {
				t.methods = append(t.methods, r.Method)
			}
			continue
		}
		if t.literal[r.Path] == nil {
			t.literal[r.Path] = map[string]*Route{}
		}
		if t.literal[r.Path][r.Method] != nil {
			return nil, fmt.Errorf("route table: %s %s is listed twice", r.Method, r.Path)
		}
		t.literal[r.Path][r.Method] = r
	}
	return t, nil
}

// catcher passes the route out of an httprouter handle, whose other arguments are nil.
type catcher struct {
	http.ResponseWriter
	route *Route
}

// exact returns the route for a method and an escaped path as sent by the client, and the path's parameters.
func (t *router) exact(method, path string) (*Route, []param) {
	if methods, ok := t.literal[path]; ok {
		return methods[method], nil
	}
	handle, params, _ := t.tree.Lookup(method, path)
	if handle == nil {
		return nil, nil
	}
	values := make([]param, len(params))
	for i, p := range params {
		v, err := url.PathUnescape(p.Value)
		if err != nil || v == "" || !core.CleanText(v) {
			return nil, nil // the tree matches an empty parameter, which is not allowed here
		}
		values[i] = param{p.Key, v}
	}
	var c catcher
	handle(&c, nil, nil)
	return c.route, values
}

// Find returns the route for a method and an escaped path as sent by the client, or nil if there is none.
func (h *Handler) Find(method, path string) *Route {
	r, _ := h.router.find(method, path)
	return r
}

// find is like exact, but for HEAD it returns the GET route, unless that route changes something.
func (t *router) find(method, path string) (*Route, []param) {
	r, params := t.exact(method, path)
	if r == nil && method == http.MethodHead {
		if r, params = t.exact(http.MethodGet, path); r != nil && r.Do.changes {
			return nil, nil
		}
	}
	return r, params
}

// allowed returns the methods that a path supports, and one of its routes.
func (t *router) allowed(path string) (methods []string, any *Route) {
	for _, m := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		if r, _ := t.find(m, path); r != nil {
			methods = append(methods, m)
			any = r
		}
	}
	return methods, any
}

// pageAbove returns the closest parent path that has a page, or an empty string. For a path that only accepts POST,
// this is usually the page with the form.
func (t *router) pageAbove(path string) string {
	for {
		i := strings.LastIndexByte(path, '/')
		if i <= 0 {
			return ""
		}
		path = path[:i]
		if r, _ := t.find(http.MethodGet, path); r != nil {
			return path
		}
	}
}

// ServeHTTP serves a request in the steps that doc.go lists.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := time.Now()
	c := &Call{
		Context: r.Context(), Now: core.At(start), RequestID: core.NewID(), Remote: h.remote(r), Request: r,
		w: &responseWriter{ResponseWriter: w}, frame: h,
	}
	head := w.Header()
	head.Set("X-Request-Id", c.RequestID)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Cache-Control", "no-store")
	path := r.URL.EscapedPath()
	c.route, c.params = h.router.find(r.Method, path)
	h.metrics.begin()
	defer h.finish(c, start)
	if c.route == nil {
		if !h.preflight(c, path) {
			h.noRoute(c, path)
		}
		return
	}
	c.allowOrigin()
	if !c.route.Do.streams {
		ctx, cancel := context.WithTimeout(c.Context, handlerTimeout)
		defer cancel()
		c.Context = ctx
	}
	if err := c.serve(); err != nil {
		c.fail(err)
	}
}

// serve runs the checks in order, and then the endpoint.
func (c *Call) serve() error {
	if err := c.admit(); err != nil {
		return err
	}
	if c.route.Do.in != nil {
		for i := range c.route.Do.in.path {
			f := &c.route.Do.in.path[i]
			if _, err := f.check(c.Param(f.name)); err != nil {
				return c.notFound()
			}
		}
	}
	if c.Param("id") != "" && c.ID() == "" {
		return c.notFound()
	}
	if find := c.route.Do.find; find != nil {
		if err := find(c); err != nil {
			return err
		}
	}
	if bytes := c.route.Do.room; bytes > 0 {
		if err := c.frame.options.Store.Room(bytes); err != nil {
			return err
		}
	}
	c.called = true
	return c.route.Do.call(c)
}

// noRoute responds to a request without a route: the path has only other methods, or doesn't exist.
func (h *Handler) noRoute(c *Call, path string) {
	methods, r := h.router.allowed(path)
	if r == nil {
		h.noPath(c, path)
		return
	}
	if to := h.router.pageAbove(path); r.Dialect == Console && c.Request.Method == http.MethodGet && to != "" {
		c.redirect(to)
		return
	}
	c.route = r
	c.Header().Set("Allow", strings.Join(methods, ", "))
	c.fail((&core.Error{Kind: core.MethodNotAllowed, Code: "method_not_allowed"}).
		Sayf("%s is not allowed here. See the Allow header.", c.Request.Method))
}

// movedAge is how long, in seconds, browsers may cache a redirect for a moved path. Without a limit, they would still
// follow it after an import was undone.
const movedAge = "3600"

// noPath responds to a path that is not in the table: with the page that serves it, a redirect, the fallback page or an
// error.
func (h *Handler) noPath(c *Call, path string) {
	ctx, cancel := context.WithTimeout(c.Context, handlerTimeout)
	defer cancel()
	c.Context = ctx
	m := c.Request.Method
	reads := m == http.MethodGet || m == http.MethodHead
	if h.options.Inside != nil && reads {
		inside, err := h.options.Inside(c, path)
		if err == nil && inside != "" {
			c.route, c.params = h.router.find(m, inside)
			err = c.serve()
		}
		if err != nil {
			c.fail(err)
		}
		if err != nil || c.route != nil {
			return
		}
	}
	if h.options.Moved != nil && reads {
		to, err := h.options.Moved(c, path)
		if err != nil {
			c.fail(err)
			return
		}
		if to != "" {
			c.Header().Set("Location", ASCII(to))
			c.Header().Set("Cache-Control", "max-age="+movedAge)
			c.w.WriteHeader(http.StatusMovedPermanently)
			return
		}
	}
	if h.options.Fallback == nil || h.dialectOf(c, path) != Page {
		c.fail(ErrNoRoute)
		return
	}
	v, err := h.options.Fallback(c, path)
	switch {
	case err != nil:
		c.fail(err)
	case v.To != "":
		c.redirect(v.To)
	default:
		c.write(http.StatusOK, "text/html; charset=utf-8", v.Body)
	}
}

// dialectOf returns the error dialect for a path that is not in the table.
func (h *Handler) dialectOf(c *Call, path string) Dialect {
	if h.options.DialectOf == nil {
		return Member
	}
	return h.options.DialectOf(c, path)
}

// finish runs after every request. It recovers from a panic, releases the body, updates the metrics and writes the log
// line.
func (h *Handler) finish(c *Call, start time.Time) {
	v := recover()
	cut := v == http.ErrAbortHandler
	if v != nil && !cut {
		err := fmt.Errorf("panic: %v\n%s", v, debug.Stack())
		if c.w.status == 0 {
			for k := range c.Header() {
				if strings.HasPrefix(k, "Content-") {
					c.Header().Del(k)
				}
			}
			c.fail(err)
		} else {
			c.err, cut = err, true // a part of the response is sent: only cutting the connection signals the error
		}
	}
	c.release()
	took := time.Since(start)
	h.metrics.end(c, took)
	h.logRequest(c, took)
	if cut {
		panic(http.ErrAbortHandler) // makes net/http close the connection without further output
	}
	c.drain()
}

const (
	maxDrain     = 32 * MiB
	drainTimeout = 5 * time.Second
)

// drain discards the rest of a refused body, up to maxDrain within drainTimeout. Otherwise net/http would close the
// connection while the client still sends. The client or a proxy would then see a reset instead of the response (RFC
// 9112 section 9.6). net/http itself drains bodies below 256 KiB. An HTTP/2 stream needs no draining, and a client that
// waits for 100 Continue hasn't sent anything.
func (c *Call) drain() {
	r := c.Request
	small := r.ContentLength >= 0 && r.ContentLength < 256*KiB
	late := errors.Is(c.err, os.ErrDeadlineExceeded) // the client has stopped sending
	if c.w.status < 400 || r.ProtoMajor != 1 || small || late || r.Header.Get("Expect") != "" {
		return
	}
	control := c.Control()
	if control.Flush() != nil || control.SetReadDeadline(time.Now().Add(drainTimeout)) != nil {
		return // not a network connection: a page that calls the API through Ask
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
}
