// Package objectstest provides an object storage for tests. It speaks S3 on a loopback port, keeps objects in memory,
// and fails on demand.
package objectstest

import (
	"crypto/md5"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	bucket = "bucket"
	region = "test-1"
	secret = "a-secret-of-tests"
)

// Kind is the kind of fault that a request meets.
type Kind int

// Kinds of faults. Only LostAnswer, HalfAnswer and Late let the request have its effect.
const (
	None        Kind = iota
	Error500         // InternalError
	Error503         // SlowDown
	Conflict         // 409 ConditionalRequestConflict
	Cut              // the connection is cut before the request has an effect
	LostAnswer       // the request has its effect, then the connection is cut
	HalfAnswer       // the connection is cut in the middle of the response's body
	ErrorInside      // an upload is completed with status 200 and an error in the body
	Hang             // no response until the client gives up or the server is closed
	Late             // the connection is cut immediately, and the request has its effect after the delay
)

// Request describes a request to Faults.Decide.
type Request struct {
	Client string // client name passed to Environ
	Op     string // PUT, GET, HEAD, LIST, DELETE, DELETES, BEGIN, PART, COMPLETE or ABORT
	Key    string // as in Keys; the prefix for LIST
	Nth    int    // number of the request, counted from 1
}

// Fault is the fault that a request meets, and the delay before it.
type Fault struct {
	Kind  Kind
	Delay time.Duration
}

// Faults describes how the storage misbehaves. The zero value means no faults.
type Faults struct {
	// Latency is the delay before each request is handled.
	Latency time.Duration
	// Stale is how long listings still show the old state of a key after its object was written or removed.
	Stale time.Duration
	// IgnoresAbsent and IgnoresMatch make PUT ignore If-None-Match and If-Match.
	IgnoresAbsent, IgnoresMatch bool
	// Ahead is how far the storage's clock runs ahead.
	Ahead time.Duration
	// NoDeletes refuses requests that remove several objects, as some storages do.
	NoDeletes bool
	// Decide returns the fault for each request. It is called from several goroutines at once.
	Decide func(Request) Fault
}

// Server is an object storage with one bucket.
type Server struct {
	http   *httptest.Server
	closed chan struct{}

	mu      sync.Mutex // guards the fields below
	faults  Faults
	objects map[string]object // by key in the bucket
	changes []change
	uploads map[string]*upload
	nth     int
	counts  map[string]int
}

// object is an object in the bucket.
type object struct {
	body     []byte
	etag     string
	modified time.Time
}

// change is a change that outdated listings don't show yet.
type change struct {
	key    string
	at     time.Time
	before object
	was    bool
}

// New starts a storage that is closed when the test ends.
func New(t testing.TB) *Server {
	s := &Server{
		objects: map[string]object{}, uploads: map[string]*upload{}, counts: map[string]int{},
		closed: make(chan struct{}),
	}
	s.http = httptest.NewServer(s)
	t.Cleanup(func() {
		close(s.closed)
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// URL returns the address of the path replica in the bucket, for objects.Open.
func (s *Server) URL() string { return s.At("replica") }

// At returns the address of a path in the bucket.
func (s *Server) At(path string) string {
	q := url.Values{"endpoint": {s.http.URL}, "region": {region}, "path-style": {"true"}}
	return "s3://" + bucket + "/" + path + "?" + q.Encode()
}

// Environ returns environment variables with the keys of a client, as NAME=VALUE. Faults can depend on the client's
// name.
func Environ(client string) []string {
	return []string{
		"NEWSLETTERD_REPLICA_ACCESS_KEY_ID=" + client,
		"NEWSLETTERD_REPLICA_SECRET_ACCESS_KEY=" + secret,
	}
}

// Env returns a lookup function for the keys of a client, for objects.Open.
func Env(client string) func(string) string {
	return func(name string) string {
		for _, e := range Environ(client) {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

// Set changes the faults of the storage for requests that start later.
func (s *Server) Set(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// CutConnections closes all connections and aborts their requests.
func (s *Server) CutConnections() { s.http.CloseClientConnections() }

// Keys returns the keys of all objects in the bucket, including the path of the address, in order.
func (s *Server) Keys() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := make([]string, 0, len(s.objects))
	for key := range s.objects {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// Object returns the content of an object and whether it exists. key is one of Keys.
func (s *Server) Object(key string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[key]
	return slices.Clone(o.body), ok
}

// Store writes an object without a request. key has the same form as the keys that Keys returns.
func (s *Server) Store(key string, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, slices.Clone(body), etagOf(md5.Sum(body)))
}

// Remove removes an object without a request. key is one of Keys.
func (s *Server) Remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(key)
}

// Uploads returns the number of unfinished uploads in parts.
func (s *Server) Uploads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.uploads)
}

// Counts returns the number of requests by Request.Op.
func (s *Server) Counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for op, n := range s.counts {
		counts[op] = n
	}
	return counts
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{s: s, w: w, r: r, query: r.URL.Query()}
	if !c.read() {
		return
	}
	s.mu.Lock()
	s.nth++
	s.counts[c.op]++
	c.faults = s.faults
	asked := Request{Client: c.client, Op: c.op, Key: c.key, Nth: s.nth}
	s.mu.Unlock()
	var fault Fault
	if c.faults.Decide != nil {
		fault = c.faults.Decide(asked)
	}
	if fault.Kind == Late {
		c.w = httptest.NewRecorder() // the response is discarded
		time.AfterFunc(fault.Delay, c.serve)
		panic(http.ErrAbortHandler)
	}
	if !c.wait(c.faults.Latency + fault.Delay) {
		return
	}
	c.kind = fault.Kind
	switch fault.Kind {
	case Error500:
		c.refuse(http.StatusInternalServerError, "InternalError")
	case Error503:
		c.refuse(http.StatusServiceUnavailable, "SlowDown")
	case Conflict:
		c.refuse(http.StatusConflict, "ConditionalRequestConflict")
	case Cut:
		panic(http.ErrAbortHandler)
	case Hang:
		select {
		case <-r.Context().Done():
		case <-s.closed:
		}
		panic(http.ErrAbortHandler)
	default:
		c.serve()
	}
}

// wait waits for d and reports whether the client is still there.
func (c *call) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-c.r.Context().Done():
	case <-c.s.closed:
	}
	return false
}
