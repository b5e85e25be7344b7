package web

import (
	"context"
	"net/http"
	"net/netip"
	"strings"

	"golang.org/x/sync/semaphore"

	"newsletterd/core"
	"newsletterd/store"
	"newsletterd/store/db"
)

// Call is one request as an operation sees it. It is a context.Context that operations pass to the store. It is
// canceled when the caller disconnects or when the route's time limit is reached. A Call must not be used after the
// operation has returned.
type Call struct {
	context.Context
	Now       core.Instant  // time of arrival: the only clock of an operation
	Caller    core.Caller   // zero on public routes; the webhook client on signed routes
	RequestID string        // value of X-Request-Id in the response
	Remote    netip.Addr    // address of the peer, or of the client of a trusted proxy
	Tenant    string        // tenant for the log line, set by an operation
	Request   *http.Request // for headers; only the frame reads the body

	w      *responseWriter
	route  *Route
	params []param // path parameters, unescaped
	frame  *Handler
	status int   // 0: the status of the endpoint
	err    error // for the log line
	body   []byte
	pooled *[]byte              // buffer from the pool that body uses
	held   int64                // bytes of the large-body budget in use
	share  *semaphore.Weighted  // share of that budget; nil: no separate share
	heavy  func()               // undoes the garbage collector setting for a large body; nil: none
	wanted []string             // scopes that the token lacks, for WWW-Authenticate
	limit  int64                // size of the body, in place of the endpoint's limit
	checks []func([]byte) error // run over the raw body before it is decoded (signatures)
	called bool                 // the operation has started
	chosen string               // language that the signed-in user chose; empty: none
	asked  bool                 // made by another route through Ask, which has set Caller

	acknowledged bool // the response has waited for the replica
}

type param struct{ name, value string }

// Action returns the action that the route requires, or an empty string if it requires none.
func (c *Call) Action() core.Action { return c.route.Who.action }

// Param returns the unescaped value of a path parameter, or an empty string if the route has no parameter of that
// name.
func (c *Call) Param(name string) string {
	for _, p := range c.params {
		if p.name == name {
			return p.value
		}
	}
	return ""
}

// ID returns the UUID in the path parameter :id, in lower case. If the parameter is not a UUID, the frame responds with
// 404 before anything else runs.
func (c *Call) ID() string {
	id, _ := core.ParseID(c.Param("id"))
	return id
}

// Header returns the response's header.
func (c *Call) Header() http.Header { return c.w.Header() }

// UserAgent returns the request's User-Agent header, truncated to 255 bytes.
func (c *Call) UserAgent() string {
	ua := strings.ToValidUTF8(c.Request.UserAgent(), "")
	return ua[:min(len(ua), 255)]
}

// Value implements context.Context. It returns the value that Keep stored for key. For db.OriginKey it returns the
// request's origin address, and for db.ClientKey the client through which the user acts.
func (c *Call) Value(key any) any {
	switch key {
	case db.OriginKey{}:
		return &c.Remote
	case db.ClientKey{}:
		return c.Caller.Through()
	}
	return c.Context.Value(key)
}

// Keep stores a value that Value returns for key. It passes data between the steps of a request.
func (c *Call) Keep(key, value any) { c.Context = context.WithValue(c.Context, key, value) }

// Store returns the server's store.
func (c *Call) Store() *store.Store { return c.frame.options.Store }

// PublicURL returns the public origin without a trailing slash.
func (c *Call) PublicURL() string { return c.frame.publicURL }

// Body returns the bytes of the body after the frame has read it. They are valid until the operation returns.
func (c *Call) Body() []byte { return c.body }

// CheckBody adds a check of the raw body, which runs before the body is decoded.
func (c *Call) CheckBody(check func(body []byte) error) { c.checks = append(c.checks, check) }

// LimitBody overrides the endpoint's maximum body size, in bytes.
func (c *Call) LimitBody(n int64) { c.limit = n }

// SetStatus overrides the endpoint's response status.
func (c *Call) SetStatus(status int) { c.status = status }

// LogError sets the error in the request's log line, for operations that write the response themselves.
func (c *Call) LogError(err error) { c.err = err }

// Control returns the controller for connection deadlines.
func (c *Call) Control() *http.ResponseController { return http.NewResponseController(c.w) }

// SealCursor returns the cursor for the page after key. It is valid only for this caller, path and filter.
func (c *Call) SealCursor(key string) string {
	return c.frame.cursors.Seal(c.cursorBinding(), key)
}

// OpenCursor returns the key in a cursor. If the cursor was issued for a different caller, path or filter, it returns
// core.ErrInvalidCursor.
func (c *Call) OpenCursor(cursor string) (string, error) {
	return c.frame.cursors.Open(c.cursorBinding(), cursor)
}

// nextLink sets the Link header to the next page (RFC 8288).
func (c *Call) nextLink(cursor string) {
	q := c.Request.URL.Query()
	q.Set("cursor", cursor)
	c.Header().Set("Link", "<"+c.frame.publicURL+c.Request.URL.EscapedPath()+"?"+q.Encode()+`>; rel="next"`)
}
