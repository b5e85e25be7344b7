package handlers

import (
	"context"
	"net/http"
	"net/netip"
	"strings"

	"golang.org/x/sync/semaphore"

	"newsletterd/core"
)

// Call is one request as an operation sees it. It is a context.Context (cancelled when the caller
// goes away or the time of the route is up), so it is handed to store operations as it is. A Call
// must not be kept after the operation has returned.
type Call struct {
	context.Context
	Now       core.Instant  // when the request came in: the only clock of an operation
	Caller    core.Caller   // zero on public routes; on signed routes the webhook client
	RequestID string        // of this request, as X-Request-Id answers it
	Remote    netip.Addr    // of the peer, or of the client behind a trusted proxy
	Tenant    string        // set by an operation for the log line
	Request   *http.Request // for headers; the body belongs to the frame

	w      *responseWriter
	route  *Route
	params []param // of the path, unescaped
	api    *Handler
	status int   // 0: the status of the endpoint
	err    error // for the log line
	dress  dress // of pages
	body   []byte
	pooled *[]byte              // where body came from
	sender *mailSender          // of a provider event
	held   int64                // bytes of the large-body budget in use
	share  *semaphore.Weighted  // of that budget; nil: none of its own
	heavy  func()               // ends what a large body asked of the garbage collector; nil: nothing
	wanted []string             // scopes that the token lacks, for WWW-Authenticate
	limit  int64                // of the body, where the endpoint's does not hold
	checks []func([]byte) error // run over the raw body before it is decoded (signatures)
}

type param struct{ name, value string }

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

// nextLink sets a link to the next page (RFC 8288).
func (c *Call) nextLink(cursor string) {
	q := c.Request.URL.Query()
	q.Set("cursor", cursor)
	c.Header().Set("Link", "<"+c.api.publicURL+c.Request.URL.EscapedPath()+"?"+q.Encode()+`>; rel="next"`)
}
