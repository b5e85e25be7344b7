package web

import (
	"reflect"
	"time"

	"github.com/rs/cors"

	"newsletterd/core"
)

// Endpoint is a typed function made ready for the table by one of the adapters (JSON, Form, Query,
// Path, Get, Raw, List). It remembers the Go types of request and answer, of which the OpenAPI
// documents are made. Its methods return a changed copy. It is a pointer, so that the rows of the table stay small:
// each copy of what it points to would be some hundred bytes of the program.
type Endpoint struct{ *endpoint }

type endpoint struct {
	in        *plan          // how the request becomes a value; nil: there is nothing to read
	described *plan          // instead of in, for the documents alone
	media     []string       // of a body that it reads itself; nil: any
	answers   []string       // media types of an answer that no type describes; nil: any
	bodies    []reflect.Type // of which the body is one, for the documents alone
	out       reflect.Type   // of the answer; nil: none is described
	body      bodyKind
	maxBody   int64
	status    int            // of success
	bare      []int          // other statuses without a body form that it may answer
	failing   map[int]string // statuses in the form of success, with what they say
	quiet     bool           // its requests are logged at level debug
	changes   bool
	bodyless  bool // its JSON body may be left out
	streams   bool
	list      bool // an array with limit, cursor and Link
	find      func(*Call) error
	missing   *core.Error
	rate      *Rate
	limiter   *Limiter
	// bytes that it may cause to be written for a stranger; 0: it goes on into the reserve of the disk
	room     int64
	cors     *cors.Cors  // nil: for no other origin
	problems []core.Kind // beyond those that the frame knows of
	call     func(*Call) error
}

type bodyKind uint8

const (
	noBody bodyKind = iota
	jsonBody
	formBody
	rawBody
)

// Rate allows a number of requests per time from one remote address.
type Rate struct {
	n       int
	per     time.Duration
	limiter *Limiter // made with the first route that has the rate
}

// NewRate returns the rate of n requests per time.
func NewRate(n int, per time.Duration) *Rate { return &Rate{n: n, per: per} }

// None is the answer of an operation that has none: 204.
type None struct{}

// Sizes of bodies, in bytes, and time limits (docs/reference.md).
const (
	KiB             = 1 << 10
	MiB             = 1 << 20
	maxJSON         = 64 * KiB
	MaxForm         = 16 * KiB
	freeBody        = 64*KiB + 512 // a buffer up to here costs nothing of the budget
	bodyBudget      = 32 * MiB
	signedShare     = 12 * MiB // of it: a batch of a full sync, and a half
	strangersShare  = 8 * MiB
	heavyBody       = 1 * MiB // from here a body asks for a small heap
	BodyBudgetWait  = 2 * time.Second
	headerTimeout   = 5 * time.Second
	bodyTimeout     = 30 * time.Second
	handlerTimeout  = 15 * time.Second
	idleTimeout     = 60 * time.Second
	ProgressTimeout = 30 * time.Second
	maxHeader       = 16 * KiB
)

// copied returns an endpoint that can be changed. It is not inlined, as each line of the table would be larger.
//
//go:noinline
func (e Endpoint) copied() Endpoint {
	return Endpoint{new(*e.endpoint)}
}

// DescribesJSON names the type of the JSON object that a Raw endpoint takes.
func (e Endpoint) DescribesJSON(t reflect.Type) Endpoint {
	e = e.copied()
	e.in = newPlan(t, jsonBody)
	return e
}

// DescribesMedia names the media types of the body that a Stream or Raw endpoint takes.
func (e Endpoint) DescribesMedia(mediaTypes ...string) Endpoint {
	e = e.copied()
	e.media = mediaTypes
	return e
}

// Answers names the media types of an answer that is written as it is: Text, or what Serve and Write write.
func (e Endpoint) Answers(mediaTypes ...string) Endpoint {
	e = e.copied()
	e.answers = mediaTypes
	return e
}

// DescribesQuery names the type of the query that the function reads by itself.
func (e Endpoint) DescribesQuery(t reflect.Type) Endpoint {
	e = e.copied()
	e.described = newPlan(t, noBody)
	return e
}

// DescribesBody names the types of the forms of which the body is one.
func (e Endpoint) DescribesBody(forms ...reflect.Type) Endpoint {
	e = e.copied()
	e.bodies = forms
	return e
}

// DescribesStatus adds statuses without a body that the endpoint may answer.
func (e Endpoint) DescribesStatus(statuses ...int) Endpoint {
	e = e.copied()
	e.bare = append(e.bare[:len(e.bare):len(e.bare)], statuses...)
	return e
}

// DescribesFailure adds a status whose body has the form of success.
func (e Endpoint) DescribesFailure(status int, description string) Endpoint {
	e = e.copied()
	e.failing = map[int]string{status: description}
	return e
}

// Quiet logs the requests of the endpoint at level debug.
func (e Endpoint) Quiet() Endpoint { e = e.copied(); e.quiet = true; return e }

// Or makes other serve the requests for which when is true. Both have the same input in the documents: this endpoint's.
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

// BodyOptional lets a JSON body be left out: then all its fields are absent.
func (e Endpoint) BodyOptional() Endpoint { e = e.copied(); e.bodyless = true; return e }

// Created answers 201 instead of 200.
func (e Endpoint) Created() Endpoint { e = e.copied(); e.status = 201; return e }

// Accepted answers 202 instead of 200.
func (e Endpoint) Accepted() Endpoint { e = e.copied(); e.status = 202; return e }

// MaxBody sets the size of the body from which on the answer is 413.
func (e Endpoint) MaxBody(n int64) Endpoint { e = e.copied(); e.maxBody = n; return e }

// Changes says that a GET changes something: then HEAD is answered 405.
func (e Endpoint) Changes() Endpoint { e = e.copied(); e.changes = true; return e }

// Find runs after the access rule and before the body is read: the 404 of the path's object.
func (e Endpoint) Find(f func(*Call) error) Endpoint { e = e.copied(); e.find = f; return e }

// Missing is the error for a path parameter that is no UUID: the same that an unknown one gets.
func (e Endpoint) Missing(err *core.Error) Endpoint { e = e.copied(); e.missing = err; return e }

// PerAddress allows n well-formed requests per time from one remote address, the rest get 429.
// Loopback is never counted.
func (e Endpoint) PerAddress(n int, per time.Duration) Endpoint {
	return e.Rated(NewRate(n, per))
}

// Rated is PerAddress with a count that endpoints share.
func (e Endpoint) Rated(r *Rate) Endpoint { e = e.copied(); e.rate = r; return e }

// NeedsRoom marks what strangers cause to be written: it is refused (503 storage_unavailable) where the disk has no
// such number of bytes beyond its reserve. Everything else goes on into the reserve.
func (e Endpoint) NeedsRoom(bytes int64) Endpoint { e = e.copied(); e.room = bytes; return e }

// Fails adds kinds of error to the description of the endpoint that the frame can't know of:
// core.NotFound, core.Conflict.
func (e Endpoint) Fails(kinds ...core.Kind) Endpoint {
	e = e.copied()
	e.problems = append(e.problems[:len(e.problems):len(e.problems)], kinds...)
	return e
}
