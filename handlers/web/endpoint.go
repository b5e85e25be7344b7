package web

import (
	"reflect"
	"time"

	"github.com/rs/cors"

	"newsletterd/core"
)

// Endpoint is a typed function that an adapter (JSON, Form, Query, Path, Get, Raw, List) has prepared for the table. It
// contains the Go types of the request and the response, from which the OpenAPI documents are generated. Its methods
// return a changed copy. It holds a pointer to keep the table's rows small: each copy of the struct would add a few
// hundred bytes to the binary.
type Endpoint struct{ *endpoint }

type endpoint struct {
	in        *plan          // how to read the request into a value; nil: nothing is read
	described *plan          // replaces in, for the documents only
	media     []string       // media types of a body that the endpoint reads itself; nil: any
	answers   []string       // media types of a response without a described type; nil: any
	bodies    []reflect.Type // alternative types of the body, for the documents only
	out       reflect.Type   // type of the response; nil: not described
	body      bodyKind
	maxBody   int64
	status    int            // status on success
	bare      []int          // other statuses with an empty body
	failing   map[int]string // descriptions of failure statuses with the same type of body as on success
	quiet     bool           // requests are logged at level debug
	changes   bool
	bodyless  bool // the JSON body may be left out
	streams   bool
	list      bool // the response is an array with limit, cursor and Link
	find      func(*Call) error
	missing   *core.Error
	rate      *Rate
	limiter   *Limiter
	// see NeedsRoom; 0: the endpoint may use the disk's reserve
	room     int64
	cors     *cors.Cors  // nil: closed to other origins
	problems []core.Kind // kinds of error that the frame can't derive
	call     func(*Call) error
}

type bodyKind uint8

const (
	noBody bodyKind = iota
	jsonBody
	formBody
	rawBody
)

// Rate limits how many requests one remote address may make in a period.
type Rate struct {
	n       int
	per     time.Duration
	limiter *Limiter // created with the first route that has the rate
}

// NewRate returns a rate of n requests in the period per.
func NewRate(n int, per time.Duration) *Rate { return &Rate{n: n, per: per} }

// None is the output of an operation without a response body: 204.
type None struct{}

// Body sizes, in bytes, and timeouts (docs/reference.md).
const (
	KiB             = 1 << 10
	MiB             = 1 << 20
	maxJSON         = 64 * KiB
	MaxForm         = 16 * KiB
	freeBody        = 64*KiB + 512 // buffers up to this size don't count against the budget
	bodyBudget      = 32 * MiB
	signedShare     = 12 * MiB // part of bodyBudget, for one and a half batches of a full sync
	strangersShare  = 8 * MiB
	heavyBody       = 1 * MiB // for bodies of at least this size, the heap is kept small
	BodyBudgetWait  = 2 * time.Second
	headerTimeout   = 5 * time.Second
	bodyTimeout     = 30 * time.Second
	handlerTimeout  = 15 * time.Second
	idleTimeout     = 60 * time.Second
	ProgressTimeout = 30 * time.Second
	maxHeader       = 16 * KiB
)

// copied returns a copy that the caller may change. It isn't inlined, because that would enlarge the code for every
// route in the table.
//
//go:noinline
func (e Endpoint) copied() Endpoint {
	return Endpoint{new(*e.endpoint)}
}

// DescribesJSON sets the type of the JSON object that a Raw endpoint accepts.
func (e Endpoint) DescribesJSON(t reflect.Type) Endpoint {
	e = e.copied()
	e.in = newPlan(t, jsonBody)
	return e
}

// DescribesMedia sets the media types of the body that a Stream or Raw endpoint accepts.
func (e Endpoint) DescribesMedia(mediaTypes ...string) Endpoint {
	e = e.copied()
	e.media = mediaTypes
	return e
}

// Answers sets the media types of a response that is not JSON: Text, or the output of Serve and Write.
func (e Endpoint) Answers(mediaTypes ...string) Endpoint {
	e = e.copied()
	e.answers = mediaTypes
	return e
}

