package workertest

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"newsletterd/auth"
	"newsletterd/core"
	"newsletterd/core/coretest"
	"newsletterd/store/storetest"
	"newsletterd/worker"
)

// A Receiver is an http.RoundTripper that accepts requests to any address, even in fake time. It acts as the send
// service, verifying each signature, and as tenants' webhook endpoints. By default, it responds with 200.
type Receiver struct {
	// On returns the response status for each request, and takes precedence over Say. If On is nil or returns 0, Say
	// applies. On may block.
	On func(p *Post) (status int)

	s       *storetest.Seeder
	mu      sync.Mutex // guards the following fields
	answers map[string]answer
	posts   []Post
}

// Post is a request to a receiver.
type Post struct {
	At     time.Time
	Path   string
	Header http.Header
	Body   []byte
	Taken  bool // the response was 2xx
}

type answer struct {
	status int
	header []string
}

// NewReceiver returns a receiver, and makes the store of s sign requests to the send service.
func NewReceiver(s *storetest.Seeder) *Receiver {
	s.Helper()
	s.Must(s.EnsureLoopClient(s.Context(), make([]byte, 32), s.Time()))
	return &Receiver{s: s, answers: map[string]answer{}}
}

// Poster returns a poster that uses the receiver as the send service.
func (r *Receiver) Poster() *worker.Poster {
	return worker.NewPoster(r.s.Store, "http://receiver.test", r)
}

// EndpointPoster returns a poster that uses the receiver as tenants' webhook endpoints.
func (r *Receiver) EndpointPoster() *worker.EndpointPoster {
	return worker.NewEndpointPoster(r.s.Store, &http.Client{Transport: r})
}

// Say sets the response to later requests to a path. header alternates names and values. Status 0 means no response.
func (r *Receiver) Say(path string, status int, header ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[path] = answer{status, header}
}

// RoundTrip implements http.RoundTripper.
func (r *Receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	p := Post{At: time.Now(), Path: req.URL.Path, Header: req.Header, Body: body}
	if strings.HasPrefix(p.Path, "/webhooks/") {
		sig, err := auth.ParseSignature(req.Header, core.At(p.At))
		if err == nil {
			err = auth.VerifySignature(sig, p.Path, body, make([]byte, 32))
		}
		if err != nil || sig.ClientID != core.LoopClientID {
			r.s.Errorf("a signature by %q: %v", sig.ClientID, err)
		}
	}
	status := 0
	if r.On != nil {
		status = r.On(&p)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	a, said := r.answers[p.Path]
	switch {
	case status == 0 && said:
		status = a.status
	case status == 0:
		status = http.StatusOK
	}
	p.Taken = status/100 == 2
	r.posts = append(r.posts, p)
	if status == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	res := coretest.Response(status, "{}")
	for pair := range slices.Chunk(a.header, 2) {
		res.Header.Set(pair[0], pair[1])
	}
	return res, nil
}

// Posts returns the requests to a path, oldest first.
func (r *Receiver) Posts(path string) (all []Post) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.posts {
		if p.Path == path {
			all = append(all, p)
		}
	}
	return all
}

// Events returns the events accepted at a path, in the order of arrival.
func (r *Receiver) Events(path string) []core.Event { return taken[core.Event](r, path) }

// Types returns the types of the events accepted at a path.
func (r *Receiver) Types(path string) (types []string) {
	for _, e := range r.Events(path) {
		types = append(types, e.Type)
	}
	return types
}

// Batches returns the accepted batches of full syncs, in the order of arrival.
func (r *Receiver) Batches() []core.FullSync { return taken[core.FullSync](r, SyncPath) }

func taken[T any](r *Receiver, path string) (all []T) {
	r.s.Helper()
	for _, p := range r.Posts(path) {
		if p.Taken {
			var v T
			r.s.Must(json.Unmarshal(p.Body, &v))
			all = append(all, v)
		}
	}
	return all
}
