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

// Call is one request as an operation sees it. It is a context.Context (cancelled when the caller
// goes away or the time of the route is up), so it is handed to store operations as it is. A Call
// must not be kept after the operation has returned.
type Call struct {
	context.Context
	Now       core.Instant  // when the request came in: the only clock of an operation
	Caller    core.Caller   // zero on public routes; on signed routes the webhook client
	RequestID string        // of this request, as X-Request-Id answers it
	Remote    netip.Addr    // of the peer, or of the client of a trusted proxy
	Tenant    string        // set by an operation for the log line
	Request   *http.Request // for headers; the body belongs to the frame

	w      *responseWriter
	route  *Route
	params []param // of the path, unescaped
	frame  *Handler
	status int   // 0: the status of the endpoint
	err    error // for the log line
	body   []byte
	pooled *[]byte              // where body came from
	held   int64                // bytes of the large-body budget in use
	share  *semaphore.Weighted  // of that budget; nil: none of its own
	heavy  func()               // ends what a large body asked of the garbage collector; nil: nothing
	wanted []string             // scopes that the token lacks, for WWW-Authenticate
	limit  int64                // of the body, where the endpoint's does not hold
	checks []func([]byte) error // run over the raw body before it is decoded (signatures)
	called bool                 // the operation has begun
	asked  bool                 // by another route of ours, which has set Caller

	acknowledged bool // the answer has waited for the replica
}

type param struct{ name, value string }

// Action is what the route asks the caller's roles for; empty: nothing.
func (c *Call) Action() core.Action { return c.route.Who.action }

// Param is the value of a path parameter as it was sent, unescaped; empty when the route has none of that name.
func (c *Call) Param(name string) string {
	for _, p := range c.params {
		if p.name == name {
			return p.value
		}
	}
	return ""
}

// ID is the UUID in the path parameter :id, in lower case. The frame has answered 404 before
// anything else runs when it is none.
func (c *Call) ID() string {
	id, _ := core.ParseID(c.Param("id"))
	return id
}

// Header is the header of the answer.
func (c *Call) Header() http.Header { return c.w.Header() }

// UserAgent is the caller's own words about itself, cut to 255 bytes.
func (c *Call) UserAgent() string {
	ua := strings.ToValidUTF8(c.Request.UserAgent(), "")
	return ua[:min(len(ua), 255)]
}

// Value returns what Keep has kept for key; for db.OriginKey, the address that the request came
// from, and for db.ClientKey, the client that its user acts through.
func (c *Call) Value(key any) any {
	switch key {
	case db.OriginKey{}:
		return &c.Remote
	case db.ClientKey{}:
		return c.Caller.Through()
	}
	return c.Context.Value(key)
}

// Keep makes Value return value for key from now on: what an area keeps of a request between its steps.
func (c *Call) Keep(key, value any) { c.Context = context.WithValue(c.Context, key, value) }

// Store returns the store of the program.
func (c *Call) Store() *store.Store { return c.frame.options.Store }

// PublicURL returns the origin as the world sees it, without a slash at the end.
func (c *Call) PublicURL() string { return c.frame.publicURL }

// Body returns the bytes of the body once they are read. They are valid until the operation returns.
func (c *Call) Body() []byte { return c.body }

// CheckBody adds a check of the raw body, which runs before the body is decoded.
func (c *Call) CheckBody(check func(body []byte) error) { c.checks = append(c.checks, check) }

// LimitBody sets the size of this body, in bytes, in place of the endpoint's.
func (c *Call) LimitBody(n int64) { c.limit = n }

// SetStatus sets the status of the answer, in place of the endpoint's.
func (c *Call) SetStatus(status int) { c.status = status }

// LogError names an error in the log line of the request whose answer is made by the operation itself.
func (c *Call) LogError(err error) { c.err = err }

// Control returns the controller of the connection's deadlines.
func (c *Call) Control() *http.ResponseController { return http.NewResponseController(c.w) }

// SealCursor returns the cursor for the page after a key, good for this caller, path and filter alone.
func (c *Call) SealCursor(key string) string {
	return c.frame.cursors.Seal(c.cursorBinding(), key)
}

// OpenCursor returns the key in a cursor. Cursors of others are core.ErrInvalidCursor.
func (c *Call) OpenCursor(cursor string) (string, error) {
	return c.frame.cursors.Open(c.cursorBinding(), cursor)
}

// nextLink sets a link to the next page (RFC 8288).
func (c *Call) nextLink(cursor string) {
	q := c.Request.URL.Query()
	q.Set("cursor", cursor)
	c.Header().Set("Link", "<"+c.frame.publicURL+c.Request.URL.EscapedPath()+"?"+q.Encode()+`>; rel="next"`)
}
