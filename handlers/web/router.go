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

// Route is one line of the table.
type Route struct {
	Method  string
	Path    string
	Who     Access
	Dialect Dialect
	Do      Endpoint
	Summary string

	name     string    // in the documents; empty: one made of the method and the path
	example  Object    // body that the documents show; nil: one made of samples
	refusals []Refusal // beyond the schemas
	required []string  // of a body that makes a record, where its type says less
	limits   Object    // of such a body, in place of those of its type
}

// Table is the routes of a program, in their order.
type Table []*Route

// Add adds a line to the table. It is not inlined, as each of the hundreds of lines would be larger; nor are the
// methods that complete the line.
//
//go:noinline
func (t *Table) Add(method, path string, who Access, d Dialect, do Endpoint, summary string) *Route {
	r := &Route{Method: method, Path: path, Who: who, Dialect: d, Do: do, Summary: summary}
	*t = append(*t, r)
	return r
}

// Named gives the operation its name in the documents: what a developer would call the function.
//
//go:noinline
func (r *Route) Named(name string) *Route { r.name = name; return r }

// Example sets the body that the documents show.
//
//go:noinline
func (r *Route) Example(body Object) *Route { r.example = body; return r }

// Refuses adds what requests are refused for beyond the schemas.
//
//go:noinline
func (r *Route) Refuses(what ...Refusal) *Route { r.refusals = append(r.refusals, what...); return r }

// Requires names the properties that must be in a body that makes a record. A change of the record leaves those that
// are absent as they are, so the type doesn't require them.
//
//go:noinline
func (r *Route) Requires(properties ...string) *Route { r.required = properties; return r }

// Limits says of such a body what its schema has in place of what its type says.
//
//go:noinline
func (r *Route) Limits(limits Object) *Route { r.limits = limits; return r }

// router finds the route of a request. A path without parameters is looked up literally, with all its methods; the
// tree is asked for the others, since httprouter can't hold a literal next to a parameter. Paths are exact: nothing
// is redirected for case or slashes.
type router struct {
	literal map[string]map[string]*Route // path → method
	tree    *httprouter.Router
	methods []string // that the tree knows
}

func newRouter(routes []*Route) (t *router, err error) {
	t = &router{literal: map[string]map[string]*Route{}, tree: httprouter.New()}
	defer func() {
		if v := recover(); v != nil { // httprouter refuses a table by panicking
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
			return nil, fmt.Errorf("route table: %s %s stands twice", r.Method, r.Path)
		}
		t.literal[r.Path][r.Method] = r
	}
	return t, nil
}

// catcher takes the route out of a handle of the tree, which is called with nothing else.
type catcher struct {
	http.ResponseWriter
	route *Route
}

// exact finds the route of a method and a path as it was sent, still escaped.
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
			return nil, nil // the tree matches an empty parameter; we don't
		}
		values[i] = param{p.Key, v}
	}
	var c catcher
	handle(&c, nil, nil)
	return c.route, values
}

// Find returns the route of a method and a path as it was sent, still escaped; nil where there is none.
func (h *Handler) Find(method, path string) *Route {
	r, _ := h.router.find(method, path)
	return r
}

// find is exact, with HEAD served by GET where that changes nothing.
func (t *router) find(method, path string) (*Route, []param) {
	r, params := t.exact(method, path)
	if r == nil && method == http.MethodHead {
		if r, params = t.exact(http.MethodGet, path); r != nil && r.Do.changes {
			return nil, nil
		}
	}
	return r, params
}

// allowed lists the methods that a path has, and one of its routes.
func (t *router) allowed(path string) (methods []string, any *Route) {
	for _, m := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"} {
		if r, _ := t.find(m, path); r != nil {
			methods = append(methods, m)
			any = r
		}
	}
	return methods, any
}

// ServeHTTP is the life of a request, as doc.go draws it.
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

// serve runs the checks in their order, then the endpoint.
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

// noRoute answers a request that no route is for: its path has other methods, or there is nothing at it.
func (h *Handler) noRoute(c *Call, path string) {
	methods, r := h.router.allowed(path)
	if r == nil {
		h.noPath(c, path)
		return
	}
	c.route = r
	c.Header().Set("Allow", strings.Join(methods, ", "))
	c.fail((&core.Error{Kind: core.MethodNotAllowed, Code: "method_not_allowed"}).
		Sayf("%s is not allowed here. See the Allow header.", c.Request.Method))
}

// noPath answers a path that is not in the table: on pages by the fallback, else by an error.
func (h *Handler) noPath(c *Call, path string) {
	if h.options.Fallback == nil || h.dialectOf(c, path) != Page {
		c.fail(ErrNoRoute)
		return
	}
	ctx, cancel := context.WithTimeout(c.Context, handlerTimeout)
	defer cancel()
	c.Context = ctx
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

// dialectOf returns the form of errors at a path that the table does not have.
func (h *Handler) dialectOf(c *Call, path string) Dialect {
	if h.options.DialectOf == nil {
		return Member
	}
	return h.options.DialectOf(c, path)
}

// finish runs after every request: it catches a panic, frees what the body held, counts and logs.
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
			c.err, cut = err, true // half an answer is out: only a cut shows it
		}
	}
	c.release()
	took := time.Since(start)
	h.metrics.end(c, took)
	h.logRequest(c, took)
	if cut {
		panic(http.ErrAbortHandler) // net/http ends the connection, and nothing else
	}
	c.drain()
}

const (
	maxDrain     = 32 * MiB
	drainTimeout = 5 * time.Second
)

// drain reads and discards the rest of a body that was refused, up to maxDrain within drainTimeout. net/http would
// close the connection while the client still sends, and the client, or a proxy, would see a reset instead of the
// response (RFC 9112 section 9.6). Bodies below 256 KiB are drained by net/http; an HTTP/2 stream needs none of it, and
// a client that waits for 100 Continue hasn't sent anything.
func (c *Call) drain() {
	r := c.Request
	small := r.ContentLength >= 0 && r.ContentLength < 256*KiB
	late := errors.Is(c.err, os.ErrDeadlineExceeded) // its client has stopped sending
	if c.w.status < 400 || r.ProtoMajor != 1 || small || late || r.Header.Get("Expect") != "" {
		return
	}
	control := c.Control()
	if control.Flush() != nil || control.SetReadDeadline(time.Now().Add(drainTimeout)) != nil {
		return // not a connection of our own server: a page that asks the API
	}
	_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
}
