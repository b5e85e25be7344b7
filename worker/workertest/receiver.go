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

// A Receiver is an http.RoundTripper that takes what is posted to any address, in fake time too: to the send service,
// where it proves each signature, and to the endpoints of tenants. It answers 200 unless it is told otherwise.
type Receiver struct {
	// On is asked for the status of the answer to each post, before Say is heeded; 0 and nil: as Say says. It may take
	// its time.
	On func(p *Post) (status int)

	s       *storetest.Seeder
	mu      sync.Mutex // guards what follows
	answers map[string]answer
	posts   []Post
}

// Post is a post that came to a receiver.
type Post struct {
	At     time.Time
	Path   string
	Header http.Header
	Body   []byte
	Taken  bool // the answer was 2xx
}

type answer struct {
	status int
	header []string
}

// NewReceiver returns a receiver, and lets the store of s sign what is posted to the send service.
func NewReceiver(s *storetest.Seeder) *Receiver {
	s.Helper()
	s.Must(s.EnsureLoopClient(s.Context(), make([]byte, 32), s.Time()))
	return &Receiver{s: s, answers: map[string]answer{}}
}

// Poster returns what posts to the receiver as to a send service.
func (r *Receiver) Poster() *worker.Poster {
	return worker.NewPoster(r.s.Store, "http://receiver.test", r)
}

// EndpointPoster returns what posts to the receiver as to the endpoints of tenants.
func (r *Receiver) EndpointPoster() *worker.EndpointPoster {
	return worker.NewEndpointPoster(r.s.Store, &http.Client{Transport: r})
}

// Say has posts to a path be answered so from now on, with a header of names and values; 0: by no answer at all.
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

// Posts returns what came to a path, the oldest first.
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

// Events returns the events that were taken at a path, in the order in which they came.
func (r *Receiver) Events(path string) []core.Event { return taken[core.Event](r, path) }

// Types returns their types.
func (r *Receiver) Types(path string) (types []string) {
	for _, e := range r.Events(path) {
		types = append(types, e.Type)
	}
	return types
}

// Batches returns the batches of full syncs that were taken, in the order in which they came.
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