// DescribesQuery sets the type of a query that the function reads itself.
func (e Endpoint) DescribesQuery(t reflect.Type) Endpoint {
	e = e.copied()
	e.described = newPlan(t, noBody)
	return e
}

// DescribesBody sets the types that the body may have.
func (e Endpoint) DescribesBody(forms ...reflect.Type) Endpoint {
	e = e.copied()
	e.bodies = forms
	return e
}

// DescribesStatus adds statuses that the endpoint may return without a body.
func (e Endpoint) DescribesStatus(statuses ...int) Endpoint {
	e = e.copied()
	e.bare = append(e.bare[:len(e.bare):len(e.bare)], statuses...)
	return e
}

// DescribesFailure adds a failure status with the same type of body as on success.
func (e Endpoint) DescribesFailure(status int, description string) Endpoint {
	e = e.copied()
	e.failing = map[int]string{status: description}
	return e
}

// Quiet makes the server log the endpoint's requests at level debug.
func (e Endpoint) Quiet() Endpoint { e = e.copied(); e.quiet = true; return e }

// Or returns an endpoint that passes a request to other if the condition when is true for it. The documents describe
// both with e's input.
func (e Endpoint) Or(when func(*Call) bool, other Endpoint) Endpoint {
	call := e.call
	e = e.copied()
	e.call = func(c *Call) error {
		if when(c) {
			return other.call(c)
		}
		return call(c)
	}
	return e
}

// BodyOptional allows requests without a JSON body. In that case, all of its fields are absent.
func (e Endpoint) BodyOptional() Endpoint { e = e.copied(); e.bodyless = true; return e }

// Created makes the endpoint respond with 201 instead of 200.
func (e Endpoint) Created() Endpoint { e = e.copied(); e.status = 201; return e }

// Accepted makes the endpoint respond with 202 instead of 200.
func (e Endpoint) Accepted() Endpoint { e = e.copied(); e.status = 202; return e }

// MaxBody sets the maximum size of the body in bytes. A larger body gets a 413 response.
func (e Endpoint) MaxBody(n int64) Endpoint { e = e.copied(); e.maxBody = n; return e }

// Changes declares that a GET request changes something. The response to HEAD is then 405.
func (e Endpoint) Changes() Endpoint { e = e.copied(); e.changes = true; return e }

// Find sets a function that looks up the object in the path. It runs after the access check and before the body is
// read, and returns an error if the object doesn't exist.
func (e Endpoint) Find(f func(*Call) error) Endpoint { e = e.copied(); e.find = f; return e }

// Missing sets the error for a path parameter that is not a UUID. It should equal the error for an unknown UUID.
func (e Endpoint) Missing(err *core.Error) Endpoint { e = e.copied(); e.missing = err; return e }

// PerAddress allows n well-formed requests from one remote address in each period per, and responds to any others with
// 429. Requests from loopback are never counted.
func (e Endpoint) PerAddress(n int, per time.Duration) Endpoint {
	return e.Rated(NewRate(n, per))
}

// Rated is like PerAddress but shares the count with other endpoints.
func (e Endpoint) Rated(r *Rate) Endpoint { e = e.copied(); e.rate = r; return e }

// NeedsRoom declares that an anonymous request may cause up to the given number of bytes to be written. If the disk
// doesn't have that much space beyond its reserve, the response is 503 storage_unavailable. All other endpoints may use
// the reserve.
func (e Endpoint) NeedsRoom(bytes int64) Endpoint { e = e.copied(); e.room = bytes; return e }

// Fails adds kinds of error to the endpoint's description that the frame can't derive, such as core.NotFound and
// core.Conflict.
func (e Endpoint) Fails(kinds ...core.Kind) Endpoint {
	e = e.copied()
	e.problems = append(e.problems[:len(e.problems):len(e.problems)], kinds...)
	return e
}
